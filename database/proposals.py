"""Proposals: changes that a model or a program wants to make, and that a person accepts or declines."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from database.changes import PROPOSAL, record
from database.engine.clock import iso_in, now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, ProposalDecidedError, ProposalNotFoundError
from database.engine.text import storable
from database.schema import proposals

OPEN_DAYS = 30
"""How long a proposal waits for the person."""
KEPT_DAYS = 90
"""How long one is kept that was decided or has expired, counted from when it was made."""
MOST_OPEN = 500

State = Literal["open", "accepted", "declined", "expired"]
Decided = Literal["accepted", "declined", "expired"]
Kind = Literal["document", "memory", "tool_call"]

_c = proposals.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposal. payload: what the change needs, by kind. diff: what it changes of a text, "" for none.

    message_id: the answer in which it was made; None for a program. agent_id: of the agent that made it. token_name:
    what the API token of the program that made it is called.
    """

    proposal_id: str
    kind: Kind
    payload: dict[str, Any]
    diff: str
    message_id: str | None
    agent_id: str | None
    state: State
    created_at: str
    decided_at: str | None
    token_name: str | None


_FIELDS = tuple(_c[name] for name in Proposal.__dataclass_fields__)


def create_proposal(
    *,
    database: Database,
    user_email: str,
    kind: Kind,
    payload: Mapping[str, Any],
    diff: str = "",
    source_message: str | None = None,
    agent_id: str | None = None,
    token_name: str | None = None,
) -> Proposal:
    """Propose a change to a person. source_message: the answer in which a model does. token_name: of a program's token.

    Raises InvalidChangeError where the person has `MOST_OPEN` of them to decide on.
    """
    proposal = Proposal(
        proposal_id=str(uuid.uuid4()),
        kind=kind,
        payload=dict(payload),
        diff=storable(diff),
        message_id=source_message,
        agent_id=agent_id,
        state="open",
        created_at=now_iso(),
        decided_at=None,
        token_name=token_name,
    )

    def job(connection: Connection) -> None:
        waiting = select(func.count()).where(_c.user_email == user_email, _c.state == "open")
        if connection.execute(waiting).scalar_one() >= MOST_OPEN:
            raise InvalidChangeError("Too many proposals are open. The person has to decide on some first.")
        values = {column.name: getattr(proposal, column.name) for column in _FIELDS}
        connection.execute(insert(proposals).values(user_email=user_email, **values))
        _record(connection, "created", user_email, proposal.proposal_id, kind=kind, state="open")

    database.write(job)
    return proposal


def list_proposals(*, database: Database, user_email: str, state: State | None = "open", limit: int) -> list[Proposal]:
    """The newest proposals to the person, at most `limit`; None: of all states."""
    query = select(*_FIELDS).where(_c.user_email == user_email)
    if state is not None:
        query = query.where(_c.state == state)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(_c.created_at.desc(), _c.proposal_id).limit(limit)).all()
    return [Proposal(**row._mapping) for row in rows]


def count_open(*, database: Database, user_email: str) -> int:
    """How many proposals wait for the person; those that have waited too long are not counted."""
    waiting = (_c.user_email == user_email) & (_c.state == "open") & (_c.created_at >= iso_in(days=-OPEN_DAYS))
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).where(waiting)).scalar_one())


def get_proposal(*, database: Database, user_email: str, proposal_id: str) -> Proposal:
    """One proposal. Raises ProposalNotFoundError."""
    with database.reading() as connection:
        return _one(connection, user_email, proposal_id)


def proposals_of_message(*, database: Database, user_email: str, message_id: str) -> list[Proposal]:
    """The proposals that were made in an answer, oldest first."""
    query = select(*_FIELDS).where(_c.user_email == user_email, _c.message_id == message_id)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(_c.created_at, _c.proposal_id)).all()
    return [Proposal(**row._mapping) for row in rows]


def decide(*, database: Database, user_email: str, proposal_id: str, state: Decided) -> Proposal:
    """Note what the person has decided; "expired": that there is nothing to decide any more.

    Raises ProposalNotFoundError, ProposalDecidedError.
    """
    return database.write(lambda connection: decide_in(connection, user_email, proposal_id, state))


def decide_in(connection: Connection, user_email: str, proposal_id: str, state: Decided) -> Proposal:
    """`decide` within a transaction."""
    proposal = _one(connection, user_email, proposal_id)
    refuse_unless_open(proposal)
    decided = {"state": state, "decided_at": now_iso()}
    connection.execute(update(proposals).where(_c.proposal_id == proposal_id).values(decided))
    _record(connection, "changed", user_email, proposal_id, kind=proposal.kind, state=state)
    return _one(connection, user_email, proposal_id)


def decide_before(
    *, database: Database, user_email: str, proposal_id: str, state: Decided, others: Collection[str]
) -> Proposal | None:
    """`decide` while one of `others` is open; None, with nothing noted, where this would be the last decision."""
    still_open = (_c.user_email == user_email) & _c.proposal_id.in_(others) & (_c.state == "open")

    def job(connection: Connection) -> Proposal | None:
        if connection.execute(select(_c.proposal_id).where(still_open).limit(1)).first() is None:
            return None
        return decide_in(connection, user_email, proposal_id, state)

    return database.write(job)


def renew_proposal(
    *, database: Database, user_email: str, proposal_id: str, payload: Mapping[str, Any], diff: str
) -> None:
    """Fit an open proposal to what it changes, as that is now. Raises ProposalNotFoundError, ProposalDecidedError."""

    def job(connection: Connection) -> None:
        proposal = _one(connection, user_email, proposal_id)
        refuse_unless_open(proposal)
        renewed = {"payload": dict(payload), "diff": storable(diff)}
        connection.execute(update(proposals).where(_c.proposal_id == proposal_id).values(renewed))
        _record(connection, "changed", user_email, proposal_id, kind=proposal.kind, state=proposal.state)

    database.write(job)


def refuse_unless_open(proposal: Proposal) -> None:
    """Raises ProposalDecidedError for one that was decided or that waited too long."""
    if proposal.state != "open":
        raise ProposalDecidedError(proposal.state)
    if proposal.created_at < iso_in(days=-OPEN_DAYS):
        raise ProposalDecidedError("expired")


def expire_proposals(*, database: Database) -> int:
    """Close the proposals that waited too long, and delete old ones; how many were closed."""
    too_old = (_c.state == "open") & (_c.created_at < iso_in(days=-OPEN_DAYS))

    def job(connection: Connection) -> int:
        connection.execute(delete(proposals).where(_c.state != "open", _c.created_at < iso_in(days=-KEPT_DAYS)))
        closed = update(proposals).where(too_old).values(state="expired", decided_at=now_iso())
        return int(connection.execute(closed).rowcount)

    return database.write(job)


def _one(connection: Connection, user_email: str, proposal_id: str) -> Proposal:
    query = select(*_FIELDS).where(_c.user_email == user_email, _c.proposal_id == proposal_id)
    row = connection.execute(query).first()
    if row is None:
        raise ProposalNotFoundError
    return Proposal(**row._mapping)


def _record(
    connection: Connection, change: Literal["created", "changed"], user_email: str, proposal_id: str, **fields: str
) -> None:
    record(connection, PROPOSAL, change, user_email=user_email, ids=[proposal_id], fields=fields)
