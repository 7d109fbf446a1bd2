"""Plans: what is proposed to a person, where it waits for approval, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from database.engine.clock import iso_in
from sentences import say
from truth_management_system.models import ReadByName

from ..crud.claims import ClaimCRUD
from ..database import PKBDatabase, Prepared
from ..errors import KnowledgeError, PlanNotFoundError
from ..models import Claim
from ..schema.tables import plans
from ..utils import generate_uuid, now_iso


class ProposedAction(StrEnum):
    """What a proposal would do.

    update: the new claim supersedes the existing one. conflict: both stay, contested, until the person decides. skip:
    nothing, since it is known.
    """

    ADD = "add"
    UPDATE = "update"
    SKIP = "skip"
    CONFLICT = "conflict"


@dataclass(slots=True, kw_only=True)
class IngestCandidate:
    """A statement that may become a claim. entities: `{"name", "type", "role"}`; confidence: 0 to 1."""

    statement: str
    claim_type: str
    context_domain: str
    tags: list[str] = field(default_factory=list)
    entities: list[dict[str, str]] = field(default_factory=list)
    possible_questions: list[str] = field(default_factory=list)
    confidence: float | None = None


@dataclass(slots=True, kw_only=True)
class IngestProposal:
    """What to do with one candidate.

    existing_claim: the known claim that the action is about, or that is related. similarity_score: to that one, 0 to 1.
    reason: for a person. editable: whether its statement may be changed on approval.
    """

    index: int
    action: str
    candidate: IngestCandidate
    existing_claim: Claim | None = None
    similarity_score: float | None = None
    reason: str = ""
    editable: bool = True


@dataclass(slots=True, kw_only=True)
class TextIngestionPlan(ReadByName):
    """Proposals that wait for a person's word, until `expires_at` (ISO 8601, UTC).

    kind: "text" or "conversation". source_message_id: the message that its claims will link back to.
    """

    plan_id: str
    kind: str
    raw_text: str
    proposals: list[IngestProposal]
    expires_at: str
    source_message_id: str | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> list[IngestCandidate]:
        """The statements, in the order of the text."""
        return [proposal.candidate for proposal in self.proposals]

    @property
    def proposed_actions(self) -> list[IngestProposal]:
        """What would be done with each of the `candidates`."""
        return self.proposals

    @property
    def requires_user_confirmation(self) -> bool:
        """Whether there is anything that a person has to say yes or no to."""
        return len(self.proposals) > self.skip_count

    @property
    def user_prompt(self) -> str:
        """The proposals by number, and how to answer; "" where there is nothing to ask."""
        lines = [f"{one.index + 1}. {one.candidate.statement} ({one.action})" for one in self.proposals]
        question = 'Which of these shall be remembered? Answer "all", "none", or numbers such as "1,3".'
        return "\n".join([*lines, question]) if self.requires_user_confirmation else ""

    @property
    def add_count(self) -> int:
        """How many would be added."""
        return self._count(ProposedAction.ADD)

    @property
    def update_count(self) -> int:
        """How many would take an existing claim's place."""
        return self._count(ProposedAction.UPDATE)

    @property
    def edit_count(self) -> int:
        """Another name of `update_count`."""
        return self.update_count

    @property
    def skip_count(self) -> int:
        """How many are known already."""
        return self._count(ProposedAction.SKIP)

    @property
    def conflict_count(self) -> int:
        """How many contradict an existing claim."""
        return self._count(ProposedAction.CONFLICT)

    @property
    def summary(self) -> str:
        """One sentence for a person."""
        if not self.proposals:
            return "There is nothing to remember in this."
        counts = (
            (self.add_count, "to add"),
            (self.update_count, "to update"),
            (self.conflict_count, "in conflict with what is known"),
            (self.skip_count, "known already"),
        )
        return ", ".join(f"{count} {what}" for count, what in counts if count).capitalize() + "."

    def _count(self, action: ProposedAction) -> int:
        return sum(proposal.action == action for proposal in self.proposals)


