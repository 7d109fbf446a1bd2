"""Duties: what one of several processes does for all of them, such as indexing, each under a lease.

A process holds a duty while it renews its leases, all in one statement, by the clock of the database. When a process
dies its leases end, and another one takes over. `chat.processes.duties` keeps those of a server.

With its duties a process renews a row of its own: that it lives, and for which closed accounts it has no request under
way. A request that was authenticated before an account was closed may still write for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from database.engine.clock import store_time
from database.engine.database import Database, Urgency
from database.engine.errors import ConflictError
from database.schema import duties, server_processes, users

LEASE_SECONDS = 7.0
RENEW_SECONDS = 2.0

_FOLDER = "data folder"
_ENDED = "ended: "
"""Before the name of a process that has stopped by itself. What it had begun may still write until its lease ends."""
_c, _p = duties.c, server_processes.c


def take_duties(
    *,
    database: Database,
    owner: str,
    names: Collection[str],
    is_busy: Callable[[str], bool] = lambda _user_email: False,
    may_take_over: Callable[[], bool] = lambda: True,
) -> set[str]:
    """Renew the leases of `owner`, and take those of `names` that nobody holds; which ones `owner` holds then.

    is_busy: whether something is under way in this process that may write for this account. may_take_over: asked once
    the store takes this write: whether the owners of leases that have ended are gone.
    """

    def take(connection: Connection) -> set[str]:
        clear_of = _clear_of(connection, is_busy)
        takes_over = may_take_over()
        _renew_process(connection, owner, clear_of, forgets_others=takes_over)
        lease = {"owner": owner, "lease_until": store_time(seconds=LEASE_SECONDS)}
        free = or_(_c.owner == owner, _c.lease_until < store_time()) if takes_over else _c.owner == owner
        connection.execute(update(duties).where(_c.name.in_(names), free).values(lease))
        rows = connection.execute(select(_c.name, _c.owner).where(_c.name.in_(names)))
        held = {row.name: row.owner for row in rows}
        new = sorted(set(names) - held.keys())
        if new:
            connection.execute(insert(duties), [{"name": name, "owner": owner, "lease_until": ""} for name in new])
            connection.execute(update(duties).where(_c.name.in_(new)).values(lease))
        return {name for name in names if held.get(name, owner) == owner}

    return database.write(take, urgency=Urgency.STREAM)


def _clear_of(connection: Connection, is_busy: Callable[[str], bool]) -> list[str]:
    """The closed accounts for which nothing is under way in this process."""
    closed = connection.execute(select(users.c.user_id, users.c.user_email).where(users.c.erasing_since.is_not(None)))
    # Asked after the closing was read: whoever asks from now on is refused.
    return [row.user_id for row in closed if not is_busy(row.user_email)]


def _renew_process(connection: Connection, owner: str, clear_of: list[str], *, forgets_others: bool) -> None:
    """forgets_others: those whose leases have ended."""
    mine = _p.owner.in_([owner, _ENDED + owner])
    replaced = or_(mine, _p.lease_until < store_time()) if forgets_others else mine
    connection.execute(delete(server_processes).where(replaced))
    lease = {"owner": owner, "lease_until": store_time(seconds=LEASE_SECONDS)}
    connection.execute(insert(server_processes).values(**lease, clear_of=clear_of))


def others_may_write(
    *, database: Database, owner: str, user_email: str, may_take_over: Callable[[], bool] = lambda: True
) -> bool:
    """Whether a living process other than `owner` may have a request under way that writes for a closed account.

    may_take_over: asked after the look: whether the owners of leases that have ended are gone.
    """
    account = select(users.c.user_id).where(users.c.user_email == user_email)
    others = select(_p.clear_of, (_p.lease_until < store_time()).label("has_ended")).where(_p.owner != owner)
    with database.reading() as connection:
        user_id = connection.execute(account).scalar()
        waited_for = [row for row in connection.execute(others) if user_id not in row.clear_of]
    return any(not row.has_ended for row in waited_for) or bool(waited_for and not may_take_over())


def processes_left(*, database: Database) -> dict[str, str]:
    """The processes that have not stopped by themselves, each with the end of its lease: they live, or were killed."""
    left = select(_p.owner, _p.lease_until).where(~_p.owner.startswith(_ENDED, autoescape=True))
    with database.reading() as connection:
        return {row.owner: row.lease_until for row in connection.execute(left)}


def forget_processes(*, database: Database) -> None:
    """Take all other processes for gone, with their duties: for one that knows that it is alone."""

    def forget(connection: Connection) -> None:
        connection.execute(delete(server_processes))
        connection.execute(delete(duties).where(_c.name != _FOLDER))

    database.write(forget)


def release_duties(*, database: Database, owner: str) -> None:
    """Let others take the duties of a process that stops, and know that it was not killed."""

    def release(connection: Connection) -> None:
        connection.execute(delete(duties).where(_c.owner == owner))
        connection.execute(update(server_processes).where(_p.owner == owner).values(owner=_ENDED + owner))

    database.write(release)


def owners(*, database: Database) -> dict[str, int]:
    """How many duties each living process holds now, none among them, by the name of the process."""
    held = select(_c.owner, func.count()).where(_c.lease_until >= store_time()).group_by(_c.owner)
    living = select(_p.owner).where(_p.lease_until >= store_time(), ~_p.owner.startswith(_ENDED, autoescape=True))
    with database.reading() as connection:
        counts = {owner: int(count) for owner, count in connection.execute(held)}
        return {owner: counts.get(owner, 0) for owner in sorted({*counts, *connection.execute(living).scalars()})}


def serve_folder(*, database: Database, folder_id: str, is_alone: bool) -> None:
    """Note in which data folder the files of this store lie; all of its servers share one.

    folder_id: of the data folder. is_alone: no other server works on the store, so that the folder may be a new one.
    Raises ConflictError where the others share another folder.
    """

    def note(connection: Connection) -> None:
        known = connection.execute(select(_c.owner).where(_c.name == _FOLDER)).scalar()
        if known == folder_id:
            return
        if known is not None and not is_alone:
            raise ConflictError("The other servers of this database share another data folder.")
        connection.execute(delete(duties).where(_c.name == _FOLDER))
        connection.execute(insert(duties).values(name=_FOLDER, owner=folder_id, lease_until=""))

    database.write(note)
