"""Which tables of a store are copied, in which order, and which of their rows are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, MetaData, Table, UniqueConstraint, func, inspect, select

from database.engine.database import Database
from database.schema import duties, message_words, metadata, schema_version, search_state, server_processes

NOT_COPIED: Mapping[str, str] = {
    schema_version.name: "each database was migrated by itself",
    duties.name: "leases of processes that don't work on the copy",
    server_processes.name: "leases of processes that don't work on the copy",
    message_words.name: "made anew with the full-text index",
}
"""Tables of the main store that are not copied, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTables:
    """The tables of one store that are copied, and the database that holds them.

    name: of the store, for people. tables: a table comes after those that it refers to. excluded: by table, which of
    its rows are not copied.
    """

    name: str
    database: Database
    tables: Sequence[Table]
    excluded: Mapping[str, ColumnElement[bool]] = field(default_factory=dict)


def main_tables(database: Database) -> StoreTables:
    """The tables of the main store."""
    return StoreTables(
        name="conversations",
        database=database,
        tables=in_order(metadata, without=NOT_COPIED),
        # How far the full-text index of this database reaches.
        excluded={search_state.name: search_state.c.name == "message_terms"},
    )


def in_order(described: MetaData, *, without: Collection[str]) -> list[Table]:
    """The tables of `described`, those that others refer to first."""
    return [table for table in described.sorted_tables if table.name not in without]


def columns_of(table: Table) -> list[Column[Any]]:
    """The columns that are copied: all that the database doesn't compute itself."""
    return [column for column in table.columns if column.computed is None]


def own_references(table: Table) -> frozenset[str]:
    """The columns that refer to other rows of the same table."""
    return frozenset(
        column.name for column in table.columns if any(key.column.table is table for key in column.foreign_keys)
    )


def identifying_columns(table: Table) -> frozenset[str]:
    """The columns of unique constraints, of conditions of unique indexes, and those that other tables refer to.

    Where one of them differs, the row is deleted and inserted again: updated in place, it might collide with a row
    whose update is still to come.
    """
    names = {column.name for column in table.columns if column.unique}
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            names |= {column.name for column in constraint.columns}
    for index in table.indexes:
        if index.unique:
            said = " ".join(str(each) for each in (*index.expressions, index.dialect_options["sqlite"]["where"]))
            names |= {column.name for column in table.columns if column.name in said}
    for other in table.metadata.tables.values():
        names |= {key.column.name for key in other.foreign_keys if key.column.table is table}
    return frozenset(names)


def count_of(connection: Connection, store: StoreTables, table: Table) -> int:
    """How many rows of a table are copied."""
    query = select(func.count()).select_from(table)
    if (excluded := store.excluded.get(table.name)) is not None:
        query = query.where(~excluded)
    return int(connection.execute(query).scalar_one())


def occupied_tables(store: StoreTables) -> list[str]:
    """The tables that have rows; of a database that may not be migrated, or hold no store at all."""
    with store.database.reading() as connection:
        there = set(inspect(connection).get_table_names())
        return [
            table.name
            for table in store.tables
            if table.name in there and connection.execute(select(1).select_from(table).limit(1)).first() is not None
        ]
