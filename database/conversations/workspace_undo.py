"""Restoring a deleted workspace under its id, with the contents that were not moved elsewhere since."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, and_, insert, select, update

from database.changes import WORKSPACE, record
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.schema import conversation_workspaces, workspaces
from database.workspaces.repository import (
    RemovedWorkspace,
    access_workspace,
    default_workspace_id,
    ensure_default_workspace,
    record_created,
    require_same_domain,
    valid_color,
    valid_name,
)
from sentences import say

from .bulk import place, slices

_c = workspaces.c
_place = conversation_workspaces.c


def restore_workspace(*, database: Database, user_email: str, domain: str, removed: RemovedWorkspace) -> None:
    """Undo `deleteWorkspace`, which returned `removed`. Repeating it changes nothing.

    Conversations and workspaces that were moved meanwhile stay where they are. If the parent is gone too, the
    workspace is restored at the top. Raises InvalidChangeError (the name or colour can't be one, or the id is a default
    workspace's, or that of a workspace in another domain).
    """
    if removed["workspace_id"].startswith(default_workspace_id(user_email, "")):
        raise InvalidChangeError(say("default_workspace_not_deleted"))
    new_parent = database.write(partial(_restore, removed=removed, user_email=user_email, domain=domain))
    taking = partial(_take_back, user_email=user_email, workspace_id=removed["workspace_id"], new_parent=new_parent)
    for some in slices(removed["conversation_ids"]):
        database.write(partial(taking, ids=some))


def _restore(connection: Connection, removed: RemovedWorkspace, *, user_email: str, domain: str) -> str:
    """Restore the workspace and its child workspaces; the id of the workspace that had taken its contents over."""
    workspace_id, parent = removed["workspace_id"], removed["parent_workspace_id"]
    default = ensure_default_workspace(connection, user_email=user_email, domain=domain)
    query = select(_c.workspace_id, _c.domain).where(_c.user_email == user_email)
    domains = {row.workspace_id: row.domain for row in connection.execute(query)}
    parent = parent if domains.get(str(parent)) == domain else None
    new_parent = parent or default
    if workspace_id in domains:
        require_same_domain(domains[workspace_id], domain)
        return new_parent
    moment = now_iso()
    values = {
        "user_email": user_email,
        "workspace_id": workspace_id,
        "workspace_name": valid_name(removed["workspace_name"]),
        "workspace_color": valid_color(removed["workspace_color"]),
        "domain": domain,
        "expanded": int(removed["expanded"]),
        "parent_workspace_id": parent,
        "created_at": moment,
        "updated_at": moment,
    }
    connection.execute(insert(workspaces).values(values))
    children = and_(
        _c.user_email == user_email, _c.parent_workspace_id == new_parent, _c.workspace_id.in_(removed["workspace_ids"])
    )
    taken_back = update(workspaces).where(children).values(parent_workspace_id=workspace_id).returning(_c.workspace_id)
    ids = connection.execute(taken_back).scalars().all()
    record_created(connection, access_workspace(connection, user_email=user_email, workspace_id=workspace_id))
    moved = {"parent_workspace_id": workspace_id}
    record(connection, WORKSPACE, "changed", user_email=user_email, ids=ids, fields=moved)
    return new_parent


def _take_back(
    connection: Connection, ids: Sequence[str], *, user_email: str, workspace_id: str, new_parent: str
) -> None:
    still_there = and_(
        _place.user_email == user_email, _place.workspace_id == new_parent, _place.conversation_id.in_(ids)
    )
    found = connection.execute(select(_place.conversation_id).where(still_there)).scalars().all()
    if found:
        place(connection, found, user_email=user_email, workspace_id=workspace_id)
