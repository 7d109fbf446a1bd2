"""What an account may use, and what it has used: messages and tokens a day and a month, and room for files.

One row a person and day counts messages and tokens, so that asking costs the same however much there is. A message is
counted in the transaction that accepts it. The store has one writer at a time, however many processes share it, so of
two messages at once for which there is room for one, the second is refused. The tokens of an answer are known when it
has ended: the last answer that begins below a limit may exceed it. Days and months are those of UTC, by the clock of
the store.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import BigInteger, Connection, Float, bindparam, case, delete, func, insert, select, union_all
from sqlalchemy.dialects.postgresql import insert as upsert

from database.changes import SETTINGS, record
from database.engine.clock import StoreTime, iso_in, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import UserNotFoundError
from database.engine.statements import Prepared
from database.schema import attachments, documents, quotas, usage_days, users

from .audit import Actor, record_act
from .users import account_key

KEPT_DAYS = 400
"""So long the counts of a day are kept."""
CHARACTERS_PER_TOKEN = 3
"""By which an answer is counted whose provider did not say how many tokens it took, such as one that was stopped."""

_q, _u = quotas.c, usage_days.c
Limit = Literal["messages_a_day", "tokens_a_day", "tokens_a_month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What an account may use; None: any number.

    file_megabytes: of all its files and documents, each content of files counted once.
    """

    messages_a_day: int | None = None
    tokens_a_day: int | None = None
    tokens_a_month: int | None = None
    file_megabytes: int | None = None

    def with_defaults(self, defaults: Quota) -> Quota:
        """This quota, with what it leaves open taken from `defaults`."""
        pairs = ((name, getattr(self, name), getattr(defaults, name)) for name in _NAMES)
        return Quota(**{name: default if own is None else own for name, own, default in pairs})

    @property
    def counts(self) -> bool:
        """Whether messages or tokens are limited."""
        return (self.messages_a_day, self.tokens_a_day, self.tokens_a_month) != (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a person has used today and in this month, by the clock of the store.

    day_ends_at, month_ends_at: ISO 8601 in UTC, when the counts begin anew.
    """

    messages_today: int
    tokens_today: int
    messages_this_month: int
    tokens_this_month: int
    day_ends_at: str
    month_ends_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedUp:
    """A limit that a person has reached. until: when there is room again, ISO 8601 in UTC; `seconds` from now."""

    limit: Limit
    most: int
    until: str
    seconds: int


_NAMES = tuple(each.name for each in fields(Quota))
_NOTHING = (0, 0, 0, 0)
# Asked by each message that is accepted.
_OWN = Prepared(select(*(_q[name] for name in _NAMES)).where(_q.user_email == bindparam("owner")))
_TIME = Prepared(select(StoreTime(bindparam("seconds", type_=Float))))
_IS_TODAY = _u.day == bindparam("today")
# Over the days of this month, by the key of the table: at most 31 rows a person.
_SUMS = select(
    func.coalesce(func.sum(case((_IS_TODAY, _u.messages), else_=0)), 0),
    func.coalesce(func.sum(case((_IS_TODAY, _u.tokens), else_=0)), 0),
    func.coalesce(func.sum(_u.messages), 0),
    func.coalesce(func.sum(_u.tokens), 0),
).where(_u.day >= bindparam("first"), _u.day <= bindparam("today"))
_USED = Prepared(_SUMS.where(_u.user_email == bindparam("owner")))
_DAY = func.substr(store_time(), 1, len("2026-02-08"))
_counted = (
    upsert(usage_days)
    .inline()
    .values(
        user_email=bindparam("owner"),
        day=_DAY,
        messages=bindparam("sent", type_=BigInteger),
        tokens=bindparam("taken", type_=BigInteger),
    )
)
_COUNT = Prepared(
    _counted.on_conflict_do_update(
        index_elements=[_u.user_email, _u.day],
        set_={"messages": _u.messages + _counted.excluded.messages, "tokens": _u.tokens + _counted.excluded.tokens},
    )
)


def own_quota(connection: Connection, user_email: str) -> Quota:
    """What an administrator has set for this account alone; None where nothing is."""
    return _quota(_OWN.rows(connection, owner=user_email))


def _quota(rows: Sequence[Sequence[Any]]) -> Quota:
    return Quota(**dict(zip(_NAMES, rows[0], strict=True))) if rows else Quota()


def quota_of(*, database: Database, user_email: str, defaults: Quota) -> Quota:
    """What holds for an account: its own quota, and the defaults where it has none."""
    with database.reading() as connection:
        return own_quota(connection, user_email).with_defaults(defaults)


def set_quota(*, database: Database, user_email: str, quota: Quota, by: Actor | None = None) -> None:
    """Replace what holds for an account alone; all None: the defaults hold again. Raises UserNotFoundError."""
    key = account_key(user_email)

    def job(connection: Connection) -> None:
        there = select(users.c.user_email).where(users.c.user_email == key, users.c.erasing_since.is_(None))
        if connection.execute(there).first() is None:
            raise UserNotFoundError
        before = asdict(own_quota(connection, key))
        changed = {name: [before[name], value] for name, value in asdict(quota).items() if before[name] != value}
        connection.execute(delete(quotas).where(_q.user_email == key))
        if quota != Quota():
            connection.execute(insert(quotas).values(user_email=key, **asdict(quota)))
        if changed:
            record(connection, SETTINGS, "changed", user_email=key, ids=["quota"])
            record_act(connection, by, "quota_changed", key, details=changed)

    database.write(job)


def take_message(connection: Connection, *, user_email: str, defaults: Quota, is_new: bool = True) -> UsedUp | None:
    """Count a message that is being accepted, in its transaction; the limit that is reached, if one is.

    is_new: False for what goes on with an answer, which is no further message: tokens alone limit it.
    """
    return asked_to_take_message(connection, user_email=user_email, defaults=defaults, is_new=is_new)()


def asked_to_take_message(
    connection: Connection, *, user_email: str, defaults: Quota, is_new: bool = True
) -> Callable[[], UsedUp | None]:
    """Asks for the person's own quota; what is returned reads the answer, and is `take_message`."""
    own = _OWN.asked(connection, owner=user_email)

    def take() -> UsedUp | None:
        rows = own()
        quota = _quota(rows).with_defaults(defaults) if rows else defaults
        used_up = _used_up(connection, user_email, quota, is_new=is_new) if quota.counts else None
        if used_up is None and is_new:
            _add(connection, user_email, messages=1)
        return used_up

    return take


def tokens_used_up(*, database: Database, user_email: str, defaults: Quota) -> UsedUp | None:
    """The limit of tokens that a person has reached, if they have: for what is no message of theirs."""
    with database.reading() as connection:
        quota = own_quota(connection, user_email).with_defaults(defaults)
        return _used_up(connection, user_email, quota, is_new=False) if quota.counts else None


def _used_up(connection: Connection, user_email: str, quota: Quota, *, is_new: bool) -> UsedUp | None:
    """The limit that lasts longest of those that a person has reached."""
    used = _used(connection, user_email)
    reached: tuple[tuple[Limit, int | None, int, str], ...] = (
        ("messages_a_day", quota.messages_a_day if is_new else None, used.messages_today, used.day_ends_at),
        ("tokens_a_day", quota.tokens_a_day, used.tokens_today, used.day_ends_at),
        ("tokens_a_month", quota.tokens_a_month, used.tokens_this_month, used.month_ends_at),
    )
    over = [
        UsedUp(limit=name, most=most, until=until, seconds=_seconds_until(until, connection))
        for name, most, count, until in reached
        if most is not None and count >= most
    ]
    return max(over, key=lambda each: each.until, default=None)


def count_tokens(connection: Connection, *, user_email: str, config: Mapping[str, Any], text: str) -> None:
    """Count what an answer took, in the transaction that ends it.

    config: of the answer; what its provider told stands in `usage`. text: counted instead where it told nothing.
    """
    usage = config.get("usage") or {}
    told = int(usage.get("prompt_tokens") or 0) + int(usage.get("completion_tokens") or 0)
    tokens = told or math.ceil(len(text) / CHARACTERS_PER_TOKEN)
    if tokens:
        _add(connection, user_email, tokens=tokens)


def usage_of(*, database: Database, user_email: str) -> Usage:
    """What a person has used."""
    with database.reading() as connection:
        return _used(connection, user_email)


def usage_of_each(*, database: Database, user_emails: Collection[str]) -> dict[str, Usage]:
    """What each of these people has used, by e-mail address."""
    query = _SUMS.add_columns(_u.user_email).where(_u.user_email.in_(user_emails)).group_by(_u.user_email)
    with database.reading() as connection:
        today = _today(connection)
        used = {user_email: sums for *sums, user_email in connection.execute(query, _days(today))}
    return {user_email: _usage(used.get(user_email, _NOTHING), today) for user_email in user_emails}


def quotas_of_each(*, database: Database, user_emails: Collection[str]) -> dict[str, Quota]:
    """The quota that each of these accounts has of its own, by e-mail address."""
    query = select(_q.user_email, *(_q[name] for name in _NAMES)).where(_q.user_email.in_(user_emails))
    with database.reading() as connection:
        own = {user_email: _quota([row]) for user_email, *row in connection.execute(query)}
    return {user_email: own.get(user_email, Quota()) for user_email in user_emails}


def bytes_of(*, database: Database, user_email: str, unmetered: Collection[str] = ()) -> int:
    """How many bytes the person's files have, each content counted once, and their documents.

    unmetered: the people whose documents lie in folders of the operator's choice, and are not counted.
    """
    with database.reading() as connection:
        return bytes_in(connection, user_email, unmetered=unmetered)


def bytes_in(connection: Connection, user_email: str, *, unmetered: Collection[str] = ()) -> int:
    """`bytes_of` within a transaction."""
    return _bytes_of_each(connection, [user_email], unmetered)[user_email]


def bytes_of_each(
    *, database: Database, user_emails: Collection[str], unmetered: Collection[str] = ()
) -> dict[str, int]:
    """`bytes_of` for each of these people, by e-mail address."""
    with database.reading() as connection:
        return _bytes_of_each(connection, user_emails, unmetered)


def _bytes_of_each(connection: Connection, user_emails: Collection[str], unmetered: Collection[str]) -> dict[str, int]:
    a, d = attachments.c, documents.c
    contents = select(a.user_email, func.max(a.size).label("size")).where(a.user_email.in_(user_emails))
    written = select(d.user_email, d.size).where(d.user_email.in_(user_emails), d.user_email.not_in(unmetered))
    each = union_all(contents.group_by(a.user_email, a.sha256), written).subquery()
    rows = connection.execute(select(each.c.user_email, func.sum(each.c.size)).group_by(each.c.user_email))
    sizes = {user_email: int(size) for user_email, size in rows}
    return {user_email: sizes.get(user_email, 0) for user_email in user_emails}


def purge_usage(*, database: Database) -> int:
    """Delete the counts of days that are `KEPT_DAYS` ago; how many."""
    old = delete(usage_days).where(_u.day < iso_in(days=-KEPT_DAYS)[:10])
    return database.write(lambda connection: connection.execute(old).rowcount, urgency=Urgency.INDEX)


def _add(connection: Connection, user_email: str, *, messages: int = 0, tokens: int = 0) -> None:
    _COUNT.run(connection, owner=user_email, sent=messages, taken=tokens)


def _today(connection: Connection) -> datetime:
    ((time,),) = _TIME.rows(connection, seconds=0.0)
    return datetime.fromisoformat(time).astimezone(UTC)


def _used(connection: Connection, user_email: str) -> Usage:
    today = _today(connection)
    (sums,) = _USED.rows(connection, owner=user_email, **_days(today))
    return _usage(sums, today)


def _days(today: datetime) -> dict[str, str]:
    day = today.date().isoformat()
    return {"today": day, "first": f"{day[:8]}01"}


def _usage(sums: Sequence[Any], today: datetime) -> Usage:
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    days = calendar.monthrange(today.year, today.month)[1]
    messages_today, tokens_today, messages_this_month, tokens_this_month = map(int, sums)
    return Usage(
        messages_today=messages_today,
        tokens_today=tokens_today,
        messages_this_month=messages_this_month,
        tokens_this_month=tokens_this_month,
        day_ends_at=_written(midnight + timedelta(days=1)),
        month_ends_at=_written(midnight.replace(day=1) + timedelta(days=days)),
    )


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds_until(until: str, connection: Connection) -> int:
    return max(1, math.ceil((datetime.fromisoformat(until) - _today(connection)).total_seconds()))
