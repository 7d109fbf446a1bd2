"""Leases of running turns: which process writes an answer, and until when that process is taken to be alive.

`owner` names a process. While its turns run, the process renews their leases, all in one statement every
`RENEW_SECONDS`, by the clock of the database: those of the processes may differ. A turn whose lease has ended belongs
to a process that is gone: any other process may close it. Where that process only stood still, what it writes from then
on is refused, also while another one makes the answer again. Turns of scripts have no owner and no lease; only a server
that is alone on its data folder closes them, when it starts.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, bindparam, case, update

from database.engine.clock import store_time
from database.engine.statements import Prepared
from database.schema import messages

LEASE_SECONDS = 6.0
"""Two renewals may be late. Others look every half second, so that a busy machine has three seconds for closing."""
RENEW_SECONDS = 2.0

_m = messages.c
_RENEW = Prepared(
    update(messages)
    .where(_m.status == "streaming", _m.owner == bindparam("process"))
    .values(lease_until=store_time(seconds=LEASE_SECONDS))
)
LEASE_UNTIL = case((bindparam("is_leased", type_=Integer) == 1, store_time(seconds=LEASE_SECONDS)))
"""The value of `lease_until` in a prepared insert; `inserted_lease` has its parameter."""


def new_lease(owner: str | None) -> dict[str, Any]:
    """The columns of an answer that `owner` begins to write; None: a script, which can't renew a lease."""
    return {"owner": owner, "lease_until": None if owner is None else store_time(seconds=LEASE_SECONDS)}


def inserted_lease(owner: str | None) -> dict[str, Any]:
    """`new_lease` as parameters of an insert that sets `lease_until` to LEASE_UNTIL."""
    return {"owner": owner, "is_leased": int(owner is not None)}


def renew_leases(connection: Connection, *, owner: str) -> None:
    """Let all running turns of `owner` be taken as alive for `LEASE_SECONDS` from now on."""
    _RENEW.run(connection, process=owner)


def abandoned(*, asking: str) -> ColumnElement[bool]:
    """The running turns of other owners than `asking` whose lease has ended."""
    return (_m.status == "streaming") & (_m.owner != asking) & (_m.lease_until < store_time())
