"""What models and programs propose to the caller, and what the caller decides."""

from __future__ import annotations

from flask import Blueprint

from chat.tools.proposals import accept, described
from database.proposals import count_open, decide, get_proposal, list_proposals
from endpoints.http.scope import current_user_scope
from endpoints.http.validation import answers, asks, fails
from endpoints.http.work_queues import Work, works
from endpoints.tools.views import current_tool_context

from . import models as proposal_models

blueprint = Blueprint("proposals", __name__)
_DOCUMENT = ("path_refused", "too_large", "vault_read_only", "vault_unavailable")


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
@answers(proposal_models.AcceptedProposal)
@fails("conflict", "document_not_found", "knowledge_unavailable", *_DOCUMENT)
@works(Work.MEMORIES)
def accept_proposal(proposal_id: str) -> object:
    """Make the change that is proposed. 409 `conflict` where it was decided before.

    409, too, where the document was changed since: `details` then holds the new `diff`, which the next call accepts; ""
    where the change can't be made any more.
    """
    proposal, outcome = accept(proposal_id, current_tool_context())
    return {"proposal": described(proposal), "outcome": outcome}


@blueprint.post("/api/proposals/<proposal_id>/decline")
@answers(proposal_models.ProposalItem)
@fails("conflict")
def decline_proposal(proposal_id: str) -> object:
    """Leave everything as it is. 409 `conflict` where it was decided before."""
    return described(decide(**current_user_scope(), proposal_id=proposal_id, state="declined"))
