"""One conversation as a head and a list of messages, as exports before schema 1 and bundles have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from database.activities.reading import MESSAGE
from portability.errors import BrokenImportError
from sentences import say

SCHEMA = 1
"""Of today's exports."""
EARLIER_FORMAT, EARLIER_VERSION = "anaphora-export", 1


def of_earlier(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A file of the earlier form, one conversation with a list of messages, as one of today's."""
    try:
        head = dict(raw["conversation"])
        messages = list(raw["messages"])
        last = head.pop("summarised_ordinal", 0)
        head["summarised_messages"] = sum(each.get("ordinal", place) <= last for place, each in enumerate(messages, 1))
        activities = [_earlier_message(each, head, position=place) for place, each in enumerate(messages, 1)]
        roots = {each["thread_id"]: each for each in reversed(messages) if each.get("thread_id")}
        threads = [
            {"thread_id": thread_id, "root_activity_id": root["message_id"], "created_at": root["created_at"]}
            for thread_id, root in roots.items()
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BrokenImportError(say("import_earlier_broken")) from None
    return {"schema": SCHEMA, "conversation": head, "threads": threads, "activities": activities}


def _earlier_message(message: Mapping[str, Any], head: Mapping[str, Any], *, position: int) -> dict[str, Any]:
    owner = str(head["conversation_id"]).rpartition("_")[0]
    config = message.get("config") or {}
    name = owner if message["sender"] == "user" else str(config.get("model") or "")
    kind = "user" if message["sender"] == "user" else "assistant"
    if isinstance(agent := config.get("agent"), Mapping):
        kind, name = "agent", str(agent.get("title") or "")
    return {
        "id": message["message_id"],
        "short_id": message["short_id"],
        "recipe": MESSAGE[0],
        "type": MESSAGE[1],
        "actor": {"type": kind, "id": name, "name": name},
        "created_at": message["created_at"],
        "position": position,
        "conversation_id": head["conversation_id"],
        "reply_to_id": message.get("reply_to_id"),
        "thread_id": message.get("thread_id"),
        "content": message["text"],
        "references": message.get("references") or [],
        "document_references": message.get("document_references") or [],
        "message": dict(message),
    }
