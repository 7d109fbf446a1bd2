"""Making one store equal to another in rounds: find differences, then fix them; a round without any proves equality.

A round reads one snapshot of the source, so the source may be written meanwhile; the next round copies the newer rows.
Progress is visible in the rows themselves: a transfer that was killed resumes where it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from types import ModuleType
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, or_, select, tuple_

from database.engine.database import Database, Urgency
from database.engine.errors import StorageFailedError, StoreError

from .fulltext import FOLLOWERS, NO_FOLLOWER, Follower
from .ranges import Key, Range, Row, TableReader, side_by_side
from .tables import StoreTables, identifying_columns, own_references

_KEYS_AT_ONCE = 500

Progress = Callable[[str, str, int], None]
"""Called with "compare" or "copy", the name of a table, and how many more of its rows were compared or copied."""


class RowRefusedError(StoreError):
    """The target can't hold a row of the source."""

    def __init__(self, table: str, key: Key, reason: str) -> None:
        super().__init__(f"A row of the table {table} can't be copied, the one with the key {key!r}: {reason}")


@dataclass(slots=True)
class TableFinding:
    """How a table of the target differs from the source.

    rows: of the source. wrong: rows that were missing, changed, or not in the source. digest: SHA-256 over all rows of
    the source in order of their keys, where none was wrong.
    """

    store: str
    table: str
    rows: int = 0
    wrong: int = 0
    digest: str = ""
    _hashed: Any = field(default_factory=hashlib.sha256, repr=False)

    def hash_rows(self, rows: Iterable[Row]) -> None:
        """Add rows to the digest."""
        for row in rows:
            self._hashed.update(repr(row).encode("utf-8", "surrogatepass"))
        self.digest = self._hashed.hexdigest()


class _Sides(NamedTuple):
    """One table, of the snapshot that is copied and of the database that it is copied to."""

    source: TableReader
    snapshot: Connection
    target: TableReader
    held: Database

    def ranges(self) -> Iterator[Range]:
        return side_by_side(self.source, self.snapshot, self.target, self.held)

    @property
    def table(self) -> Table:
        return self.target.table

    @property
    def follower(self) -> Follower:
        return FOLLOWERS.get(self.table.name, NO_FOLLOWER)


def transfer_round(source: StoreTables, target: StoreTables, *, progress: Progress) -> list[TableFinding]:
    """Compare all tables, and fix those of the target that differ; returns the differences found before that.

    Raises RowRefusedError, UnorderedKeyError, and StoreError if a database fails.
    """
    with source.database.reading() as snapshot:
        all_sides = [
            _Sides(TableReader(source, ours), snapshot, TableReader(target, theirs), target.database)
            for ours, theirs in zip(source.tables, target.tables, strict=True)
        ]
        findings = [_compare(sides, store=target.name, progress=progress) for sides in all_sides]
        for sides, finding in zip(all_sides, findings, strict=True):
            if finding.wrong:
                _fill(sides, progress=progress)
        for sides in all_sides:
            _continue_numbers(sides)
    return findings


def _compare(sides: _Sides, *, store: str, progress: Progress) -> TableFinding:
    """Compare a table; delete conflicting rows: those missing in the source, or with another key there."""
    finding = TableFinding(store, sides.table.name)
    with sides.held.reading() as connection:
        nothing_there = sides.target.is_empty(connection)
    if nothing_there and not sides.source.is_empty(sides.snapshot):
        finding.wrong = 1  # and more: `_fill` reads them
        return finding
    identifying = _places(sides, identifying_columns(sides.table))
    for rows, there in sides.ranges():
        finding.rows += len(rows)
        if rows == there:
            finding.hash_rows(rows)
        else:
            known, wanted = _by_key(sides, there), _by_key(sides, rows)
            finding.wrong += sum(known.get(key) != row for key, row in wanted.items())
            surplus = [key for key in known if key not in wanted]
            finding.wrong += len(surplus)
            others = [key for key, row in known.items() if key in wanted and _differ(row, wanted[key], identifying)]
            _delete(sides, [*surplus, *others])
        progress("compare", sides.table.name, len(rows))
    if finding.wrong:
        finding.digest = ""
    return finding


def _fill(sides: _Sides, *, progress: Progress) -> None:
    """Insert the rows that are missing, then update those that differ."""
    if own := _places(sides, own_references(sides.table)):
        _fill_tree(sides, own)
    for rows, there in sides.ranges():
        if rows == there:
            continue
        known = _by_key(sides, there)
        missing = [row for row in rows if sides.source.key(row) not in known]
        changed = [(known[key], row) for row in rows if (key := sides.source.key(row)) in known and known[key] != row]
        if missing:
            _insert(sides, missing)
        _update(sides, changed)
        progress("copy", sides.table.name, len(missing) + len(changed))


def _fill_tree(sides: _Sides, own: Sequence[int]) -> None:
    """Insert the missing rows of a table whose rows refer to each other: those first that others refer to."""
    missing = dict[Any, Row]()
    for rows, there in sides.ranges():
        known = _by_key(sides, there)
        missing |= {key[0]: row for key, row in _by_key(sides, rows).items() if key not in known}
    while missing:
        ready = [row for row in missing.values() if not any(row[place] in missing for place in own)]
        # Rows that refer to each other in a circle get their references by the update that follows.
        _insert(sides, ready or [_without(row, own) for row in missing.values()])
        missing = {key: row for key, row in missing.items() if row not in ready} if ready else {}


