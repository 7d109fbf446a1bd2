"""Request and response models of references."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from endpoints.http.models import Model, Query, Shape


class ConversationSearch(Query):
    """What was typed of a friendly id or title."""

    q: Annotated[str, Field(max_length=500, description="What was typed of a friendly id or a title.")] = ""
    domain: Annotated[
        Annotated[str, Field(max_length=64)] | None, Field(description="Only conversations of this domain.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="How many conversations at most.")] = 10
    with_unnamed: Annotated[
        bool, Field(description="Also those without a friendly id, to which nothing can refer: new and empty ones.")
    ] = False


class MessageSearch(Query):
    """Words to find; none: the newest messages."""

    q: Annotated[str, Field(max_length=2_000, description="Words to find; else the newest messages are listed.")] = ""
    limit: Annotated[int, Field(ge=1, le=100, description="How many messages at most.")] = 20


class ReferenceQuestion(Query):
    """A reference, read as in a message."""

    ref: Annotated[
        str,
        Field(
            min_length=1, max_length=400, description="The reference as typed in a message; its `@` may be left out."
        ),
    ]
    conversation_id: Annotated[
        Annotated[str, Field(max_length=400)] | None,
        Field(description="The conversation in which it is typed: a `#id` is looked up there first."),
    ] = None


class SuggestionSearch(Query):
    """What may be completed to a reference."""

    q: Annotated[
        str,
        Field(
            max_length=500,
            description="What was typed behind an `@`, or what begins with `[[` (documents) or `#` (activities).",
        ),
    ] = ""
    without: Annotated[
        str, Field(max_length=400, description="Kinds that are not wanted, with commas between them.")
    ] = ""
    conversation_id: Annotated[
        Annotated[str, Field(max_length=400)] | None,
        Field(description="The conversation in which it is typed: its activities come first."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=100, description="How many things of each kind at most.")] = 10


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
    """A message that refers to this message or conversation."""

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
