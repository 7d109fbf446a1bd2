"""Who answers a message: the agents that it names, else that of the conversation, else the conversation's own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.exchange.ports import TurnServices
from chat.exchange.services import default_services
from chat.exchange.turn import MOST_ANSWERERS, Answerer
from chat.turns.accept import (
    AGENT_CHAIN,
    ANSWER_AGAIN,
    ANSWERERS,
    ASKED_INSTEAD_OF,
    NOTIFIED,
    ChosenModel,
    chosen_model,
    model_or_main,
)
from chat.turns.history import History
from conversation_reference_utils import AGENT_PREFIX, mentioned_agents
from database.agents.repository import Agent, find_agents
from database.connection import database_of
from database.engine.database import Database
from database.engine.text import storable
from sentences import NOTHING, Sentence, say

Query = Mapping[str, Any]


def with_answerers(query: Query, history: History, *, user_email: str) -> Query:
    """`query` with those who answer it; unchanged where that is the conversation's own model.

    `query["agents"]` (ids or slugs) comes before what the text names. Each is also among the references, so that the
    report tells of it.
    """
    if query.get(ANSWERERS):
        return query
    database = history.database or database_of(query.get("_users_dir"))
    if database is None:
        return query
    if query.get(ANSWER_AGAIN):
        return _as_answered_before(query, history, database=database, user_email=user_email)
    if query.get(ASKED_INSTEAD_OF):
        query = {**query, "agents": history.config_of(query[ASKED_INSTEAD_OF]).get("agents") or ()}
    named = [storable(name) for name in query.get("agents") or ()]
    asked = [*named, *mentioned_agents(storable(query.get("messageText", "")))]
    if query.get(AGENT_CHAIN):
        asked = []  # the agent that was asked answers, whomever the question names
    if not asked and history.agent_id is None:
        return query
    meant = _meant(asked, history.agent_id, database=database, user_email=user_email)
    # Nobody waits for later in a question of an agent, or where nothing is kept.
    can_wait = not query.get(AGENT_CHAIN) and not history.metadata()["stateless"]
    later = [agent for agent in meant if agent.service == "later"] if can_wait else []
    answering = [agent for agent in meant if agent not in later][:MOST_ANSWERERS]
    references = [*(f"{AGENT_PREFIX}{name}" for name in named), *query.get("referenced_friendly_ids", ())]
    return {
        **query,
        "referenced_friendly_ids": references,
        ANSWERERS: _answerers(answering, query, history) if answering else _waiting(later, query, history),
        NOTIFIED: [agent.agent_id for agent in later],
    }


def _meant(asked: Sequence[str], own: str | None, *, database: Database, user_email: str) -> list[Agent]:
    """The agents that are meant: the known ones of `asked`, each once, else the agent `own` of the conversation."""
    wanted = {*asked, own} - {None}
    found = find_agents(database=database, user_email=user_email, names={name for name in wanted if name})
    named = {found[name].agent_id: found[name] for name in asked if name in found}
    return list(named.values()) or ([found[own]] if own in found else [])


def _waiting(later: Sequence[Agent], query: Query, history: History) -> list[Answerer]:
    """Where all agents that are meant answer later: the first of them, who says so; nobody where none is meant."""
    if not later:
        return []
    notice = say("agents_later", agents=", ".join(agent.title for agent in later))
    return [replace(_answerer(later[0], query, history, notice=notice), waits=True)]


def _answerers(answering: Sequence[Agent], query: Query, history: History) -> list[Answerer]:
    if len(answering) > 1 and history.metadata()["stateless"]:
        notice = say("agent_alone", agent=answering[0].title)
        return [_answerer(answering[0], query, history, notice=notice)]
    return [_answerer(agent, query, history) for agent in answering]


def _answerer(agent: Agent, query: Query, history: History, *, notice: Sentence = NOTHING) -> Answerer:
    chosen = _model_of(agent, query, history)
    return Answerer(
        model=chosen.model,
        agent=agent.identity,
        system_prompt=instructions(agent),
        tools=agent.enabled_tools,
        has_own_model=chosen.is_own,
        notice=notice or chosen.notice,
    )


def instructions(agent: Agent) -> str:
    """What the agent is told first; "" for the server's own instructions."""
    return f"You are {agent.title}.\n\n{agent.system_prompt}" if agent.system_prompt.strip() else ""


def _model_of(agent: Agent, query: Query, history: History) -> ChosenModel:
    """The agent's own model; without one, that of the message or the conversation."""
    services: TurnServices = query.get("_services") or default_services()
    if agent.model and not (query.get(ANSWER_AGAIN) and query.get("model")):
        return model_or_main(agent.model, services=services, agent=agent.title)
    return chosen_model(query, history.metadata()["conversation_settings"], services=services)


def _as_answered_before(query: Query, history: History, *, database: Database, user_email: str) -> Query:
    """An answer is made again by the agent that gave it; where that is gone, by a model, and the person is told."""
    before = history.config_of(str(query[ANSWER_AGAIN])).get("agent")
    if not isinstance(before, Mapping):
        return query
    agent_id = str(before.get("id"))
    agent = find_agents(database=database, user_email=user_email, names=[agent_id]).get(agent_id)
    if agent is not None:
        return {**query, ANSWERERS: [_answerer(agent, query, history)]}
    services: TurnServices = query.get("_services") or default_services()
    model = chosen_model(query, history.metadata()["conversation_settings"], services=services).model
    notice = say("agent_gone", agent=str(before.get("title")), instead=model.name)
    return {**query, ANSWERERS: [Answerer(model=model, notice=notice)]}
