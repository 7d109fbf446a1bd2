"""Workspaces: the folders of a user's conversations, a tree for each domain.

The default workspace of each user and domain exists before its row is stored.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select, update
from typing_extensions import TypedDict

from database.changes import WORKSPACE, record
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, WorkspaceNotFoundError
from database.engine.text import storable
from database.schema import conversation_workspaces, conversations, workspaces
from sentences import say

DEFAULT_WORKSPACE_NAME = "General"
DEFAULT_WORKSPACE_COLOR = "primary"
WORKSPACE_COLOR = r"^#?[a-z0-9-]{1,30}$"
"""What a colour of a workspace looks like."""
DEFAULT_PREFIX = "default_"
"""What the ids of default workspaces begin with; those of others are UUIDs."""
_DOMAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def is_domain(text: str) -> bool:
    """Whether `text` can be the name of a domain."""
    return _DOMAIN.fullmatch(text) is not None


def default_workspace_id(user_email: str, domain: str) -> str:
    """The id of the default workspace of `user_email` in `domain`."""
    return f"{DEFAULT_PREFIX}{user_email}_{domain}"


def domain_of_default(user_email: str, workspace_id: str) -> str | None:
    """The domain whose default workspace of `user_email` this is; None where it is another, or there can't be one."""
    prefix = default_workspace_id(user_email, "")
    domain = workspace_id.removeprefix(prefix)
    return domain if workspace_id.startswith(prefix) and is_domain(domain) else None


def ensure_default_workspace(connection: Connection, *, user_email: str, domain: str) -> str:
    """Store the row of the default workspace where it is missing; its id. Runs inside the caller's transaction."""
    _store_missing(connection, user_email, [domain])
    return default_workspace_id(user_email, domain)


def store_defaults_among(connection: Connection, *, user_email: str, workspace_ids: Collection[str]) -> None:
    """Store those default workspaces that `workspace_ids` name and that are missing. At most two statements."""
    found = {domain_of_default(user_email, workspace_id) for workspace_id in workspace_ids}
    domains = [domain for domain in found if domain is not None]
    if domains:
        _store_missing(connection, user_email, domains)


def _store_missing(connection: Connection, user_email: str, domains: Collection[str]) -> None:
    named = {default_workspace_id(user_email, domain): domain for domain in domains}
    c = workspaces.c
    query = select(c.workspace_id).where(c.user_email == user_email, c.workspace_id.in_(named))
    missing = named.keys() - set(connection.execute(query).scalars())
    if not missing:
        return
    moment = now_iso()
    rows = [
        {
            "user_email": user_email,
            "workspace_id": workspace_id,
            "workspace_name": DEFAULT_WORKSPACE_NAME,
            "workspace_color": DEFAULT_WORKSPACE_COLOR,
            "domain": named[workspace_id],
            "created_at": moment,
            "updated_at": moment,
        }
        for workspace_id in missing
    ]
    connection.execute(insert(workspaces), rows)


_LONGEST_NAME = 200
_COLOR = re.compile(WORKSPACE_COLOR)


class Workspace(TypedDict):
    """One workspace as clients are shown it. `conversation_count`: live, not archived, directly in it."""

    workspace_id: str
    workspace_name: str
    workspace_color: str
    domain: str
    expanded: bool
    parent_workspace_id: str | None
    conversation_count: int


class RemovedWorkspace(TypedDict):
    """A deleted workspace, with all that `restore_workspace` needs.

    `workspace_ids` and `conversation_ids` were directly in it, archived and deleted conversations among them.
    """

    workspace_id: str
    workspace_name: str
    workspace_color: str
    expanded: bool
    parent_workspace_id: str | None
    workspace_ids: list[str]
    conversation_ids: list[str]


def _workspace(row: Row[Any]) -> Workspace:
    """A stored workspace; the caller counts its conversations."""
    return Workspace(
        workspace_id=row.workspace_id,
        workspace_name=row.workspace_name,
        workspace_color=row.workspace_color,
        domain=row.domain,
        expanded=bool(row.expanded),
        parent_workspace_id=row.parent_workspace_id,
        conversation_count=0,
    )


