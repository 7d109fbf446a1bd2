"""Pins of conversations and messages, variants of answers, shares."""

from __future__ import annotations

from sqlalchemy import Connection, Table, inspect
from sqlalchemy.schema import CreateColumn

from .. import schema

_COLUMNS: tuple[tuple[Table, str], ...] = (
    (schema.conversations, "pinned_at"),
    (schema.messages, "chosen_variant"),
    (schema.messages, "pinned_at"),
)
_TABLES = (schema.message_variants, schema.shares)


def upgrade(connection: Connection) -> None:
    """Add what a store of the first version lacks; one that was made with today's schema has it all."""
    for table in _TABLES:
        table.create(connection, checkfirst=True)
    for table, name in _COLUMNS:
        if name not in {column["name"] for column in inspect(connection).get_columns(table.name)}:
            added = CreateColumn(table.c[name]).compile(connection)
            connection.exec_driver_sql(f'ALTER TABLE "{table.name}" ADD COLUMN {added}')
