"""What the hourly upkeep deletes of accounts, and when it may delete at all: not while the clock may be wrong."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select

from database.engine.clock import iso, now, now_iso
from database.engine.database import Database, Urgency
from database.schema import invitations, password_links, purge_clock, sessions

log = logging.getLogger(__name__)
_LONGEST_STEP = timedelta(days=1)
"""Purges run hourly; if the clock advanced by more than this between two of them, it was set."""
_STEP_BACK = timedelta(minutes=5)
"""By so much clocks are put right, and those of several machines differ."""


def is_clock_trusted(*, database: Database) -> bool:
    """Whether the clock was not set within the last day, judged by the times of earlier calls; records this one.

    A clock minutes before the last call, or more than a day after it, was set, or no server ran meanwhile; the two
    can't be told apart. With a wrong date everything looks old.
    """
    return database.write(_is_trusted, urgency=Urgency.INDEX)


def _is_trusted(connection: Connection) -> bool:
    moment = now()
    row = connection.execute(select(purge_clock.c.last_run_at, purge_clock.c.trusted_from)).first()
    trusted_from = moment if row is None else datetime.fromisoformat(row.trusted_from)
    if row is not None:
        step = moment - datetime.fromisoformat(row.last_run_at)
        if not -_STEP_BACK <= step <= _LONGEST_STEP:
            trusted_from = moment + _LONGEST_STEP
            log.warning("the last purge was %s ago by the clock: nothing old is deleted for a day", step)
    noted = {"last_run_at": iso(moment), "trusted_from": iso(trusted_from)}
    connection.execute(delete(purge_clock))
    connection.execute(insert(purge_clock).values(id=1, **noted))
    return moment >= trusted_from


def purge_expired(*, database: Database) -> int:
    """Delete the sessions, password links and invitations that have expired, whosever they are; how many."""

    def job(connection: Connection) -> int:
        moment, tables = now_iso(), (sessions, password_links, invitations)
        return sum(connection.execute(delete(each).where(each.c.expires_at <= moment)).rowcount for each in tables)

    return database.write(job, urgency=Urgency.INDEX)
