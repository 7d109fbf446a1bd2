"""Threads as people see them: titles, counts, and activities in windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from activity.recipes import RecipeRegistry
from activity.recipes.formatting import DELETED, HIDDEN, one_line
from database.activities.reading import Activity, kept_activities_by_id
from database.conversations.titles import first_words
from database.engine.database import Database
from database.history import threads as store
from database.history.threads import Thread
from database.timeline.exporting import ExportedThread

_LONGEST_TITLE = 80


def thread_titles(
    user_email: str, threads: Iterable[Thread | ExportedThread], *, recipes: RecipeRegistry, database: Database
) -> dict[str, str]:
    """The title of each thread, by its id: the person's own, else the model's, else the first words of its root.

    "(deleted)" where the person gave none, and the root, or the conversation that it stands in, is deleted.
    """
    given = {each.thread_id: each.title for each in threads if each.title}
    others = {each.root_activity_id: each for each in threads if not each.title}
    roots = kept_activities_by_id(database=database, user_email=user_email, activity_ids=others)
    return given | {each.thread_id: _title(each, roots.get(root), recipes) for root, each in others.items()}


def thread_title(user_email: str, thread_id: str, *, recipes: RecipeRegistry, database: Database) -> str:
    """The title of one thread. Raises ThreadNotFoundError."""
    thread = store.get_thread(database=database, user_email=user_email, thread_id=thread_id)
    return thread_titles(user_email, [thread], recipes=recipes, database=database)[thread_id]


def thread_title_for_models(user_email: str, thread_id: str, *, recipes: RecipeRegistry, database: Database) -> str:
    """`thread_title`, but "(hidden)" where it would quote a root that the person hid from models."""
    thread = store.get_thread(database=database, user_email=user_email, thread_id=thread_id)
    if thread.title:
        return thread.title
    ids = {thread.root_activity_id}
    root = kept_activities_by_id(database=database, user_email=user_email, activity_ids=ids).get(
        thread.root_activity_id
    )
    return HIDDEN if root is not None and root.is_hidden else _title(thread, root, recipes)


def metadata_of(thread: Thread) -> dict[str, Any]:
    """`thread_metadata` of the root, as JSON has it."""
    return {
        "reply_count": thread.reply_count,
        "last_reply_at": thread.last_reply_at,
        "participant_ids": list(thread.participant_ids),
    }


def thread_shape(thread: Thread, *, title: str) -> dict[str, Any]:
    """A thread in lists and details."""
    return {
        "thread_id": thread.thread_id,
        "title": title,
        "is_renamed": bool(thread.title),
        "root_activity_id": thread.root_activity_id,
        "created_at": thread.created_at,
        "thread_metadata": metadata_of(thread),
    }


def activity_shapes(
    user_email: str,
    activities: Sequence[Activity],
    *,
    recipes: RecipeRegistry,
    database: Database,
    known: Sequence[Thread] = (),
) -> list[dict[str, Any]]:
    """Activities as JSON; the roots of threads with their `thread_metadata`. known: threads that were read already."""
    roots = {thread.root_activity_id: thread for thread in known}
    read = {None, *(thread.thread_id for thread in known)}
    if threaded := [each.activity_id for each in activities if each.thread_id not in read]:
        roots |= store.threads_with_roots(database=database, user_email=user_email, activity_ids=threaded)
    return [_shape(each, roots.get(each.activity_id), recipes=recipes) for each in activities]


def _shape(activity: Activity, thread: Thread | None, *, recipes: RecipeRegistry) -> dict[str, Any]:
    block = recipes.format_export(activity)
    return {
        "id": activity.activity_id,
        "short_id": activity.short_id,
        "seq": activity.seq,
        "conversation_id": activity.conversation_id,
        "recipe": activity.recipe,
        "type": activity.type,
        "is_message": activity.is_message,
        "actor": {"type": activity.actor_type, "id": activity.actor_id, "name": activity.actor_name},
        "created_at": activity.created_at,
        "session_id": activity.session_id,
        "thread_id": activity.thread_id,
        "reply_to_id": activity.reply_to_id,
        "reply_to_short_id": activity.reply_to_short_id,
        "content": activity.text,
        "payload": dict(activity.payload),
        "line": None if activity.is_message else recipes.format_line(activity),
        "heading": block.heading,
        "by": block.by,
        "words": None if activity.is_message else block.words,
        "thread_metadata": metadata_of(thread) if thread else None,
    }


def _title(thread: Thread | ExportedThread, root: Activity | None, recipes: RecipeRegistry) -> str:
    if root is None:
        return DELETED
    if thread.made_title:
        return thread.made_title
    return first_words(root.text) if root.text is not None else words_of_root(root, recipes)[:_LONGEST_TITLE]


def words_of_root(root: Activity, recipes: RecipeRegistry) -> str:
    """What a thread begins with: the text of a message, the line of any other activity."""
    return root.text if root.text is not None else one_line(recipes.format_line(root).partition("] ")[2])
