"""Request and response models of proposals."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from endpoints.http.models import Body, Query, Shape

State = Literal["open", "accepted", "declined", "expired"]


class ProposalFilter(Query):
    """Which proposals: those of this state, or all; the newest first."""

    state: Annotated[
        Literal["open", "accepted", "declined", "expired", "all"],
        Field(description="Only proposals in this state, or `all`."),
    ] = "open"
    limit: Annotated[int, Field(ge=1, le=500, description="How many proposals at most, the newest first.")] = 100


class ProposalCount(Shape):
    """How many proposals wait for the caller."""

    open: int


class ProposalItem(Shape):
    """What a model or a program proposes. `payload`: what is to be changed, by kind; `diff`: what that does to a text.

    `source`: the `message_id` of the answer, the `agent_id` of the agent, or the name of the program's API `token`.
    """

    proposal_id: str
    kind: Literal["document", "memory", "tool_call"]
    payload: dict[str, Any]
    diff: str
    source: dict[str, str]
    state: State
    created_at: str
    decided_at: str | None


class Consent(Body):
    """How far a call is allowed: "once", or for its "conversation": then who made it may go on to call the tool there.

    Another agent that answers in the conversation asks for itself.

    Of other proposals it says nothing.
    """

    scope: Literal["once", "conversation"] = "once"


class AcceptedProposal(Shape):
    """A proposal that was accepted, and what came of it: the `reference` of what is there now, where it has one."""

    proposal: ProposalItem
    outcome: dict[str, Any]
