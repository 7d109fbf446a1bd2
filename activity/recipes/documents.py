"""Vault: what was read, found and written of a person's documents."""

from __future__ import annotations

from database.activities.reading import Activity

from .formatting import one_line
from .recipe import ActivityType, Recipe
from .schemas import TEXT, payload


class Vault(Recipe):
    """Documents that were read, searched and written."""

    domain = "vault"
    title = "Documents"
    activity_types = {
        "document_read": ActivityType(icon="📚", section="Documents", schema=payload(path=TEXT)),
        "document_search": ActivityType(icon="📚", section="Documents", schema=payload(query=TEXT)),
        "document_write": ActivityType(icon="📚", section="Documents", schema=payload(path=TEXT, action=TEXT)),
    }
    threading_rules = {"document_read": "reply_to", "document_search": "reply_to", "document_write": "reply_to"}

    def words_of(self, activity: Activity) -> str | None:
        """What was done to which document, or what was searched for."""
        told = activity.payload
        words = [str(told[name]) for name in ("action", "path", "query") if isinstance(told.get(name), str)]
        return one_line(" ".join(words)) or super().words_of(activity)
