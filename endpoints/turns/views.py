"""Saying something and hearing the answer: sent, made again, watched again, stopped."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from flask import Blueprint
from pydantic import ConfigDict, Field

from chat.turns.accept import ANSWER_AGAIN, ASKED_INSTEAD_OF, CONTINUED, REQUEST_ID
from database.conversations.repository import FIELD as PINNED
from database.history import branches, usage
from database.turns import variants
from endpoints.conversations.views import TurnOptions
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
from endpoints.http.scope import (
    access_conversation,
    allowed_models,
    check_model,
    conversation_loader,
    current_state,
    current_user_email,
    current_user_scope,
    request_id,
)
from endpoints.http.streams import NDJSON, StreamResponse, stream_response
from endpoints.http.validation import answers, asks, fails, opens_conversation, takes
from endpoints.serving.work_queues import Work, works

if TYPE_CHECKING:
    from Conversation import Conversation


MOST_FILES = 20


class Outgoing(Model):
    """A message to the model. Fields we don't know are ignored; what only the server may say can't be said here.

    `options`: override those of the conversation for this turn; null: as if the conversation had none. `agents`: ids or
    slugs of the agents that answer, one after the other, with those that the text names. `files`: ids of attachments;
    a message that has some may be without a text.
    """

    model_config = ConfigDict(extra="ignore", strict=True)
    messageText: Text  # noqa: N815 - clients exist
    checkboxes: JsonObject = Field(default_factory=dict)
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
    """One of the questions that stand in the same place, counted from 1."""

    number: int
    message_id: str
    message_short_hash: str | None
    preview: str
    created_at: str


class BranchingItem(Shape):
    """A place where branches begin. `message_id`: the question that stood there first.

    `branch_id`: the branch that it lies in, named by the question that begins that one; null for the first branch.
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

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] = 0


class Cancelled(Done):
    """Whether there was an answer to stop."""

    cancelled: bool


blueprint = Blueprint("turns", __name__)
_OF_A_TURN = (
    "conflict",
    "model_not_allowed",
    "quota_reached",
    "shutting_down",
    "stream_elsewhere",
    "stream_expired",
    "too_many_turns",
    "turn_in_progress",
)
"""What keeps any turn from beginning."""


@blueprint.post("/send_message/<conversation_id>")
@opens_conversation
@takes(Outgoing)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN, "attachment_not_found", "thread_mismatch")
def send_message(conversation_id: str, body: Outgoing) -> StreamResponse:
    """Send a message; the answer's events follow as they come.

    409 `turn_in_progress` while another is answered, 403 `model_not_allowed` for a model that the operator does not
    allow, 429 `too_many_turns` where the person has as many answers written at once as one may, 429 `quota_reached`
    where the person has used what they may use within a day or a month.
    """
    conversation = access_conversation(conversation_id)
    check_model(body.model)
    return stream_response(current_state().turns.start(conversation, turn_query(conversation, body)))


@blueprint.post("/regenerate/<conversation_id>/<message_id>")
@opens_conversation
@takes(Repetition, optional=True)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def regenerate(conversation_id: str, message_id: str, body: Repetition) -> StreamResponse:
    """Make an answer again, as a further variant; its events follow as they come. 409 `turn_in_progress` as above."""
    conversation = access_conversation(conversation_id)
    check_model(body.model)
    return stream_response(current_state().turns.start(conversation, turn_query(conversation, body, again=message_id)))


@blueprint.post("/continue/<conversation_id>/<message_id>")
@opens_conversation
@takes(Repetition, optional=True)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def continue_answer(conversation_id: str, message_id: str, body: Repetition) -> StreamResponse:
    """Let an answer that was cut go on where it stopped; the events give the whole answer, from its first words.

    It becomes a further variant of the same message, so that the shorter answer is not lost. 409 `turn_in_progress` as
    above.
    """
    conversation = access_conversation(conversation_id)
    check_model(body.model)
    query = turn_query(conversation, body, again=message_id) | {CONTINUED: True}
    return stream_response(current_state().turns.start(conversation, query))


