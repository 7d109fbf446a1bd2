"""Accepting a turn: a message that was just written, or a stored one that shall be answered again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conversation_reference_utils import parse_references
from database.stored_text import storable

from .choosing import chosen_model
from .errors import EmptyMessageError, MessageTooLongError
from .histories import History
from .ports import TurnServices
from .services import default_services
from .turn import MAX_MESSAGE_CHARS, Turn, named_references

ANSWER_AGAIN = "_answer_again"
"""The field of a query that names the answer (message_id) to be made again; only the server sets it."""


def accept(query: Mapping[str, Any], history: History) -> Turn:
    """Store what `query` asks, and begin its answer.

    Raises EmptyMessageError, MessageTooLongError, and what `history` raises.
    """
    if query.get(ANSWER_AGAIN):
        return _accept_again(query, history)
    text = storable(query.get("messageText", ""))
    if len(text) > MAX_MESSAGE_CHARS:
        raise MessageTooLongError(limit=MAX_MESSAGE_CHARS)
    if not text.strip():
        raise EmptyMessageError
    services: TurnServices = query.get("_services") or default_services()
    chosen = chosen_model(query, history.metadata()["conversation_settings"], services=services)
    accepted = history.accept(
        text=text,
        config={"checkboxes": dict(query.get("checkboxes") or {})},
        reply_to=query.get("reply_to"),
        thread_id=query.get("thread_id"),
        model_name=chosen.model.name,
    )
    references, claim_ids = named_references(query, text)
    return Turn(
        accepted=accepted,
        text=text,
        references=references,
        claim_ids=claim_ids,
        services=services,
        model=chosen.model,
        query=query,
        loader=query.get("_conversation_loader"),
        has_own_model=chosen.is_own,
        notice=chosen.notice,
        config={"notice": chosen.notice} if chosen.notice else {},
    )


def _accept_again(query: Mapping[str, Any], history: History) -> Turn:
    """The stored question with what it was asked with: its references, its switches, the memories attached to it."""
    services: TurnServices = query.get("_services") or default_services()
    chosen = chosen_model(query, history.metadata()["conversation_settings"], services=services)
    accepted = history.accept_again(str(query[ANSWER_AGAIN]), model_name=chosen.model.name)
    named = parse_references(" ".join(str(entry["ref"]) for entry in accepted.report))
    memories = accepted.answer_config.get("memories") or ()
    query = {
        **query,
        "checkboxes": accepted.question_config.get("checkboxes") or {},
        "referenced_friendly_ids": named.friendly_ids,
        "referenced_claim_ids": named.claim_ids,
        "attached_claim_ids": [memory["claim_id"] for memory in memories if memory["source"] == "attached"],
    }
    references, claim_ids = named_references(query, accepted.text)
    return Turn(
        accepted=accepted,
        text=accepted.text,
        references=references,
        claim_ids=claim_ids,
        services=services,
        model=chosen.model,
        query=query,
        loader=query.get("_conversation_loader"),
        has_own_model=chosen.is_own,
        notice=chosen.notice,
        config={"notice": chosen.notice} if chosen.notice else {},
    )
