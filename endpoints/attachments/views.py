"""Files in messages: uploaded, shown, downloaded, taken back. `/files` is another name of `/attachments`."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus

from flask import Blueprint, Response

from attachments.storage import Attachments
from database.history import attachments as rows
from database.history.attachments import Attachment
from endpoints.attachments.sending import SENT_TYPES, contained, send_original, send_picture
from endpoints.attachments.uploads import largest_attachment, receive_upload, uploaded_name
from endpoints.http.errors import InvalidRequestError
from endpoints.http.models import Done
from endpoints.http.scope import (
    current_request,
    current_settings,
    current_state,
    current_user_email,
    current_user_scope,
)
from endpoints.http.validation import answers, asks, fails, takes_upload
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as attachment_models

blueprint = Blueprint("attachments", __name__)
_LONGEST_PAGE = 2_000_000


@blueprint.post("/attachments")
@blueprint.post("/files")
@works(Work.UPLOADS)
@takes_upload(largest_attachment, form=True)
@asks(attachment_models.UploadQuery)
@answers(attachment_models.AttachmentItem, status=HTTPStatus.CREATED)
@fails("quota_exceeded", "files_unavailable")
def upload_attachment(query: attachment_models.UploadQuery) -> object:
    """Upload a file for a message: the body, or a form with it.

    413 `too_large`, 415 `unsupported_media_type` for what is no text, document or picture, 507 `quota_exceeded`.
    """
    files = _files()
    with receive_upload(files, most=largest_attachment(current_settings())) as received:
        name = query.name or uploaded_name() or "file"
        return _shape(files.store(current_user_email(), received, name=name))


@blueprint.get("/attachments/<attachment_id>")
@blueprint.get("/files/<attachment_id>")
@asks(attachment_models.ContentQuery)
@answers(None, media=SENT_TYPES)
@works(Work.FILES)
def get_attachment(attachment_id: str, query: attachment_models.ContentQuery) -> Response:
    """The file as it was uploaded, to be saved; with `form=picture` the picture as it is shown."""
    attachment = _files().get(current_user_email(), attachment_id)
    etag = f"{attachment.sha256}-{query.form}"
    if current_request().if_none_match.contains(etag):
        return _kept(Response(status=HTTPStatus.NOT_MODIFIED), etag)
    send = send_picture if query.form == "picture" else send_original
    return _kept(send(_files(), attachment), etag)


@blueprint.get("/attachments/<attachment_id>/about")
@blueprint.get("/files/<attachment_id>/about")
@answers(attachment_models.AttachmentItem)
def about_attachment(attachment_id: str) -> object:
    """What is known of a file."""
    return _shape(_files().get(current_user_email(), attachment_id))


@blueprint.get("/attachments/<attachment_id>/text")
@blueprint.get("/files/<attachment_id>/text")
@asks(attachment_models.PageQuery)
@answers(attachment_models.AttachmentText)
@works(Work.FILES)
def text_of_attachment(attachment_id: str, query: attachment_models.PageQuery) -> object:
    """The text of one page, as models are given it."""
    pages = _files().pages(_files().get(current_user_email(), attachment_id))
    if query.page > max(1, len(pages)):
        raise InvalidRequestError(say("file_has_pages", count=len(pages)))
    text = pages[query.page - 1][:_LONGEST_PAGE] if pages else ""
    return {"page": query.page, "pages": len(pages), "text": text}


@blueprint.get("/conversations/<conversation_id>/files")
@answers(list[attachment_models.FileOfConversation])
def files_of_conversation(conversation_id: str) -> object:
    """All files of a conversation, in order of the messages that have them."""
    found = rows.files_of_conversation(**current_user_scope(), conversation_id=conversation_id)
    names = attachment_models.FileOfConversation.model_fields
    return [{name: value for name, value in file.items() if name in names} for file in found]


@blueprint.delete("/attachments/<attachment_id>")
@blueprint.delete("/files/<attachment_id>")
@answers(Done)
@fails("conflict")
@works(Work.UPLOADS)
def delete_attachment(attachment_id: str) -> None:
    """Erase a file that no message uses; 409 `conflict` for one in use."""
    _files().discard(current_user_email(), attachment_id)


def _files() -> Attachments:
    return current_state().attachments


def _shape(attachment: Attachment) -> dict[str, object]:
    known = asdict(attachment)
    known |= {"file_id": attachment.attachment_id, "type": attachment.media_type}
    return {name: known[name] for name in attachment_models.AttachmentItem.model_fields}


def _kept(response: Response, etag: str) -> Response:
    """The response for browsers to keep, and to ask for again."""
    response.set_etag(etag)
    return contained(response)
