"""Listing, editing, moving, hiding, pinning, deleting and restoring messages."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint

from chat.turns.accept import check_length
from database.history import editing, reading
from database.messages.message import message_shape
from database.sharing import copying
from endpoints.conversations import models as conversation_models
from endpoints.http.languages import translated
from endpoints.http.models import Done
from endpoints.http.scope import current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works

from . import models as message_models

blueprint = Blueprint("messages", __name__)
_MOST_FOUND = 1_000


@blueprint.get("/list_messages_by_conversation/<conversation_id>")
@asks(message_models.MessageWindow)
@answers(list[message_models.MessageItem])
@fails("message_not_found")
def list_messages_by_conversation(conversation_id: str, query: message_models.MessageWindow) -> object:
    """Live messages in order: all, or a window before, after or around one of them."""
    around: int | str | None = query.around
    if query.around and query.around.isdecimal() and len(query.around) < 6:
        around = int(query.around)
    rows = reading.list_messages(
        **current_user_scope(),
        conversation_id=conversation_id,
        before=query.before,
        after=query.after,
        around=around,
        limit=query.limit,
    )
    return [message_shape(row) | {"usage": row.config.get("usage")} for row in rows]


@blueprint.get("/find_in_conversation/<conversation_id>")
@asks(message_models.TextToFind)
@answers(message_models.FoundMessages)
@works(Work.SEARCH)
def find_in_conversation(conversation_id: str, query: message_models.TextToFind) -> object:
    """The messages of one conversation that hold a text exactly, but for upper and lower case."""
    found = reading.find_text(**current_user_scope(), conversation_id=conversation_id, text=query.q, most=_MOST_FOUND)
    messages = [{"message_id": message_id, "message_index": index} for message_id, index in found.places]
    return {"messages": messages, "total": found.total}


@blueprint.post("/edit_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@takes(message_models.MessageEdit)
@answers(Done)
@fails("conflict", "turn_in_progress")
def edit_message(conversation_id: str, message_id: str, index: int, body: message_models.MessageEdit) -> None:
    """Change a message's text; its hash stays, its history is kept. 409 if index or `based_on` no longer match.

    413 `too_large` for more than 200,000 characters.
    """
    check_length(body.text)
    editing.edit_message(
        **current_user_scope(),
        conversation_id=conversation_id,
        message_id=message_id,
        index=index,
        text=body.text,
        based_on=body.based_on,
    )


@blueprint.delete("/delete_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@answers(Done)
@fails("conflict", "turn_in_progress")
def delete_message(conversation_id: str, message_id: str, index: int) -> None:
    """Delete a message. 409 if the index no longer matches the id."""
    editing.delete_message(**current_user_scope(), conversation_id=conversation_id, message_id=message_id, index=index)


@blueprint.post("/restore_message/<conversation_id>/<message_id>")
@answers(Done)
@fails("conflict", "turn_in_progress")
def restore_message(conversation_id: str, message_id: str) -> None:
    """Restore a deleted message at its old place."""
    editing.restore_message(**current_user_scope(), conversation_id=conversation_id, message_id=message_id)


@blueprint.post("/show_hide_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@takes(message_models.MessageVisibility)
@answers(Done)
@fails("conflict", "turn_in_progress")
def show_hide_message(
    conversation_id: str, message_id: str, index: int, body: message_models.MessageVisibility
) -> None:
    """Hide a message from models, or show it to them again. 409 if the index no longer matches the id."""
    editing.show_or_hide_message(
        **current_user_scope(),
        conversation_id=conversation_id,
        message_id=message_id,
        index=index,
        show_hide=body.show_hide,
    )


@blueprint.get("/messages/<message_id>/edits")
@answers(list[message_models.EarlierText])
def list_edits(message_id: str) -> object:
    """The earlier texts of an edited message, oldest first."""
    return editing.edits_of(**current_user_scope(), message_id=message_id)


@blueprint.get("/messages/<message_id>/variants")
@answers(list[message_models.VariantAnswer])
def list_variants(message_id: str) -> object:
    """All answers to the same question with what they say, in order; none for what was answered once."""
    return reading.variants_of_answer(**current_user_scope(), message_id=message_id)


@blueprint.put("/messages/<message_id>/pin")
@answers(Done)
def pin_message(message_id: str) -> None:
    """Pin a message to the top of its conversation."""
    editing.pin_message(**current_user_scope(), message_id=message_id, pinned=True)


@blueprint.delete("/messages/<message_id>/pin")
@answers(Done)
def unpin_message(message_id: str) -> None:
    """Unpin a message."""
    editing.pin_message(**current_user_scope(), message_id=message_id, pinned=False)


@blueprint.get("/conversations/<conversation_id>/pinned_messages")
@answers(list[message_models.PinnedMessage])
def list_pinned_messages(conversation_id: str) -> object:
    """The pinned messages of a conversation, in order."""
    return editing.pinned_messages(**current_user_scope(), conversation_id=conversation_id)


@blueprint.post("/fork_conversation/<conversation_id>/<message_id>")
@takes(conversation_models.NewConversation, optional=True)
@answers(conversation_models.ConversationName, status=HTTPStatus.CREATED)
@fails("conflict", "turn_in_progress")
@works(Work.LONG)
def fork_conversation(conversation_id: str, message_id: str, body: conversation_models.NewConversation) -> object:
    """Copy a conversation up to and including a message; the copy has its own ids."""
    row = copying.fork_conversation(
        **current_user_scope(),
        conversation_id=conversation_id,
        message_id=message_id,
        client_id=body.client_id,
        kind=translated("fork"),
    )
    return {"conversation_id": row.conversation_id, "conversation_friendly_id": row.conversation_friendly_id or ""}


@blueprint.post("/move_messages_up_or_down/<conversation_id>")
@takes(message_models.MessageMove)
@answers(Done)
@fails("conflict", "turn_in_progress")
def move_messages(conversation_id: str, body: message_models.MessageMove) -> None:
    """Move messages together by one place."""
    editing.move_messages(
        **current_user_scope(), conversation_id=conversation_id, message_ids=body.message_ids, direction=body.direction
    )
