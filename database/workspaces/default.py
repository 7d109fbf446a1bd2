"""The default workspace of each user and domain; it exists before its row is stored."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlalchemy import Connection, insert, select

from database.engine.clock import now_iso
from database.schema import workspaces

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
