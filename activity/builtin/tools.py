"""Tools: what models looked up or had done."""

from __future__ import annotations

from database.activities.reading import Activity

from ..formatting import one_line
from ..recipes import ActivityType, Recipe
from .schemas import TEXT, payload


class Tools(Recipe):
    """Calls of tools. Arguments and results of a model's calls are parts of its answer (`message_id`, `part_id`)."""

    domain = "tools"
    title = "Tools"
    activity_types = {
        "tool_invocation": ActivityType(icon="🔧", section="Tool Calls", schema=payload(name=TEXT)),
    }
    threading_rules = {"tool_invocation": "reply_to"}

    def words_of(self, activity: Activity) -> str | None:
        """The description, if there is one; else name and status of the call."""
        described = super().words_of(activity)
        if described is not None or "message_id" not in activity.payload:
            return described
        return one_line(" ".join(str(activity.payload.get(name, "")) for name in ("name", "status")))
