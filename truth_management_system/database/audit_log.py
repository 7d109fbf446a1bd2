"""Recording changes: each is one row of the audit log, in the transaction of the change, and can be undone.

All writes of a person's rows go through a `ChangeSet`, which keeps each row as it was before and after.

The outbox: activities lie in another store, and the two stores share no transaction. A change is marked as delivered
after it was handed over, so the receiver may get it twice and has to recognise it by its `audit_id`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby
from threading import local
from typing import Any

from sqlalchemy import Select, bindparam, func, insert, literal_column, not_, select, update
from sqlalchemy.exc import IntegrityError

from database.engine.clock import now_iso
from database.engine.text import storable
from sentences import say

from ..errors import ChangeNotFoundError, UndoConflictError
from ..schema import ALIASED, KEYS, metadata
from ..schema.operators import among, list_as_json
from ..schema.tables import audit_log, claim_links
from .change_set import ROWID, TIMES, ChangeSet, digest, taken_ids
from .pkb_database import PKBDatabase, Prepared

__all__ = [
    "ChangeSet",
    "RecordedChange",
    "history",
    "is_recorded",
    "last_change",
    "mark_delivered",
    "recording",
    "undelivered",
    "undo",
    "watching",
]

_PARENTS = {"tags": "parent_tag_id", "contexts": "parent_context_id"}
_CHANGED_SINCE = say("undo_changed_since")
_LONGEST_TITLE = 200
StoredImage = tuple[str, dict[str, Any], Any, Any]
"""Table, key, before, after: an `Image` as it is read."""

_COLUMNS = ("audit_id", "user_email", "action", "object_type", "object_id", "title", "detail", "images", "created_at")
_ENTRY = Prepared(
    select(
        audit_log.c.action,
        audit_log.c.object_type,
        audit_log.c.object_id,
        audit_log.c.title,
        audit_log.c.images,
        audit_log.c.undone_by,
    ).where(audit_log.c.audit_id == bindparam("audit_id"), audit_log.c.user_email == bindparam("user"))
)
_RECORD = Prepared(insert(audit_log), columns=_COLUMNS)
_MARK_UNDONE = Prepared(
    update(audit_log).where(audit_log.c.audit_id == bindparam("undone"), audit_log.c.user_email == bindparam("user")),
    columns=["undone_by"],
)
_SHOWN = ("audit_seq", "audit_id", "action", "object_type", "object_id", "title", "detail", "created_at", "undone_by")
_HISTORY = Prepared(
    select(*(audit_log.c[name] for name in _SHOWN))
    .where(
        audit_log.c.user_email == bindparam("user"),
        audit_log.c.action == func.coalesce(bindparam("action"), audit_log.c.action),
        audit_log.c.audit_seq < bindparam("before"),
    )
    .order_by(audit_log.c.audit_seq.desc())
    .limit(bindparam("limit"))
)
_SUPERSEDED_OTHERS = Prepared(
    select(literal_column("1"))
    .where(
        claim_links.c.link_type == literal_column("'supersedes'"),
        among(claim_links.c.from_claim_id, "going"),
        not_(among(claim_links.c.to_claim_id, "going")),
    )
    .limit(1)
)

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
    audit_id: str | None = None,
) -> Iterator[ChangeSet]:
    """One change by `user_email`: everything inside is one transaction and one entry of the audit log.

    audit_id: the id of the entry; None: a random one.
    A recording inside another one is part of it. A change that touched nothing leaves no entry.
    """
    outer: ChangeSet | None = getattr(_open, "changes", None)
    if outer is not None and outer.db is db:
        yield outer
        return
    changes = ChangeSet(
        db,
        user_email=user_email,
        audit_id=audit_id or str(uuid.uuid4()),
        object_id=object_id,
        title=title,
        detail=dict(detail or {}),
    )
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


def history(
    db: PKBDatabase, *, user_email: str, action: str | None = None, before: int | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """The entries of a user's audit log, newest first: of one action, and from before the number `before`, if given."""
    rows = db.rows(_HISTORY, user=user_email, action=action, before=2**62 if before is None else before, limit=limit)
    entries = (dict(zip(_SHOWN, row, strict=True)) for row in rows)
    return [{**entry, "detail": json.loads(entry["detail"])} for entry in entries]


def is_recorded(db: PKBDatabase, *, user_email: str, audit_id: str) -> bool:
    """Whether the user's audit log has this entry."""
    return db.row(_ENTRY, audit_id=audit_id, user=user_email) is not None


