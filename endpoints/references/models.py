"""Request and response models of references."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from endpoints.http.models import Model, Query, Shape


class ConversationSearch(Query):
    """What was typed of a friendly id or title."""

    q: Annotated[str, Field(max_length=500)] = ""
    domain: Annotated[str, Field(max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    with_unnamed: Annotated[
        bool, Field(description="Also those without a friendly id, to which nothing can refer: new and empty ones.")
    ] = False


class MessageSearch(Query):
    """Words to find; none: the newest messages."""

    q: Annotated[str, Field(max_length=2_000)] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class ReferenceQuestion(Query):
    """A reference as typed, read as in a message; its "@" may be missing.

    conversation_id: where; a `#id` is looked up there first.
    """

    ref: Annotated[str, Field(min_length=1, max_length=400)]
    conversation_id: Annotated[str, Field(max_length=400)] | None = None


class SuggestionSearch(Query):
    """What was typed behind an "@", or what begins with two brackets (documents) or a "#" (activities).

    `conversation_id`: where it is typed; activities of this conversation and of its threads come first. `without`:
    kinds that are not wanted, with commas between.
    """

    q: Annotated[str, Field(max_length=500)] = ""
    without: Annotated[str, Field(max_length=400)] = ""
    conversation_id: Annotated[str, Field(max_length=400)] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class Suggestion(Shape):
    """Something that was perhaps meant. `reference`: what to write behind the "@"; of an activity with its "#"."""

    kind: str
    reference: str
    title: str
    icon: str


class ConversationHit(Shape):
    """A conversation that fits what was typed."""

    friendly_id: str
    title: str
    conversation_id: str
    last_updated: str


class FileHit(Shape):
    """A file of a message: which one it is, from 1."""

    number: int
    name: str


class MessageHit(Shape):
    """A message to refer to, and its files."""

    index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    files: list[FileHit]


class Backlink(Shape):
    """A message that refers to this one."""

    message_id: str
    conversation_id: str
    conversation_friendly_id: str | None
    title: str
    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    created_at: str


class ReportItem(Model):
    """A reference and its fate."""

    model_config = ConfigDict(extra="allow")
    ref: str
    kind: str
    status: str


class ResolvedItem(ReportItem):
    """A reference, its fate, the icon of its kind, and where the page shows what it names (a path); null for none."""

    icon: str | None
    permalink: str | None
