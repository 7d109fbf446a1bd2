"""What models and programs want to change, and a person has to accept first."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Table, Text, text

from .base import metadata

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
