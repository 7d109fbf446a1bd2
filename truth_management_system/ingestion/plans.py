"""Where plans wait for approval: stored for their user, until they expire or are carried out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, select, update

from database.engine.clock import iso_in

from ..crud.claims import ClaimCRUD
from ..database import PKBDatabase, Prepared
from ..errors import KnowledgeError, PlanNotFoundError
from ..schema.tables import plans
from ..utils import generate_uuid, now_iso
from .proposals import IngestProposal, TextIngestionPlan, as_json, existing_ids, from_payload

_FORGET_EXPIRED = Prepared(
    delete(plans).where(plans.c.user_email == bindparam("user"), plans.c.expires_at < bindparam("now"))
)
_ADD = Prepared(insert(plans), columns=["plan_id", "user_email", "kind", "payload", "created_at", "expires_at"])
_GET = Prepared(
    select(plans.c.kind, plans.c.payload, plans.c.expires_at, plans.c.executed_at).where(
        plans.c.plan_id == bindparam("plan_id"),
        plans.c.user_email == bindparam("user"),
        plans.c.expires_at >= bindparam("now"),
    )
)
_MARK = Prepared(
    update(plans).where(plans.c.plan_id == bindparam("id"), plans.c.user_email == bindparam("user")),
    columns=["executed_at"],
)


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
        moment = now_iso()
        with self.db.transaction():
            self.db.run(_FORGET_EXPIRED, user=self.user_email, now=moment)
            self.db.run(
                _ADD,
                plan_id=plan.plan_id,
                user_email=self.user_email,
                kind=kind,
                payload=as_json(plan),
                created_at=moment,
                expires_at=plan.expires_at,
            )
        return plan

    def get(self, plan_id: str) -> TextIngestionPlan:
        """A plan that can be carried out. Raises PlanNotFoundError, PlanExecutedError."""
        row = self.db.row(_GET, plan_id=plan_id, user=self.user_email, now=now_iso())
        if row is None:
            raise PlanNotFoundError(plan_id)
        kind, text, expires_at, executed_at = row
        if executed_at is not None:
            raise PlanExecutedError
        payload = json.loads(text)
        existing = ClaimCRUD(self.db, self.user_email).get_many(existing_ids(payload))
        return from_payload(payload, plan_id=plan_id, kind=kind, expires_at=expires_at, existing=existing)

    def mark_executed(self, plan_id: str) -> None:
        """Note that a plan was carried out, so that it is not carried out again."""
        self.db.run(_MARK, id=plan_id, user=self.user_email, executed_at=now_iso())
