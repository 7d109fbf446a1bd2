"""Request and response models of messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from endpoints.http.models import LARGEST_NUMBER, Body, Id, Query, Shape, Text, _not_blank


class MessageWindow(Query):
    """Which messages; without a field, all of them."""

    before: Annotated[
        Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None, Field(description="Only messages before this index.")
    ] = None
    after: Annotated[
        Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None, Field(description="Only messages after this index.")
    ] = None
    around: Annotated[
        Annotated[str, Field(min_length=1, max_length=64)] | None,
        Field(description="The messages around this one: its index, id or short hash."),
    ] = None
    limit: Annotated[Annotated[int, Field(ge=1, le=10_000)] | None, Field(description="How many messages at most.")] = (
        None
    )

    @model_validator(mode="after")
    def _one_window(self) -> MessageWindow:
        if self.around is not None and (self.before is not None or self.after is not None):
            raise ValueError("around stands alone")
        return self


class TextToFind(Query):
    """The text that is looked for, in upper or lower case; nothing holds an empty one."""

    q: Annotated[Text, Field(max_length=1000, description="The text to find, in upper or lower case.")] = ""


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

    text: Annotated[Text, AfterValidator(lambda text: _not_blank(text) and text)]
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
    """Of a question that others were asked in the place of: which one it is of how many of which something is left.

    Where the question was deleted, and what followed it was not, the next message of the list has it.
    """

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


class VariantAnswer(VariantItem):
    """One of the answers to the same question, with what it says."""

    text: str
    parts: list[PartItem]


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
