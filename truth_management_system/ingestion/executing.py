"""Carrying out what a person approved of a plan: one change, with one undo, and a result for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from sentences import say
from truth_management_system.models import ActionResult

from ..constants import ClaimStatus
from ..database.audit_log import ChangeSet, recording
from ..errors import InvalidKnowledgeError, KnowledgeError
from ..models import Claim
from .plans import IngestCandidate, IngestProposal, IngestResult, PlanStore, ProposedAction, TextIngestionPlan

if TYPE_CHECKING:
    from ..interface.structured_api import StructuredAPI

Approved = Sequence[Mapping[str, Any] | int] | str | None
"""None or "all": everything as proposed; else the rows, each an index, or `index` and what is changed of it."""

_CHANGEABLE = ("statement", "claim_type", "context_domain", "tags")
_KNOWN_KEYS = frozenset({"index", "action", *_CHANGEABLE})


def carry_out(api: StructuredAPI, plan_or_plan_id: TextIngestionPlan | str, approved: Approved = None) -> IngestResult:
    """Do what was approved. A row that can't be done fails alone; a plan of which nothing could be done stays open.

    A proposal is carried out once: further rows with its index fail.
    Raises PlanNotFoundError, PlanExecutedError, InvalidKnowledgeError for an approval that is no list.
    """
    plan_id = plan_or_plan_id if isinstance(plan_or_plan_id, str) else plan_or_plan_id.plan_id
    plans = PlanStore(api.db, api.user_email)
    # Read inside the transaction: of two that carry out one plan at once, the second finds that it was done.
    with recording(api.db, user_email=api.owner, action="ingest", object_type="plan", object_id=plan_id) as changes:
        plan = plans.get(plan_id)
        rows = _rows(plan, approved)
        changes.title = f"{len(rows)} memories from a {plan.kind}"
        done: set[int] = set()
        results = [_carried_out(api, changes, plan, row, done=done) for row in rows]
        result = IngestResult(plan_id=plan_id, results=results)
        changes.detail["count"] = len(rows) - result.failed_count
        if changes.images:
            result.audit_id = changes.audit_id
            plans.mark_executed(plan_id)
    return result


def _rows(plan: TextIngestionPlan, approved: Approved) -> list[Mapping[str, Any]]:
    if approved is None or approved == "all":
        return [{"index": proposal.index} for proposal in plan.proposals]
    if isinstance(approved, str) or not all(_is_index(row) or isinstance(row, Mapping) for row in approved):
        raise InvalidKnowledgeError('Approve "all", or a list of indexes or of objects with the index of each.')
    return [row if isinstance(row, Mapping) else {"index": row} for row in approved]


def _is_index(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _carried_out(
    api: StructuredAPI, changes: ChangeSet, plan: TextIngestionPlan, row: Mapping[str, Any], *, done: set[int]
) -> dict[str, Any]:
    """Do what one row wants, and add its proposal to `done`, where those of the rows before it are."""
    index, action = row.get("index"), str(row.get("action", ""))
    try:
        proposal = _proposal(plan, row)
        if proposal.index in done:
            raise InvalidKnowledgeError(f"Proposal {proposal.index} was decided by a row before this one.")
        action = _action(proposal, row)
        if action == ProposedAction.SKIP:
            done.add(proposal.index)
            return {"index": index, "success": True, "action": action.value}
        with changes.attempt():
            claim = _added(api, _changed(proposal, row), plan)
            _related(api, action, claim, proposal)
        done.add(proposal.index)
    except KnowledgeError as error:
        return {"index": index, "success": False, "action": str(action), "error": error.message}
    names = {"claim_id": claim.claim_id, "friendly_id": claim.friendly_id}
    return {"index": index, "success": True, "action": action.value, **names}


def _proposal(plan: TextIngestionPlan, row: Mapping[str, Any]) -> IngestProposal:
    index = row.get("index")
    if not _is_index(index) or not 0 <= index < len(plan.proposals):
        raise InvalidKnowledgeError(f"This plan has no proposal {index!r}.")
    unknown = sorted(set(row) - _KNOWN_KEYS)
    if unknown:
        raise InvalidKnowledgeError(f"A proposal has no {', '.join(unknown)} to change.")
    tags = row.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidKnowledgeError("The tags have to be a list of words.")
    return plan.proposals[index]


def _action(proposal: IngestProposal, row: Mapping[str, Any]) -> ProposedAction:
    try:
        action = ProposedAction(row.get("action", proposal.action))
    except ValueError as error:
        actions = ", ".join(ProposedAction)
        raise InvalidKnowledgeError(f"{row['action']!r} is no action; use one of {actions}.") from error
    if action in (ProposedAction.UPDATE, ProposedAction.CONFLICT):
        existing = proposal.existing_claim
        if existing is None or existing.status not in ClaimStatus.default_search_statuses():
            raise InvalidKnowledgeError(say("memory_of_proposal_gone"))
    return action


def _changed(proposal: IngestProposal, row: Mapping[str, Any]) -> IngestCandidate:
    changes = {name: row[name] for name in _CHANGEABLE if name in row}
    candidate = replace(proposal.candidate, **changes)
    if "statement" in changes and changes["statement"] != proposal.candidate.statement:
        # What was found in the old words need not hold for the new ones.
        told = str(candidate.statement).casefold()
        entities = [entity for entity in candidate.entities if entity["name"].casefold() in told]
        candidate = replace(candidate, entities=entities, possible_questions=[])
    return candidate


def _added(api: StructuredAPI, candidate: IngestCandidate, plan: TextIngestionPlan) -> Claim:
    added: ActionResult = api.add_claim(
        candidate.statement,
        candidate.claim_type,
        candidate.context_domain,
        tags=candidate.tags,
        entities=candidate.entities,
        auto_extract=False,
        confidence=candidate.confidence,
        possible_questions=candidate.possible_questions,
        source_activity_id=plan.source_message_id,
    )
    claim: Claim = _succeeded(added).data
    return claim


def _related(api: StructuredAPI, action: ProposedAction, claim: Claim, proposal: IngestProposal) -> None:
    existing = proposal.existing_claim
    if action == ProposedAction.UPDATE and existing is not None:
        _succeeded(api.supersede_claim(claim.claim_id, existing.claim_id))
    elif action == ProposedAction.CONFLICT and existing is not None:
        _succeeded(api.create_conflict_set([claim.claim_id, existing.claim_id]))


def _succeeded(result: ActionResult) -> ActionResult:
    if not result.success:
        raise InvalidKnowledgeError(result.errors[0])
    return result
