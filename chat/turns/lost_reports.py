"""The reports of turns that broke off before they could tell what became of their references."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from chat.context.gather import resolve_report, unresolved
from chat.exchange.documents import wikilinks_of
from chat.exchange.files import AttachedFiles, files_attached_to
from chat.exchange.ports import ConversationLoader, TurnServices
from conversation_reference_utils import ParsedReferences, parse_references
from database.agents.repository import find_agents
from database.conversations.repository import get_conversation
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.history.reading import message_by_id
from database.turns.closing import AbandonedTurn
from language_models.ports import ChatModel
from sentences import say

from .accept import chosen_model, model_or_main

log = logging.getLogger(__name__)
_UNKNOWN = say("lookup_fault_after_stop")


def lost_report(
    turn: AbandonedTurn,
    *,
    database: Database,
    loader_for: Callable[[str], ConversationLoader],
    services: TurnServices,
) -> list[dict[str, Any]]:
    """What the references and the files of a question mean now, to the model that would answer it now.

    That model is the one of the agent that was to answer, else that of the conversation. Raises nothing: references
    that can't be looked up are unavailable.
    """
    named = parse_references(turn.question or "")
    links = wikilinks_of(turn.question or "") if services.vaults is not None else []
    references = [*named.friendly_ids, *links]
    try:
        return _report(turn, named, references, database=database, load=loader_for(turn.user_email), services=services)
    except Exception:  # a server must start, and a turn end, whatever became of what it refers to
        log.exception("the references of an interrupted turn could not be looked up")
        return unresolved(references, named.claim_ids, note=_UNKNOWN).report_dicts()


def _report(
    turn: AbandonedTurn,
    named: ParsedReferences,
    references: list[str],
    *,
    database: Database,
    load: ConversationLoader,
    services: TurnServices,
) -> list[dict[str, Any]]:
    files = AttachedFiles()
    if turn.in_answer_to is not None:
        own = {"conversation_id": turn.conversation_id, "user_email": turn.user_email}
        files = files_attached_to(turn.in_answer_to, **own, database=database, services=services)

    @cache
    def models() -> list[ChatModel]:
        return [_model_of(turn, database=database, services=services)]

    if not (references or named.claim_ids or files.files):
        return []
    report = resolve_report(
        references,
        claim_ids=named.claim_ids,
        user_email=turn.user_email,
        database=database,
        loader=load,
        services=services,
        here=turn.conversation_id,
        room=files.room_for_pictures(models),
    )
    told = files.report(models(), cap=services.file_cap) if files.files else []
    return [*report, *(entry.as_dict() for entry in told)]


def _model_of(turn: AbandonedTurn, *, database: Database, services: TurnServices) -> ChatModel:
    where: dict[str, Any] = {
        "database": database,
        "user_email": turn.user_email,
        "conversation_id": turn.conversation_id,
    }
    try:
        settings = get_conversation(**where).settings
        answer = message_by_id(**where, message_id=turn.message_id)
    except ConversationNotFoundError:  # it is in the bin
        return services.models.main()
    answered_by = answer.config.get("agent") if answer is not None else None
    if isinstance(answered_by, Mapping):
        agent_id = str(answered_by.get("id"))
        agent = find_agents(database=database, user_email=turn.user_email, names=[agent_id]).get(agent_id)
        if agent is not None and agent.model:
            return model_or_main(agent.model, services=services).model
    return chosen_model({}, settings, services=services).model
