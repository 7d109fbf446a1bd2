"""The tools that models use, for programs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint

from chat.tools.calling.threads import result_for_program
from chat.tools.registry import ToolContext, ToolRegistry
from endpoints.http.errors import ForbiddenError
from endpoints.http.scope import allowed_models, conversation_loader, current_access, current_state, current_user_email
from endpoints.http.validation import admits_read_only_tokens, answers, fails, takes
from endpoints.serving.work_queues import Work, calls_tool, works

from . import models as tool_models

blueprint = Blueprint("tools", __name__)
_DOCUMENT = ("path_refused", "quota_exceeded", "too_large", "vault_read_only", "vault_unavailable", "version_conflict")


@blueprint.get("/api/tools")
@answers(list[tool_models.ToolItem])
def list_tools() -> object:
    """The tools by name. `on_by_default`: models are offered it in your conversations."""
    registry, agents = current_tools(), current_state().services.agents
    has_agents = agents is not None and agents.has_agents(current_user_email())
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
            "aliases": list(tool.aliases),
            "reads_only": tool.reads_only,
            "on_by_default": tool.is_offered(has_agents=has_agents),
            "needs_consent": tool.needs_consent,
        }
        for tool in map(registry.get, registry.names())
    ]


@blueprint.post("/api/tools/<tool_name>")
@takes(tool_models.Arguments)
@answers(dict[str, Any])
@fails("agent_not_found", "conflict", "conversation_not_found", "document_not_found", "tool_timeout", *_DOCUMENT)
@admits_read_only_tokens
@works(Work.SEARCH)
@calls_tool(lambda arguments, _body: arguments["tool_name"])
def call_tool(body: tool_models.Arguments, tool_name: str) -> object:
    """Call a tool; what it answers. Errors are those of the API, not results of the tool.

    403 `forbidden` where a read-only token calls a tool that changes something. 504 `tool_timeout` where a tool of an
    installed package does not answer in time, or all its threads are busy.
    """
    tools = current_tools()
    tool = tools.get(tool_name)
    if current_access().read_only and not tool.reads_only:
        raise ForbiddenError("This token may only read.")
    return result_for_program(tool, partial(tools.run, tool_name, body.root), current_tool_context())


@blueprint.post("/api/tools/ask_agent")
@takes(tool_models.Arguments)
@answers(dict[str, Any])
@fails(
    "agent_not_found", "conversation_not_found", "quota_reached", "shutting_down", "too_many_turns", "turn_in_progress"
)
@works(Work.MODEL)
def ask_agent(body: tool_models.Arguments) -> object:
    """Ask an agent, as the tool does, and wait for its answer."""
    return current_state().tools.run("ask_agent", body.root, current_tool_context())


def current_tools() -> ToolRegistry:
    """The tools that the caller's models may call: everybody's, and those of the caller's own servers."""
    state = current_state()
    return state.tools.with_tools(state.tool_servers.tools_of(current_user_email()))


def current_tool_context() -> ToolContext:
    """The context of a call that the current request makes, for its caller alone."""
    state, user_email = current_state(), current_user_email()
    return ToolContext(
        user_email=user_email,
        database=state.database,
        services=replace(state.services, models=allowed_models()),
        load=conversation_loader(user_email),
        token_name=current_access().token_name,
    )
