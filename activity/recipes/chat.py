"""General discussion: messages."""

from __future__ import annotations

from .recipe import ActivityType, Recipe
from .schemas import closed_payload

_TEXT = {"type": "string", "pattern": r"\S"}


class GeneralDiscussion(Recipe):
    """What people, models and agents say in conversations. Its activities are messages."""

    domain = "general-discussion"
    title = "General Discussion"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=closed_payload(text=_TEXT)),
    }
