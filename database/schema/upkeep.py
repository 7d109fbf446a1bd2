"""What the store keeps for its own work, and the changes that it tells."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, text

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

# One row: by it `database.maintenance.purging` sees that the clock was set. Both times are ISO 8601 in UTC.
purge_clock = Table(
    "purge_clock",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("last_run_at", Text, nullable=False),
    Column("trusted_from", Text, nullable=False),
)

# `seq` counts the changes of one person without gaps: the newest row of each person is never deleted, so that no
# number is used twice.
changes = Table(
    "changes",
    metadata,
    Column("user_email", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("conversation_id", Text),
    Column("fields", JSON, nullable=False),
    Column("at", Text, nullable=False),
    sqlite_with_rowid=False,
)

# One row: which history the numbers of `changes` belong to. A restored backup gets another one.
change_epoch = Table(
    "change_epoch",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epoch", Text, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    # None for the store's own work.
    Column("user_email", Text),
    Column("status", Text, nullable=False),
    Column("state", JSON, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("due_at", Text),
    Column("owner", Text),
    Column("lease_until", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index("idx_jobs_user", "user_email"),
    # Those that ended are kept for days.
    Index(
        "idx_jobs_due", "due_at", sqlite_where=text("due_at IS NOT NULL"), postgresql_where=text("due_at IS NOT NULL")
    ),
)

# What one of several processes does for all, such as indexing; the times are those of the database's clock.
duties = Table(
    "duties",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("lease_until", Text, nullable=False),
)

# The servers that share the store, by the names under which they hold duties, as long as each renews its lease.
server_processes = Table(
    "server_processes",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("lease_until", Text, nullable=False),
    # The accounts (`user_id`s) that were closed, and for which no request runs there any more: [user_id].
    Column("clear_of", JSON, nullable=False),
)

# Running answers that their owner, another process than the one that was asked, has to stop.
stop_requests = Table(
    "stop_requests",
    metadata,
    Column("message_id", Text, ForeignKey("messages.message_id", ondelete="CASCADE"), primary_key=True),
    Column("owner", Text, nullable=False),
)
