"""Activities, for models: references to them (a `#` and a short id, which may as well be a colour), and threads."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from activity.recipes import RecipeRegistry
from activity.recipes.formatting import one_line
from activity.resolving import resolve_activity
from activity.threads import thread_title_for_models
from chat.context.conversations import ConversationReferences
from chat.exchange.report import ReportEntry, Resolution, preview
from chat.exchange.turn import Turn
from chat.prompting.citing import UNNAMED, indented, shows_marks
from chat.prompting.items import PkbItem, neutralised, shorten
from chat.prompting.prompt import context_chars
from conversation_reference_utils import MESSAGE_HASH_LENGTH
from database.activities.reading import Activity, activities_by_id, find_deleted_activity
from database.engine.database import Database
from database.engine.errors import ActivityNotFoundError, AmbiguousReferenceError, NotFoundError
from database.history.reading import message_by_id
from database.messages.message import message_shape
from language_models.ports import ChatModel
from sentences import say

log = logging.getLogger(__name__)
KIND = "activity"

_LONGEST_TITLE = 100
_SECONDS = len("2025-11-12T16:06:30")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityReferences:
    """Resolves short ids among the activities of `user_email`.

    database: None for a bundle beside which there is none. conversations: knows in which conversation the references
    are written; a short id is looked up there first, and there alone it may also be the hash of a message.
    """

    user_email: str
    database: Database | None
    conversations: ConversationReferences
    recipes: RecipeRegistry

    def resolve(self, names: Sequence[str]) -> list[Resolution]:
        """One resolution for each of `names`, which keep their `#`. Raises nothing for one that fails.

        What names nothing is muted, since it may be a colour. Digits alone are left to the memories then.
        """
        return [self._resolve(name) for name in names]

    def _resolve(self, name: str) -> Resolution:
        try:
            return self._activity(name) or self._message_here(name) or self._deleted(name) or _not_found(name)
        except AmbiguousReferenceError as error:
            return self._ambiguous(name, error.details["candidates"])
        except Exception:  # one reference that can't be read must not take the turn along
            log.exception("%s could not be resolved", name)
            entry = ReportEntry(ref=name, kind=KIND, status="unavailable", notes=(say("lookup_fault"),), muted=True)
            return Resolution(entry=entry)

    def _activity(self, name: str) -> Resolution | None:
        if self.database is None:
            return None
        try:
            found = resolve_activity(self.user_email, name, self.conversations.here, database=self.database)
        except ActivityNotFoundError:
            return None
        if not found.is_message:
            return self._other(name, found)
        row = message_by_id(
            database=self.database,
            user_email=self.user_email,
            conversation_id=found.conversation_id,
            message_id=found.activity_id,
        )
        return None if row is None else self.conversations.named_by_activity(name, message_shape(row))

    def _message_here(self, name: str) -> Resolution | None:
        """The message of this conversation whose short hash the name is."""
        short_hash = name.removeprefix("#")
        if len(short_hash) != MESSAGE_HASH_LENGTH:
            return None
        try:
            return self.conversations.named_by_hash(name, short_hash)
        except NotFoundError:
            return None

    def _deleted(self, name: str) -> Resolution | None:
        """What was there, as any other reference to it says."""
        if self.database is None:
            return None
        found = find_deleted_activity(database=self.database, user_email=self.user_email, reference=name)
        if found is None:
            return None
        note = say("conversation_deleted") if found.with_conversation else say("message_deleted")
        entry = ReportEntry(ref=name, kind=KIND, status="deleted", notes=(note,), title=found.title)
        return Resolution(entry=entry, passes_on=_is_number(name))

    def _other(self, name: str, found: Activity) -> Resolution:
        """What is no message: its words, none of which can pass for the mark of a message, or its payload as JSON."""
        block = self.recipes.format_export(found)
        # A person without a name goes by their address, which is no model's business.
        by = "" if block.by == self.user_email else block.by
        title = one_line(f"{block.heading} by {by}" if by else block.heading)
        words = indented(block.words or orjson.dumps(dict(block.data or {}), option=orjson.OPT_INDENT_2).decode())
        item = PkbItem(
            source="referenced",
            type=KIND,
            refs=(name,),
            key=f"{KIND}:{found.activity_id}",
            label=f"[#{found.short_id}] [{found.created_at[:_SECONDS]}] {title}:",
            body=words,
        )
        entry = ReportEntry(
            ref=name,
            kind=KIND,
            status="resolved",
            title=title[:_LONGEST_TITLE],
            preview=preview(words),
            count=1,
            chars=len(words),
            target={
                "activity_id": found.activity_id,
                "conversation_id": found.conversation_id,
                "short_id": found.short_id,
                "created_at": found.created_at,
            },
        )
        cap = self.conversations.caps.message
        if len(words) > cap:
            entry = entry.marked("truncated", say("cut_to", characters=cap))
        return Resolution(entry=entry, items=(shorten(item, cap),))

    def _ambiguous(self, name: str, activity_ids: Sequence[str]) -> Resolution:
        found: dict[str, Activity] = {}
        if self.database is not None:
            found = activities_by_id(database=self.database, user_email=self.user_email, activity_ids=activity_ids)
        meant = tuple({"kind": KIND, "ref": _whole(each), "title": self._title(each)} for each in found.values())
        entry = ReportEntry(
            ref=name, kind=KIND, status="ambiguous", notes=(say("several_activities"),), candidates=meant
        )
        return Resolution(entry=entry)

    def _title(self, activity: Activity) -> str:
        if activity.is_hidden and not self.conversations.reads_hidden:
            return ""
        return " ".join(self.recipes.format_line(activity).split())[:_LONGEST_TITLE]


def _whole(activity: Activity) -> str:
    """A reference that means nothing else."""
    return f"#{activity.activity_id.replace('-', '')}"


def _not_found(name: str) -> Resolution:
    entry = ReportEntry(ref=name, kind=KIND, status="not_found", notes=(say("no_such_activity"),), muted=True)
    return Resolution(entry=entry, passes_on=_is_number(name))


def _is_number(name: str) -> bool:
    """Whether the name may as well be the number of a memory."""
    return name.removeprefix("#").isdigit()


def thread_block(turn: Turn) -> str:
    """The thread of the question, as its recipe tells it; "" where nothing else belongs to it. Raises nothing.

    Of a long thread, the newest activities are told: a quarter of what may go into a prompt.
    """
    if turn.database is None or turn.accepted.thread_id is None:
        return ""
    try:
        lines = _lines(turn, turn.accepted.thread_id, database=turn.database)
    except Exception:  # the recipe may be a stranger's; a turn goes on without its thread
        log.exception("the thread of a message could not be read")
        return ""
    return _told(lines, turn.user_email, model=turn.model, name=turn.preferences.name)


def activity_block(
    activity: Activity, *, model: ChatModel, name: str, recipes: RecipeRegistry, database: Database
) -> str:
    """An activity with its thread up to now, as its recipe tells it, cut as for `thread_block`.

    name: of the person, "" for none. A recipe that fails is logged and done without.
    """
    title, thread_id = "", activity.thread_id
    if thread_id is not None:
        title = thread_title_for_models(activity.user_email, thread_id, recipes=recipes, database=database)
    told: dict[str, Any] = {"title": title, "include_short_ids": shows_marks(model), "up_to_now": True}
    try:
        lines = recipes.build_context(activity, database=database, **told)
    except Exception:
        log.exception("the recipe %s can't tell of an activity of the type %s", activity.recipe, activity.type)
        lines = ["Current activity:", *(f"  {line}" for line in recipes.format_line(activity).splitlines())]
    return _told(lines, activity.user_email, model=model, name=name)


def _told(lines: Sequence[str], user_email: str, *, model: ChatModel, name: str) -> str:
    told = neutralised("\n".join(_that_fit(lines, context_chars(model) // 4)))
    # A person without a name goes by their address, which is no model's business.
    name = name or UNNAMED
    return told.replace(f"] {user_email}: ", f"] {name}: ").replace(f" by {user_email}", f" by {name}")


def _lines(turn: Turn, thread_id: str, *, database: Database) -> list[str]:
    user_email, recipes = turn.user_email, turn.services.recipes
    asked_id = turn.accepted.user_message_id
    asked = activities_by_id(database=database, user_email=user_email, activity_ids=[asked_id]).get(asked_id)
    if asked is None or not recipes.build_thread_context(user_email, thread_id, database=database, before=asked.seq):
        return []
    title = thread_title_for_models(user_email, thread_id, recipes=recipes, database=database)
    return recipes.build_context(asked, database=database, title=title, include_short_ids=shows_marks(turn.model))


def _that_fit(lines: Sequence[str], chars: int) -> list[str]:
    """The heading, and of the other lines the newest ones that take at most `chars`."""
    kept: list[str] = []
    for line in reversed(lines[1:]):
        chars -= len(line) + 1
        if chars < 0 and kept:
            break
        kept.append(line)
    return [*lines[:1], *reversed(kept)]
