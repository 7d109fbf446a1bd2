"""Reading a table of two databases side by side, range after range of its primary key.

Both databases order keys alike: texts by code point, numbers by size. Rows are tuples of what the drivers give; JSON
stays the text that it is stored as. U+0000, which PostgreSQL can't store, is read as U+FFFD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import JSON, Connection, Table, Text, cast, select, tuple_, type_coerce

from database.engine.database import Database
from database.engine.errors import StoreError

from .tables import StoreTables, columns_of

Row = tuple[Any, ...]
Key = tuple[Any, ...]
_FIRST_ROWS, _ROWS_AT_ONCE = 100, 2_000
_BYTES_AT_ONCE = 8_000_000
_NUL, _REPLACEMENT = "\x00", "\ufffd"


class UnorderedKeyError(StoreError):
    """A key holds U+0000, by which PostgreSQL can't name a row."""

    def __init__(self, table: str, key: Key) -> None:
        super().__init__(f"A row of the table {table} can't be copied: its key {key!r} holds the character U+0000.")


class Range(NamedTuple):
    """The rows of both databases whose keys lie in the same range."""

    source: list[Row]
    target: list[Row]


class TableReader:
    """Reads one table of a store. names: of its copied columns, in the order of the values in a row."""

    def __init__(self, store: StoreTables, table: Table) -> None:
        self.table = table
        self._excluded = store.excluded.get(table.name)
        self.names = [column.name for column in columns_of(table)]
        places = [self.names.index(column.name) for column in table.primary_key.columns]
        self._places = places
        self._getter: Callable[[Row], Any] = itemgetter(*places)

    @cached_property
    def key(self) -> Callable[[Row], Key]:
        """From a row to its primary key."""
        getter = self._getter
        return getter if len(self._places) > 1 else lambda row: (getter(row),)

    def is_empty(self, connection: Connection) -> bool:
        """Whether no row is there that is copied."""
        return not self.rows(connection, after=None, upto=None, most=1)

    def rows(self, connection: Connection, *, after: Key | None, upto: Key | None, most: int | None) -> list[Row]:
        """Rows whose key is greater than `after` and not greater than `upto`, by key, at most `most`."""
        keys = list(self.table.primary_key.columns)
        is_postgresql = connection.dialect.name == "postgresql"
        shown = [_as_stored(column, is_postgresql=is_postgresql) for column in columns_of(self.table)]
        query = select(*shown).order_by(*keys)
        if self._excluded is not None:
            query = query.where(~self._excluded)
        if after is not None:
            query = query.where(tuple_(*keys) > tuple_(*after))
        if upto is not None:
            query = query.where(tuple_(*keys) <= tuple_(*upto))
        found = [tuple(row) for row in connection.execute(query.limit(most))]
        return found if is_postgresql else [self._storable(row) for row in found]

    def _storable(self, row: Row) -> Row:
        for value in row:
            if isinstance(value, str) and _NUL in value:
                break
        else:
            return row
        if any(isinstance(each, str) and _NUL in each for each in self.key(row)):
            raise UnorderedKeyError(self.table.name, self.key(row))
        return tuple(each.replace(_NUL, _REPLACEMENT) if isinstance(each, str) else each for each in row)


def _as_stored(column: Any, *, is_postgresql: bool) -> Any:
    if not isinstance(column.type, JSON):
        return column
    return cast(column, Text) if is_postgresql else type_coerce(column, Text)


def side_by_side(source: TableReader, snapshot: Connection, target: TableReader, held: Database) -> Iterator[Range]:
    """The ranges of a table, in order. snapshot: of the source. held: the target's database."""
    after: Key | None = None
    most = _FIRST_ROWS
    while True:
        rows = source.rows(snapshot, after=after, upto=None, most=most)
        upto = source.key(rows[-1]) if len(rows) == most else None
        with held.reading() as connection:
            there = target.rows(connection, after=after, upto=upto, most=None)
        yield Range(rows, there)
        if upto is None:
            return
        after = upto
        most = _as_many_as_fit(rows)


def _as_many_as_fit(rows: list[Row]) -> int:
    """How many rows to read next, where these are typical."""
    some = rows[:: max(1, len(rows) // 50)]
    size = sum(len(value) for row in some for value in row if isinstance(value, str | bytes)) // len(some) + 1
    return max(20, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // size))
