"""Accepting a turn: a message that was just written, or a stored one that shall be answered again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conversation_reference_utils import parse_references
from database.stored_text import storable
from database.turn_identity import AcceptedTurn

from .choosing import ChosenModel, chosen_model
from .errors import EmptyMessageError, MessageTooLongError
from .histories import History
from .ports import TurnServices
from .preferences import Preferences, preferences_of
from .services import default_services
from .turn import MAX_MESSAGE_CHARS, Turn, named_references

ANSWER_AGAIN = "_answer_again"
"""The field of a query that names the answer (message_id) to be made again; only the server sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Means:
    """What a turn is answered with, whatever it asks."""

    services: TurnServices
    chosen: ChosenModel
    preferences: Preferences


def accept(query: Mapping[str, Any], history: History, *, user_email: str) -> Turn:
    """Store what `query`, which is `user_email`'s, asks, and begin its answer.

    Raises EmptyMessageError, MessageTooLongError, and what `history` raises.
    """
    if query.get(ANSWER_AGAIN):
        return _accept_again(query, history, user_email=user_email)
    text = storable(query.get("messageText", ""))
    if len(text) > MAX_MESSAGE_CHARS:
        raise MessageTooLongError(limit=MAX_MESSAGE_CHARS)
    if not text.strip():
        raise EmptyMessageError
    means = _means(query, history, user_email=user_email)
    accepted = history.accept(
        text=text,
        config={"checkboxes": dict(query.get("checkboxes") or {})},
        reply_to=query.get("reply_to"),
        thread_id=query.get("thread_id"),
        model_name=means.chosen.model.name,
        client_message_id=query.get("client_message_id"),
    )
    return _turn(query, accepted, means, text=text)


def _accept_again(query: Mapping[str, Any], history: History, *, user_email: str) -> Turn:
    """The stored question with what it was asked with: its references, its switches, the memories attached to it."""
    means = _means(query, history, user_email=user_email)
    accepted = history.accept_again(
        str(query[ANSWER_AGAIN]),
        model_name=means.chosen.model.name,
        client_message_id=query.get("client_message_id"),
    )
    named = parse_references(" ".join(str(entry["ref"]) for entry in accepted.report))
    memories = accepted.answer_config.get("memories") or ()
    query = {
        **query,
        "checkboxes": accepted.question_config.get("checkboxes") or {},
        "referenced_friendly_ids": named.friendly_ids,
        "referenced_claim_ids": named.claim_ids,
        "attached_claim_ids": [memory["claim_id"] for memory in memories if memory["source"] == "attached"],
    }
    return _turn(query, accepted, means, text=accepted.text)


def _means(query: Mapping[str, Any], history: History, *, user_email: str) -> _Means:
    # All that can fail comes before a turn is accepted: one that is, has to be finished.
    services: TurnServices = query.get("_services") or default_services()
    return _Means(
        services=services,
        chosen=chosen_model(query, history.metadata()["conversation_settings"], services=services),
        preferences=preferences_of(user_email, users_dir=history.users_dir or query.get("_users_dir")),
    )


def _turn(query: Mapping[str, Any], accepted: AcceptedTurn, means: _Means, *, text: str) -> Turn:
    references, claim_ids = named_references(query, text)
    notice = means.chosen.notice
    return Turn(
        accepted=accepted,
        text=text,
        references=references,
        claim_ids=claim_ids,
        services=means.services,
        model=means.chosen.model,
        query=query,
        loader=query.get("_conversation_loader"),
        preferences=means.preferences,
        has_own_model=means.chosen.is_own,
        answer_tokens=means.chosen.answer_tokens,
        notice=notice,
        config={"notice": notice} if notice else {},
    )
