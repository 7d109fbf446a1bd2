"""Parts of messages, and the notices of answers as the first of them.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_TABLE = """
    CREATE TABLE IF NOT EXISTS message_parts (
        message_id TEXT NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
        version INTEGER NOT NULL,
        part_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        data JSON NOT NULL,
        PRIMARY KEY (message_id, version, part_id)
    ) WITHOUT ROWID
"""
# An answer that was made again has its notices with its variants; the message repeats those of the chosen one.
_NOTICES = """
    INSERT INTO message_parts (message_id, version, part_id, kind, at, data)
    SELECT message_id, {version}, 1, 'notice', length(text), json_object('text', json_extract(config, '$.notice'))
    FROM {table} WHERE {has_notice} {only}
"""
_MARK = "UPDATE messages SET has_parts = 1 WHERE message_id IN (SELECT message_id FROM message_parts)"
_FORGET = """
    UPDATE {table} SET config = json_remove(config, '$.notice')
    WHERE {has_notice}
"""
_HAS_NOTICE = """
    config LIKE '%"notice"%' AND CASE WHEN json_valid(config) THEN json_type(config, '$.notice') END = 'text'
"""


def upgrade(connection: Connection) -> None:
    """Add the table and the column; a new store has them already."""
    connection.exec_driver_sql(_TABLE)
    columns = {row[1] for row in connection.exec_driver_sql("PRAGMA table_info(messages)")}
    if "has_parts" not in columns:
        connection.exec_driver_sql("ALTER TABLE messages ADD COLUMN has_parts INTEGER NOT NULL DEFAULT 0")
    for table, version, only in (
        ("messages", "1", "AND chosen_variant IS NULL"),
        ("message_variants", "number", ""),
    ):
        connection.exec_driver_sql(_NOTICES.format(table=table, version=version, only=only, has_notice=_HAS_NOTICE))
        connection.exec_driver_sql(_FORGET.format(table=table, has_notice=_HAS_NOTICE))
    connection.exec_driver_sql(_MARK)
