"""What models and programs propose to the caller, and what the caller decides."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint

from chat.tools.proposals import accept, decide_on_call, described
from chat.turns.accept import DECIDED_CALLS
from database.proposals import count_open, decide, get_proposal, list_proposals
from endpoints.http.scope import access_conversation, current_state, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works
from endpoints.tools.views import current_tool_context
from endpoints.turns.models import Repetition
from endpoints.turns.views import turn_query

from . import models as proposal_models

blueprint = Blueprint("proposals", __name__)
_ANSWER = ("model_not_allowed", "quota_reached", "shutting_down", "too_many_turns", "turn_in_progress")
_DOCUMENT = ("path_refused", "quota_exceeded", "too_large", "vault_read_only", "vault_unavailable")


@blueprint.get("/api/proposals")
@asks(proposal_models.ProposalFilter)
@answers(list[proposal_models.ProposalItem])
def show_proposals(query: proposal_models.ProposalFilter) -> object:
    """The proposals that wait for you, newest first."""
    state = None if query.state == "all" else query.state
    return [described(each) for each in list_proposals(**current_user_scope(), state=state, limit=query.limit)]


@blueprint.get("/api/proposals/count")
@answers(proposal_models.ProposalCount)
def count_proposals() -> object:
    """How many proposals wait for you."""
    return {"open": count_open(**current_user_scope())}


@blueprint.get("/api/proposals/<proposal_id>")
@answers(proposal_models.ProposalItem)
def show_proposal(proposal_id: str) -> object:
    """One proposal."""
    return described(get_proposal(**current_user_scope(), proposal_id=proposal_id))


@blueprint.post("/api/proposals/<proposal_id>/accept")
@takes(proposal_models.Consent, optional=True)
@answers(proposal_models.AcceptedProposal)
@fails("conflict", "document_not_found", "knowledge_unavailable", *_DOCUMENT, *_ANSWER)
@works(Work.MEMORIES)
def accept_proposal(proposal_id: str, body: proposal_models.Consent) -> object:
    """Make the change that is proposed. 409 `conflict` where it was decided before.

    409, too, where the document was changed since: `details` then holds the new `diff`, which the next call accepts; ""
    where the change can't be made any more. A call that waits for consent is made by the answer that it belongs to,
    which goes on with the last decision that it waits for.
    """
    if _is_call(proposal_id):
        proposal, outcome = decide_on_call(
            proposal_id,
            "accepted",
            current_tool_context(),
            for_conversation=body.scope == "conversation",
            go_on=_go_on,
        )
    else:
        proposal, outcome = accept(proposal_id, current_tool_context())
    return {"proposal": described(proposal), "outcome": outcome}


@blueprint.post("/api/proposals/<proposal_id>/decline")
@answers(proposal_models.ProposalItem)
@fails("conflict", *_ANSWER)
def decline_proposal(proposal_id: str) -> object:
    """Leave everything as it is. 409 `conflict` where it was decided before.

    The answer whose call is refused goes on: the model is told.
    """
    if _is_call(proposal_id):
        proposal, _ = decide_on_call(
            proposal_id, "declined", current_tool_context(), for_conversation=False, go_on=_go_on
        )
        return described(proposal)
    return described(decide(**current_user_scope(), proposal_id=proposal_id, state="declined"))


def _is_call(proposal_id: str) -> bool:
    return get_proposal(**current_user_scope(), proposal_id=proposal_id).kind == "tool_call"


def _go_on(conversation_id: str, message_id: str, decided: Mapping[str, str]) -> None:
    """Have an answer go on after the decision on its calls."""
    conversation = access_conversation(conversation_id)
    query = turn_query(conversation, Repetition(), again=message_id) | {DECIDED_CALLS: dict(decided)}
    current_state().turns.start(conversation, query)
