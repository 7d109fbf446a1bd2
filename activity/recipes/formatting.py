"""Formatting of activities: one line for models and lists, or a block for exports.

Most types need no formatter of their own: the payload's `text`, `description`, or `field`, `old`, `new` (or a list
`changes` of these) are shown as words; `type` is the name of an action or event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from database.activities.reading import Activity

UNKNOWN_ICON = "❓"
DELETED = "(deleted)"
HIDDEN = "(hidden)"
_CHANGE = ("field", "old", "new")
_CONTINUATION = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportBlock:
    """One activity in an export.

    heading: what stands in bold behind the short id: a name, or an icon and a label. by: the name of the actor, where
    the heading is none. words: the body, which is quoted; data: printed as JSON where there are no words.
    """

    heading: str
    by: str | None = None
    words: str | None = None
    data: Mapping[str, Any] | None = None


def one_line(text: str) -> str:
    """`text` with each run of white space, including line breaks, as one space."""
    return " ".join(text.split())


def indented(text: str) -> str:
    """`text` with all lines but the first indented, so that none of them reads like another activity."""
    first, *others = text.splitlines() or [""]
    return "\n".join([first, *(_CONTINUATION + line for line in others)])


def label_of(activity: Activity) -> str:
    """The activity's label: the `type` in its payload, else its own type."""
    named = activity.payload.get("type")
    return one_line(named if isinstance(named, str) and named.strip() else activity.type)


def changes_in(payload: Mapping[str, Any]) -> list[str]:
    """The changes that a payload tells of, each as "field: old → new"."""
    listed = payload.get("changes")
    rows = listed if isinstance(listed, list) else [payload]
    return list(_changes(rows))


def words_in(activity: Activity) -> str | None:
    """The words of the payload: its text, its description, or its changes; None without any of these."""
    if activity.text is not None:
        return activity.text
    for name in ("text", "description"):
        words = activity.payload.get(name)
        if isinstance(words, str) and words.strip():
            return words
    return "\n".join(changes_in(activity.payload)) or None


def line_of(activity: Activity, *, icon: str, words: str | None) -> str:
    """The usual line. icon: "" for what somebody says."""
    start = f"[#{activity.short_id}]"
    if not icon:
        return f"{start} {one_line(activity.actor_name)}: {words or ''}"
    if changes := changes_in(activity.payload):
        return f"{start} {icon} {'; '.join(changes)}"
    if words:
        return f"{start} {icon} {label_of(activity)}: {words}"
    by = f" by {one_line(activity.actor_name)}" if activity.actor_name else ""
    return f"{start} {icon} {label_of(activity)}{by}"


def block_of(activity: Activity, *, icon: str, words: str | None) -> ExportBlock:
    """The usual block. icon: "" for what somebody says."""
    if not icon:
        return ExportBlock(heading=one_line(activity.actor_name), words=words or "")
    data = None if words else activity.payload
    return ExportBlock(
        heading=f"{icon} {label_of(activity)}", by=one_line(activity.actor_name) or None, words=words, data=data
    )


def reply_mark(activity: Activity) -> str:
    """What is appended to the line of a reply: " (reply to #x)"; "" for any other activity."""
    if activity.reply_to_id is None:
        return ""
    return f" (reply to {f'#{activity.reply_to_short_id}' if activity.reply_to_short_id else DELETED})"


def _changes(rows: list[Any]) -> Iterator[str]:
    for row in rows:
        if isinstance(row, Mapping) and all(name in row for name in _CHANGE):
            yield f"{one_line(str(row['field']))}: {_value(row['old'])} → {_value(row['new'])}"


def _value(value: Any) -> str:
    return one_line(value) if isinstance(value, str) else orjson.dumps(value).decode()
