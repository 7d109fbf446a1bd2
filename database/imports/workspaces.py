"""The workspaces into which folders and projects of a source go: those of the same name, made where there is none."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection, delete, func, insert, select

from database.changes import WORKSPACE, record
from database.conversations.repository import workspace_for
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import InvalidChangeError, WorkspaceNotFoundError
from database.schema import conversation_workspaces, imported_changes, imports, workspaces
from database.workspaces.repository import DEFAULT_WORKSPACE_COLOR, access_workspace, record_created
from sentences import say

from .changes import CHANGED_SINCE, WORKSPACE_ORIGIN, Change, Notes

_LONGEST_NAME = 100
_AT_ONCE = 20
"""Of at most 50 levels each, which takes some tens of milliseconds."""
_c = workspaces.c


def workspaces_named(notes: Notes, names: Collection[str], *, domain: str) -> dict[str, str]:
    """The ids of the person's workspaces of these names. notes: of the import that makes those that are missing."""
    tidy = {name: _tidy(name) for name in names}
    wanted = {name for name in tidy.values() if name}
    if not wanted:
        return {}
    found = _named(notes, wanted, domain=domain)
    if missing := wanted - found.keys():
        brought = _brought(notes, domain=domain)
        for name in sorted(missing):
            found[name] = brought.get(name) or _create(notes, Folder(name), domain=domain)
    return {name: found[each] for name, each in tidy.items() if each}


def add_workspace(name: str, *, database: Database, user_email: str, import_id: str, domain: str) -> bool:
    """Make the workspace of a project; whether it was missing.

    One that came with an earlier import stays as the person has renamed or deleted it since.
    """

    def job(connection: Connection) -> bool:
        notes, wanted = Notes(connection, user_email, import_id), _tidy(name)
        if not wanted or wanted in _named(notes, [wanted], domain=domain) or wanted in _brought(notes, domain=domain):
            return False
        _create(notes, Folder(wanted), domain=domain)
        return True

    return database.write(job, urgency=Urgency.INDEX)


def workspace_or_default(
    connection: Connection, workspace_id: str | None, *, user_email: str, domain: str
) -> str | None:
    """The workspace that the person chose; the default one where it is of another domain, or was deleted meanwhile."""
    try:
        return workspace_for(connection, user_email=user_email, domain=domain, workspace_id=workspace_id)
    except (WorkspaceNotFoundError, InvalidChangeError):
        return None


def _tidy(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]


def _named(notes: Notes, names: Collection[str], *, domain: str) -> dict[str, str]:
    """The ids of the person's workspaces that have these names, of the oldest where several have one."""
    own = (_c.user_email == notes.user_email) & (_c.domain == domain) & _c.workspace_name.in_(names)
    rows = notes.connection.execute(
        select(_c.workspace_name, _c.workspace_id).where(own).order_by(_c.created_at.desc())
    )
    return {row.workspace_name: row.workspace_id for row in rows}


def _brought(notes: Notes, *, domain: str) -> dict[str, str | None]:
    """The workspaces that imports of the same source made, by their names there; None for one that is gone."""
    source = select(imports.c.source).where(imports.c.import_id == notes.import_id).scalar_subquery()
    here = (
        (_c.user_email == notes.user_email) & (_c.domain == domain) & (_c.workspace_id == imported_changes.c.thing_id)
    )
    query = (
        select(imported_changes.c.became, _c.workspace_id)
        .join(imports, imports.c.import_id == imported_changes.c.import_id)
        .outerjoin(workspaces, here)
        .where(imported_changes.c.user_email == notes.user_email, imported_changes.c.kind == "workspace")
        .where(imports.c.source == source)
    )
    found = {str(row.became["workspace_name"]): row.workspace_id for row in notes.connection.execute(query)}
    return _moved(notes, domain=domain) | found


def _moved(notes: Notes, *, domain: str) -> dict[str, str | None]:
    """The workspaces that imports of the same source made before an archive brought them; as `_brought`."""
    n = imported_changes.c
    source = select(imports.c.source).where(imports.c.import_id == notes.import_id)
    noted = select(n.became).join(imports, imports.c.import_id == n.import_id)
    noted = noted.where(imports.c.user_email == notes.user_email, n.kind == WORKSPACE_ORIGIN)
    name = notes.connection.execute(source).scalar()
    said = [each for each in notes.connection.execute(noted).scalars() if each["source"] == name]
    own = select(_c.workspace_id).where(_c.user_email == notes.user_email, _c.domain == domain)
    here = set(notes.connection.execute(own).scalars()) if said else set[str]()
    return {each["workspace_name"]: each["workspace_id"] if each["workspace_id"] in here else None for each in said}