def _unstored_default(workspace_id: str, domain: str) -> Workspace:
    """A default workspace that is not stored yet."""
    return Workspace(
        workspace_id=workspace_id,
        workspace_name=DEFAULT_WORKSPACE_NAME,
        workspace_color=DEFAULT_WORKSPACE_COLOR,
        domain=domain,
        expanded=True,
        parent_workspace_id=None,
        conversation_count=0,
    )


def valid_name(name: str) -> str:
    """`name` with single spaces. Raises InvalidChangeError if it is then empty or too long."""
    cleaned = storable(" ".join(name.split()))
    if not 0 < len(cleaned) <= _LONGEST_NAME:
        raise InvalidChangeError(say("workspace_name_length", most=_LONGEST_NAME))
    return cleaned


def valid_color(color: str) -> str:
    """`color` if it looks like one. Raises InvalidChangeError."""
    if not _COLOR.fullmatch(color):
        raise InvalidChangeError("A workspace's colour is the name of one.")
    return color


_c = workspaces.c
_place = conversation_workspaces.c


def load_workspaces(*, database: Database, user_email: str, domain: str) -> list[Workspace]:
    """All workspaces of the user in `domain`, the default one first, then by name. Two queries."""
    query = select(workspaces).where(_c.user_email == user_email, _c.domain == domain)
    with database.reading() as connection:
        rows = connection.execute(query).all()
        counted = _conversation_counts(connection, user_email=user_email, domain=domain)
    default_id = default_workspace_id(user_email, domain)
    found = {row.workspace_id: _workspace(row) for row in rows}
    found.setdefault(default_id, _unstored_default(default_id, domain))
    for workspace_id, count in counted:
        # A conversation without a workspace, or whose workspace is gone, counts as in the default one.
        found[workspace_id if workspace_id in found else default_id]["conversation_count"] += count
    return sorted(
        found.values(),
        key=lambda each: (each["workspace_id"] != default_id, each["workspace_name"].casefold(), each["workspace_id"]),
    )


def create_workspace(
    *,
    database: Database,
    user_email: str,
    domain: str,
    workspace_name: str,
    workspace_color: str = DEFAULT_WORKSPACE_COLOR,
    parent_workspace_id: str | None = None,
) -> Workspace:
    """A new workspace below `parent_workspace_id`, or at the top.

    Raises WorkspaceNotFoundError (this user has no such parent), InvalidChangeError (the name or colour can't be one,
    or the parent belongs to another domain).
    """
    moment = now_iso()
    values = {
        "user_email": user_email,
        "workspace_id": str(uuid.uuid4()),
        "workspace_name": valid_name(workspace_name),
        "workspace_color": valid_color(workspace_color),
        "domain": domain,
        "parent_workspace_id": parent_workspace_id,
        "created_at": moment,
        "updated_at": moment,
    }

    def job(connection: Connection) -> Workspace:
        if parent_workspace_id is not None:
            parent = access_workspace(connection, user_email=user_email, workspace_id=parent_workspace_id)
            require_same_domain(parent.domain, domain)
        connection.execute(insert(workspaces).values(values))
        row = access_workspace(connection, user_email=user_email, workspace_id=str(values["workspace_id"]))
        record_created(connection, row)
        return _workspace(row)

    return database.write(job)


def domains_with_workspaces(*, database: Database, user_email: str) -> set[str]:
    """The domains in which workspaces of the user are stored."""
    query = select(_c.domain).where(_c.user_email == user_email).distinct()
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def rename_workspace(*, database: Database, user_email: str, workspace_id: str, workspace_name: str) -> None:
    """Give a workspace another name. Raises as `updateWorkspace` does."""
    update_workspace(database=database, user_email=user_email, workspace_id=workspace_id, workspace_name=workspace_name)


def update_workspace(
    *,
    database: Database,
    user_email: str,
    workspace_id: str,
    workspace_name: str | None = None,
    workspace_color: str | None = None,
    expanded: bool | None = None,
) -> None:
    """Change the given properties; None leaves one as it is.

    Raises WorkspaceNotFoundError (missing or somebody else's), InvalidChangeError (the name or colour can't be one).
    """
    values: dict[str, Any] = {"updated_at": now_iso()}
    if workspace_name is not None:
        values["workspace_name"] = valid_name(workspace_name)
    if workspace_color is not None:
        values["workspace_color"] = valid_color(workspace_color)
    if expanded is not None:
        values["expanded"] = int(expanded)

    def job(connection: Connection) -> None:
        access_workspace(connection, user_email=user_email, workspace_id=workspace_id)
        connection.execute(update(workspaces).where(_own(user_email, workspace_id)).values(values))
        if workspace_name is not None:
            _age_conversations(connection, user_email=user_email, workspace_id=workspace_id)
        fields = {
            name: expanded if name == "expanded" else value for name, value in values.items() if name != "updated_at"
        }
        record(connection, WORKSPACE, "changed", user_email=user_email, ids=[workspace_id], fields=fields)

    database.write(job)


