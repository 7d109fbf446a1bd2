"""Suggestions for a statement, what a text in words asks for, proposals from texts, and their approval."""

from __future__ import annotations

from typing import Any, Literal

from flask import Blueprint

from chat.context.knowledge import turn_to_remember
from endpoints.http.errors import TooLargeError
from endpoints.http.responses import warned
from endpoints.http.scope import access_conversation, current_state, current_user_scope
from endpoints.http.validation import admits_read_only_tokens, answers, asks, fails, takes
from endpoints.pkb import requests, responses
from endpoints.pkb.common import described_all, knowledge, unwrap, work_of_analysis, work_of_text
from endpoints.serving.work_queues import Work, works
from sentences import say
from truth_management_system import ConversationDistiller, StructuredAPI, TextIngestionDistiller, TextOrchestrator

from .claims import similar_claims

blueprint = Blueprint("pkb_intake", __name__, url_prefix="/pkb")
_MOST_BYTES = 50 * 1024
_NOT_UNDERSTOOD = "clarify"
_READ_TOKENS, _WRITTEN_TOKENS = 500, 100
"""Of the question about a statement and its answer, about."""


@blueprint.post("/analyze_statement")
@asks(requests.AnalysisMode)
@takes(requests.StatementText)
@answers(responses.Analysis)
@fails("model_unavailable")
@admits_read_only_tokens
@works(work_of_analysis)
def analyze_statement(query: requests.AnalysisMode, body: requests.StatementText) -> object:
    """Suggest type, domain, tags, entities and questions for a statement, and find similar claims.

    With `use_model=false`, in the address or in the body, rules make the suggestions, and no model is waited for.
    Nothing is stored: a read-only token may ask, as it may search with a model's help.
    """
    api = knowledge()
    analysis = unwrap(api.analyze_statement(body.statement, query.use_model and body.use_model))
    similar = similar_claims(api, analysis["similar"])
    warnings = warned(analysis["warnings"])
    return {**analysis, **warnings, "similar": similar, "expected_seconds": _expected_seconds()}


@blueprint.post("/text")
@takes(requests.TextInWords)
@answers(responses.TextOutcome)
@works(work_of_text)
def process_text(body: requests.TextInWords) -> object:
    """Do what a text asks for: remember something, find, forget, show conflicts. Forgetting waits to be confirmed."""
    api = knowledge()
    return _text_outcome(api, TextOrchestrator(api).process(body.text, use_llm=body.use_model))


@blueprint.post("/text/confirm")
@takes(requests.ConfirmedAction)
@answers(responses.TextOutcome)
@fails("claim_not_found")
def confirm_action(body: requests.ConfirmedAction) -> object:
    """Do with a claim what the person confirmed."""
    api = knowledge()
    return _text_outcome(api, TextOrchestrator(api).execute_confirmed_action(body.action, body.claim_id))


@blueprint.post("/ingest_text")
@takes(requests.TextToIngest)
@answers(responses.Plan)
@fails("model_unavailable")
@works(Work.MODEL)
def ingest_text(body: requests.TextToIngest) -> object:
    """Propose claims from at most 50 KB of text; nothing is stored until the plan is executed."""
    if len(body.text.encode()) > _MOST_BYTES:
        raise TooLargeError(say("text_in_parts", kilobytes=_MOST_BYTES // 1024))
    api = knowledge()
    plan = TextIngestionDistiller(api).ingest_and_propose(
        body.text,
        default_claim_type=body.default_claim_type,
        default_domain=body.default_domain,
        use_llm_parsing=body.use_model,
    )
    return _proposed(api, plan)


@blueprint.post("/execute_ingest")
@blueprint.post("/execute_updates")
@takes(requests.Approval)
@answers(responses.Executed)
@fails("conflict", "plan_not_found")
@works(Work.LONG)
def execute_ingest(body: requests.Approval) -> object:
    """Execute the approved proposals of a plan, once."""
    approved: Literal["all"] | list[dict[str, Any] | int] = "all"
    if body.approved != "all":
        approved = [one if isinstance(one, int) else one.model_dump(exclude_none=True) for one in body.approved]
    done = TextIngestionDistiller(knowledge()).execute_plan(body.plan_id, approved)
    counts = ("added_count", "updated_count", "conflict_count", "failed_count", "audit_id")
    return {"results": list(done.results), **{name: getattr(done, name) for name in counts}}


@blueprint.post("/propose_updates")
@takes(requests.TurnToRemember)
@answers(responses.Plan)
@fails("conversation_not_found", "message_not_found", "model_unavailable")
@works(Work.MODEL)
def propose_updates(body: requests.TurnToRemember) -> object:
    """Propose claims from a message and its answer; accepted ones link back to the message."""
    conversation = access_conversation(body.conversation_id)
    turn = turn_to_remember(
        **current_user_scope(), conversation_id=conversation.conversation_id, message_id=body.message_id
    )
    api = knowledge()
    plan = ConversationDistiller(api).extract_and_propose(
        conversation.running_summary,
        turn.question,
        turn.answer,
        source_message_id=body.message_id,
        use_llm=body.use_model,
    )
    return _proposed(api, plan)


def _text_outcome(api: StructuredAPI, outcome: Any) -> dict[str, object]:
    result = outcome.action_result
    if outcome.raw_intent["action"] != _NOT_UNDERSTOOD:
        unwrap(result)
    ids = [affected["object_id"] for affected in outcome.affected_objects]
    claims = [claim for claim in unwrap(api.get_claims_by_ids(ids)) if claim is not None]
    return {
        "action_taken": outcome.action_taken,
        "intent": outcome.raw_intent,
        "clarifying_questions": outcome.clarifying_questions,
        "claims": described_all(api, claims),
        "audit_id": result.metadata.get("audit_id"),
        **warned(result.warnings),
    }


def _expected_seconds() -> float | None:
    """How long the model takes for the suggestions of one statement, by its measured speed; None: not measured yet."""
    speed = current_state().models.cheap().speed()
    if not speed.reading or not speed.writing:
        return None
    return round(speed.latency + _READ_TOKENS / speed.reading + _WRITTEN_TOKENS / speed.writing, 1)


def _proposed(api: StructuredAPI, plan: Any) -> object:
    existing = [proposal.existing_claim for proposal in plan.proposals if proposal.existing_claim is not None]
    described = {claim["claim_id"]: claim for claim in described_all(api, existing)}
    proposals = [
        {
            "index": proposal.index,
            "action": proposal.action,
            "statement": proposal.candidate.statement,
            "claim_type": proposal.candidate.claim_type,
            "context_domain": proposal.candidate.context_domain,
            "tags": list(proposal.candidate.tags),
            "existing": described.get(proposal.existing_claim.claim_id) if proposal.existing_claim else None,
            "similarity": proposal.similarity_score,
            "reason": proposal.reason,
        }
        for proposal in plan.proposals
    ]
    return {
        "plan_id": plan.plan_id,
        "proposals": proposals,
        "summary": plan.summary,
        "expires_at": plan.expires_at,
        **warned(plan.warnings),
        "expected_seconds": _expected_seconds(),
    }
