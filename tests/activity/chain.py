"""A thread over domains and conversations: what each test of threads, exports and imports begins with."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from activity.recipes import ActivityType, Recipe
from database.activities.storing import NewActivity, StoredActivity, insert_activities
from database.engine.database import Database
from database.history.threads import find_place

_ANY = {"type": "object"}


class CastleDefense(Recipe):
    """A game with messages of its own."""

    domain = "castle-defense-game"
    title = "Castle Defense Game"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=_ANY),
        "game_action": ActivityType(icon="🎮", section="Game Actions", schema=_ANY),
        "system_event": ActivityType(icon="🔔", section="System Events", schema=_ANY),
        "player_state_change": ActivityType(icon="📊", section="State Changes", schema=_ANY),
    }


def store(
    database: Database,
    *,
    user_email: str,
    conversation_id: str,
    type_name: str,
    payload: dict[str, Any],
    recipe: str = CastleDefense.domain,
    reply_to: str | None = None,
    thread_id: str | None = None,
    actor: tuple[str, str] = ("agent", "GameDesigner AI"),
    created_at: str = "2025-11-12T16:10:00.000000Z",
    session_id: str | None = None,
) -> StoredActivity:
    """Store an activity that is no message."""

    def job(connection: Connection) -> StoredActivity:
        own = {"user_email": user_email, "conversation_id": conversation_id}
        place = find_place(connection, **own, reply_to=reply_to, thread_id=thread_id)
        new = NewActivity(
            recipe=recipe,
            type=type_name,
            actor_type=actor[0],
            actor_id=actor[1],
            actor_name=actor[1],
            created_at=created_at,
            place=place,
            payload=payload,
            session_id=session_id,
        )
        return insert_activities(connection, [new], **own)[0]

    return database.write(job)
