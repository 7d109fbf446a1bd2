"""A tool that asks an agent of the person."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from chat.exchange.ports import AgentCaller, AgentQuestion

from .registry import ToolContext, ToolError, tool

_SECONDS = 300.0
"""An agent takes as long as an answer does."""
_LONGEST = 50_000
Name = Annotated[str, Field(min_length=1, max_length=400)]
Text = Annotated[str, Field(max_length=_LONGEST)]


@tool(reads_only=False, on_by_default=True, needs_agents=True, seconds=_SECONDS, ignores=("pageId", "driveId", "title"))
def ask_agent(
    context: ToolContext,
    *,
    agent_id: Annotated[Name, Field(alias="agentId", description="The agent: its id, or what stands behind @agent_.")],
    question: Annotated[Text, Field(min_length=1)],
    known: Annotated[Text, Field(alias="context", description="What the agent should know.")] = "",
    conversation_id: Annotated[
        Name | None, Field(alias="conversationId", description="A conversation of the agent to go on with.")
    ] = None,
) -> dict[str, Any]:
    """Ask one of the person's agents a question and wait for its answer."""
    agents = context.services.agents
    if agents is None:
        raise ToolError("No agents can be asked here.")
    return agents.ask(
        AgentQuestion(
            agent=agent_id.removeprefix("@").removeprefix("agent_"),
            text=question,
            seconds=_SECONDS,
            context=known,
            conversation_id=conversation_id,
        ),
        caller=AgentCaller(
            user_email=context.user_email,
            is_model=context.message_id is not None,
            agent_id=context.agent_id,
            depth=context.call_depth,
            chain=context.agent_chain,
            may_write=context.may_write,
            on_stop=context.on_stop,
            asks_for_model=context.asks_for_model,
        ),
        services=context.services,
        load=context.load,
    )
