"""Changes on their way to the record of everything that happens, which lies in another store.

The two stores share no transaction: what was handed over is marked afterwards, and whoever receives it has to take the
same change twice for one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import bindparam, func, literal_column, select, update

from database.engine.clock import now_iso

from .database import PKBDatabase, Prepared
from .schema.tables import audit_log

_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One entry of the audit log, for others. audit_id: names it for ever. detail: what changed, small."""

    audit_id: str
    user_email: str
    action: str
    object_type: str
    object_id: str | None
    title: str
    detail: dict[str, Any]
    created_at: str


_COLUMNS = tuple(one.name for one in fields(RecordedChange))
_DETAIL = _COLUMNS.index("detail")
_LAST = Prepared(select(func.max(audit_log.c.audit_seq)))
_UNDELIVERED = Prepared(
    select(*(audit_log.c[name] for name in _COLUMNS))
    .where(audit_log.c.delivered_at.is_(None))
    .order_by(audit_log.c.audit_seq)
    .limit(literal_column(str(_AT_ONCE)))
)
_MARK = Prepared(update(audit_log).where(audit_log.c.audit_id == bindparam("id")), columns=["delivered_at"])


def last_change(db: PKBDatabase) -> int:
    """The number of the newest change of all, 0 for none: where it is the same as before, nothing was changed."""
    row = db.row(_LAST)
    return int(row[0] or 0) if row else 0


def undelivered(db: PKBDatabase) -> list[RecordedChange]:
    """The oldest changes that nobody has taken yet, at most 200."""
    return [
        RecordedChange(**{**dict(zip(_COLUMNS, row, strict=True)), "detail": json.loads(row[_DETAIL])})
        for row in db.rows(_UNDELIVERED)
    ]


def mark_delivered(db: PKBDatabase, audit_ids: Sequence[str]) -> None:
    """Note that these changes were taken."""
    moment = now_iso()
    db.run_each(_MARK, [{"delivered_at": moment, "id": audit_id} for audit_id in audit_ids])
