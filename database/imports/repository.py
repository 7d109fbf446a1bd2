"""Imports: each is a row that says which file is imported, how far it came, and what became of it.

A process leases an import, works on it for a while and stores how far it came in the transaction that stores what it
read, so that nothing is stored twice, wherever the process dies.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from sqlalchemy import Connection, and_, delete, func, insert, or_, select, text, update

from database.changes import IMPORT, ChangeType, record
from database.conversations.repository import workspace_for
from database.engine.clock import now_iso, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import ConflictError, ImportNotFoundError
from database.schema import imported_changes, imports, is_closed, is_shut
from database.schema.imports import IS_WORKED_ON, WORKING
from sentences import say

from .changes import LINK, TARGETS

LEASE_SECONDS = 20.0
"""Renewed with each batch, so after a crash others wait this long."""
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 5, 600
"""How long an import waits that could not be stored: twice as long each time."""
MOST_FAILURES = 1_000
"""So many are kept of each import; all are counted."""

State = Literal["counting", "ready", "running", "paused", "done", "failed", "cancelled", "undoing", "undone"]
ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled", "undone"})

_c = imports.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import. The columns of `database.schema.imports` say what the fields are; times are ISO 8601 in UTC."""

    import_id: str
    user_email: str
    source: str
    file_name: str
    file_size: int
    path: str
    state: State
    counted: bool
    conversations: int
    messages: int
    titles: list[dict[str, Any]]
    choice: dict[str, Any]
    position: int
    done: int
    imported: int
    updated: int
    skipped: int
    failed: int
    failures: list[dict[str, str]]
    kept: list[dict[str, str]]
    error: str
    worked_ms: int
    tries: int
    next_try_at: str | None
    noted: bool
    created_at: str
    updated_at: str


_AT_ONCE = {"tries": 0, "next_try_at": None, "error": ""}
"""What an import has that waits for no other try."""
_FIELDS = tuple(_c[name] for name in Import.__dataclass_fields__)


class StoppedError(Exception):
    """The import was paused, cancelled or taken over meanwhile: nothing was stored."""


def add_import(
    *,
    database: Database,
    user_email: str,
    source: str,
    file_name: str,
    file_size: int,
    path: str,
    state: State = "counting",
    choice: Mapping[str, Any],
    import_id: str | None = None,
    owner: str | None = None,
) -> Import:
    """Add an import of a file. owner: who works on it at once, and has it leased; None: whoever comes first."""
    moment = now_iso()
    leased = {} if owner is None else {"owner": owner, "lease_until": store_time(seconds=LEASE_SECONDS)}
    values: dict[str, Any] = {
        "import_id": import_id or str(uuid.uuid4()),
        "user_email": user_email,
        "source": source,
        "file_name": file_name,
        "file_size": file_size,
        "path": path,
        "state": state,
        "titles": [],
        "choice": dict(choice),
        "failures": [],
        "kept": [],
        "noted": 1,
        "created_at": moment,
        "updated_at": moment,
    }

    def add(connection: Connection) -> Import:
        connection.execute(insert(imports).values({**values, **leased}))
        added = _one(connection, user_email, values["import_id"])
        _tell(connection, added, "created")
        return added

    return database.write(add)


def get_import(*, database: Database, user_email: str, import_id: str) -> Import:
    """An import of this person. Raises ImportNotFoundError."""
    with database.reading() as connection:
        return _one(connection, user_email, import_id)


def list_imports(*, database: Database, user_email: str, limit: int = 100) -> list[Import]:
    """The person's imports, the newest first."""
    query = select(*_FIELDS).where(_c.user_email == user_email).order_by(_c.created_at.desc(), _c.import_id)
    with database.reading() as connection:
        return [_import(row) for row in connection.execute(query.limit(limit))]


def count_by_state(*, database: Database) -> dict[str, int]:
    """How many imports of all people are in each state."""
    counted = select(_c.state, func.count()).group_by(_c.state).order_by(_c.state)
    with database.reading() as connection:
        return {state: int(count) for state, count in connection.execute(counted)}


def claim_import(
    *, database: Database, owner: str, import_id: str | None = None, but: Collection[str] = ()
) -> Import | None:
    """The import that waits for longest to be worked on, leased to `owner`.

    None of an account that was closed; those of one that is disabled wait until it is enabled again.
    import_id: this one alone, which an operator asked for, also where it waits. but: those that are left alone.
    """
    free = or_(_c.lease_until.is_(None), _c.lease_until < store_time(), _c.owner == owner)
    waiting = select(*_FIELDS).where(text(IS_WORKED_ON), free).order_by(_c.updated_at).limit(1)
    if import_id is not None:
        waiting = waiting.where(_c.import_id == import_id, ~is_closed(_c.user_email))
    else:
        is_due = or_(_c.next_try_at.is_(None), _c.next_try_at <= store_time())
        waiting = waiting.where(is_due, _c.import_id.not_in(but), ~is_shut(_c.user_email))
    with database.reading() as connection:
        if connection.execute(waiting).first() is None:
            return None

    def claim(connection: Connection) -> Import | None:
        row = connection.execute(waiting).first()
        if row is None:
            return None
        leased = {"owner": owner, "lease_until": store_time(seconds=LEASE_SECONDS)}
        connection.execute(update(imports).where(_c.import_id == row.import_id).values(leased))
        return _import(row)

    return database.write(claim, urgency=Urgency.INDEX)


