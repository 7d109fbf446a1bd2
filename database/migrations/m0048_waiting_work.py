"""Closed accounts, imports under way and jobs that go on have indexes: each process looks every second or more often.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Make them; they hold the few rows that wait."""
    for index in (
        "idx_users_closing ON users (erasing_since) WHERE erasing_since IS NOT NULL",
        "idx_imports_working ON imports (updated_at) WHERE state IN ('counting', 'running', 'undoing')",
        "idx_jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL",
    ):
        connection.exec_driver_sql(f"CREATE INDEX {index}")
