"""Knowledge: changes of a person's memories."""

from __future__ import annotations

from collections.abc import Mapping

from database.activities.reading import Activity

from .formatting import changes_in, one_line
from .recipe import ActivityType, Recipe
from .schemas import TEXT, payload

_ICON = "📊"
_NOT_KEPT = "…"


class Knowledge(Recipe):
    """Changes of memories, as their history tells them: new values, and of a statement also the former one."""

    domain = "knowledge"
    title = "Knowledge"
    activity_types = {
        "pkb_change": ActivityType(
            icon=_ICON, section="Knowledge Changes", schema=payload(action=TEXT, object_type=TEXT)
        ),
    }

    def words_of(self, activity: Activity) -> str | None:
        """Each field that was changed; otherwise what was done to which memory."""
        told = activity.payload
        done = one_line(f"{told.get('action', '')} {told.get('object_type', '')} {told.get('title', '')}")
        return "\n".join(changes_in({"changes": _rows(told)})) or done

    def format_line(self, activity: Activity) -> str:
        """The changes in one line."""
        return f"[#{activity.short_id}] {_ICON} {'; '.join((self.words_of(activity) or '').splitlines())}"


def _rows(told: Mapping[str, object]) -> list[dict[str, object]]:
    detail = told.get("detail")
    fields = detail.get("fields") if isinstance(detail, Mapping) else None
    if not isinstance(fields, Mapping):
        return []
    return [
        {"field": name, "old": told.get("title", "") if name == "statement" else _NOT_KEPT, "new": value}
        for name, value in fields.items()
    ]