def set_workspaces_expanded(
    *, database: Database, user_email: str, workspace_ids: Collection[str], expanded: bool
) -> int:
    """Open or close several workspaces at once; how many there were. Other users' ids are ignored.

    At most four statements, however many there are.
    """

    def job(connection: Connection) -> int:
        store_defaults_among(connection, user_email=user_email, workspace_ids=workspace_ids)
        these = and_(_c.user_email == user_email, _c.workspace_id.in_(list(workspace_ids)))
        opened = update(workspaces).where(these).values(expanded=int(expanded)).returning(_c.workspace_id)
        ids = connection.execute(opened).scalars().all()
        record(connection, WORKSPACE, "changed", user_email=user_email, ids=ids, fields={"expanded": expanded})
        return len(ids)

    return database.write(job)


def move_workspace(*, database: Database, user_email: str, workspace_id: str, parent_workspace_id: str | None) -> None:
    """Move a workspace with its descendants below another one; None: to the top.

    Raises WorkspaceNotFoundError (one of the two is missing or somebody else's), InvalidChangeError (it would be below
    itself or in another domain, or it is the default workspace).
    """

    def job(connection: Connection) -> None:
        row = access_workspace(connection, user_email=user_email, workspace_id=workspace_id)
        _refuse_default(row, "moved")
        if parent_workspace_id is not None:
            parent = access_workspace(connection, user_email=user_email, workspace_id=parent_workspace_id)
            require_same_domain(parent.domain, row.domain)
            above = _chain(connection, user_email=user_email, workspace_id=parent_workspace_id)
            if workspace_id in [each.workspace_id for each in above]:
                raise InvalidChangeError(say("workspace_below_itself"))
        values = {"parent_workspace_id": parent_workspace_id, "updated_at": now_iso()}
        connection.execute(update(workspaces).where(_own(user_email, workspace_id)).values(values))
        moved = {"parent_workspace_id": parent_workspace_id}
        record(connection, WORKSPACE, "changed", user_email=user_email, ids=[workspace_id], fields=moved)

    database.write(job)


def delete_workspace(
    *, database: Database, user_email: str, workspace_id: str, domain: str | None = None
) -> RemovedWorkspace:
    """Remove a workspace; its contents go to its parent, or to the default workspace where it has none.

    `database.conversations.bulk.restore_workspace` takes the result and restores the workspace. Raises
    WorkspaceNotFoundError (missing, somebody else's, or not in `domain`), InvalidChangeError (it is the default
    workspace).
    """

    def job(connection: Connection) -> RemovedWorkspace:
        row = access_workspace(connection, user_email=user_email, workspace_id=workspace_id)
        if domain is not None and row.domain != domain:
            raise WorkspaceNotFoundError
        _refuse_default(row, "deleted")
        new_parent = row.parent_workspace_id or ensure_default_workspace(
            connection, user_email=user_email, domain=row.domain
        )
        _age_conversations(connection, user_email=user_email, workspace_id=workspace_id)
        children = and_(_c.user_email == user_email, _c.parent_workspace_id == workspace_id)
        inside = and_(_place.user_email == user_email, _place.workspace_id == workspace_id)
        removed = RemovedWorkspace(
            workspace_id=row.workspace_id,
            workspace_name=row.workspace_name,
            workspace_color=row.workspace_color,
            expanded=bool(row.expanded),
            parent_workspace_id=row.parent_workspace_id,
            workspace_ids=list(connection.execute(select(_c.workspace_id).where(children)).scalars()),
            conversation_ids=list(connection.execute(select(_place.conversation_id).where(inside)).scalars()),
        )
        connection.execute(update(workspaces).where(children).values(parent_workspace_id=new_parent))
        connection.execute(update(conversation_workspaces).where(inside).values(workspace_id=new_parent))
        connection.execute(delete(workspaces).where(_own(user_email, workspace_id)))
        record(
            connection, WORKSPACE, "gone", user_email=user_email, ids=[workspace_id], fields={"moved_to": new_parent}
        )
        return removed

    return database.write(job)