def workspaces_at(
    wanted: Sequence[tuple[str, Sequence[Folder]]], *, database: Database, user_email: str, import_id: str
) -> list[str | None]:
    """The ids of the workspaces at these paths, given with their domains; see `make_workspaces`."""

    def job(connection: Connection, some: Sequence[tuple[str, Sequence[Folder]]]) -> list[str | None]:
        notes = Notes(connection, user_email, import_id)
        return [workspace_at(notes, path, domain=domain) for domain, path in some]

    slices = (wanted[begin : begin + _AT_ONCE] for begin in range(0, len(wanted), _AT_ONCE))
    return [each for some in slices for each in database.write(partial(job, some=some), urgency=Urgency.INDEX)]


@dataclass(frozen=True, slots=True)
class Folder:
    """A workspace as an archive describes it."""

    name: str
    color: str = DEFAULT_WORKSPACE_COLOR


def workspace_at(notes: Notes, path: Sequence[Folder], *, domain: str) -> str | None:
    """The id of the person's workspace at `path`, from the top down, made where it is missing; None for no path.

    A query for each folder of the path.
    """
    parent: str | None = None
    for folder in path:
        name = " ".join(folder.name.split())[:_LONGEST_NAME]
        own = (_c.user_email == notes.user_email) & (_c.domain == domain) & (_c.workspace_name == name)
        here = select(_c.workspace_id).where(own, _c.parent_workspace_id == parent).order_by(_c.created_at).limit(1)
        found = notes.connection.execute(here).scalar()
        parent = found or _create(notes, Folder(name, folder.color), domain=domain, parent=parent)
    return parent


def make_workspaces(
    wanted: Sequence[tuple[str, Sequence[Folder]]], *, database: Database, user_email: str, import_id: str | None = None
) -> int:
    """Make the workspaces at these paths, given with their domains, that are missing; how many.

    A few in each transaction: meanwhile nobody else writes.
    """

    def job(connection: Connection, some: Sequence[tuple[str, Sequence[Folder]]]) -> int:
        before = connection.execute(counted).scalar_one()
        for domain, path in some:
            workspace_at(Notes(connection, user_email, import_id), path, domain=domain)
        return int(connection.execute(counted).scalar_one() - before)

    counted = select(func.count()).where(_c.user_email == user_email)
    slices = (wanted[begin : begin + _AT_ONCE] for begin in range(0, len(wanted), _AT_ONCE))
    return sum(database.write(partial(job, some=some), urgency=Urgency.INDEX) for some in slices)


def take_workspace_back(connection: Connection, change: Change, *, user_email: str) -> str:
    """Delete an empty workspace that an import made; why it stays, "" where it doesn't."""
    own = (_c.user_email == user_email) & (_c.workspace_id == change.thing_id)
    row = connection.execute(select(_c.workspace_name, _c.workspace_color).where(own)).first()
    if row is None:
        return ""
    if dict(row._mapping) != change.became:
        return CHANGED_SINCE
    inside = select(conversation_workspaces.c.conversation_id).where(
        conversation_workspaces.c.user_email == user_email, conversation_workspaces.c.workspace_id == change.thing_id
    )
    below = select(_c.workspace_id).where(_c.user_email == user_email, _c.parent_workspace_id == change.thing_id)
    if any(connection.execute(query.limit(1)).first() for query in (inside, below)):
        return say("import_folder_used")
    connection.execute(delete(workspaces).where(own))
    record(connection, WORKSPACE, "gone", user_email=user_email, ids=[change.thing_id])
    return ""


def _create(notes: Notes, folder: Folder, *, domain: str, parent: str | None = None) -> str:
    moment, workspace_id = now_iso(), str(uuid.uuid4())
    values = {
        "user_email": notes.user_email,
        "workspace_id": workspace_id,
        "workspace_name": folder.name,
        "workspace_color": folder.color,
        "parent_workspace_id": parent,
        "domain": domain,
        "created_at": moment,
        "updated_at": moment,
    }
    connection = notes.connection
    connection.execute(insert(workspaces).values(values))
    record_created(connection, access_workspace(connection, user_email=notes.user_email, workspace_id=workspace_id))
    made = {"workspace_name": folder.name, "workspace_color": folder.color}
    replace(notes, conversation_id=None).added("workspace", [workspace_id], became=made)
    return workspace_id
