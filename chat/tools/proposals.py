"""Proposals of models, and the functions that carry them out once the person has accepted.

A tool call that lacks consent makes a proposal of the kind `tool_call` and ends the answer. When the person has decided
on all pending calls of the answer, the answer continues: accepted calls are made, and the model is told which ones were
refused. Pending calls are stored, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from chat.exchange.turn import Turn
from database.conversations.consent import allow_tool
from database.engine.errors import NotFoundError, ProposalDecidedError, ProposalOutdatedError, TurnInProgressError
from database.history.reading import message_location
from database.proposals import (
    Kind,
    Proposal,
    create_proposal,
    decide,
    decide_before,
    get_proposal,
    proposals_of_message,
    refuse_unless_open,
    renew_proposal,
)
from truth_management_system import ClaimType, ContextDomain
from vault.errors import VersionConflictError, VersionMissingError

from .changes import DocumentChange, make, planned
from .documents import vault_of
from .registry import ConsentNeededError, Result, ToolContext, ToolError, failure, tool
from .search import memories_of

Apply = Callable[[Proposal, ToolContext], dict[str, Any]]
"""Makes the change of an accepted proposal; what it tells of it. Made twice, it changes nothing more."""


class UnknownProposalError(ToolError):
    """The kind of a proposal has no function in `APPLY`."""


@tool(reads_only=False, on_by_default=True)
def add_memory(
    context: ToolContext,
    *,
    statement: Annotated[str, Field(pattern=r"\S", max_length=2_000, description="One sentence to remember.")],
    type: Annotated[str, Field(description=f"One of {', '.join(ClaimType)}.")] = ClaimType.FACT.value,
    domain: Annotated[str, Field(description=f"One of {', '.join(ContextDomain)}.")] = ContextDomain.PERSONAL.value,
) -> dict[str, Any]:
    """Propose a memory about the person, who has to accept it."""
    payload = {"statement": statement.strip(), "claim_type": type, "context_domain": domain}
    return propose(context, kind="memory", payload=payload)


def propose(context: ToolContext, *, kind: Kind, payload: Mapping[str, Any], diff: str = "") -> Result:
    """Store a proposed change for the caller; returns the result of the tool call. Raises InvalidChangeError."""
    proposal = create_proposal(
        **context.own,
        kind=kind,
        payload=payload,
        diff=diff,
        source_message=context.message_id,
        agent_id=context.agent_id,
        token_name=context.token_name,
    )
    return {"success": True, "message": "Proposed. The person has to accept it.", "proposal": described(proposal)}


def described(proposal: Proposal) -> dict[str, Any]:
    """A proposal as clients see it."""
    source = {"message_id": proposal.message_id, "agent_id": proposal.agent_id, "token": proposal.token_name}
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
    """Carry out a proposal; returns the proposal and its outcome.

    Raises ProposalNotFoundError, ProposalDecidedError, ProposalOutdatedError if the document has changed since, and the
    errors of the change itself, which leave the proposal open.
    """
    proposal = get_proposal(**context.own, proposal_id=proposal_id)
    refuse_unless_open(proposal)
    apply = APPLY.get(proposal.kind)
    if apply is None:
        raise UnknownProposalError("This kind of proposal can't be accepted here.")
    outcome = apply(proposal, context)
    return decide(**context.own, proposal_id=proposal_id, state="accepted"), outcome


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
            renew_proposal(**context.own, proposal_id=proposal.proposal_id, payload=change.payload, diff=diff)
    raise ProposalOutdatedError(diff)


APPLY: dict[str, Apply] = {"document": _change_document, "memory": _remember}
"""By kind of proposal. Whoever adds a kind adds a line."""


WAITING = "waiting"
"""The status of a call that waits for consent."""

Decision = Literal["accepted", "declined"]
GoOn = Callable[[str, str, Mapping[str, str]], object]
"""conversation_id, message_id of the answer, decision by proposal id → has the answer go on, and notes the decision in
the transaction in which it begins. Raises ProposalDecidedError where the proposal is not open any more."""

_ASKED = "The person has been asked whether this tool may be called. The answer goes on once they have decided."
_UNASKABLE = "This tool needs the person's consent, and nobody can be asked here."
_UNDECIDED = {
    "declined": ("consent_refused", "The person refused this call. Do not try it again."),
    "expired": ("consent_expired", "The person did not decide on this call in time."),
}


def ask_consent(turn: Turn, context: ToolContext, *, tool: str, arguments: Mapping[str, Any]) -> Result:
    """The result of a call without consent: the proposal for the person to decide on.

    None is made in an ephemeral answer, or in one that another agent's model waits for. Raises InvalidChangeError.
    """
    if not turn.accepted.kept or context.call_depth:
        return failure(ConsentNeededError.code, _UNASKABLE)
    proposal = create_proposal(
        **context.own,
        kind="tool_call",
        payload={"tool": tool, "arguments": dict(arguments)},
        source_message=context.message_id,
        agent_id=context.agent_id,
    )
    return failure(ConsentNeededError.code, _ASKED, proposal=described(proposal))


def proposal_in(result: Any) -> str | None:
    """The id of the proposal that a call's result waits for; None for any other result."""
    error = result.get("error") if isinstance(result, Mapping) else None
    proposal = error.get("proposal") if isinstance(error, Mapping) else None
    return proposal.get("proposal_id") if isinstance(proposal, Mapping) else None


