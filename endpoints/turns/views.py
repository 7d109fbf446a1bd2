"""Saying something and hearing the answer: sent, made again, watched again, stopped."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from flask import Blueprint

from chat.turns.accept import ANSWER_AGAIN, ASKED_INSTEAD_OF, CONTINUED, REQUEST_ID
from database.conversations.repository import FIELD as PINNED
from database.history import branches, usage
from database.turns import variants
from endpoints.http.models import Done
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

from . import models as turn_models

if TYPE_CHECKING:
    from Conversation import Conversation


blueprint = Blueprint("turns", __name__)
_OF_A_TURN = (
    "conflict",
    "message_not_found",
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
@takes(turn_models.Outgoing)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN, "attachment_not_found", "thread_mismatch")
def send_message(conversation_id: str, body: turn_models.Outgoing) -> StreamResponse:
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
@takes(turn_models.Repetition, optional=True)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def regenerate(conversation_id: str, message_id: str, body: turn_models.Repetition) -> StreamResponse:
    """Make an answer again, as a further variant; its events follow as they come. 409 `turn_in_progress` as above."""
    conversation = access_conversation(conversation_id)
    check_model(body.model)
    return stream_response(current_state().turns.start(conversation, turn_query(conversation, body, again=message_id)))


@blueprint.post("/continue/<conversation_id>/<message_id>")
@opens_conversation
@takes(turn_models.Repetition, optional=True)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def continue_answer(conversation_id: str, message_id: str, body: turn_models.Repetition) -> StreamResponse:
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
@takes(turn_models.Alternative)
@answers(None, media=NDJSON)
@fails(*_OF_A_TURN)
def branch(conversation_id: str, message_id: str, body: turn_models.Alternative) -> StreamResponse:
    """Ask a question in the place of another one; the events of its answer follow as they come.

    The former question and what followed it stay, as another branch. 409 `turn_in_progress` as above.
    """
    conversation = access_conversation(conversation_id)
    asked = turn_models.Outgoing(messageText=body.text, client_message_id=body.client_message_id)
    query = turn_query(conversation, asked) | {ASKED_INSTEAD_OF: message_id}
    return stream_response(current_state().turns.start(conversation, query))


@blueprint.put("/branch/<message_id>/<int:number>")
@answers(Done)
@fails("branch_not_found", "method_not_allowed", "turn_in_progress")
def choose_branch(message_id: str, number: int) -> None:
    """Go by another of the questions that stand in the same place, counted from 1: its branch is the active one.

    The id is that of any of them, also of a deleted one, or of the message that has `branch` in its place.
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
@answers(list[turn_models.BranchingItem])
def list_branches(conversation_id: str) -> object:
    """The places of a conversation where branches begin, and the questions that stand there."""
    return branches.list_branches(**current_user_scope(), conversation_id=conversation_id)


@blueprint.get("/usage/<conversation_id>")
@answers(turn_models.ConversationUsage)
@works(Work.SEARCH)
def usage_of_conversation(conversation_id: str) -> object:
    """The tokens that all answers of a conversation took, and what they cost."""
    return asdict(usage.usage_of_conversation(**current_user_scope(), conversation_id=conversation_id))


@blueprint.get("/stream/<message_id>")
@asks(turn_models.StreamPosition)
@answers(None, media=NDJSON)
@fails("stream_elsewhere", "stream_expired")
def watch_stream(message_id: str, query: turn_models.StreamPosition) -> StreamResponse:
    """Watch an answer from the event after number `after` on, whether it is still being written or stored."""
    stream = current_state().turns.watch(user_email=current_user_email(), message_id=message_id, after=query.after)
    return stream_response(stream, after=query.after)


@blueprint.post("/cancel_response/<conversation_id>")
@answers(turn_models.Cancelled)
def cancel_response(conversation_id: str) -> object:
    """Stop the answer that is being written; what was said stays."""
    conversation = access_conversation(conversation_id)
    stopped = current_state().turns.cancel(
        user_email=current_user_email(), conversation_id=conversation.conversation_id
    )
    return {"status": "ok", "cancelled": stopped}


def turn_query(
    conversation: Conversation, body: turn_models.Outgoing | turn_models.Repetition, *, again: str | None = None
) -> dict[str, Any]:
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