def advance(connection: Connection, which: Import, *, owner: str, told: bool = False, **values: Any) -> Import:
    """Store how far an import came, within the transaction that stores what was read; the import as it is then.

    values: columns. told: tell open pages. Raises StoppedError where `owner` may not go on.
    """
    if which.tries and values:  # it got on
        values = {**_AT_ONCE, **values}
    ends = values.get("state", which.state) not in WORKING
    leased = {"owner": None, "lease_until": None} if ends else {"lease_until": store_time(seconds=LEASE_SECONDS)}
    mine = and_(_c.import_id == which.import_id, _c.owner == owner, _c.state == which.state)
    changed = update(imports).where(mine, _c.position == which.position)
    if connection.execute(changed.values(**values, **leased, updated_at=now_iso())).rowcount == 0:
        raise StoppedError
    reached = _one(connection, which.user_email, which.import_id)
    if told or ends:
        _tell(connection, reached)
    return reached


def postpone(*, database: Database, which: Import, owner: str, reason: str) -> None:
    """Let an import wait that could not be stored, and others go on. reason: one sentence for the person."""
    values = {"tries": which.tries + 1, "next_try_at": store_time(seconds=seconds_to_next_try(which)), "error": reason}
    mine = and_(_c.import_id == which.import_id, _c.owner == owner, _c.state == which.state)
    released = {"owner": None, "lease_until": None, "updated_at": now_iso()}

    def wait(connection: Connection) -> None:
        if connection.execute(update(imports).where(mine).values(**values, **released)).rowcount:
            _tell(connection, _one(connection, which.user_email, which.import_id))

    database.write(wait, urgency=Urgency.INDEX)


def seconds_to_next_try(which: Import) -> float:
    """How long an import waits that could not be stored now."""
    return float(min(FIRST_RETRY_SECONDS * 2 ** min(which.tries, 10), LONGEST_RETRY_SECONDS))


def change_state(
    *,
    database: Database,
    user_email: str,
    import_id: str,
    state: State,
    among: Collection[State],
    **values: Any,
) -> Import:
    """Put an import into another state; values: columns. Who works on it keeps its lease until the step has ended.

    Raises ImportNotFoundError, ConflictError unless it is in one of `among`, WorkspaceNotFoundError and
    InvalidChangeError for a workspace that conversations can't be imported into.
    """

    def change(connection: Connection) -> Import:
        before = _one(connection, user_email, import_id)
        if before.state not in among:
            raise ConflictError(say("import_moved_on", state=before.state))
        choice = values.get("choice") or {}
        if choice.get("workspace_id") is not None:
            place = {"domain": choice["domain"], "workspace_id": choice["workspace_id"]}
            workspace_for(connection, user_email=user_email, **place)
        changed = update(imports).where(_c.import_id == import_id)
        at_once = _AT_ONCE if before.tries else {}
        connection.execute(changed.values(**values, **at_once, state=state, updated_at=now_iso()))
        after = _one(connection, user_email, import_id)
        _tell(connection, after)
        return after

    return database.write(change)


def delete_import(*, database: Database, user_email: str, import_id: str) -> Import:
    """Delete an import that has ended or never began; what it brought stays. Raises as `change_state`."""

    def remove(connection: Connection) -> Import:
        before = _one(connection, user_email, import_id)
        if before.state not in {*ENDED, "ready", "counting"}:
            raise ConflictError(say("import_moved_on", state=before.state))
        # What waits for a later import still does.
        mine = (imported_changes.c.import_id == import_id) & imported_changes.c.kind.not_in((LINK, TARGETS))
        connection.execute(delete(imported_changes).where(mine))
        connection.execute(delete(imports).where(_c.import_id == import_id))
        _tell(connection, before, "gone")
        return before

    return database.write(remove)


def unfinished_paths(*, database: Database, user_email: str | None = None) -> set[str]:
    """The files of the imports that have not ended: of one person's, or of everybody's."""
    whose = [] if user_email is None else [_c.user_email == user_email]
    with database.reading() as connection:
        return set(connection.execute(select(_c.path).where(_c.state.not_in(ENDED), *whose)).scalars())


def waiting_bytes(*, database: Database, user_email: str, uploads: Path) -> int:
    """How many bytes the person's files have in the folder `uploads` whose imports have not ended."""
    below = _c.path.startswith(f"{uploads}/", autoescape=True)
    query = select(func.coalesce(func.sum(_c.file_size), 0))
    with database.reading() as connection:
        return int(
            connection.execute(query.where(_c.user_email == user_email, _c.state.not_in(ENDED), below)).scalar_one()
        )


def working_imports(*, database: Database) -> set[str]:
    """The ids of the imports that a process works on, or that wait for one."""
    with database.reading() as connection:
        return set(connection.execute(select(_c.import_id).where(_c.state.in_(WORKING))).scalars())


def release_imports(*, database: Database, owner: str, import_id: str | None = None) -> None:
    """End the leases of those whose names begin with `owner`. import_id: on this one alone."""
    held = update(imports).where(_c.owner.startswith(owner, autoescape=True))
    if import_id is not None:
        held = held.where(_c.import_id == import_id)
    database.write(lambda connection: connection.execute(held.values(owner=None, lease_until=None)).rowcount)


def _one(connection: Connection, user_email: str, import_id: str) -> Import:
    query = select(*_FIELDS).where(_c.user_email == user_email, _c.import_id == import_id)
    row = connection.execute(query).first()
    if row is None:
        raise ImportNotFoundError
    return _import(row)


def _import(row: Any) -> Import:
    fields = {**row._mapping, "counted": bool(row.counted), "noted": bool(row.noted)}
    return Import(**cast("dict[str, Any]", fields))


def _tell(connection: Connection, which: Import, change: ChangeType = "changed") -> None:
    fields: dict[str, Any] = {}
    if change != "gone":
        fields = {name: getattr(which, name) for name in ("state", "done", "imported", "updated", "skipped", "failed")}
        fields["total"] = which.messages if which.counted else None
    record(connection, IMPORT, change, user_email=which.user_email, ids=[which.import_id], fields=fields)
