"""Writes of documents as activities: what was written, and out of which answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection, select

from database.activities.calls import place_below_question
from database.activities.storing import NewActivity, Place, insert_activities
from database.engine.clock import now_iso
from database.engine.database import Database
from database.schema import conversations, messages

Action = Literal["write", "append", "replace_lines", "rename", "delete", "restore"]
_m = messages.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The answer out of which a document is written. friendly_id: of its conversation; short_hash: of the answer."""

    conversation_id: str
    message_id: str
    friendly_id: str
    short_hash: str


def find_source(*, database: Database, user_email: str, message_id: str) -> Source | None:
    """The answer of this person with this id; None where there is none."""
    query = (
        select(_m.conversation_id, _m.message_id, conversations.c.conversation_friendly_id, _m.message_short_hash)
        .join(conversations, conversations.c.conversation_id == _m.conversation_id)
        .where(_m.user_email == user_email, _m.message_id == message_id)
    )
    with database.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    conversation_id, found, friendly_id, short_hash = row
    return Source(
        conversation_id=conversation_id, message_id=found, friendly_id=friendly_id or "", short_hash=short_hash
    )


def record_write(
    *, database: Database, user_email: str, action: Action, path: str, version: str | None, source: Source | None
) -> None:
    """Store that a document was written. version: of what is there now; None where it was deleted.

    The activity stands in the conversation of `source`, as a reply to what was asked there; without one, in a room
    beside the conversations.
    """
    written = NewActivity(
        recipe="vault",
        type="document_write",
        actor_type="user",
        actor_id=user_email,
        actor_name="You",
        created_at=now_iso(),
        payload={
            "action": action,
            "path": path,
            "version": version,
            "message_id": source.message_id if source else None,
        },
    )
    room = source.conversation_id if source else f"{user_email}_documents"

    def job(connection: Connection) -> None:
        place = place_below_question(connection, source.message_id) if source else Place()
        insert_activities(connection, [replace(written, place=place)], user_email=user_email, conversation_id=room)

    database.write(job)