def decisions_of(turn: Turn) -> dict[str, str]:
    """The state of each proposal of the turn's answer, by id."""
    assert turn.database is not None
    found = proposals_of_message(database=turn.database, user_email=turn.user_email, message_id=turn.answer_id)
    return {each.proposal_id: each.state for each in found}


def not_made(state: str) -> Result:
    """The result of a call that the person refused."""
    return failure(*_UNDECIDED.get(state, (ConsentNeededError.code, _UNASKABLE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """The answer that a proposal belongs to, and the answer's other pending proposals."""

    conversation_id: str
    message_id: str
    others: tuple[str, ...]


def decide_on_call(
    proposal_id: str, decision: Decision, context: ToolContext, *, for_conversation: bool, go_on: GoOn
) -> tuple[Proposal, dict[str, Any]]:
    """Accept or refuse a pending call; returns the proposal, and the continued answer if this was the last decision.

    for_conversation: the caller (the conversation's model, or an agent) needs no consent for this tool in this
    conversation from now on. If the answer can't continue (`go_on` raises), the proposal stays open. Of several last
    decisions at once, one lets the answer continue.
    Raises ProposalNotFoundError, ProposalDecidedError (also if the answer does not wait for the call any more).
    """
    proposal = get_proposal(**context.own, proposal_id=proposal_id)
    refuse_unless_open(proposal)
    waiting = _waiting(proposal, context)
    if waiting is None:
        decide(**context.own, proposal_id=proposal_id, state="expired")
        raise ProposalDecidedError("expired")
    # Before the answer goes on: it is written with what is allowed then.
    own = {**context.own, "conversation_id": waiting.conversation_id, "agent_id": proposal.agent_id}
    tool = proposal.payload["tool"]
    is_new = for_conversation and decision == "accepted" and allow_tool(**own, tool=tool)
    try:
        decided = decide_before(**context.own, proposal_id=proposal_id, state=decision, others=waiting.others)
        if goes_on := decided is None:
            go_on(waiting.conversation_id, waiting.message_id, {proposal_id: decision})
            decided = get_proposal(**context.own, proposal_id=proposal_id)
    except BaseException:
        if is_new:
            allow_tool(**own, tool=tool, is_allowed=False)
        raise
    outcome = {"conversation_id": waiting.conversation_id, "message_id": waiting.message_id}
    return decided, outcome | {"goes_on": goes_on}


def _waiting(proposal: Proposal, context: ToolContext) -> _Waiting | None:
    """The answer that waits for the proposal; None if it has changed since.

    Raises TurnInProgressError while the answer is being written.
    """
    if proposal.message_id is None:
        return None
    try:
        conversation_id, message = message_location(**context.own, message_id=proposal.message_id)
    except NotFoundError:
        return None
    if message.status == "streaming":
        raise TurnInProgressError
    wanted = {proposal_in(part.get("result")) for part in message.parts}
    if proposal.proposal_id not in wanted:
        return None
    known = proposals_of_message(**context.own, message_id=proposal.message_id)
    others = (each.proposal_id for each in known if each.state == "open" and each.proposal_id in wanted)
    return _Waiting(
        conversation_id=conversation_id,
        message_id=proposal.message_id,
        others=tuple(each for each in others if each != proposal.proposal_id),
    )
