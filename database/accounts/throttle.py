"""Rate limits against guessing passwords. Failures are counted in the store, so they survive a restart.

Where several servers share the store, they are dated by its clock: those of the servers may differ.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, or_, select

from database.engine.clock import corrected_now, iso, now
from database.engine.database import Database
from database.schema import login_attempts

_WINDOW = timedelta(minutes=15)
_PURGE_EVERY = timedelta(minutes=1)
_MOST_ROWS = 30_000
_IPV6_NETWORK = 64

_c = login_attempts.c
_purged_at: dict[Path, datetime] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How many failures of a subject are free within 15 minutes, and how long the next attempt then waits.

    The wait doubles with each failure, from `first_wait` to `longest_wait` seconds.
    """

    subject: str
    allowed: int = 5
    first_wait: int = 15
    longest_wait: int = 900


def login_limits(user_email: str, address: str, *, device: str | None = None) -> tuple[Limit, ...]:
    """The limits for logging in to `user_email` from `address`, whether or not the account exists.

    The first limit counts this account and address. The others stop one address that tries many accounts, and many
    addresses that try one account; they wait at most a minute, and do not apply to a `device` from which the owner has
    logged in before, so that attackers can't lock the owner out there.
    """
    if device is not None:
        return (Limit(subject=f"device {device}"),)
    account = user_email.strip().lower()
    return (
        Limit(subject=login_subject(user_email, address)),
        Limit(subject=f"address {network_of(address)}", allowed=20, first_wait=5, longest_wait=60),
        Limit(subject=f"account {account}", allowed=10, first_wait=5, longest_wait=60),
    )


def provider_limits(address: str) -> tuple[Limit, ...]:
    """The limits for answers of an OpenID provider that come from `address` and are not valid.

    Many people may share an address, so that it waits at most a minute.
    """
    return (Limit(subject=f"openid {network_of(address)}", allowed=20, first_wait=5, longest_wait=60),)


def login_subject(user_email: str, address: str) -> str:
    """The subject that failures are counted by: an account and an address, whether or not the account exists."""
    return f"login {user_email.strip().lower()} {address}"


def record_failure(*, database: Database, subject: str) -> None:
    """Count a failure against `subject`."""
    record_failures(database=database, limits=[Limit(subject=subject)])


def record_failures(*, database: Database, limits: Sequence[Limit]) -> None:
    """Count one failure against the subject of each limit.

    Once a minute, expired failures are deleted, and the oldest beyond 30,000.
    """
    purges = _is_time_to_purge(database)

    def job(connection: Connection) -> None:
        moment = _time(database, connection)
        if purges:
            _purge(connection, moment)
        rows = [{"subject": _key(limit.subject), "attempted_at": iso(moment)} for limit in limits]
        connection.execute(insert(login_attempts), rows)

    database.write(job)


def seconds_to_wait(*, database: Database, subject: str) -> int:
    """How many seconds `subject` must wait before the next attempt.

    0 below five failures in 15 minutes, then 15, 30, 60 … up to 900 seconds after the last one.
    """
    return longest_wait(database=database, limits=[Limit(subject=subject)])


def longest_wait(*, database: Database, limits: Sequence[Limit]) -> int:
    """How many seconds the next attempt must wait by the strictest of `limits`; 0 for none."""
    by_key = {_key(limit.subject): limit for limit in limits}
    query = select(_c.subject, func.count(), func.max(_c.attempted_at)).group_by(_c.subject)
    with database.reading() as connection:
        moment = _time(database, connection)
        lately = _c.attempted_at >= iso(moment - _WINDOW)
        found = connection.execute(query.where(_c.subject.in_(by_key), lately)).all()
    return max((_wait(by_key[key], failures, last, moment) for key, failures, last in found), default=0)


def clear_failures(*, database: Database, subject: str) -> None:
    """Delete the failures of `subject` after a successful login."""
    forget = delete(login_attempts).where(_c.subject == _key(subject))
    database.write(lambda connection: connection.execute(forget).rowcount)


def _time(database: Database, connection: Connection) -> datetime:
    return corrected_now(connection) if database.backend.is_shared else now()


def _wait(limit: Limit, failures: int, last: str, moment: datetime) -> int:
    if failures < limit.allowed:
        return 0
    wait: int = min(limit.first_wait * 2 ** min(failures - limit.allowed, 30), limit.longest_wait)
    left = datetime.fromisoformat(last) + timedelta(seconds=wait) - moment
    # After the clock was set back, nobody may be locked out for longer than the rule says.
    return min(max(math.ceil(left.total_seconds()), 0), wait)


def _is_time_to_purge(database: Database) -> bool:
    """Whether the last purge is a minute ago: under attack, each failure must be cheap."""
    moment, last = now(), _purged_at.get(database.folder)
    if last is not None and abs(moment - last) < _PURGE_EVERY:
        return False
    _purged_at[database.folder] = moment
    return True


def _purge(connection: Connection, moment: datetime) -> None:
    newest = connection.scalar(select(func.max(_c.attempt_id))) or 0
    outdated = or_(_c.attempted_at < iso(moment - _WINDOW), _c.attempt_id <= newest - _MOST_ROWS)
    connection.execute(delete(login_attempts).where(outdated))


@lru_cache(maxsize=4_096)
def network_of(address: str) -> str:
    """The address, or for IPv6 its network, whose addresses all belong to one client."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network(f"{found}/{_IPV6_NETWORK}", strict=False))


def _key(subject: str) -> str:
    """A hash, so that names of any length take the same space."""
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()
