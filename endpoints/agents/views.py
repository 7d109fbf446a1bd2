"""A person's agents, and which of them answers in a conversation."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint

from database.agents import repository
from database.agents.repository import GLOBAL_SLUG, Agent, AgentRules
from endpoints.http import models as http_models
from endpoints.http.scope import check_model, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes

from . import models as agent_models

blueprint = Blueprint("agents", __name__)


@blueprint.get("/api/agents")
@answers(list[agent_models.AgentItem])
def list_agents() -> object:
    """Your agents: the Global Assistant first, the others by title."""
    return [_item(agent) for agent in repository.list_agents(**current_user_scope())]


@blueprint.post("/api/agents")
@takes(agent_models.AgentBody)
@answers(agent_models.AgentItem, status=HTTPStatus.CREATED)
@fails("conflict", "model_not_allowed")
def create_agent(body: agent_models.AgentBody) -> object:
    """A new agent."""
    return _item(repository.create_agent(**current_user_scope(), rules=_checked_rules(body)))


@blueprint.get("/api/agents/<agent_id>")
@answers(agent_models.AgentItem)
def get_agent(agent_id: str) -> object:
    """One agent, by its id or its slug."""
    return _item(repository.get_agent(**current_user_scope(), agent=agent_id))


@blueprint.put("/api/agents/<agent_id>")
@takes(agent_models.AgentBody)
@answers(agent_models.AgentItem)
@fails("conflict", "model_not_allowed")
def replace_agent(agent_id: str, body: agent_models.AgentBody) -> object:
    """Replace what an agent is; what is left out gets its default, the slug stays."""
    return _item(repository.replace_agent(**current_user_scope(), agent=agent_id, rules=_checked_rules(body)))


@blueprint.delete("/api/agents/<agent_id>")
@asks(agent_models.Deletion)
@answers(http_models.Done)
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


def _checked_rules(body: agent_models.AgentBody) -> AgentRules:
    check_model(body.model)
    return AgentRules(**body.model_dump())


def _item(agent: Agent) -> dict[str, Any]:
    fields = {name: getattr(agent, name) for name in Agent.__dataclass_fields__}
    return {**fields, "reference": f"@agent_{agent.slug}", "is_global": agent.slug == GLOBAL_SLUG}
