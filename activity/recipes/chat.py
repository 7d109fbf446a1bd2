"""General discussion: messages."""

from __future__ import annotations

from database.messages.message import MAX_MESSAGE_CHARS

from .recipe import ActivityType, Recipe
from .schemas import closed_payload

_TEXT = {"type": "string", "pattern": r"\S", "maxLength": MAX_MESSAGE_CHARS}


class GeneralDiscussion(Recipe):
    """What people, models and agents say in conversations. Its activities are messages."""

    domain = "general-discussion"
    title = "General Discussion"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=closed_payload(text=_TEXT)),
    }
