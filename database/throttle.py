"""Slowing down whoever guesses passwords: failures are counted in the store, so a restart forgives nobody."""

from __future__ import annotations

import hashlib
import math
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select

from .clock import iso_in, now, now_iso
from .connection import open_store
from .schema import login_attempts

FAILURES_ALLOWED = 5
_WINDOW_MINUTES = 15
_FIRST_WAIT_SECONDS = 15
_LONGEST_WAIT_SECONDS = 900

_c = login_attempts.c


def login_subject(user_email: str, address: str) -> str:
    """What failures are counted by: one account as tried from one address, whether the account exists or not."""
    return f"login {user_email.strip().lower()} {address}"


def record_failure(*, users_dir: str, subject: str) -> None:
    """Count a failure against `subject`; failures that no longer matter are forgotten, whoever's they are."""

    def job(connection: Connection) -> None:
        connection.execute(delete(login_attempts).where(_c.attempted_at < iso_in(minutes=-_WINDOW_MINUTES)))
        connection.execute(insert(login_attempts).values(subject=_key(subject), attempted_at=now_iso()))

    open_store(users_dir).write(job)


def seconds_to_wait(*, users_dir: str, subject: str) -> int:
    """How long `subject` must wait before the next try.

    0 below five failures in 15 minutes, then 15, 30, 60 … up to 900 seconds after the last one.
    """
    query = select(func.count(), func.max(_c.attempted_at)).where(
        _c.subject == _key(subject), _c.attempted_at >= iso_in(minutes=-_WINDOW_MINUTES)
    )
    with open_store(users_dir).reading() as connection:
        failures, last = connection.execute(query).one()
    if failures < FAILURES_ALLOWED:
        return 0
    wait: int = min(_FIRST_WAIT_SECONDS * 2 ** (failures - FAILURES_ALLOWED), _LONGEST_WAIT_SECONDS)
    left = datetime.fromisoformat(last) + timedelta(seconds=wait) - now()
    # A clock that was set back must not lock anybody out for longer than the rule says.
    return min(max(math.ceil(left.total_seconds()), 0), wait)


def clear_failures(*, users_dir: str, subject: str) -> None:
    """Forget the failures of `subject`, who has proved to be the owner."""
    forget = delete(login_attempts).where(_c.subject == _key(subject))
    open_store(users_dir).write(lambda connection: connection.execute(forget).rowcount)


def _key(subject: str) -> str:
    """Of one length, whatever was typed as an address."""
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()
