"""Activities and recipes for tests."""

from __future__ import annotations

from typing import Any

from activity.recipes import ActivityType, Recipe
from database.activities.reading import Activity

ANY = {"type": "object"}


def activity(**fields: Any) -> Activity:
    """An activity with these fields; by default a message of Ada's that says "Hello"."""
    made: dict[str, Any] = {
        "seq": 1,
        "activity_id": "5e71a0c8-0303-4eb8-a478-3a121248abcd",
        "user_email": "ada@example.org",
        "conversation_id": "c",
        "session_id": None,
        "recipe": "general-discussion",
        "type": "chat_message",
        "short_id": "48abcd",
        "reply_to_id": None,
        "reply_to_short_id": None,
        "thread_id": None,
        "actor_type": "user",
        "actor_id": "ada@example.org",
        "actor_name": "Ada",
        "payload": {},
        "created_at": "2025-11-12T16:05:00.000000Z",
        "deleted_at": None,
        "is_hidden": False,
        **fields,
    }
    is_message = (made["recipe"], made["type"]) == ("general-discussion", "chat_message")
    return Activity(**{"text": "Hello" if is_message else None, **made})


class Game(Recipe):
    """A recipe from outside, with a message type of its own."""

    domain = "game"
    title = "Game"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=ANY),
        "game_action": ActivityType(icon="🎮", section="Game Actions", schema=ANY),
    }
    threading_rules = {"game_action": "session"}
