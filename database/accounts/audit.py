"""The audit log: what administrators did to accounts, models and limits, in the transaction in which they did it.

Rows are only added; `purge_acts` deletes those that are older than the operator keeps them, and an account that is
erased is named by its id from then on. Nothing secret is in them: no password, no token, no link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, select, update
from typing_extensions import TypedDict

from database.changes import ADMINISTRATION, Told, record_all
from database.engine.clock import iso_in, now_iso
from database.engine.database import Database, Urgency
from database.engine.text import storable
from database.schema import audit_log, users

Door = Literal["page", "token", "command line"]
Act = Literal[
    "account_made",
    "account_disabled",
    "account_enabled",
    "account_deleted",
    "password_link_made",
    "password_set",
    "token_made",
    "token_revoked",
    "sessions_ended",
    "invitation_made",
    "invitation_withdrawn",
    "identity_connected",
    "identity_disconnected",
    "role_changed",
    "quota_changed",
    "model_fetched",
    "job_retried",
    "memories_forgotten",
    "store_restored",
    "store_moved",
    "store_compacted",
]
"""What can be done; the page has words for each."""

_c = audit_log.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acts. user_email: "" for whoever may use the command line. address: of the network; "" there, too."""

    user_email: str
    door: Door
    address: str = ""


COMMAND_LINE = Actor(user_email="", door="command line")


class AuditedAct(TypedDict):
    """One row. at: ISO 8601 in UTC. subject: the account, or the name of the thing, that the act was done to."""

    audit_id: int
    at: str
    actor_email: str
    door: str
    address: str
    act: str
    subject: str
    details: dict[str, Any]


_FIELDS = tuple(AuditedAct.__annotations__)


def record_retry(connection: Connection, kind: str, owner: str, *, by: Actor) -> None:
    """Note in the transaction of it that a failed job of this kind begins again. owner: "" for one of the server."""
    record_act(connection, by, "job_retried", owner, details={"kind": kind})


def record_act(
    connection: Connection, by: Actor | None, act: Act, subject: str, *, details: Mapping[str, Any] | None = None
) -> None:
    """Note in the transaction of an act who did what to whom; nothing where `by` is None: nobody administers.

    The pages of all administrators are told, so that what they show follows.

    Who makes their own account, by an invitation or a provider, is the actor of that.

    details: what changed, as JSON, without secrets.
    """
    if by is None:
        return
    connection.execute(
        insert(audit_log).values(
            at=now_iso(),
            actor_email=by.user_email,
            door=by.door,
            address=by.address,
            act=act,
            subject=storable(subject),
            details=dict(details or {}),
        )
    )
    administrators = select(users.c.user_email).where(users.c.is_admin == 1, users.c.erasing_since.is_(None))
    told = [Told(each, None, act, {}) for each in connection.execute(administrators).scalars()]
    record_all(connection, ADMINISTRATION, "changed", told)


def note_act(
    *, database: Database, by: Actor, act: Act, subject: str, details: Mapping[str, Any] | None = None
) -> None:
    """`record_act` in a transaction of its own, for what was done to a whole store."""
    database.write(lambda connection: record_act(connection, by, act, subject, details=details))


def list_acts(
    *, database: Database, before: int | None = None, limit: int, act: str | None = None, subject: str | None = None
) -> Sequence[AuditedAct]:
    """What was done, the latest first. before: only rows below this `audit_id`. act, subject: only these."""
    query = select(*(_c[name] for name in _FIELDS))
    for column, wanted in ((_c.act, act), (_c.subject, subject)):
        if wanted is not None:
            query = query.where(column == wanted)
    if before is not None:
        query = query.where(_c.audit_id < before)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(_c.audit_id.desc()).limit(limit)).all()
    return [AuditedAct(**dict(zip(_FIELDS, row, strict=True))) for row in rows]  # type: ignore[typeddict-item]


def forget_address(connection: Connection, user_email: str, *, user_id: str) -> None:
    """Name an account that is being erased by its id, so that the log tells its acts apart without its address."""
    for column in (_c.subject, _c.actor_email):
        connection.execute(update(audit_log).where(column == user_email).values({column.name: user_id}))


def purge_acts(*, database: Database, days: int) -> int:
    """Delete what was done more than `days` ago; how many rows."""
    old = delete(audit_log).where(_c.at < iso_in(days=-days))
    return database.write(lambda connection: connection.execute(old).rowcount, urgency=Urgency.INDEX)
