"""The workspace of everything that was not put elsewhere; it exists for each user and domain, stored or not."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from .clock import now_iso
from .schema import workspaces

DEFAULT_WORKSPACE_NAME = "General"
DEFAULT_WORKSPACE_COLOR = "primary"


def default_workspace_id(user_email: str, domain: str) -> str:
    """The id of the default workspace of `user_email` in `domain`."""
    return f"default_{user_email}_{domain}"


def ensure_default_workspace(connection: Connection, *, user_email: str, domain: str) -> str:
    """Store the row of the default workspace where it is missing; its id. Runs inside the caller's transaction."""
    workspace_id = default_workspace_id(user_email, domain)
    own = (workspaces.c.user_email == user_email) & (workspaces.c.workspace_id == workspace_id)
    if connection.execute(select(workspaces.c.workspace_id).where(own)).first() is None:
        moment = now_iso()
        connection.execute(
            insert(workspaces).values(
                user_email=user_email,
                workspace_id=workspace_id,
                workspace_name=DEFAULT_WORKSPACE_NAME,
                workspace_color=DEFAULT_WORKSPACE_COLOR,
                domain=domain,
                created_at=moment,
                updated_at=moment,
            )
        )
    return workspace_id
