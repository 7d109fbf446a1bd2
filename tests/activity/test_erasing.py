"""An erased conversation leaves nothing of what it said; what others reply to stays as an empty, deleted row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from activity.recipes import RecipeRegistry
from activity.threads import thread_title
from database.activities.reading import Activity
from database.conversations.deletion import erase_binned
from database.conversations.repository import delete_conversation
from database.engine.database import Database
from database.engine.errors import ActivityNotFoundError
from database.history.threads import get_thread
from database.maintenance.verification import verify_store
from database.schema import activities, threads

from .conftest import ADA

pytestmark = pytest.mark.contract
EVENT: dict[str, Any] = {"type": "system_event", "payload": {"description": "Secret"}}


def erase(database: Database, conversation_id: str) -> None:
    """Delete a conversation for good."""
    own = {"database": database, "user_email": ADA, "conversation_id": conversation_id}
    delete_conversation(**own)
    erase_binned(**own)


def left(database: Database) -> tuple[list[Any], int]:
    """The rows of activities, and the number of threads."""
    with database.reading() as connection:
        rows = connection.execute(select(activities).order_by(activities.c.seq)).all()
        return list(rows), connection.execute(select(func.count()).select_from(threads)).scalar_one()


def test_a_thread_goes_on_without_its_root(
    database: Database, recipes: RecipeRegistry, room: Callable[..., str], post: Callable[..., Activity]
) -> None:
    here, there = room(), room()
    root = post(here, "Secret root")
    between = post(here, reply_to=root.activity_id, **EVENT)
    post(here, "Secret aside", reply_to=between.activity_id)
    reply = post(there, "What stays", reply_to=between.activity_id)
    assert reply.thread_id is not None
    erase(database, here)

    rows, count = left(database)
    assert [row.activity_id for row in rows] == [root.activity_id, between.activity_id, reply.activity_id]
    for row in rows[:2]:
        assert (row.payload, row.actor_id, row.actor_name, row.reply_to_id) == ({}, "", "", None)
        assert row.deleted_at is not None
    assert "Secret" not in str(rows)
    assert count == 1
    (line,) = recipes.build_thread_context(ADA, reply.thread_id, database=database)
    assert line.line == f"[#{reply.short_id}] Ada: What stays (reply to (deleted))"
    assert thread_title(ADA, reply.thread_id, recipes=recipes, database=database) == "(deleted)"
    assert get_thread(database=database, user_email=ADA, thread_id=reply.thread_id).reply_count == 1
    with pytest.raises(ActivityNotFoundError):
        post(there, "No", reply_to=root.activity_id)
    if database.backend.file is not None:
        assert [each.what for each in verify_store(database=database) if not each.fine] == []

    again = post(there, "Again", reply_to=reply.activity_id)
    assert again.thread_id == reply.thread_id
    erase(database, there)
    assert left(database) == ([], 0)


def test_threads_and_sessions_within_a_conversation_go_with_it(
    database: Database, room: Callable[..., str], post: Callable[..., Activity]
) -> None:
    here, there = room(), room()
    root = post(here, "Root")
    for _ in range(120):
        post(here, reply_to=root.activity_id, **EVENT)
    move: dict[str, Any] = {"type": "game_action", "payload": {}, "session_id": "s"}
    first = post(here, **move)
    other = post(there, **move)
    erase(database, here)
    rows, count = left(database)
    assert [row.activity_id for row in rows] == [first.activity_id, other.activity_id]
    assert count == 1
    erase(database, there)
    assert left(database) == ([], 0)
