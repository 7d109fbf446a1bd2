"""Agents: which of them was asked what."""

from __future__ import annotations

from database.activities.reading import Activity

from .recipe import ActivityType, Recipe
from .schemas import TEXT, payload


class Agents(Recipe):
    """Questions to agents."""

    domain = "agents"
    title = "Agents"
    activity_types = {
        "agent_consultation": ActivityType(
            icon="🤝", section="Consultations", schema=payload(agent=TEXT, question=TEXT)
        ),
    }
    threading_rules = {"agent_consultation": "reply_to"}

    def words_of(self, activity: Activity) -> str | None:
        """Who was asked, and what."""
        told = activity.payload
        return f"{told.get('agent', '')}: {told.get('question', '')}"
