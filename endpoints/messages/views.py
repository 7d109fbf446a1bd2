"""Listing, editing, moving, hiding, pinning, deleting and restoring messages."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from flask import Blueprint
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from database.history import editing, reading
from database.messages.message import MAX_MESSAGE_CHARS, message_shape
from database.sharing import copying
from endpoints.conversations import views as conversation_models
from endpoints.http.languages import translated
from endpoints.http.models import LARGEST_NUMBER, Body, Done, Id, Query, Shape, Text, _not_blank
from endpoints.http.scope import current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works


class MessageWindow(Query):
    """Which messages: before, after or around an index (around also an id or a hash); without any, all."""

    before: Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None = None
    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None = None
    around: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None

    @model_validator(mode="after")
    def _one_window(self) -> MessageWindow:
        if self.around is not None and (self.before is not None or self.after is not None):
            raise ValueError("around stands alone")
        return self


class TextToFind(Query):
    """The text that is looked for, in upper or lower case; nothing holds an empty one."""

    q: Annotated[Text, Field(max_length=1000)] = ""


class FoundMessage(Shape):
    """A message that holds the text."""

    message_id: str
    message_index: int


class FoundMessages(Shape):
    """Messages that hold the text, in order. `total` counts all; `messages` are the newest 1,000 of them."""

    messages: list[FoundMessage]
    total: int


class MessageEdit(Body):
    """The message's new text. `based_on`: its text when editing began; if that has changed, the edit is refused."""

    text: Annotated[Text, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(lambda text: _not_blank(text) and text)]
    based_on: Text | None = None


class MessageVisibility(Body):
    """Whether models see the message."""

    show_hide: Literal["show", "hide"]


class MessageMove(Body):
    """Messages to move together by one place."""

    message_ids: Annotated[list[Id], Field(min_length=1, max_length=10_000)]
    direction: Literal["up", "down"]


class VariantItem(Shape):
    """One of the answers that a model gave to the same question; of those, the message has the chosen one's text."""

    number: int
    status: str
    created_at: str
    model: str | None
    chosen: bool


class PartItem(Shape):
    """What a message has beside its text: `thinking`, `notice`, `tool_call`, `file` or `image`.

    `at` says how many characters of the text come before it. Further fields are those of the kind; thinking and notices
    have a `text`.
    """

    model_config = ConfigDict(extra="allow")
    id: int
    kind: str
    at: int


class BranchNumber(Shape):
    """Of a question that others were asked in the place of: which one of how many it is."""

    number: int
    count: int


class AgentIdentity(Shape):
    """The agent that gave an answer, with the title that it had then."""

    id: str
    title: str


class MessageItem(Shape):
    """A message of a conversation. `source_agent_id`, `source_agent_title`: of the agent that asked, if one did.

    `usage`: what an answer took, as the event of its stream told it; null where that is not known.
    """

    message_id: str
    text: str
    sender: str
    user_id: str
    conversation_id: str
    message_short_hash: str | None
    message_index: int
    short_id: str
    reply_to_id: str | None
    thread_id: str | None
    created_at: str
    status: str
    show_hide: str
    config: dict[str, Any]
    references: list[dict[str, Any]]
    document_references: list[dict[str, Any]]
    backlink_count: int
    variants: list[VariantItem]
    parts: list[PartItem]
    pinned_at: str | None
    edited_at: str | None
    branch: BranchNumber | None
    agent: AgentIdentity | None
    source_agent_id: str | None
    source_agent_title: str | None
    usage: dict[str, Any] | None


class EarlierText(Shape):
    """An earlier text of a message."""

    text: str
    replaced_at: str


class PinnedMessage(Shape):
    """A pinned message of a conversation."""

    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    pinned_at: str


blueprint = Blueprint("messages", __name__)
_MOST_FOUND = 1_000


@blueprint.get("/list_messages_by_conversation/<conversation_id>")
@asks(MessageWindow)
@answers(list[MessageItem])
@fails("message_not_found")
def list_messages_by_conversation(conversation_id: str, query: MessageWindow) -> object:
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
@asks(TextToFind)
@answers(FoundMessages)
@works(Work.SEARCH)
def find_in_conversation(conversation_id: str, query: TextToFind) -> object:
    """The messages of one conversation that hold a text exactly, but for upper and lower case."""
    found = reading.find_text(**current_user_scope(), conversation_id=conversation_id, text=query.q, most=_MOST_FOUND)
    messages = [{"message_id": message_id, "message_index": index} for message_id, index in found.places]
    return {"messages": messages, "total": found.total}


@blueprint.post("/edit_message_from_conversation/<conversation_id>/<message_id>/<int:index>")
@takes(MessageEdit)
@answers(Done)
@fails("conflict", "turn_in_progress")
def edit_message(conversation_id: str, message_id: str, index: int, body: MessageEdit) -> None:
    """Change a message's text; its hash stays, its history is kept. 409 if index or `based_on` no longer match."""
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
@takes(MessageVisibility)
@answers(Done)
@fails("conflict", "turn_in_progress")
def show_hide_message(conversation_id: str, message_id: str, index: int, body: MessageVisibility) -> None:
    """Hide a message from models, or show it to them again. 409 if the index no longer matches the id."""
    editing.show_or_hide_message(
        **current_user_scope(),
        conversation_id=conversation_id,
        message_id=message_id,
        index=index,
        show_hide=body.show_hide,
    )


@blueprint.get("/messages/<message_id>/edits")
@answers(list[EarlierText])
def list_edits(message_id: str) -> object:
    """The earlier texts of an edited message, oldest first."""
    return editing.edits_of(**current_user_scope(), message_id=message_id)


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
@answers(list[PinnedMessage])
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
@takes(MessageMove)
@answers(Done)
@fails("conflict", "turn_in_progress")
def move_messages(conversation_id: str, body: MessageMove) -> None:
    """Move messages together by one place."""
    editing.move_messages(
        **current_user_scope(), conversation_id=conversation_id, message_ids=body.message_ids, direction=body.direction
    )
