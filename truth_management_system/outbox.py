"""Changes on their way to the record of everything that happens, which lies in another store.

The two stores share no transaction: what was handed over is marked afterwards, and whoever receives it has to take the
same change twice for one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from database.engine.clock import now_iso

from .database import PKBDatabase

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


def last_change(db: PKBDatabase) -> int:
    """The number of the newest change of all, 0 for none: where it is the same as before, nothing was changed."""
    return int(db.select("SELECT COALESCE(MAX(audit_seq), 0) FROM audit_log")[0][0])


def undelivered(db: PKBDatabase) -> list[RecordedChange]:
    """The oldest changes that nobody has taken yet, at most 200."""
    sql = (
        "SELECT audit_id, user_email, action, object_type, object_id, title, detail, created_at FROM audit_log "
        "WHERE delivered_at IS NULL ORDER BY audit_seq LIMIT ?"
    )
    rows = db.fetchall(sql, [_AT_ONCE])
    return [RecordedChange(**{**row, "detail": json.loads(row["detail"])}) for row in rows]


def mark_delivered(db: PKBDatabase, audit_ids: Sequence[str]) -> None:
    """Note that these changes were taken."""
    moment = now_iso()
    rows = [(moment, audit_id) for audit_id in audit_ids]
    db.execute_many("UPDATE audit_log SET delivered_at = ? WHERE audit_id = ?", rows)
