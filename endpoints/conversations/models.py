"""Request and response models of conversations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, RootModel, model_validator

from database.conversations.bulk import Change, Fate
from endpoints.http.models import SETTINGS_BYTES, Body, Done, Id, JsonObject, Query, Shape, Text, Title


class ConversationPage(Query):
    """A page of the list; without a limit, the whole list."""

    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    cursor: Annotated[str, Field(max_length=1_000)] | None = None
    include_archived: bool = False
    archived_only: bool = False


class Archiving(Body):
    """Whether the conversation is in the archive."""

    archived: bool = True


class TitleChange(Body):
    """A title set by a user, which is never overwritten."""

    title: Title


class ConversationSettings(RootModel[JsonObject]):
    """Settings of one conversation: an object of at most 16 KB."""

    @model_validator(mode="after")
    def _not_huge(self) -> ConversationSettings:
        if len(self.model_dump_json()) > SETTINGS_BYTES:
            raise ValueError(f"settings take at most {SETTINGS_BYTES:,} bytes")
        return self


class ConversationItem(Shape):
    """A conversation in the list."""

    conversation_id: str
    user_id: str
    title: str
    summary_till_now: str
    domain: str
    flag: str
    last_updated: str
    created_at: str
    updated_at: str
    conversation_settings: dict[str, Any]
    conversation_friendly_id: str
    workspace_id: str
    workspace_name: str
    archived: bool
    stateless: bool
    pinned: bool
    temporary: bool
    message_count: int


class Emptied(Done):
    """How many conversations were permanently erased."""

    erased: int


class ConversationName(Shape):
    """The ids of a conversation."""

    conversation_id: str
    conversation_friendly_id: str


_MOST = 1_000
_VALUED = ("move", "flag")


class BulkChange(Body):
    """A change of many conversations. `value`: the workspace to "move" to, or the "flag" to set; else left out."""

    conversation_ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    change: Change
    value: Annotated[Text, Field(min_length=1, max_length=400)] | None = None

    @model_validator(mode="after")
    def _valued_where_it_has_to_be(self) -> BulkChange:
        if (self.change in _VALUED) != (self.value is not None):
            raise ValueError(f"{' and '.join(_VALUED)} take a value, the other changes take none")
        return self


class BulkResult(Shape):
    """The outcome for one conversation. `conflict`: it belongs to another domain than the workspace."""

    conversation_id: str
    status: Fate


class BulkResults(Shape):
    """One result for each id, in the order in which they were sent."""

    results: list[BulkResult]
