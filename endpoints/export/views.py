"""Conversations as files."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from anyascii import anyascii
from flask import Blueprint
from pydantic import Field

from endpoints.http.models import Query
from endpoints.http.scope import access_conversation, current_user_scope
from endpoints.http.streams import FileStream, StreamResponse
from endpoints.http.validation import answers, asks
from endpoints.http.work_queues import Work, works
from portability.exports import MEDIA_TYPES
from portability.exports import export_conversation as export

blueprint = Blueprint("exports", __name__)


class ConversationExport(Query):
    """What a conversation is to be written down as."""

    format: Annotated[
        Literal["markdown", "html", "json", "bundle"],
        Field(description="`bundle` is a ZIP of the folder that `Conversation.load_local` opens."),
    ] = "markdown"


@blueprint.get("/export_conversation/<conversation_id>")
@asks(ConversationExport)
@answers(None, media=MEDIA_TYPES)
@works(Work.LONG)
def export_conversation(conversation_id: str, query: ConversationExport) -> StreamResponse:
    """A conversation as a file, called after its title: Markdown, a web page, JSON, or a ZIP with its bundle."""
    conversation = access_conversation(conversation_id)
    made = export(
        **current_user_scope(), conversation_id=conversation_id, fmt=query.format, save=conversation.save_local
    )
    response = StreamResponse(FileStream(made.chunks), media=made.media)
    response.headers["Content-Disposition"] = _attachment(made.name)
    return response


def _attachment(name: str) -> str:
    """The header (RFC 6266): the name as it is for who reads RFC 5987, and one in ASCII for who doesn't."""
    plain = "".join(each for each in anyascii(name) if each.isprintable() and each not in '"\\%;/')
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
