"""The recipes of the product, a class a domain, and the schemas of their payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from database.activities.reading import Activity

from .formatting import ExportBlock, changes_in, line_of, one_line
from .recipe import ActivityType, Recipe

TEXT = {"type": "string"}
_CHANGE = {
    "type": "object",
    "properties": {"field": TEXT, "old": {}, "new": {}},
    "required": ["field", "old", "new"],
}
CHANGE: dict[str, Any] = {
    "type": "object",
    "properties": {"type": TEXT, "changes": {"type": "array", "items": _CHANGE, "minItems": 1}},
    "anyOf": [_CHANGE, {"type": "object", "required": ["changes"]}],
}
"""One change (`field`, `old`, `new`), or a list `changes` of them."""


def payload(**required: Any) -> dict[str, Any]:
    """Of an object that has these properties and may have others."""
    return {"type": "object", "properties": required, "required": list(required)}


def closed_payload(**required: Any) -> dict[str, Any]:
    """Of an object that has these properties and no others."""
    return {**payload(**required), "additionalProperties": False}


_TEXT = {"type": "string", "pattern": r"\S"}


class GeneralDiscussion(Recipe):
    """What people, models and agents say in conversations. Its activities are messages."""

    domain = "general-discussion"
    title = "General Discussion"
    activity_types = {
        "chat_message": ActivityType(icon="", section="Chat Discussion", schema=closed_payload(text=_TEXT)),
    }


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


class SystemMonitoring(Recipe):
    """Events of systems and changes of data; each belongs to the thread of what caused it."""

    domain = "system-monitoring"
    title = "System Monitoring"
    activity_types = {
        "system_event": ActivityType(icon="🔔", section="System Events", schema=payload(description=TEXT)),
        "data_change": ActivityType(icon="📊", section="State Changes", schema=CHANGE),
    }
    threading_rules = {"system_event": "reply_to", "data_change": "reply_to"}


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


BUILT_IN: tuple[Recipe, ...] = (
    GeneralDiscussion(),
    Tools(),
    SystemMonitoring(),
    Knowledge(),
    Vault(),
    Agents(),
)

EXPORT_KINDS: Mapping[str, str] = {
    GeneralDiscussion.domain: "chat",
    Tools.domain: "tools",
    SystemMonitoring.domain: "events",
    Knowledge.domain: "knowledge",
    Vault.domain: "documents",
    Agents.domain: "agents",
}
"""What an export's `include` calls the recipes of the product; all others are "other"."""