@blueprint.put("/variant/<message_id>/<int:number>")
@answers(Done)
@fails("turn_in_progress", "variant_not_found")
def choose_variant(message_id: str, number: int) -> None:
    """Let an answer that was made again be another of its variants, counted from 1."""
    variants.choose_variant(**current_user_scope(), message_id=message_id, number=number)


@blueprint.post("/branch/<conversation_id>/<message_id>")
@opens_conversation
@takes(Alternative)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def branch(conversation_id: str, message_id: str, body: Alternative) -> StreamResponse:
    """Ask a question in the place of another one; the events of its answer follow as they come.

    The former question and what followed it stay, as another branch. 409 `turn_in_progress` as above.
    """
    conversation = access_conversation(conversation_id)
    asked = Outgoing(messageText=body.text, client_message_id=body.client_message_id)
    query = turn_query(conversation, asked) | {ASKED_INSTEAD_OF: message_id}
    return stream_response(current_state().turns.start(conversation, query))


@blueprint.put("/branch/<message_id>/<int:number>")
@answers(Done)
@fails("branch_not_found", "method_not_allowed", "turn_in_progress")
def choose_branch(message_id: str, number: int) -> None:
    """Go by another of the questions that stand in the same place, counted from 1: its branch is the active one.

    With something else than a number this is the address of `POST /branch`, which takes no PUT: 405.
    """
    branches.choose_branch(**current_user_scope(), message_id=message_id, number=number)


@blueprint.put("/branch/<message_id>")
@answers(Done)
@fails("turn_in_progress")
def choose_branch_with(message_id: str) -> None:
    """Let the branch that a message lies in be the active one, so that lists show the message."""
    branches.choose_branch_with(**current_user_scope(), message_id=message_id)


@blueprint.get("/branches/<conversation_id>")
@answers(list[BranchingItem])
def list_branches(conversation_id: str) -> object:
    """The places of a conversation where branches begin, and the questions that stand there."""
    return branches.list_branches(**current_user_scope(), conversation_id=conversation_id)


@blueprint.get("/usage/<conversation_id>")
@answers(ConversationUsage)
@works(Work.SEARCH)
def usage_of_conversation(conversation_id: str) -> object:
    """The tokens that all answers of a conversation took, and what they cost."""
    return asdict(usage.usage_of_conversation(**current_user_scope(), conversation_id=conversation_id))


@blueprint.get("/stream/<message_id>")
@asks(StreamPosition)
@answers(None, media=NDJSON)
@fails("stream_elsewhere", "stream_expired")
def watch_stream(message_id: str, query: StreamPosition) -> StreamResponse:
    """Watch an answer from the event after number `after` on, whether it is still being written or stored."""
    stream = current_state().turns.watch(user_email=current_user_email(), message_id=message_id, after=query.after)
    return stream_response(stream, after=query.after)


@blueprint.post("/cancel_response/<conversation_id>")
@answers(Cancelled)
def cancel_response(conversation_id: str) -> object:
    """Stop the answer that is being written; what was said stays."""
    conversation = access_conversation(conversation_id)
    stopped = current_state().turns.cancel(
        user_email=current_user_email(), conversation_id=conversation.conversation_id
    )
    return {"status": "ok", "cancelled": stopped}


def turn_query(conversation: Conversation, body: Outgoing | Repetition, *, again: str | None = None) -> dict[str, Any]:
    """What a conversation is asked with in the current request. again: the answer to be made again."""
    # Only fields that the schema names arrive here, so a client can't say any of the injected ones.
    state, given = current_state(), vars(body)
    options = given.get("options")
    return {
        **given,
        "options": None if options is None else options.model_dump(exclude_unset=True),
        ANSWER_AGAIN: again,
        REQUEST_ID: request_id(),
        "_users_dir": str(state.database.folder),
        "_services": replace(state.services, models=allowed_models()),
        "_conversation_loader": conversation_loader(current_user_email()),
        "conversation_pinned_claim_ids": conversation.get_field(PINNED) or [],
    }
