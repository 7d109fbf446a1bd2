"""Pages of shared snapshots get a table of their own; until now they were rows of `shares` with a dot in their name.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, inspect, text

_PAGES = """
    CREATE TABLE IF NOT EXISTS share_pages (
        snapshot_id TEXT NOT NULL,
        first_message INTEGER NOT NULL,
        conversation_id TEXT NOT NULL REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        messages JSON NOT NULL,
        PRIMARY KEY (snapshot_id, first_message)
    )
"""
_SHARES = """
    CREATE TABLE shares (
        conversation_id TEXT NOT NULL PRIMARY KEY
            REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        user_email TEXT NOT NULL,
        token_hash TEXT NOT NULL UNIQUE,
        seed TEXT NOT NULL,
        snapshot_id TEXT NOT NULL,
        title TEXT NOT NULL,
        message_count INTEGER NOT NULL,
        created_at TEXT NOT NULL
    )
"""
_TOKENS = "SELECT token_hash FROM shares"
_OLD_SHARE = """
    SELECT token_hash, user_email, conversation_id, title, snapshot, created_at FROM shares WHERE token_hash = :token
"""
_ADD_PAGE = """
    INSERT INTO share_pages (snapshot_id, first_message, conversation_id, messages)
    VALUES (:snapshot_id, :first_message, :conversation_id, :messages)
"""
_ADD_SHARE = """
    INSERT INTO shares
        (conversation_id, user_email, token_hash, seed, snapshot_id, title, message_count, created_at)
    VALUES
        (:conversation_id, :user_email, :token_hash, :seed, :generation, :title, :message_count, :created_at)
"""


def upgrade(connection: Connection) -> None:
    """Create the table and move the pages into it; a new store has the tables already."""
    connection.exec_driver_sql(_PAGES)
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS idx_share_pages_cascade ON share_pages (conversation_id)")
    if "snapshot" not in {column["name"] for column in inspect(connection).get_columns("shares")}:
        return
    tokens = connection.exec_driver_sql(_TOKENS).scalars().all()
    # A page after the other: those of all shares may take more memory than there is.
    for token in tokens:
        if "." in token:
            _add_page(connection, _share(connection, token))
    shares = [_share(connection, token) for token in tokens if "." not in token]
    connection.exec_driver_sql("DROP TABLE shares")
    connection.exec_driver_sql(_SHARES)
    connection.exec_driver_sql("CREATE INDEX idx_shares_user ON shares (user_email)")
    for share in shares:
        connection.execute(text(_ADD_SHARE), share | {"snapshot": None} | share["snapshot"])


def _share(connection: Connection, token: str) -> dict[str, Any]:
    row = dict(connection.execute(text(_OLD_SHARE), {"token": token}).one()._mapping)
    snapshot = json.loads(row["snapshot"]) if isinstance(row["snapshot"], str) else row["snapshot"]
    return row | {"snapshot": snapshot}


def _add_page(connection: Connection, row: dict[str, Any]) -> None:
    snapshot_id, _, first_message = row["token_hash"].partition(".")
    page = {"snapshot_id": snapshot_id, "first_message": int(first_message)}
    page |= {"conversation_id": row["conversation_id"], "messages": json.dumps(row["snapshot"])}
    connection.execute(text(_ADD_PAGE), page)
