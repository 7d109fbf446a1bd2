"""Jobs: work in steps that can be repeated, with progress and a lease.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_TABLE = (
    "CREATE TABLE IF NOT EXISTS jobs ("
    "job_id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, user_email TEXT, status TEXT NOT NULL, state JSON NOT NULL, "
    "done BIGINT NOT NULL, total BIGINT, attempts BIGINT NOT NULL, error TEXT NOT NULL, due_at TEXT, owner TEXT, "
    "lease_until TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS idx_jobs_user ON jobs (user_email)"


def upgrade(connection: Connection) -> None:
    """Create the table and its index; a new store has them already."""
    for statement in (_TABLE, _INDEX):
        connection.exec_driver_sql(statement)
