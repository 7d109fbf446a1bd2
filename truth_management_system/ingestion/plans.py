"""Where plans wait for approval: stored for their user, until they expire or are carried out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from database.engine.clock import iso_in, now_iso

from ..crud.claims import ClaimCRUD
from ..database import PKBDatabase
from ..errors import KnowledgeError, PlanNotFoundError
from ..utils import generate_uuid
from .proposals import IngestProposal, TextIngestionPlan, as_json, existing_ids, from_payload


class PlanExecutedError(KnowledgeError):
    """The plan was carried out already; a plan is carried out once."""

    code = "conflict"

    def __init__(self) -> None:
        super().__init__("This plan was carried out already. Propose again to add more.")


class PlanStore:
    """The plans of one user."""

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        self.db = db
        self.user_email = user_email or ""

    def add(
        self,
        proposals: Sequence[IngestProposal],
        *,
        kind: str,
        raw_text: str,
        hours: float,
        source_message_id: str | None = None,
        warnings: Sequence[str] = (),
    ) -> TextIngestionPlan:
        """Store a new plan that can be carried out for so many `hours`; those that expired are forgotten."""
        plan = TextIngestionPlan(
            plan_id=generate_uuid(),
            kind=kind,
            raw_text=raw_text,
            proposals=list(proposals),
            expires_at=iso_in(hours=hours),
            source_message_id=source_message_id,
            warnings=list(warnings),
        )
        row = [plan.plan_id, self.user_email, kind, as_json(plan), now_iso(), plan.expires_at]
        with self.db.transaction():
            self.db.execute("DELETE FROM plans WHERE user_email = ? AND expires_at < ?", [self.user_email, now_iso()])
            columns = "plan_id, user_email, kind, payload, created_at, expires_at"
            self.db.execute(f"INSERT INTO plans ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
        return plan

    def get(self, plan_id: str) -> TextIngestionPlan:
        """A plan that can be carried out. Raises PlanNotFoundError, PlanExecutedError."""
        sql = (
            "SELECT kind, payload, expires_at, executed_at FROM plans "
            "WHERE plan_id = ? AND user_email = ? AND expires_at >= ?"
        )
        rows = self.db.select(sql, [plan_id, self.user_email, now_iso()])
        if not rows:
            raise PlanNotFoundError(plan_id)
        kind, text, expires_at, executed_at = rows[0]
        if executed_at is not None:
            raise PlanExecutedError
        payload = json.loads(text)
        existing = ClaimCRUD(self.db, self.user_email).get_many(existing_ids(payload))
        return from_payload(payload, plan_id=plan_id, kind=kind, expires_at=expires_at, existing=existing)

    def mark_executed(self, plan_id: str) -> None:
        """Note that a plan was carried out, so that it is not carried out again."""
        sql = "UPDATE plans SET executed_at = ? WHERE plan_id = ? AND user_email = ?"
        self.db.execute(sql, [now_iso(), plan_id, self.user_email])
