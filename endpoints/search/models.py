"""Request and response models of the search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from endpoints.http.models import Query, Shape, Text, Warned
from endpoints.pkb.responses import ClaimItem
from search.messages import Mode
from search.query import require_day
from search.things.kinds import KINDS


def _kind(name: str) -> str:
    if name not in {*KINDS, _ALL}:
        raise ValueError(f"no kind of thing: use {', '.join([*KINDS, _ALL])}")
    return name


def _name_kinds(schema: dict[str, Any]) -> None:
    schema["enum"] = [*KINDS, _ALL]


_ALL = "all"
Day = Annotated[str, Field(max_length=10, examples=["2026-02-08"]), AfterValidator(require_day)]


class Search(Query):
    """What to find.

    The other fields are the same filters as those in `q`, and go before them. A friendly id or a reference alone finds
    first what it leads to. `mode`: "words" finds what says every word, "meaning" what says or means what is asked;
    "auto" asks by meaning where the query is a question or a sentence, or keywords that find little, and quotes
    nothing.
    """

    q: Annotated[
        Text,
        Field(
            max_length=2_000,
            description='Words, "phrases", `-without`, `sender:`, `in:`, `before:`, `after:`; or a reference.',
        ),
    ] = ""
    kind: Annotated[
        str,
        Field(json_schema_extra=_name_kinds, description="Only things of this kind, or `all`."),
        AfterValidator(_kind),
    ] = "all"
    mode: Annotated[Mode, Field(description="By `words`, by `meaning`, or as fits what is asked (`auto`).")] = "auto"
    conversation: Annotated[
        Annotated[Text, Field(min_length=1, max_length=400)] | None,
        Field(description="Only within this conversation: its friendly id or its id."),
    ] = None
    sender: Annotated[
        Literal["user", "model"] | None, Field(description="Only messages of the person, or of models.")
    ] = None
    before: Annotated[Day | None, Field(description="Only what was written before this day.")] = None
    after: Annotated[Day | None, Field(description="Only what was written after this day.")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="How many results at most.")] = 20
    cursor: Annotated[
        Annotated[str, Field(max_length=40)] | None, Field(description="The `next` of the page before.")
    ] = None


class Found(Shape):
    """What every result has.

    `reference` leads there from any message, null where nothing has a name yet. `snippet` is plain text; `ranges` are
    the (begin, end) of what was sought, counted in characters (Unicode code points) of `snippet`.
    """

    reference: str | None
    title: str
    snippet: str
    ranges: list[tuple[int, int]]


class MessageResult(Found):
    """A message; `title` is that of its conversation."""

    kind: Literal["message"]
    conversation_id: str
    conversation_friendly_id: str | None
    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    created_at: str


class ConversationResult(Found):
    """A conversation by its name; `snippet` is its title."""

    kind: Literal["conversation"]
    conversation_id: str
    conversation_friendly_id: str
    last_updated: str


class MemoryResult(Found):
    """A memory; `snippet` is of its statement, `title` its readable id."""

    kind: Literal["memory"]
    claim: ClaimItem


class FileResult(Found):
    """A file of a message; `title` is its name, `number` which file of the message it is.

    `page`: the page that `snippet` is of; null for a format without pages, and for a file that its name found.
    """

    kind: Literal["file"]
    attachment_id: str
    number: int
    page: int | None
    conversation_id: str
    conversation_title: str
    conversation_friendly_id: str | None
    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str
    created_at: str


class DocumentResult(Found):
    """A document; `snippet` is of its text, or the name by which it was found.

    `path`: relative to the vault. `modified`: when its file was changed, in UTC.
    """

    kind: Literal["document"]
    path: str
    modified: str


class OtherResult(Found):
    """A thing of a kind that was added to `search.things.kinds.KINDS`, with the further fields of that kind."""

    kind: str


_Result = Annotated[
    MessageResult | ConversationResult | MemoryResult | FileResult | DocumentResult, Field(discriminator="kind")
]


class SearchResults(Warned):
    """Each kind best first: conversations, files, memories, documents, other things, messages.

    `next` is the cursor of the next page.
    """

    results: list[Annotated[_Result | OtherResult, Field(union_mode="left_to_right")]]
    next: str | None
