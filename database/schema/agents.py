"""Agents: whom a person can ask beside a conversation's own model, and the activities that wait for them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, Table, Text, text

from .base import metadata

IS_OPEN = "state IN ('pending', 'claimed') AND is_automatic = 1"
"""That an item may be answered without being asked for: the condition of its index."""

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

inbox_items = Table(
    "inbox_items",
    metadata,
    Column("agent_id", Text, ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True),
    Column("activity_id", Text, ForeignKey("activities.activity_id", ondelete="CASCADE"), primary_key=True),
    # Of the activity: its place in the order of everything.
    Column("activity_seq", Integer, nullable=False),
    Column("user_email", Text, nullable=False),
    # "pending", "claimed", "done" or "failed".
    Column("state", Text, nullable=False),
    # 1 where the agent may answer by itself; 0 for what another agent said without a rule that allows an answer.
    Column("is_automatic", Integer, nullable=False),
    # The activity with which a chain of agents that answer each other began.
    Column("origin_id", Text, nullable=False),
    Column("claimed_at", Text),
    # A random name of the latest claim: whoever lost it can't store an answer any more.
    Column("claim", Text),
    # 1 where the worker made the latest claim, 0 where a person or a program did.
    Column("by_itself", Integer, nullable=False, server_default="0"),
    # How many claims there were since the item was last pending for a person.
    Column("attempts", Integer, nullable=False, server_default="0"),
    # Why it failed, or waits: `{code, message, said}`, as of an answer.
    Column("error", JSON(none_as_null=True)),
    # The activity that answers.
    Column("answer_id", Text),
    Index("idx_inbox_items_state", "agent_id", "state", "activity_seq"),
    Index("idx_inbox_items_activity", "activity_id"),
    Index("idx_inbox_items_origin", "user_email", "origin_id"),
    Index(
        "idx_inbox_items_open",
        "agent_id",
        sqlite_where=text(IS_OPEN),
        postgresql_where=text(IS_OPEN),
    ),
)


proposals = Table(
    "proposals",
    metadata,
    Column("proposal_id", Text, primary_key=True),
    Column("user_email", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("diff", Text, nullable=False),
    # The answer in which a model proposed it; NULL for a program.
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE")),
    Column("agent_id", Text),
    Column("state", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("decided_at", Text),
    # What the API token of the program is called that proposed it; NULL for a model and for our own pages.
    Column("token_name", Text),
    Index("idx_proposals_user", "user_email", "state", "created_at"),
    Index(
        "idx_proposals_message",
        "message_id",
        sqlite_where=text("message_id IS NOT NULL"),
        postgresql_where=text("message_id IS NOT NULL"),
    ),
)
