"""A thread has one title everywhere, which never quotes what was deleted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from activity.export import FORMATS, export
from activity.recipes import RecipeRegistry
from activity.threads import thread_title
from database.activities.reading import Activity
from database.conversations.repository import delete_conversation
from database.engine.database import Database
from database.history.editing import delete_message
from tests.activity.conftest import ADA

Post = Callable[..., Activity]


@pytest.fixture
def written(database: Database, recipes: RecipeRegistry) -> Callable[..., str]:
    """An export of Ada's as text: written(room=…, fmt=…)."""

    def write(**chosen: Any) -> str:
        return b"".join(export(ADA, database=database, recipes=recipes, **chosen).chunks).decode()

    return write


@pytest.mark.parametrize("is_binned", [False, True])
def test_deleted_words_are_in_no_title(
    is_binned: bool,
    database: Database,
    recipes: RecipeRegistry,
    room: Callable[..., str],
    post: Post,
    written: Callable[..., str],
) -> None:
    here, there = room(), room()
    root = post(here, "Secretwords of the plan")
    reply = post(there, "An answer", reply_to=root.activity_id)
    if is_binned:
        delete_conversation(database=database, user_email=ADA, conversation_id=here)
    else:
        own: dict[str, Any] = {"user_email": ADA, "conversation_id": here, "message_id": root.activity_id}
        delete_message(database=database, **own, index=None)
    assert thread_title(ADA, reply.thread_id or "", recipes=recipes, database=database) == "(deleted)"
    for fmt in FORMATS:
        for which in ({"room": there}, {"thread": reply.thread_id}):
            told = written(**which, fmt=fmt)
            assert "An answer" in told
            assert "Secretwords" not in told


def test_a_thread_that_begins_with_no_message_has_the_line_of_its_recipe_as_title(
    database: Database, recipes: RecipeRegistry, room: Callable[..., str], post: Post, written: Callable[..., str]
) -> None:
    here = room()
    event = post(here, type="system_event", payload={"description": "Deployed"})
    reply = post(here, "Fine", reply_to=event.activity_id)
    title = thread_title(ADA, reply.thread_id or "", recipes=recipes, database=database)
    assert "Deployed" in title
    (thread,) = json.loads(written(room=here, fmt="json"))["threads"]
    assert (thread["title"], thread["is_renamed"]) == (title, False)


def test_an_export_of_no_kinds_is_empty(room: Callable[..., str], post: Post, written: Callable[..., str]) -> None:
    here = room()
    post(here, "Hello")
    assert json.loads(written(room=here, include=[], fmt="json"))["count"] == 0
