"""Proposals: what models and programs want to change, and a person has to accept first.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS proposals (
        proposal_id {text} NOT NULL PRIMARY KEY,
        user_email {text} NOT NULL,
        kind {text} NOT NULL,
        payload JSON NOT NULL,
        diff {text} NOT NULL,
        message_id {text} REFERENCES messages (message_id) ON DELETE CASCADE,
        agent_id {text},
        state {text} NOT NULL,
        created_at {text} NOT NULL,
        decided_at {text}
    );
    CREATE INDEX IF NOT EXISTS idx_proposals_user ON proposals (user_email, state, created_at);
    CREATE INDEX IF NOT EXISTS idx_proposals_message ON proposals (message_id) WHERE message_id IS NOT NULL
"""
_TYPES = {"sqlite": "TEXT", "postgresql": 'TEXT COLLATE "C"'}


def upgrade(connection: Connection) -> None:
    """Create the table; a new store has it already."""
    for statement in _STATEMENTS.format(text=_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