def undo(db: PKBDatabase, *, user_email: str, audit_id: str) -> str:
    """Put back what the change `audit_id` changed; returns the id of the entry that records this.

    Raises ChangeNotFoundError, and UndoConflictError where it was undone already, where something that it touched was
    changed again since, or where something else has taken the place of what would come back; then nothing is undone.
    """
    with db.transaction():
        entry = db.row(_ENTRY, audit_id=audit_id, user=user_email)
        if entry is None:
            raise ChangeNotFoundError(audit_id)
        action, object_type, object_id, title, images, undone_by = entry
        if undone_by:
            raise UndoConflictError(say("undone_already"))
        if images == "[]":
            raise UndoConflictError(say("undo_not_kept"))
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
                _revert(changes, list(_stored_images(images)))
            except IntegrityError as error:
                raise UndoConflictError(say("undo_place_taken")) from error
        db.run(_MARK_UNDONE, undone=audit_id, user=user_email, undone_by=changes.audit_id)
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
        raise UndoConflictError(say("undo_others_below"))
    if table == "claims" and _has_superseded_others(changes, keys):
        # Those would be out of sight, with nothing in their place.
        raise UndoConflictError(_CHANGED_SINCE)
    # A mere link may be gone: that is what undoing comes to.
    changes.delete_many(table, keys)


def _has_others_below(changes: ChangeSet, table: str, keys: Sequence[Mapping[str, Any]]) -> bool:
    (key,) = KEYS[table]
    return changes.db.row(_others_below(table), going=[each[key] for each in keys]) is not None


@cache
def _others_below(table: str) -> Prepared:
    (key,), rows = KEYS[table], metadata.tables[table].c
    is_other = (among(rows[_PARENTS[table]], "going"), not_(among(rows[key], "going")))
    others: Select[Any] = select(literal_column("1")).where(*is_other)
    return Prepared(others.limit(1))


def _has_superseded_others(changes: ChangeSet, keys: Sequence[Mapping[str, Any]]) -> bool:
    going = [key["claim_id"] for key in keys]
    return changes.db.row(_SUPERSEDED_OTHERS, going=going) is not None


def _put_back(changes: ChangeSet, table: str, some: Sequence[StoredImage]) -> None:
    rows = [before for _, _, before, _ in some]
    if any(row is not None for row in changes.rows(table, rows)):
        raise UndoConflictError(say("undo_there_again"))
    names = [row["friendly_id"] for row in rows] if table in ALIASED else []
    if taken_ids(changes.db, changes.user_email, names):
        raise UndoConflictError(say("undo_place_taken"))
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
        "images": list_as_json([image.as_json() for image in changes.images], ensure_ascii=False),
        "created_at": now_iso(),
    }
    changes.db.run(_RECORD, **row)
    for written in getattr(_open, "watchers", ()):
        written.append(changes.audit_id)


_JSON = json.JSONDecoder()


def _stored_images(text: str) -> Iterator[StoredImage]:
    """The images of an entry, read one by one as they are asked for: in one call, many would stop all other threads."""
    at = len("[")
    while at < len(text) - len("]"):
        image, at = _JSON.raw_decode(text, at)
        yield image
        at += len(", ")


_AT_ONCE = 200
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One entry of the audit log, for others.

    audit_id: names it for ever. detail: what changed, small. claim_ids: the claims that it touched; empty where it
    touched none, or more than 20.
    """

    audit_id: str
    user_email: str
    action: str
    object_type: str
    object_id: str | None
    title: str
    detail: dict[str, Any]
    created_at: str
    claim_ids: list[str]


_HANDED_OVER = tuple(one.name for one in fields(RecordedChange) if one.name != "claim_ids")
_LAST = Prepared(select(func.max(audit_log.c.audit_seq)))
_UNDELIVERED = Prepared(
    select(*(audit_log.c[name] for name in _HANDED_OVER), audit_log.c.images)
    .where(audit_log.c.delivered_at.is_(None))
    .order_by(audit_log.c.audit_seq)
    .limit(literal_column(str(_AT_ONCE)))
)
_MARK_DELIVERED = Prepared(update(audit_log).where(audit_log.c.audit_id == bindparam("id")), columns=["delivered_at"])


def last_change(db: PKBDatabase) -> int:
    """The number of the newest change of all, 0 for none: where it is the same as before, nothing was changed."""
    row = db.row(_LAST)
    return int(row[0] or 0) if row else 0


def undelivered(db: PKBDatabase) -> list[RecordedChange]:
    """The oldest changes that nobody has taken yet, at most 200."""
    return [_recorded(dict(zip((*_HANDED_OVER, "images"), row, strict=True))) for row in db.rows(_UNDELIVERED)]


def _recorded(entry: dict[str, Any]) -> RecordedChange:
    claim_ids = _claims_named(_stored_images(entry.pop("images")))
    return RecordedChange(**{**entry, "detail": json.loads(entry["detail"]), "claim_ids": claim_ids})


def _claims_named(images: Iterable[StoredImage]) -> list[str]:
    """The ids of the claims that were touched, in order; none where they are more than 20. Reads no further then."""
    named = set[str]()
    for _, key, _, _ in images:
        if "claim_id" in key:
            named.add(key["claim_id"])
        if len(named) > _MOST_NAMED:
            return []
    return sorted(named)


def mark_delivered(db: PKBDatabase, audit_ids: Sequence[str]) -> None:
    """Note that these changes were taken."""
    moment = now_iso()
    db.run_each(_MARK_DELIVERED, [{"delivered_at": moment, "id": audit_id} for audit_id in audit_ids])