def get_workspace_path(*, database: Database, user_email: str, workspace_id: str) -> list[dict[str, str]]:
    """`{workspace_id, workspace_name}` of the workspaces from the top down to this one.

    Raises WorkspaceNotFoundError (missing or somebody else's).
    """
    default_domain = domain_of_default(user_email, workspace_id)
    with database.reading() as connection:
        chain = _chain(connection, user_email=user_email, workspace_id=workspace_id)
    if not chain and default_domain is not None:
        return [{"workspace_id": workspace_id, "workspace_name": DEFAULT_WORKSPACE_NAME}]
    if not chain:
        raise WorkspaceNotFoundError
    return [{"workspace_id": row.workspace_id, "workspace_name": row.workspace_name} for row in reversed(chain)]


def access_workspace(connection: Connection, *, user_email: str, workspace_id: str) -> Row[Any]:
    """The row of a user's workspace; a missing default workspace is stored first. Raises WorkspaceNotFoundError."""
    store_defaults_among(connection, user_email=user_email, workspace_ids=[workspace_id])
    row = connection.execute(select(workspaces).where(_own(user_email, workspace_id))).first()
    if row is None:
        raise WorkspaceNotFoundError
    return row


def record_created(connection: Connection, row: Row[Any]) -> None:
    """Record that a workspace was created or restored."""
    shape = _workspace(row)
    names = ("workspace_name", "workspace_color", "domain", "expanded", "parent_workspace_id")
    fields = {name: value for name, value in shape.items() if name in names}
    record(connection, WORKSPACE, "created", user_email=row.user_email, ids=[row.workspace_id], fields=fields)


def require_same_domain(one: str, other: str) -> None:
    """Raises InvalidChangeError if the two differ: nothing moves between domains."""
    if one != other:
        raise InvalidChangeError(say("workspace_other_domain"))


def _own(user_email: str, workspace_id: str) -> ColumnElement[bool]:
    return and_(_c.user_email == user_email, _c.workspace_id == workspace_id)


def _refuse_default(row: Row[Any], change: str) -> None:
    if row.workspace_id == default_workspace_id(row.user_email, row.domain):
        raise InvalidChangeError(say(f"default_workspace_not_{change}"))


def _chain(connection: Connection, *, user_email: str, workspace_id: str) -> list[Row[Any]]:
    """The workspace and its ancestors, nearest first; empty if it is not the user's. One query: a user has few."""
    query = select(_c.workspace_id, _c.workspace_name, _c.parent_workspace_id).where(_c.user_email == user_email)
    rows: dict[str | None, Any] = {row.workspace_id: row for row in connection.execute(query)}
    chain: list[Row[Any]] = []
    next_id: str | None = workspace_id
    while next_id in rows:
        row = rows.pop(next_id)
        chain.append(row)
        next_id = row.parent_workspace_id
    return chain


def _age_conversations(connection: Connection, *, user_email: str, workspace_id: str) -> None:
    """Give the conversations of a workspace a new version: cached copies name the workspace."""
    inside = select(_place.conversation_id).where(_place.user_email == user_email, _place.workspace_id == workspace_id)
    connection.execute(
        update(conversations)
        .where(conversations.c.conversation_id.in_(inside))
        .values(version=conversations.c.version + 1)
    )


def _conversation_counts(connection: Connection, *, user_email: str, domain: str) -> list[tuple[str | None, int]]:
    query = (
        select(_place.workspace_id, func.count())
        .outerjoin_from(
            conversations,
            conversation_workspaces,
            # By owner, too, as in the list of conversations.
            and_(
                _place.conversation_id == conversations.c.conversation_id,
                _place.user_email == conversations.c.user_email,
            ),
        )
        .where(
            conversations.c.user_email == user_email,
            conversations.c.domain == domain,
            conversations.c.deleted_at.is_(None),
            conversations.c.archived == 0,
            conversations.c.expires_at.is_(None),
        )
        .group_by(_place.workspace_id)
    )
    return [(workspace_id, count) for workspace_id, count in connection.execute(query)]
