"""The workspaces into which folders and projects of a source go: those of the same name, made where there is none."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from sqlalchemy import Connection, insert, select

from database.engine.clock import now_iso
from database.schema import workspaces
from database.workspaces.default import DEFAULT_WORKSPACE_COLOR
from database.workspaces.repository import access_workspace, record_created

_LONGEST_NAME = 100
_c = workspaces.c


def workspaces_named(connection: Connection, names: Collection[str], *, user_email: str, domain: str) -> dict[str, str]:
    """The ids of the person's workspaces of these names."""
    tidy = {name: " ".join(name.split())[:_LONGEST_NAME] for name in names}
    wanted = {name for name in tidy.values() if name}
    if not wanted:
        return {}
    own = (_c.user_email == user_email) & (_c.domain == domain) & _c.workspace_name.in_(wanted)
    rows = connection.execute(select(_c.workspace_name, _c.workspace_id).where(own).order_by(_c.created_at.desc()))
    found = {row.workspace_name: row.workspace_id for row in rows}
    for name in sorted(wanted - found.keys()):
        found[name] = _create(connection, name, user_email=user_email, domain=domain)
    return {name: found[each] for name, each in tidy.items() if each}


def _create(connection: Connection, name: str, *, user_email: str, domain: str) -> str:
    moment, workspace_id = now_iso(), str(uuid.uuid4())
    values = {
        "user_email": user_email,
        "workspace_id": workspace_id,
        "workspace_name": name,
        "workspace_color": DEFAULT_WORKSPACE_COLOR,
        "domain": domain,
        "created_at": moment,
        "updated_at": moment,
    }
    connection.execute(insert(workspaces).values(values))
    record_created(connection, access_workspace(connection, user_email=user_email, workspace_id=workspace_id))
    return workspace_id
