"""Recording changes: each is one row of the audit log, in the transaction of the change, and can be undone.

Whoever writes rows of a person's does it through a `ChangeSet`, which keeps what they were before and after.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2s
from threading import local
from typing import Any

from sqlalchemy.exc import IntegrityError

from database.clock import now_iso
from database.stored_text import storable

from .database import PKBDatabase
from .errors import ChangeNotFoundError, UndoConflictError
from .schema import DEPENDENTS, KEYS

_TIMES = frozenset({"updated_at"})
_ROWID = "_rowid"
_DIGEST_BYTES = 12
_LONGEST_TITLE = 200
_open = local()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a row was and is: before is None for an inserted row, after for a deleted one.

    For an updated row, both hold the columns that changed; for an inserted one, after holds a digest of it.
    """

    table: str
    key: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def as_json(self) -> list[Any]:
        """As stored."""
        return [self.table, dict(self.key), self.before, self.after]


@dataclass(slots=True)
class ChangeSet:
    """The rows that one change touches. Every write goes to the store at once and is remembered here."""

    db: PKBDatabase
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
        columns = list(rows[0])
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})"
        self.db.execute_many(sql, [[row[column] for column in columns] for row in rows])
        for row in rows:
            key = {column: row[column] for column in KEYS[table]}
            self.images.append(Image(table=table, key=key, before=None, after=_digest(table, row)))

    def update(self, table: str, key: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
        """Change columns of one row; False where there is no such row. What stays the same is not remembered."""
        before = self._row(table, key)
        if before is None:
            return False
        changed = {column: value for column, value in changes.items() if before[column] != value}
        if changed:
            assignments = ", ".join(f"{column} = ?" for column in changed)
            sql = f"UPDATE {table} SET {assignments} WHERE {_where(key)}"
            self.db.execute(sql, [*changed.values(), *key.values()])
            old = {column: before[column] for column in changed}
            self.images.append(Image(table=table, key=key, before=old, after=changed))
        return True

    def delete(self, table: str, key: Mapping[str, Any]) -> bool:
        """Delete one row and those that go with it; False where there is no such row."""
        row = self._row(table, key)
        if row is None:
            return False
        for dependent, column in DEPENDENTS.get(table, ()):
            self._delete_where(dependent, column, row[KEYS[table][0]])
        self._delete_row(table, key, row)
        return True

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

    def _delete_where(self, table: str, column: str, value: Any) -> None:
        names = self.db.columns(table)
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {column} = ?"
        for values in self.db.select(sql, [value]):
            row = dict(zip(names, values, strict=True))
            self._delete_row(table, {name: row[name] for name in KEYS[table]}, row)

    def _delete_row(self, table: str, key: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        self.db.execute(f"DELETE FROM {table} WHERE {_where(key)}", list(key.values()))
        self.images.append(Image(table=table, key=key, before=row, after=None))

    def _row(self, table: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
        names = self.db.columns(table)
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {_where(key)}"
        rows = self.db.select(sql, list(key.values()))
        return dict(zip(names, rows[0], strict=True)) if rows else None


@contextmanager
def recording(
    db: PKBDatabase,
    *,
    user_email: str,
    action: str,
    object_type: str,
    object_id: str | None = None,
    title: str = "",
    detail: Mapping[str, Any] | None = None,
) -> Iterator[ChangeSet]:
    """One change by `user_email`: everything inside is one transaction and one entry of the audit log.

    A recording inside another one is part of it. A change that touched nothing leaves no entry.
    """
    outer: ChangeSet | None = getattr(_open, "changes", None)
    if outer is not None and outer.db is db:
        yield outer
        return
    changes = ChangeSet(db, audit_id=str(uuid.uuid4()), object_id=object_id, title=title, detail=dict(detail or {}))
    _open.changes = changes  # an outer one is of another store, and goes on afterwards
    try:
        with db.transaction():
            yield changes
            if changes.images:
                _write(changes, user_email=user_email, action=action, object_type=object_type)
    finally:
        _open.changes = outer


@contextmanager
def watching() -> Iterator[list[str]]:
    """The ids of the audit entries that this thread writes meanwhile, in order."""
    written: list[str] = []
    watchers: list[list[str]] = _open.__dict__.setdefault("watchers", [])
    watchers.append(written)
    try:
        yield written
    finally:
        watchers.pop()


def undo(db: PKBDatabase, *, user_email: str, audit_id: str) -> str:
    """Put back what the change `audit_id` changed; returns the id of the entry that records this.

    Raises ChangeNotFoundError, and UndoConflictError where it was undone already, where something that it touched was
    changed again since, or where something else has taken the place of what would come back; then nothing is undone.
    """
    columns = "action, object_type, object_id, title, images, undone_by"
    sql = f"SELECT {columns} FROM audit_log WHERE audit_id = ? AND user_email = ?"
    with db.transaction():
        rows = db.select(sql, [audit_id, user_email])
        if not rows:
            raise ChangeNotFoundError(audit_id)
        action, object_type, object_id, title, images, undone_by = rows[0]
        if undone_by:
            raise UndoConflictError("This change was undone already.")
        detail = {"undone": audit_id, "action": action}
        with recording(
            db,
            user_email=user_email,
            action="undo",
            object_type=object_type,
            object_id=object_id,
            title=title,
            detail=detail,
        ) as changes:
            try:
                for table, key, before, after in reversed(json.loads(images)):
                    _revert(changes, table, key, before, after)
            except IntegrityError as error:
                raise UndoConflictError(
                    "Something else has this name or id now, or what it belonged to is gone. Nothing was undone."
                ) from error
        db.execute("UPDATE audit_log SET undone_by = ? WHERE audit_id = ?", [changes.audit_id, audit_id])
        return changes.audit_id


def _revert(
    changes: ChangeSet,
    table: str,
    key: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    if before is None:
        _take_away(changes, table, key, after or {})
    elif after is None:
        _put_back(changes, table, before)
    else:
        _restore(changes, table, key, before, after)


def _take_away(changes: ChangeSet, table: str, key: Mapping[str, Any], digest: Mapping[str, Any]) -> None:
    row = changes._row(table, key)
    if digest and (row is None or _digest(table, row) != digest):
        raise UndoConflictError("This was changed again since. Undo the later change first.")
    # A mere link may be gone: that is what undoing comes to.
    changes.delete(table, key)


def _put_back(changes: ChangeSet, table: str, row: Mapping[str, Any]) -> None:
    key = {column: row[column] for column in KEYS[table]}
    if changes._row(table, key) is not None:
        raise UndoConflictError("What was deleted is there again. Nothing was undone.")
    # Its number in the file may be another row's by now.
    changes.insert(table, {column: value for column, value in row.items() if not column.endswith(_ROWID)})


def _restore(
    changes: ChangeSet, table: str, key: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    row = changes._row(table, key)
    if row is None or any(row[column] != value for column, value in after.items() if column not in _TIMES):
        raise UndoConflictError("This was changed again since. Undo the later change first.")
    again = {column: value for column, value in before.items() if column not in _TIMES}
    changes.update(table, key, again | ({"updated_at": now_iso()} if "updated_at" in row else {}))


def _write(changes: ChangeSet, *, user_email: str, action: str, object_type: str) -> None:
    row = {
        "audit_id": changes.audit_id,
        "user_email": user_email,
        "action": action,
        "object_type": object_type,
        "object_id": changes.object_id,
        "title": storable(changes.title)[:_LONGEST_TITLE],
        "detail": storable(json.dumps(changes.detail, ensure_ascii=False)),
        "images": json.dumps([image.as_json() for image in changes.images], ensure_ascii=False),
        "created_at": now_iso(),
    }
    sql = f"INSERT INTO audit_log ({', '.join(row)}) VALUES ({_marks(row)})"
    changes.db.execute(sql, list(row.values()))
    for written in getattr(_open, "watchers", ()):
        written.append(changes.audit_id)


def _digest(table: str, row: Mapping[str, Any]) -> dict[str, str]:
    """What tells whether an inserted row is still the same; nothing for one that only ties two rows together."""
    left_out = {*KEYS[table], *_TIMES}
    told = {
        column: float(value) if isinstance(value, int) else value
        for column, value in sorted(row.items())
        if value is not None and column not in left_out and not column.endswith(_ROWID)
    }
    return {"digest": blake2s(json.dumps(told).encode(), digest_size=_DIGEST_BYTES).hexdigest()} if told else {}


def _where(key: Mapping[str, Any]) -> str:
    return " AND ".join(f"{column} = ?" for column in key)


def _marks(columns: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join("?" for _ in columns)
