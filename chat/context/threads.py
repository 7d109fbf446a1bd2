"""What a model is told of the thread that a message, or another activity, belongs to."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from activity.recipes import RecipeRegistry
from activity.threads import thread_title_for_models
from chat.exchange.turn import Turn
from chat.prompting.citing import UNNAMED, shows_marks
from chat.prompting.items import neutralised
from chat.prompting.prompt import context_chars
from database.activities.reading import Activity, activities_by_id
from database.engine.database import Database
from language_models.ports import ChatModel

log = logging.getLogger(__name__)


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
