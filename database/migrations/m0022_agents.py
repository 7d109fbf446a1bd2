"""Agents (everybody has one), the agent that a conversation belongs to, and the agent that asked a question.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from sqlalchemy import Connection, inspect, text

_TABLE = """
    CREATE TABLE IF NOT EXISTS agents (
        agent_id {text} NOT NULL PRIMARY KEY,
        user_email {text} NOT NULL,
        slug {text} NOT NULL,
        title {text} NOT NULL,
        system_prompt {text} DEFAULT '' NOT NULL,
        enabled_tools JSON,
        model {text},
        service {text} DEFAULT 'asked' NOT NULL,
        rules JSON NOT NULL,
        hourly_limit {integer} NOT NULL,
        created_at {text} NOT NULL,
        updated_at {text} NOT NULL,
        deleted_at {text}
    )
"""
_REFERENCE = "{text} REFERENCES agents (agent_id) ON DELETE SET NULL"
_COLUMNS = (
    ("messages", "source_agent_id", _REFERENCE),
    ("messages", "source_agent_title", "{text}"),
    ("UserToConversationId", "agent_id", _REFERENCE),
)
_INDEXES = """
    CREATE UNIQUE INDEX IF NOT EXISTS idx_agents_slug ON agents (user_email, slug) WHERE deleted_at IS NULL;
    CREATE INDEX IF NOT EXISTS idx_messages_source_agent ON messages (source_agent_id)
        WHERE source_agent_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS "idx_UserToConversationId_agent" ON "UserToConversationId" (agent_id)
        WHERE agent_id IS NOT NULL
"""
_GLOBAL_ASSISTANT = text("""
    INSERT INTO agents (agent_id, user_email, slug, title, rules, hourly_limit, created_at, updated_at)
    VALUES (:agent_id, :user_email, 'global_assistant', 'Global Assistant', '[]', 20, :moment, :moment)
""")
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"},
}


def upgrade(connection: Connection) -> None:
    """Add the table, the columns and their indexes, and the Global Assistant of every account."""
    types = _TYPES[connection.dialect.name]
    connection.exec_driver_sql(_TABLE.format(**types))
    for table, name, declared in _COLUMNS:
        if name not in {column["name"] for column in inspect(connection).get_columns(table)}:
            connection.exec_driver_sql(f'ALTER TABLE "{table}" ADD COLUMN {name} {declared.format(**types)}')
    for statement in _INDEXES.split(";"):
        connection.exec_driver_sql(statement)
    moment = datetime.now(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    for (user_email,) in connection.exec_driver_sql("SELECT user_email FROM users").all():
        own = {"agent_id": str(uuid.uuid4()), "user_email": user_email, "moment": moment}
        connection.execute(_GLOBAL_ASSISTANT, own)