@dataclass(slots=True, kw_only=True)
class IngestResult(ReadByName):
    """What became of an approved plan.

    results: `{"index", "success", "action"}` and `claim_id`, `friendly_id` of what was added, or `error`. audit_id: of
    the one change that all of it is, None where nothing was changed.
    """

    plan_id: str
    results: list[dict[str, Any]] = field(default_factory=list)
    audit_id: str | None = None

    @property
    def executed(self) -> bool:
        """Whether anything was changed."""
        return self.audit_id is not None

    @property
    def execution_results(self) -> list[dict[str, Any]]:
        """Another name of `results`."""
        return self.results

    @property
    def added_count(self) -> int:
        """How many claims were only added."""
        return self._count(ProposedAction.ADD)

    @property
    def updated_count(self) -> int:
        """How many took an existing claim's place."""
        return self._count(ProposedAction.UPDATE)

    @property
    def edited_count(self) -> int:
        """Another name of `updated_count`."""
        return self.updated_count

    @property
    def conflict_count(self) -> int:
        """How many conflicts were opened."""
        return self._count(ProposedAction.CONFLICT)

    @property
    def skipped_count(self) -> int:
        """How many were left alone, as proposed."""
        return self._count(ProposedAction.SKIP)

    @property
    def failed_count(self) -> int:
        """How many could not be carried out."""
        return sum(not row["success"] for row in self.results)

    def _count(self, action: ProposedAction) -> int:
        return sum(row["success"] and row["action"] == action for row in self.results)


def as_json(plan: TextIngestionPlan) -> str:
    """As stored; of existing claims, the ids alone."""
    proposals = [
        {
            "action": str(proposal.action),
            "candidate": asdict(proposal.candidate),
            "existing_claim_id": proposal.existing_claim.claim_id if proposal.existing_claim else None,
            "similarity_score": proposal.similarity_score,
            "reason": proposal.reason,
            "editable": proposal.editable,
        }
        for proposal in plan.proposals
    ]
    payload = {
        "raw_text": plan.raw_text,
        "proposals": proposals,
        "source_message_id": plan.source_message_id,
        "warnings": plan.warnings,
    }
    return json.dumps(payload, ensure_ascii=False)


def existing_ids(payload: Mapping[str, Any]) -> list[str]:
    """The ids of the claims that a stored plan is about."""
    return [one["existing_claim_id"] for one in payload["proposals"] if one["existing_claim_id"]]


def from_payload(
    payload: Mapping[str, Any], *, plan_id: str, kind: str, expires_at: str, existing: Sequence[Claim]
) -> TextIngestionPlan:
    """A stored plan, read; existing: what is there now of the claims that it is about."""
    claims = {claim.claim_id: claim for claim in existing}
    proposals = [
        IngestProposal(
            index=index,
            action=ProposedAction(one["action"]),
            candidate=IngestCandidate(**one["candidate"]),
            existing_claim=claims.get(one["existing_claim_id"]),
            similarity_score=one["similarity_score"],
            reason=one["reason"],
            editable=one["editable"],
        )
        for index, one in enumerate(payload["proposals"])
    ]
    return TextIngestionPlan(
        plan_id=plan_id,
        kind=kind,
        raw_text=payload["raw_text"],
        proposals=proposals,
        expires_at=expires_at,
        source_message_id=payload["source_message_id"],
        warnings=payload["warnings"],
    )


_FORGET_EXPIRED = Prepared(
    delete(plans).where(plans.c.user_email == bindparam("user"), plans.c.expires_at < bindparam("now"))
)
_PURGE = Prepared(delete(plans).where(plans.c.expires_at < bindparam("now")).returning(plans.c.plan_id))
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
        super().__init__(say("plan_carried_out"))


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


def purge_plans(db: PKBDatabase) -> int:
    """Delete the plans that have expired, whosever they are, with the texts that they were made of; how many."""
    return len(db.run(_PURGE, now=now_iso()))
