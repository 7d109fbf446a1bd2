"""What models propose, and what is done once the person has accepted it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from database.errors import ProposalOutdatedError
from database.proposals import (
    Kind,
    Proposal,
    create_proposal,
    decide,
    get_proposal,
    refuse_unless_open,
    renew_proposal,
)
from truth_management_system import ClaimType, ContextDomain
from vault.errors import VersionConflictError, VersionMissingError

from .changes import DocumentChange, make, planned
from .documents import vault_of
from .registry import Result, ToolContext, ToolError, tool
from .search import memories_of

Apply = Callable[[Proposal, ToolContext], dict[str, Any]]
"""Makes the change of an accepted proposal; what it tells of it. Made twice, it changes nothing more."""


class UnknownProposalError(ToolError):
    """A proposal of a kind that nobody can accept here."""


@tool(reads_only=False, on_by_default=True)
def add_memory(
    context: ToolContext,
    *,
    statement: Annotated[str, Field(pattern=r"\S", max_length=2_000, description="One sentence to remember.")],
    type: Annotated[str, Field(description=f"One of {', '.join(ClaimType)}.")] = ClaimType.FACT.value,
    domain: Annotated[str, Field(description=f"One of {', '.join(ContextDomain)}.")] = ContextDomain.PERSONAL.value,
) -> dict[str, Any]:
    """Propose something to remember about the person, who has to accept it."""
    payload = {"statement": statement.strip(), "claim_type": type, "context_domain": domain}
    return propose(context, kind="memory", payload=payload)


def propose(context: ToolContext, *, kind: Kind, payload: Mapping[str, Any], diff: str = "") -> Result:
    """Propose a change in the name of the caller; the result of the call. Raises InvalidChangeError."""
    proposal = create_proposal(
        database=context.database,
        user_email=context.user_email,
        kind=kind,
        payload=payload,
        diff=diff,
        source_message=context.message_id,
        agent_id=context.agent_id,
    )
    return {"success": True, "message": "Proposed. The person has to accept it.", "proposal": described(proposal)}


def described(proposal: Proposal) -> dict[str, Any]:
    """A proposal as clients see it."""
    source = {"message_id": proposal.message_id, "agent_id": proposal.agent_id}
    return {
        "proposal_id": proposal.proposal_id,
        "kind": proposal.kind,
        "payload": proposal.payload,
        "diff": proposal.diff,
        "source": {name: value for name, value in source.items() if value is not None},
        "state": proposal.state,
        "created_at": proposal.created_at,
        "decided_at": proposal.decided_at,
    }


def accept(proposal_id: str, context: ToolContext) -> tuple[Proposal, dict[str, Any]]:
    """Make the change that was proposed; the proposal, and what came of it.

    Raises ProposalNotFoundError, ProposalDecidedError, ProposalOutdatedError where the document was changed since, and
    what the change itself raises: then it stays open.
    """
    scope: dict[str, Any] = {"database": context.database, "user_email": context.user_email}
    proposal = get_proposal(**scope, proposal_id=proposal_id)
    refuse_unless_open(proposal)
    apply = APPLY.get(proposal.kind)
    if apply is None:
        raise UnknownProposalError("This kind of proposal can't be accepted here.")
    outcome = apply(proposal, context)
    return decide(**scope, proposal_id=proposal_id, state="accepted"), outcome


def _remember(proposal: Proposal, context: ToolContext) -> dict[str, Any]:
    payload: Mapping[str, Any] = proposal.payload
    added = memories_of(context).add_claim(
        payload["statement"],
        payload["claim_type"],
        payload["context_domain"],
        auto_extract=False,
        client_id=proposal.proposal_id,
        source_activity_id=proposal.message_id,
    )
    if not added.success:
        raise added.metadata["error"]
    return {"reference": f"@{added.data.friendly_id}"}


def _change_document(proposal: Proposal, context: ToolContext) -> dict[str, Any]:
    change, vault = DocumentChange(**proposal.payload), vault_of(context)
    try:
        return make(vault, change, message_id=proposal.message_id)
    except (VersionConflictError, VersionMissingError):
        diff = ""  # the lines to replace say something else: there is no such change any more
        with suppress(VersionConflictError):
            change, diff = planned(vault, change)
            own: dict[str, Any] = {"database": context.database, "user_email": context.user_email}
            renew_proposal(**own, proposal_id=proposal.proposal_id, payload=change.payload, diff=diff)
    raise ProposalOutdatedError(diff)


APPLY: dict[str, Apply] = {"document": _change_document, "memory": _remember}
"""By kind of proposal. Whoever adds a kind adds a line."""
