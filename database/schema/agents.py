"""Agents: whom a person can ask beside a conversation's own model."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, Table, Text, text

from .base import metadata

agents = Table(
    "agents",
    metadata,
    Column("agent_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    # By which a message names the agent: "@agent_<slug>".
    Column("slug", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("system_prompt", Text, nullable=False, server_default=""),
    # Names of tools; NULL: those that are on by default.
    Column("enabled_tools", JSON(none_as_null=True)),
    # As a conversation names a model; NULL: that of the conversation.
    Column("model", Text),
    # "asked", "later" or "by_itself".
    Column("service", Text, nullable=False, server_default="asked"),
    # What the agent's inbox takes: `{conversation_id, recipe, type, from_agents}` each.
    Column("rules", JSON, nullable=False),
    Column("hourly_limit", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("deleted_at", Text),
    Index(
        "idx_agents_slug",
        "user_email",
        "slug",
        unique=True,
        sqlite_where=text("deleted_at IS NULL"),
        postgresql_where=text("deleted_at IS NULL"),
    ),
)
