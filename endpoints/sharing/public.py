"""What a shared link shows to anyone who has it: a page to people, JSON to programs."""

from __future__ import annotations

from dataclasses import asdict

from flask import Blueprint, Response, render_template

from database.sharing.shares import SharedPage, read_share, read_shared_file
from endpoints.attachments.sending import SENT_TYPES, contained, send_original, send_picture
from endpoints.http.error_responses import wants_page
from endpoints.http.responses import json_reply
from endpoints.http.scope import current_state
from endpoints.http.validation import answers, asks, fails, public

from . import models as share_models

blueprint = Blueprint("shared_chats", __name__)
# The address is the secret: no page that is linked to, no search engine and no cache is to learn it.
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
    "Vary": "Accept",
}


# With a slash behind it, what the page asks for with its own address would be somewhere else.
@blueprint.get("/shared_chat/<token>", strict_slashes=True)
@public
@asks(share_models.SharedWindow)
@answers(SharedPage)
@fails("share_not_found")
def shared_chat(token: str, query: share_models.SharedWindow) -> Response:
    """A shared conversation as it was when it was shared; for whoever has the link, without an account.

    There may be fewer messages than asked for: go on with `after` = `next` until that is null. A `snapshot` that
    changes on the way is a newer one.
    """
    database = current_state().database
    page = read_share(database=database, token=token, after=query.after, limit=query.limit)
    if wants_page():
        return Response(render_template("shared.html", shared=asdict(page)), mimetype="text/html")
    return json_reply(page)


@blueprint.get("/shared_chat/<token>/files/<snapshot>/<int:message_index>/<int:number>")
@public
@answers(None, media=SENT_TYPES)
@fails("share_not_found", "share_outdated", "attachment_not_found")
def file_of_shared_chat(token: str, snapshot: str, message_index: int, number: int) -> Response:
    """A file that a shared conversation shows, the `number`-th of a message: to be saved, or a picture as it is shown.

    Only of files that the owner chose when sharing it (`parts` of the message), and as long as the conversation has
    them. `snapshot` is that of the message: once the link was renewed, another file may have its place.
    """
    state = current_state()
    place = {"message_index": message_index, "number": number}
    attachment = read_shared_file(database=state.database, token=token, snapshot=snapshot, **place)
    # What a photo says beside the picture, such as where it was taken, stays with its owner.
    send = send_picture if attachment.kind == "image" else send_original
    return contained(send(state.attachments, attachment))


@blueprint.after_request
def keep_secret(response: Response) -> Response:
    """Also where a link leads nowhere: it may be nearly right, or its conversation may come back from the bin."""
    response.headers.update(_HEADERS)
    return response
