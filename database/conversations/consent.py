"""A person's consent that tools are called in a conversation without asking; settings of the conversation hold it.

It holds for one conversation, and there for who asked: the conversation's own model, or one agent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Text, cast, or_, select, update

from database.engine.database import Database
from database.schema import conversations

from .repository import change_settings_in, read_live, record_changed

ALLOWED_TOOLS = "allowed_tools"
"""The setting that lists the tools that the conversation's own model may call without asking."""
AGENTS_ALLOWED_TOOLS = "agents_allowed_tools"
"""The same of the agents that answer in the conversation: a list by id of the agent."""
CONSENT = frozenset({ALLOWED_TOOLS, AGENTS_ALLOWED_TOOLS})
"""Copies of a conversation and imported ones don't have these settings."""
PERMISSIONS = CONSENT | {"allow_writing"}
"""All settings by which tools do something without asking. A file may come from anywhere, so it can't bring them."""


def allow_tool(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    tool: str,
    agent_id: str | None = None,
    is_allowed: bool = True,
) -> bool:
    """Let a tool that needs consent be called in this conversation from now on, or ask again; whether it did not yet.

    agent_id: by this agent alone; None: by the conversation's own model. Raises what `change_settings` raises.
    """

    def job(connection: Connection) -> bool:
        before = read_live(connection, user_email=user_email, conversation_id=conversation_id).settings
        by_agent = before.get(AGENTS_ALLOWED_TOOLS)
        by_agent = by_agent if isinstance(by_agent, dict) else {}
        known = before.get(ALLOWED_TOOLS) if agent_id is None else by_agent.get(agent_id)
        known = known if isinstance(known, list) else []
        if (tool in known) == is_allowed:
            return False
        tools = [*known, tool] if is_allowed else [name for name in known if name != tool]
        if agent_id is None:
            change: dict[str, Any] = {ALLOWED_TOOLS: tools or None}
        else:
            agents = {**by_agent, agent_id: tools}
            change = {AGENTS_ALLOWED_TOOLS: {name: each for name, each in agents.items() if each} or None}
        change_settings_in(connection, user_email, conversation_id, change)
        return True

    return database.write(job)


def withdraw_tools(*, database: Database, user_email: str, tools: Collection[str]) -> None:
    """Have these tools ask for consent again in all conversations of the person, also in those in the bin."""
    c = conversations.c
    # The text is looked at first: conversations with such a setting are few.
    text = cast(c.settings, Text)
    with_consent = or_(*(text.contains(name, autoescape=True) for name in CONSENT))

    def job(connection: Connection) -> None:
        found = select(c.conversation_id, c.settings, c.deleted_at).where(c.user_email == user_email, with_consent)
        for row in connection.execute(found).all():
            settings = _without(row.settings, tools)
            if settings == row.settings:
                continue
            this = update(conversations).where(c.user_email == user_email, c.conversation_id == row.conversation_id)
            connection.execute(this.values(settings=settings, version=c.version + 1))
            if row.deleted_at is None:
                record_changed(connection, user_email, row.conversation_id, {"conversation_settings": settings})

    database.write(job)


def _without(settings: Mapping[str, Any], tools: Collection[str]) -> dict[str, Any]:
    """`settings` that let none of these tools be called without asking."""

    def left(allowed: Any) -> Any:
        return [tool for tool in allowed if tool not in tools] if isinstance(allowed, list) else allowed

    after = dict(settings)
    if ALLOWED_TOOLS in after:
        after[ALLOWED_TOOLS] = left(after[ALLOWED_TOOLS])
    if isinstance(after.get(AGENTS_ALLOWED_TOOLS), dict):
        by_agent = {agent_id: left(allowed) for agent_id, allowed in after[AGENTS_ALLOWED_TOOLS].items()}
        after[AGENTS_ALLOWED_TOOLS] = {agent_id: allowed for agent_id, allowed in by_agent.items() if allowed}
    return {name: value for name, value in after.items() if value or name not in CONSENT}
