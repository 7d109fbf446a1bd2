"""The inboxes of agents: which activities wait for which agent, and what became of them.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS inbox_items (
        agent_id {text} NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
        activity_id {text} NOT NULL REFERENCES activities (activity_id) ON DELETE CASCADE,
        activity_seq {integer} NOT NULL,
        user_email {text} NOT NULL,
        state {text} NOT NULL,
        is_automatic {integer} NOT NULL,
        origin_id {text} NOT NULL,
        claimed_at {text},
        claim {text},
        by_itself {integer} DEFAULT 0 NOT NULL,
        attempts {integer} DEFAULT 0 NOT NULL,
        error JSON,
        answer_id {text},
        PRIMARY KEY (agent_id, activity_id)
    );
    CREATE INDEX IF NOT EXISTS idx_inbox_items_state ON inbox_items (agent_id, state, activity_seq);
    CREATE INDEX IF NOT EXISTS idx_inbox_items_activity ON inbox_items (activity_id);
    CREATE INDEX IF NOT EXISTS idx_inbox_items_origin ON inbox_items (user_email, origin_id);
    CREATE INDEX IF NOT EXISTS idx_inbox_items_open ON inbox_items (agent_id)
        WHERE state IN ('pending', 'claimed') AND is_automatic = 1
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"},
}


def upgrade(connection: Connection) -> None:
    """Create the table; a new store has it already."""
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
