"""Tools: what models looked up or had done."""

from __future__ import annotations

from dataclasses import replace

from database.activities.reading import Activity

from .formatting import ExportBlock, line_of, one_line
from .recipe import ActivityType, Recipe
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
        """The description, if there is one; else name and status of a model's call."""
        described = super().words_of(activity)
        if described is not None or "message_id" not in activity.payload:
            return described
        return one_line(" ".join(str(activity.payload.get(name, "")) for name in ("name", "status")))

    def format_line(self, activity: Activity) -> str:
        """The call, by the name of the tool where nothing else is said of it."""
        return line_of(activity, icon=self.icon_of(activity), words=self.words_of(activity) or _tool(activity))

    def format_export(self, activity: Activity) -> ExportBlock:
        """The call; the heading of one that is printed as data names the tool."""
        block = super().format_export(activity)
        return replace(block, heading=f"{block.heading}: {_tool(activity)}") if block.data is not None else block


def _tool(activity: Activity) -> str:
    return one_line(str(activity.payload.get("name", "")))
