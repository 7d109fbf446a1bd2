"""The messages of a conversation: listed, edited, moved, deleted."""

from __future__ import annotations

from flask import Blueprint, Response

from database import message_changes, messages
from database.message_rows import message_shape

from . import schemas, shapes
from .replies import json_reply, ok
from .request_scope import own
from .validation import answers, asks, takes

blueprint = Blueprint("messages", __name__)


@blueprint.get("/list_messages_by_conversation/<conversation_id>")
@asks(schemas.MessageWindow)
@answers(list[shapes.MessageItem])
def list_messages_by_conversation(conversation_id: str, query: schemas.MessageWindow) -> Response:
    """Live messages in order: all, or a window before, after or around one of them."""
    around: int | str | None = query.around
    if query.around and query.around.isdecimal() and len(query.around) < 6:
        around = int(query.around)
    rows = messages.list_messages(
        **own(),
        conversation_id=conversation_id,
        before=query.before,
        after=query.after,
        around=around,
        limit=query.limit,
    )
    return json_reply([message_shape(row) for row in rows])


@blueprint.post("/edit_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@takes(schemas.MessageEdit)
@answers(shapes.Done)
def edit_message(conversation_id: str, message_id: str, index: int, body: schemas.MessageEdit) -> Response:
    """Change a message's text; its hash stays, its history is kept. 409 where the index no longer fits the id."""
    message_changes.edit_message(
        **own(), conversation_id=conversation_id, message_id=message_id, index=index, text=body.text
    )
    return ok()


@blueprint.delete("/delete_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@answers(shapes.Done)
def delete_message(conversation_id: str, message_id: str, index: int) -> Response:
    """Take a message out of the conversation. 409 where the index no longer fits the id."""
    message_changes.delete_message(**own(), conversation_id=conversation_id, message_id=message_id, index=index)
    return ok()


@blueprint.post("/move_messages_up_or_down/<conversation_id>")
@takes(schemas.MessageMove)
@answers(shapes.Done)
def move_messages(conversation_id: str, body: schemas.MessageMove) -> Response:
    """Move messages together by one place."""
    message_changes.move_messages(
        **own(), conversation_id=conversation_id, message_ids=body.message_ids, direction=body.direction
    )
    return ok()
