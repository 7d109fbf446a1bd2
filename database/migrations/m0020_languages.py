"""The language of an account's pages.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect


def upgrade(connection: Connection) -> None:
    """Add the column; a new store has it already."""
    if "language" not in {column["name"] for column in inspect(connection).get_columns("users")}:
        declared = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
        connection.exec_driver_sql(f"ALTER TABLE users ADD COLUMN language {declared}")
