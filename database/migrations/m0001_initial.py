"""A new store: the tables of version 5, which the later migrations bring up to date."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

VERSION = 5
"""The version that a store has afterwards."""


def upgrade(connection: Connection) -> None:
    """Create the tables, the indexes and the full-text index."""
    schema = Path(__file__).with_name("sqlite.sql").read_text(encoding="utf-8")
    for statement in schema.split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