def _places(sides: _Sides, names: Iterable[str]) -> list[int]:
    return [sides.target.names.index(name) for name in names]


def _by_key(sides: _Sides, rows: Iterable[Row]) -> dict[Key, Row]:
    return {sides.source.key(row): row for row in rows}


def _differ(one: Row, other: Row, places: Iterable[int]) -> bool:
    return any(one[place] != other[place] for place in places)


def _without(row: Row, places: Sequence[int]) -> Row:
    return tuple(None if place in places else value for place, value in enumerate(row))


def _delete(sides: _Sides, keys: Sequence[Key]) -> None:
    columns = tuple_(*sides.table.primary_key.columns)

    def job(connection: Connection, some: Sequence[Key]) -> None:
        for level in reversed(_levels_below(connection, sides.table, some)):
            sides.follower.deleting(connection, level)
            connection.execute(delete(sides.table).where(columns.in_(level)))

    for some in _slices(keys):
        sides.held.write(partial(job, some=some), urgency=Urgency.INDEX)


def _levels_below(connection: Connection, table: Table, keys: Sequence[Key]) -> list[Sequence[Key]]:
    """`keys`, and behind them the rows of the same table that refer to those, and so on."""
    own = own_references(table)
    levels, seen = [keys], set(keys)
    while own and levels[-1]:
        (key,) = table.primary_key.columns
        above = [each[0] for each in levels[-1]]
        found = connection.execute(select(key).where(or_(*(table.c[name].in_(above) for name in own)))).all()
        levels.append([tuple(row) for row in found if tuple(row) not in seen])
        seen.update(levels[-1])
    return [level for level in levels if level]


def _insert(sides: _Sides, rows: Sequence[Row]) -> None:
    def job(connection: Connection, some: Sequence[Row]) -> None:
        engine_of(connection).insert_rows(connection, sides.table, sides.target.names, some)
        sides.follower.written(connection, [sides.target.key(row) for row in some])

    refusals: tuple[type[Exception], ...] = (StorageFailedError, *sides.held.backend.errors)
    try:
        sides.held.write(partial(job, some=rows), urgency=Urgency.INDEX)
    except refusals:
        for row in rows:
            try:
                sides.held.write(partial(job, some=[row]), urgency=Urgency.INDEX)
            except refusals as error:
                raise RowRefusedError(sides.table.name, sides.target.key(row), _reason(error)) from error


def _update(sides: _Sides, pairs: Sequence[tuple[Row, Row]]) -> None:
    """Store the columns in which the second row of each pair differs from the first, which is stored."""
    names, key = sides.target.names, sides.target.key
    changes = [([place for place, value in enumerate(old) if value != new[place]], new) for old, new in pairs]
    changes = sorted((change for change in changes if change[0]), key=lambda change: change[0])
    if not changes:
        return
    keys = [key(new) for _, new in changes]

    def job(connection: Connection) -> None:
        for some in _slices(keys):
            sides.follower.changing(connection, some)
        for places, same in groupby(changes, key=lambda change: change[0]):
            sent = [_sent(new, places, key(new)) for _, new in same]
            _run_update(connection, sides.table, [names[place] for place in places], sent)
        for some in _slices(keys):
            sides.follower.written(connection, some)

    sides.held.write(job, urgency=Urgency.INDEX)


def _sent(row: Row, places: Iterable[int], key: Key) -> dict[str, Any]:
    values = {f"new_{number}": row[place] for number, place in enumerate(places)}
    return values | {f"key_{number}": value for number, value in enumerate(key)}


def _run_update(connection: Connection, table: Table, names: Sequence[str], sent: Sequence[dict[str, Any]]) -> None:
    quoted = connection.dialect.identifier_preparer
    mark = "%({})s" if connection.dialect.name == "postgresql" else ":{}"
    setting = ", ".join(f"{quoted.quote(name)} = {mark.format(f'new_{place}')}" for place, name in enumerate(names))
    keys = enumerate(table.primary_key.columns)
    where = " AND ".join(f"{quoted.quote(column.name)} = {mark.format(f'key_{place}')}" for place, column in keys)
    connection.exec_driver_sql(f"UPDATE {quoted.format_table(table)} SET {setting} WHERE {where}", list(sent))  # noqa: S608


def _continue_numbers(sides: _Sides) -> None:
    """Set the target's sequences so that it never reuses a number of the source."""
    column = sides.table.autoincrement_column
    if column is None:
        return
    number = engine_of(sides.snapshot).highest_number(sides.snapshot, sides.table, column.name)
    sides.held.write(
        lambda connection: engine_of(connection).continue_behind(connection, sides.table, column.name, number)
    )


def renew_statistics(database: Database) -> None:
    """Refresh the statistics of the query planner."""
    database.write(lambda connection: connection.exec_driver_sql(engine_of(connection).STATISTICS).close())


def engine_of(connection: Connection) -> ModuleType:
    """The module of the database that a connection leads to."""
    from . import postgresql, sqlite

    return postgresql if connection.dialect.name == "postgresql" else sqlite


def _slices(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    return (keys[begin : begin + _KEYS_AT_ONCE] for begin in range(0, len(keys), _KEYS_AT_ONCE))


def _reason(error: Exception) -> str:
    """The driver's message, without the values that its further lines show."""
    cause = error.__cause__ or error
    said = str(getattr(cause, "orig", None) or cause).strip()
    return said.splitlines()[0] if said else type(cause).__name__
