"""The rows that one change touches, and what they were before and after."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2s
from typing import Any

from sqlalchemy import ColumnElement, Table, bindparam, delete, func, insert, select, union_all, update

from ..schema import ALIASED, DEPENDENTS, KEYS, metadata
from ..schema.operators import among, caseless, unindexed
from .pkb_database import PKBDatabase, Prepared

Row = dict[str, Any]
Key = Mapping[str, Any]

TIMES = frozenset({"updated_at"})
"""Columns whose change alone is none."""

ROWID = "_rowid"
"""How the columns end that number a table's rows; such a number means nothing outside."""

_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a row was and is: before is None for an inserted row, after for a deleted one.

    For an updated row, both hold the columns that changed; for an inserted one, after holds a digest of it.
    """

    table: str
    key: Key
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def as_json(self) -> list[Any]:
        """As stored."""
        return [self.table, dict(self.key), self.before, self.after]


@dataclass(slots=True)
class ChangeSet:
    """The rows that one change touches. Every write goes to the store at once and is remembered here."""

    db: PKBDatabase
    user_email: str
    audit_id: str
    object_id: str | None
    title: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    images: list[Image] = field(default_factory=list)

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Insert one row. Raises IntegrityError of the driver where a UNIQUE column is taken."""
        self.insert_many(table, [row])

    def insert_many(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows of the same columns."""
        if not rows:
            return
        self.db.run_each(_inserting(table, tuple(rows[0])), rows)
        for row in rows:
            key = {column: row[column] for column in KEYS[table]}
            self.images.append(Image(table=table, key=key, before=None, after=digest(table, row)))

    def update(self, table: str, key: Key, changes: Mapping[str, Any]) -> bool:
        """Change columns of one row; False where there is no such row. What stays the same is not remembered."""
        (before,) = self.rows(table, [key])
        if before is None:
            return False
        changed = {column: value for column, value in changes.items() if before[column] != value}
        if changed:
            named = {f"key_{column}": value for column, value in key.items()}
            self.db.run(_updating(table, tuple(changed)), user=self.user_email, **changed, **named)
            old = {column: before[column] for column in changed}
            self.images.append(Image(table=table, key=key, before=old, after=changed))
        return True

    def delete(self, table: str, key: Key) -> bool:
        """Delete one row and those that go with it; False where there is no such row."""
        return bool(self.delete_many(table, [key]))

    def delete_many(self, table: str, keys: Sequence[Key]) -> int:
        """Delete rows and those that go with them, with as many statements for many as for one; how many it were."""
        rows = [row for row in self.rows(table, keys) if row is not None]
        if not rows:
            return 0
        identities = _listed(KEYS[table][:1], rows)
        for dependent, column in DEPENDENTS.get(table, ()):
            self._delete_rows(dependent, self._select(dependent, (column,), identities))
        if table in ALIASED:
            things = [[ALIASED[table], identity] for identity in identities]
            self._delete_rows("aliases", self._select("aliases", ("kind", "thing_id"), things))
        self._delete_rows(table, rows)
        return len(rows)

    def rows(self, table: str, keys: Sequence[Key]) -> list[Row | None]:
        """The whole rows with these keys, in their order; None for one that is not there."""
        columns = KEYS[table]
        found = {_values(columns, row): row for row in self._select(table, columns, _listed(columns, keys))}
        return [found.get(_values(columns, key)) for key in keys]

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is done inside is done wholly or, where it raises, not at all; the rest of the change stands."""
        count = len(self.images)
        try:
            with self.db.savepoint():
                yield
        except BaseException:
            del self.images[count:]
            raise

    def _delete_rows(self, table: str, rows: Sequence[Row]) -> None:
        if not rows:
            return
        columns = KEYS[table]
        self.db.run(_deleting(table), user=self.user_email, keys=_listed(columns, rows))
        keys = ({column: row[column] for column in columns} for row in rows)
        self.images += [
            Image(table=table, key=key, before=row, after=None) for key, row in zip(keys, rows, strict=True)
        ]

    def _select(self, table: str, columns: tuple[str, ...], keys: list[Any]) -> list[Row]:
        names = stored_columns(table)
        rows = self.db.rows(_selecting(table, columns), user=self.user_email, keys=keys)
        return [dict(zip(names, row, strict=True)) for row in rows]


_NAMED = (metadata.tables[table].c for table in ALIASED)
_TAKEN = Prepared(
    union_all(
        *(
            select(func.lower(rows.friendly_id)).where(
                rows.user_email == bindparam("user"), among(caseless(rows.friendly_id), "names")
            )
            for rows in _NAMED
        )
    )
)


def taken_ids(db: PKBDatabase, user_email: str, names: Collection[str]) -> set[str]:
    """Those of `names`, in lower case, that are the readable id of a claim, context, entity or tag of the user."""
    if not names:
        return set()
    return {name for (name,) in db.rows(_TAKEN, user=user_email, names=[name.lower() for name in names])}


def digest(table: str, row: Mapping[str, Any]) -> dict[str, str]:
    """What tells whether an inserted row is still the same; nothing for one that only ties two rows together."""
    left_out = {*KEYS[table], *TIMES}
    told = {
        column: float(value) if isinstance(value, int) else value
        for column, value in sorted(row.items())
        if value is not None and column not in left_out and not column.endswith(ROWID)
    }
    return {"digest": blake2s(json.dumps(told).encode(), digest_size=_DIGEST_BYTES).hexdigest()} if told else {}


@cache
def stored_columns(table: str) -> tuple[str, ...]:
    """The columns of a table, in order, without those that are computed."""
    return tuple(column.name for column in metadata.tables[table].columns if column.computed is None)


@cache
def _inserting(table: str, columns: tuple[str, ...]) -> Prepared:
    return Prepared(insert(metadata.tables[table]), columns=columns)


@cache
def _updating(table: str, columns: tuple[str, ...]) -> Prepared:
    changed = metadata.tables[table]
    keys = (changed.c[key] == bindparam(f"key_{key}") for key in KEYS[table])
    return Prepared(update(changed).where(*keys, *_of_user(changed)), columns=columns)


@cache
def _deleting(table: str) -> Prepared:
    deleted = metadata.tables[table]
    keys = among(tuple(deleted.c[key] for key in KEYS[table]), "keys")
    return Prepared(delete(deleted).where(keys, *_of_user(deleted)))


@cache
def _selecting(table: str, columns: tuple[str, ...]) -> Prepared:
    """The rows whose `columns` have one of the values of `:keys`."""
    found = metadata.tables[table]
    query = select(*(found.c[name] for name in stored_columns(table)))
    keys = among(tuple(found.c[name] for name in columns), "keys")
    return Prepared(query.where(keys, *_of_user(found)))


def _of_user(table: Table) -> Iterator[ColumnElement[bool]]:
    """The condition that rows are `:user`'s; a row that ties two others together is found by the ids of those."""
    if "user_email" in table.c:
        yield unindexed(table.c.user_email) == bindparam("user")


def _listed(columns: Sequence[str], keys: Sequence[Key]) -> list[Any]:
    values = [_values(columns, key) for key in keys]
    return [value for (value,) in values] if len(columns) == 1 else values


def _values(columns: Sequence[str], key: Key) -> tuple[Any, ...]:
    return tuple(key[column] for column in columns)
