"""Which program proposed something: the name of its API token.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect


def upgrade(connection: Connection) -> None:
    """Add the column; a new store has it already."""
    if "token_name" not in {column["name"] for column in inspect(connection).get_columns("proposals")}:
        declared = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
        connection.exec_driver_sql(f"ALTER TABLE proposals ADD COLUMN token_name {declared}")
