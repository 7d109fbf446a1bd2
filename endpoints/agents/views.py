"""A person's agents, and which of them answers in a conversation."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint

from activity.resolving import find_room
from database.agents import repository
from database.agents.repository import GLOBAL_SLUG, Agent, AgentRules
from database.conversations.repository import get_conversation
from database.engine.errors import ConversationNotFoundError
from endpoints.http.models import Done
from endpoints.http.scope import check_model, current_state, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.tools.views import current_tools

from . import models as agent_models

blueprint = Blueprint("agents", __name__)
_UNUSABLE = ("model_not_allowed", "recipe_not_found", "tool_not_found", "unknown_type")


@blueprint.get("/api/agents")
@answers(list[agent_models.AgentItem])
def list_agents() -> object:
    """Your agents: the Global Assistant first, the others by title."""
    return [_item(agent) for agent in repository.list_agents(**current_user_scope())]


@blueprint.post("/api/agents")
@takes(agent_models.AgentBody)
@answers(agent_models.AgentItem, status=HTTPStatus.CREATED)
@fails("ambiguous", "conflict", "conversation_not_found", *_UNUSABLE)
def create_agent(body: agent_models.AgentBody) -> object:
    """A new agent."""
    rules = _checked(body, known=AgentRules(title=body.title))
    return _item(repository.create_agent(**current_user_scope(), rules=rules))


@blueprint.get("/api/agents/<agent_id>")
@answers(agent_models.AgentItem)
def get_agent(agent_id: str) -> object:
    """One agent, by its id or its slug."""
    return _item(repository.get_agent(**current_user_scope(), agent=agent_id))


@blueprint.put("/api/agents/<agent_id>")
@takes(agent_models.AgentBody)
@answers(agent_models.AgentItem)
@fails("ambiguous", "conflict", "conversation_not_found", *_UNUSABLE)
def replace_agent(agent_id: str, body: agent_models.AgentBody) -> object:
    """Replace what an agent is; what is left out gets its default, the slug stays."""
    who = current_user_scope()
    known = repository.get_agent(**who, agent=agent_id)
    return _item(repository.replace_agent(**who, agent=agent_id, rules=_checked(body, known=known)))


@blueprint.delete("/api/agents/<agent_id>")
@asks(agent_models.Deletion)
@answers(Done)
def delete_agent(agent_id: str, query: agent_models.Deletion) -> None:
    """Delete an agent; its answers stay. `for_good`: no message names it as its source any more."""
    repository.delete_agent(**current_user_scope(), agent=agent_id, for_good=query.for_good)


@blueprint.put("/conversations/<conversation_id>/agent")
@takes(agent_models.Assignment)
@answers(agent_models.Assigned)
@fails("agent_not_found")
def assign_agent(conversation_id: str, body: agent_models.Assignment) -> object:
    """Let an agent answer in a conversation, or the conversation's own model again."""
    who = current_user_scope()
    agent = repository.assign_conversation(**who, conversation_id=conversation_id, agent=body.agent)
    return {"status": "ok", "agent_id": agent and agent.agent_id}


def _checked(body: agent_models.AgentBody, *, known: AgentRules) -> AgentRules:
    """What the body says, its rooms by their ids and its tools by their own names.

    known: what the agent is, of whose rules the rooms may be deleted, and the recipes and tools uninstalled. Raises
    RecipeNotFoundError, UnknownTypeError and ToolNotFoundError for other ones.
    """
    check_model(body.model)
    kept = {rule.get("conversation_id") for rule in known.rules} | {None}
    taken = {(rule.get("recipe"), rule.get("type")) for rule in known.rules}
    rules = [rule.model_dump() for rule in body.rules]
    for rule in rules:
        if (rule["recipe"], rule["type"]) not in taken:
            current_state().recipes.recipe_with(rule["type"], recipe=rule["recipe"])
        if rule["conversation_id"] not in kept:
            rule["conversation_id"] = find_room(rule["conversation_id"], **current_user_scope())
    tools = body.enabled_tools
    if tools is not None:
        tools = current_tools().own_names(tools, known=known.enabled_tools or ())
    return AgentRules(**{**body.model_dump(), "rules": rules, "enabled_tools": tools})


def _item(agent: Agent) -> dict[str, Any]:
    fields = {name: getattr(agent, name) for name in Agent.__dataclass_fields__}
    named = {rule["conversation_id"]: _title_of(rule["conversation_id"]) for rule in agent.rules}
    titles = {conversation_id: title for conversation_id, title in named.items() if title is not None}
    is_global = agent.slug == GLOBAL_SLUG
    return {**fields, "reference": f"@agent_{agent.slug}", "is_global": is_global, "conversations": titles}


def _title_of(conversation_id: str | None) -> str | None:
    """The title of a conversation; None for none, or a deleted one."""
    if conversation_id is None:
        return None
    try:
        return get_conversation(**current_user_scope(), conversation_id=conversation_id).title
    except ConversationNotFoundError:
        return None
