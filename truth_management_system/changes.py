"""Recording changes: each is one row of the audit log, in the transaction of the change, and can be undone.

Whoever writes rows of a person's does it through a `ChangeSet`, which keeps what they were before and after.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from threading import local
from typing import Any

from sqlalchemy.exc import IntegrityError

from database.engine.clock import now_iso
from database.engine.text import storable

from .change_set import ROWID, TIMES, ChangeSet, digest
from .database import PKBDatabase
from .errors import ChangeNotFoundError, UndoConflictError
from .schema import KEYS

__all__ = ["ChangeSet", "recording", "undo", "watching"]

_PARENTS = {"tags": "parent_tag_id", "contexts": "parent_context_id"}
_CHANGED_SINCE = "This was changed again since. Undo the later change first."
_LONGEST_TITLE = 200
StoredImage = tuple[str, dict[str, Any], Any, Any]
"""Table, key, before, after: an `Image` as it is read."""

_open = local()


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
        if images == "[]":
            raise UndoConflictError("What was there before this change is not kept any more.")
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
                _revert(changes, json.loads(images))
            except IntegrityError as error:
                raise UndoConflictError(
                    "Something else has this name or id now, or what it belonged to is gone. Nothing was undone."
                ) from error
        db.execute("UPDATE audit_log SET undone_by = ? WHERE audit_id = ?", [changes.audit_id, audit_id])
        return changes.audit_id


def _revert(changes: ChangeSet, images: Sequence[StoredImage]) -> None:
    """Put everything back, the last first; what was inserted or deleted in a row, at once."""
    for (table, was_inserted, was_deleted), group in groupby(reversed(images), key=_kind):
        some = list(group)
        if was_inserted:
            _take_away(changes, table, some)
        elif was_deleted:
            _put_back(changes, table, some)
        else:
            for image in some:
                _restore(changes, image)


def _kind(image: StoredImage) -> tuple[str, bool, bool]:
    table, _, before, after = image
    return table, before is None, after is None


def _take_away(changes: ChangeSet, table: str, some: Sequence[StoredImage]) -> None:
    keys = [key for _, key, _, _ in some]
    for row, (_, _, _, told) in zip(changes.rows(table, keys), some, strict=True):
        if told and (row is None or digest(table, row) != told):
            raise UndoConflictError(_CHANGED_SINCE)
    if table in _PARENTS and _has_others_below(changes, table, keys):
        raise UndoConflictError("Something else lies below this now. Move or delete that first. Nothing was undone.")
    if table == "claims" and _has_superseded_others(changes, keys):
        # Those would be out of sight, with nothing in their place.
        raise UndoConflictError(_CHANGED_SINCE)
    # A mere link may be gone: that is what undoing comes to.
    changes.delete_many(table, keys)


def _has_others_below(changes: ChangeSet, table: str, keys: Sequence[Mapping[str, Any]]) -> bool:
    (key,), parent = KEYS[table], _PARENTS[table]
    going = json.dumps([each[key] for each in keys])
    sql = (
        f"WITH going AS (SELECT value FROM json_each(?)) SELECT 1 FROM {table} "
        f"WHERE {parent} IN (SELECT value FROM going) AND {key} NOT IN (SELECT value FROM going) LIMIT 1"
    )
    return bool(changes.db.select(sql, [going]))


def _has_superseded_others(changes: ChangeSet, keys: Sequence[Mapping[str, Any]]) -> bool:
    going = json.dumps([key["claim_id"] for key in keys])
    sql = (
        "WITH going AS (SELECT value FROM json_each(?)) SELECT 1 FROM claim_links WHERE link_type = 'supersedes' "
        "AND from_claim_id IN (SELECT value FROM going) AND to_claim_id NOT IN (SELECT value FROM going) LIMIT 1"
    )
    return bool(changes.db.select(sql, [going]))


def _put_back(changes: ChangeSet, table: str, some: Sequence[StoredImage]) -> None:
    rows = [before for _, _, before, _ in some]
    if any(row is not None for row in changes.rows(table, rows)):
        raise UndoConflictError("What was deleted is there again. Nothing was undone.")
    # Its number in the file may be another row's by now.
    unnumbered = [{name: value for name, value in row.items() if not name.endswith(ROWID)} for row in rows]
    changes.insert_many(table, unnumbered)


def _restore(changes: ChangeSet, image: StoredImage) -> None:
    table, key, before, after = image
    (row,) = changes.rows(table, [key])
    if row is None or any(row[column] != value for column, value in after.items() if column not in TIMES):
        raise UndoConflictError(_CHANGED_SINCE)
    again = {column: value for column, value in before.items() if column not in TIMES}
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


def _marks(columns: Mapping[str, Any]) -> str:
    return ", ".join("?" for _ in columns)
