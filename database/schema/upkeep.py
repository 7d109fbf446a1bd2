"""What the store keeps for itself."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table, Text

from .base import metadata

schema_version = Table(
    "schema_version", metadata, Column("version", Integer, primary_key=True), Column("applied_at", Text)
)

stream_events = Table(
    "stream_events",
    metadata,
    Column("message_id", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("event", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

search_state = Table(
    "search_state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("indexed_seq", BigInteger, nullable=False, server_default="0"),
)

# One row: by it `database.conversations.deletion` sees that the clock was set. Both times are ISO 8601 in UTC.
purge_clock = Table(
    "purge_clock",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("last_run_at", Text, nullable=False),
    Column("trusted_from", Text, nullable=False),
)
