"""Changes of memories as activities, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from database.changes import MEMORY, ChangeType, record
from database.engine.database import Database, Urgency
from database.schema import activities

from .storing import NewActivity, insert_activities

_CHANGE_OF_ACTION: Mapping[str, ChangeType] = {"add": "created", "delete": "gone"}


def store_changes(*, database: Database, user_email: str, changes: Sequence[dict[str, Any]]) -> int:
    """Store changes of `user_email`'s memories as activities; how many were new.

    Each is `{id, action, object_type, object_id, title, detail, claim_ids, created_at}`; its id becomes the
    activity's. They stand in a room of their own, beside the conversations.
    """

    def job(connection: Connection) -> int:
        ids = [change["id"] for change in changes]
        known = set(
            connection.execute(select(activities.c.activity_id).where(activities.c.activity_id.in_(ids))).scalars()
        )
        fresh = [change for change in changes if change["id"] not in known]
        born = [_activity(user_email, change) for change in fresh]
        insert_activities(connection, born, user_email=user_email, conversation_id=_room(user_email))
        for new in fresh:
            fields = {name: new[name] for name in ("object_type", "action", "claim_ids")} | {"audit_id": new["id"]}
            change = _CHANGE_OF_ACTION.get(new["action"], "changed")
            record(connection, MEMORY, change, user_email=user_email, ids=[new["object_id"] or ""], fields=fields)
        return len(born)

    return database.write(job, urgency=Urgency.INDEX)


def blank_changes(*, database: Database, ids: Sequence[str]) -> None:
    """Take titles and details out of the activities of these changes; their kind and time stay."""

    def job(connection: Connection) -> None:
        theirs = activities.c.activity_id.in_(ids)
        rows = connection.execute(select(activities.c.seq, activities.c.payload).where(theirs)).all()
        for row in rows:
            blank = {**row.payload, "title": "", "detail": {}}
            connection.execute(update(activities).where(activities.c.seq == row.seq).values(payload=blank))

    database.write(job, urgency=Urgency.INDEX)


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
