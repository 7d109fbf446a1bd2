"""Request and response models of turns."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from endpoints.conversations.models import TurnOptions
from endpoints.http.models import (
    LARGEST_NUMBER,
    Body,
    ClientId,
    Done,
    Id,
    JsonObject,
    Model,
    Query,
    References,
    Shape,
    Text,
)

MOST_FILES = 20
_SWITCHES = ("use_documents", "use_pkb")


def _known_switches(switches: dict[str, JsonValue]) -> dict[str, JsonValue]:
    wrong = [name for name in _SWITCHES if not isinstance(switches.get(name, True), bool)]
    if wrong:
        raise ValueError(f"{wrong[0]} is true or false")
    return switches


Switches = Annotated[
    JsonObject,
    AfterValidator(_known_switches),
    Field(json_schema_extra={"properties": {name: {"type": "boolean"} for name in _SWITCHES}}),
]
"""What a message switches off; names that we don't know are kept with it."""


class Outgoing(Model):
    """A message to the model. Fields we don't know are ignored; what only the server may say can't be said here.

    `checkboxes`: `use_pkb`, whether memories are searched, and `use_documents`, whether `[[links]]` are followed; both
    are true or false, and true unless told. `options`: override those of the conversation for this turn; null: as if
    the conversation had none. `agents`: ids or slugs of the agents that answer, one after the other, with those that
    the text names. `files`: ids of attachments; a message that has some may be without a text, others may not,
    whatever they refer to beside it.
    """

    model_config = ConfigDict(extra="ignore", strict=True)
    messageText: Text  # noqa: N815 - clients exist
    checkboxes: Switches = Field(default_factory=dict)
    referenced_friendly_ids: References = Field(default_factory=list)
    referenced_claim_ids: References = Field(default_factory=list)
    attached_claim_ids: References = Field(default_factory=list)
    agents: Annotated[list[Id], Field(max_length=100)] = Field(default_factory=list)
    files: Annotated[list[Id], Field(max_length=MOST_FILES)] = Field(default_factory=list)
    reply_to: Id | None = None
    thread_id: Id | None = None
    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientId | None = None
    options: TurnOptions = Field(default_factory=TurnOptions)


class Repetition(Body):
    """Which model makes an answer again; null: the one that the conversation has chosen, else the main one."""

    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientId | None = None


class Alternative(Body):
    """A question in the place of another."""

    text: Text
    client_message_id: ClientId | None = None


class BranchItem(Shape):
    """One of the questions that stand in the same place, counted from 1 among those of which something is left.

    `preview`: of the question; where it was deleted, of the first message that is left behind it.
    """

    number: int
    message_id: str
    message_short_hash: str | None
    preview: str
    created_at: str


class BranchingItem(Shape):
    """A place where branches begin. `message_id`: the question that stood there first.

    `branch_id`: the branch that it lies in, named by the question that begins that one; null for the first branch.
    `chosen`: 0 where nothing is left of the chosen one.
    """

    message_id: str
    branch_id: str | None
    chosen: int
    branches: list[BranchItem]


class ConversationUsage(Shape):
    """What the answers of a conversation took, with other branches and variants.

    `answers` counts those whose tokens are known; `cost` is the amount by currency ("USD"), of models with a price.
    """

    answers: int
    prompt_tokens: int
    completion_tokens: int
    cost: dict[str, float]


class StreamPosition(Query):
    """The number of the last event that the caller has."""

    after: Annotated[
        int, Field(ge=0, le=LARGEST_NUMBER, description="The `seq` of the last event that the caller has.")
    ] = 0


class Cancelled(Done):
    """Whether there was an answer to stop."""

    cancelled: bool
