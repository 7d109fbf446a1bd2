"""A recipe: the types of activities of a domain, and how each is checked, threaded, shown and explained to models."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from database.activities.reading import Activity

from .formatting import UNKNOWN_ICON, ExportBlock, block_of, line_of, one_line, words_in

ThreadRule = Literal["conversation", "session", "reply_to"]
"""The thread of an activity that names none: none, that of its session, or that of its parent."""
THREAD_RULES: tuple[ThreadRule, ...] = get_args(ThreadRule)


class ThreadLine(NamedTuple):
    """An activity in a thread, with the domain of its recipe and its line."""

    recipe: str
    activity: Activity
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityContext:
    """What the context of an activity is built of.

    thread: the lines of the activities before it in its thread, of all domains, or of its own where `cross_domain` is
    off. current: the activity itself as such a line. title: of the thread.
    """

    activity: Activity
    thread_id: str | None
    reply_to_id: str | None
    include_short_ids: bool
    cross_domain: bool
    title: str
    thread: Sequence[ThreadLine]
    current: ThreadLine


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityType:
    """A type of activities.

    schema: JSON Schema of its payloads. icon: "" for what somebody says. section: the heading of such activities in
    exports. context_builder, formatter: in place of `build_context` and `format_line` of the recipe; what the formatter
    of a type with an icon says is also quoted in exports, unless the recipe has a `format_export` of its own.
    """

    schema: Mapping[str, Any]
    icon: str
    section: str
    context_builder: Callable[[Activity, ActivityContext], list[str]] | None = None
    formatter: Callable[[Activity], str] | None = None


class Recipe(ABC):
    """A domain of activities. The methods are those of all its types, unless a type has its own."""

    domain: str
    title: str
    activity_types: Mapping[str, ActivityType]
    threading_rules: Mapping[str, ThreadRule] = MappingProxyType({})
    cross_domain_replies: bool = True
    answer_type: str | None = None

    def rule_of(self, type_name: str) -> ThreadRule:
        """How activities of this type are threaded."""
        return self.threading_rules.get(type_name, "conversation")

    def icon_of(self, activity: Activity) -> str:
        """The icon of the activity, "" for what somebody says."""
        known = self.activity_types.get(activity.type)
        return known.icon if known else UNKNOWN_ICON

    def words_of(self, activity: Activity) -> str | None:
        """What the activity says in words; None where its payload is shown as data."""
        return words_in(activity)

    def format_line(self, activity: Activity) -> str:
        """The activity in one line, which begins with its short id in brackets."""
        return line_of(activity, icon=self.icon_of(activity), words=self.words_of(activity))

    def format_export(self, activity: Activity) -> ExportBlock:
        """The activity as a block of an export."""
        return block_of(activity, icon=self.icon_of(activity), words=self.words_of(activity))

    def build_context(self, activity: Activity, context: ActivityContext) -> list[str]:
        """What a model is told, in lines: the thread so far, then the activity itself."""
        heading = f"Thread context ({one_line(context.title)}):"
        lines = [heading, *(_entry(line, context) for line in context.thread), ""]
        return [*(lines if context.thread else []), "Current activity:", _entry(context.current, context)]


def _entry(line: ThreadLine, context: ActivityContext) -> str:
    text = line.line if context.include_short_ids else line.line.removeprefix(f"[#{line.activity.short_id}] ")
    return "\n".join(f"  {part}" for part in text.splitlines())


class UnknownRecipe(Recipe):
    """What is left of a recipe that is not installed any more."""

    activity_types: Mapping[str, ActivityType] = MappingProxyType({})

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.title = domain

    def format_line(self, activity: Activity) -> str:
        """The type alone: nobody knows what the payload means."""
        return f"[#{activity.short_id}] {UNKNOWN_ICON} {one_line(activity.type)}"

    def format_export(self, activity: Activity) -> ExportBlock:
        """The type, and the payload as data."""
        heading = f"{UNKNOWN_ICON} {one_line(activity.type)}"
        return ExportBlock(heading=heading, by=one_line(activity.actor_name) or None, data=activity.payload)
