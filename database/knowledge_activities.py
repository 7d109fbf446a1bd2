"""Changes of a knowledge base as activities: told once, however often they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from .activities import NewActivity, insert_activities
from .connection import open_store
from .schema import activities
from .store import Urgency


def store_changes(*, users_dir: str, user_email: str, changes: Sequence[dict[str, Any]]) -> int:
    """Store changes of `user_email`'s memories as activities; how many were new.

    Each is `{id, action, object_type, object_id, title, detail, created_at}`; its id becomes the activity's. They
    stand in a room of their own, beside the conversations.
    """

    def job(connection: Connection) -> int:
        ids = [change["id"] for change in changes]
        known = set(
            connection.execute(select(activities.c.activity_id).where(activities.c.activity_id.in_(ids))).scalars()
        )
        born = [_activity(user_email, change) for change in changes if change["id"] not in known]
        insert_activities(connection, born, user_email=user_email, conversation_id=_room(user_email))
        return len(born)

    return open_store(users_dir).write(job, urgency=Urgency.INDEX)


def blank_changes(*, users_dir: str, ids: Sequence[str]) -> None:
    """Take titles and details out of the activities of these changes; their kind and time stay."""

    def job(connection: Connection) -> None:
        theirs = activities.c.activity_id.in_(ids)
        rows = connection.execute(select(activities.c.seq, activities.c.payload).where(theirs)).all()
        for row in rows:
            blank = {**row.payload, "title": "", "detail": {}}
            connection.execute(update(activities).where(activities.c.seq == row.seq).values(payload=blank))

    open_store(users_dir).write(job, urgency=Urgency.INDEX)


def _room(user_email: str) -> str:
    return f"{user_email}_knowledge"


def _activity(user_email: str, change: dict[str, Any]) -> NewActivity:
    payload = {name: change[name] for name in ("action", "object_type", "object_id", "title", "detail")}
    return NewActivity(
        recipe="knowledge",
        type="pkb_change",
        actor_type="user",
        actor_id=user_email,
        actor_name="You",
        created_at=change["created_at"],
        payload=payload,
        activity_id=change["id"],
    )
