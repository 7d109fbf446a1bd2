"""Activities move between conversations: threads stay whole, and what was written anywhere still means the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from activity.export import INCLUDED, export
from activity.recipes import RecipeRegistry
from activity.resolving import resolve_activity
from database.activities.reading import Activity, activities_of_thread
from database.activities.storing import NewActivity, insert_activities
from database.changes import StoredChange, changes_after
from database.conversations.deletion import erase_binned
from database.conversations.repository import delete_conversation, update_conversation
from database.engine.database import Database
from database.engine.errors import (
    ActivityNotFoundError,
    ConversationNotFoundError,
    InvalidChangeError,
    MessageNotMovableError,
)
from database.history.threads import list_threads
from database.schema import former_short_ids
from database.timeline.moving import move_activity
from database.timeline.transcript import placed_activities
from tests.activity.conftest import ADA, EVE

pytestmark = pytest.mark.contract
EVENT: dict[str, Any] = {"type": "system_event", "payload": {"description": "It runs"}}
Post = Callable[..., Activity]
Room = Callable[..., str]


@pytest.fixture
def move(database: Database) -> Callable[..., Activity]:
    """Moves an activity of Ada's: move("#a1b2c3", conversation_id)."""

    def move(reference: str, conversation_id: str, near: str | None = None, *, user_email: str = ADA) -> Activity:
        return move_activity(
            database=database, user_email=user_email, reference=reference, conversation_id=conversation_id, near=near
        )

    return move


def born(database: Database, *, room: str, digits: str, number: int) -> str:
    """Store an event whose uuid ends with these digits; its short id."""
    new = NewActivity(
        recipe="system-monitoring",
        type="system_event",
        actor_type="system",
        actor_id="monitor",
        actor_name="Monitor",
        created_at="2025-11-12T16:10:00.000000Z",
        payload={"description": f"Event {number}"},
        activity_id=f"{number:08x}-0000-4000-8000-{digits:0>12}",
    )
    (stored,) = database.write(partial(insert_activities, born=[new], user_email=ADA, conversation_id=room))
    return stored.short_id


def changes(database: Database, *, after: int = 0) -> list[StoredChange]:
    return changes_after(database=database, user_email=ADA, after=after, most=1_000)


def lines_of(database: Database, room: str) -> list[tuple[str, str | None]]:
    """The activities between the messages of a conversation, each with the message that it stands behind."""
    placed = placed_activities(database=database, user_email=ADA, conversation_id=room, limit=100)
    return [(activity.activity_id, behind) for activity, behind in placed]


def test_a_moved_activity_stands_where_its_time_puts_it_and_its_thread_stays_whole(
    database: Database, room: Room, post: Post, move: Callable[..., Activity]
) -> None:
    here, there = room(), room()
    first = post(there, "Before")
    root = post(here, "Shall we?")
    event = post(here, **EVENT, reply_to=root.activity_id)
    reply = post(here, "It does", reply_to=event.activity_id)
    last = post(there, "Afterwards")
    moved = move(f"#{event.short_id}", there, here)
    assert (moved.conversation_id, moved.short_id, moved.seq) == (there, event.short_id, event.seq)
    assert (moved.reply_to_id, moved.thread_id) == (root.activity_id, reply.thread_id)
    assert lines_of(database, here) == []
    assert lines_of(database, there) == [(event.activity_id, first.activity_id)]
    thread = activities_of_thread(database=database, user_email=ADA, thread_id=str(reply.thread_id), limit=10)
    assert [each.activity_id for each in thread] == [root.activity_id, event.activity_id, reply.activity_id]
    for conversation in (here, there):
        (listed,) = list_threads(database=database, user_email=ADA, conversation_id=conversation)
        assert (listed.thread_id, listed.reply_count) == (reply.thread_id, 2)
    later = post(here, "And now?", reply_to=event.activity_id)
    assert (later.thread_id, later.reply_to_short_id) == (reply.thread_id, event.short_id)
    assert last.seq > moved.seq


def test_a_short_id_is_renewed_only_where_it_is_taken_and_the_holder_keeps_its_own(
    database: Database, room: Room, move: Callable[..., Activity]
) -> None:
    here, there, elsewhere = room(), room(), room()
    born(database, room=here, digits="0a0b0c", number=1)
    born(database, room=there, digits="0a0b0c", number=2)
    moved = move("#0a0b0c", there, here)
    assert moved.short_id == "000a0b0c"
    find = partial(resolve_activity, ADA, database=database)
    assert find("#0a0b0c", conversation_id=there).payload == {"description": "Event 2"}
    assert find("#0a0b0c", conversation_id=here).payload == {"description": "Event 1"}
    assert find("#000a0b0c", conversation_id=here).payload == {"description": "Event 1"}
    assert move("#000A0B0C", elsewhere).short_id == "000a0b0c"
    assert find("#0a0b0c", conversation_id=here).conversation_id == elsewhere


def test_nothing_new_gets_the_short_id_of_what_was_moved_away(
    database: Database, room: Room, move: Callable[..., Activity]
) -> None:
    here, there = room(), room()
    born(database, room=here, digits="0a0b0c", number=1)
    move("#0a0b0c", there, here)
    assert born(database, room=here, digits="0a0b0c", number=2) == "000a0b0c"
    find = partial(resolve_activity, ADA, database=database)
    assert find("#0a0b0c", conversation_id=here).payload == {"description": "Event 1"}
    back = move("#0a0b0c", here, there)
    assert (back.short_id, back.payload) == ("0a0b0c", {"description": "Event 1"})
    assert find("#0a0b0c", conversation_id=there).payload == {"description": "Event 1"}


def test_moving_to_where_it_stands_changes_nothing(
    database: Database, room: Room, post: Post, move: Callable[..., Activity]
) -> None:
    here = room()
    event = post(here, **EVENT)
    before = changes(database)
    assert move(event.activity_id, here) == event
    assert changes(database) == before


def test_both_conversations_are_told(database: Database, room: Room, post: Post, move: Callable[..., Activity]) -> None:
    here, there = room(), room()
    event = post(here, **EVENT)
    before = changes(database)[-1].seq
    move(event.activity_id, there)
    told = changes(database, after=before)
    assert [(each.kind, each.change, each.id, each.conversation_id) for each in told] == [
        ("activity", "gone", event.activity_id, here),
        ("activity", "changed", event.activity_id, there),
    ]
    assert (told[0].fields["moved_to"], told[1].fields["moved_from"]) == (there, here)
    assert told[1].fields["type"] == "system_event"


def test_what_can_not_be_moved_is_refused_with_a_reason(
    database: Database, room: Room, post: Post, move: Callable[..., Activity]
) -> None:
    here, there, hers = room(), room(), room(EVE)
    message, event = post(here, "Hello"), post(here, **EVENT)
    unkept = room()
    update_conversation(database=database, user_email=ADA, conversation_id=unkept, changes={"stateless": True})
    with pytest.raises(MessageNotMovableError, match="Fork the conversation"):
        move(message.activity_id, there)
    with pytest.raises(InvalidChangeError, match="Nothing of this conversation is kept"):
        move(event.activity_id, unkept)
    for target in (hers, "nothing"):
        with pytest.raises(ConversationNotFoundError):
            move(event.activity_id, target)
    with pytest.raises(ActivityNotFoundError):
        move(event.activity_id, hers, user_email=EVE)
    delete_conversation(database=database, user_email=ADA, conversation_id=there)
    with pytest.raises(ConversationNotFoundError):
        move(event.activity_id, there)
    assert lines_of(database, here) == [(event.activity_id, message.activity_id)]


def test_exports_have_what_stands_in_a_conversation_now(
    database: Database, room: Room, post: Post, move: Callable[..., Activity], recipes: RecipeRegistry
) -> None:
    here, there = room(), room()
    post(here, "One"), post(there, "Two")
    event = post(here, **EVENT)
    move(event.activity_id, there)

    def exported(conversation: str) -> bytes:
        made = export(ADA, database=database, recipes=recipes, room=conversation, include=INCLUDED, fmt="json")
        return b"".join(made.chunks)

    assert event.activity_id.encode() in exported(there)
    assert event.activity_id.encode() not in exported(here)


def test_what_was_written_leads_on_until_either_is_erased(
    database: Database, room: Room, post: Post, move: Callable[..., Activity]
) -> None:
    here, there, elsewhere = room(), room(), room()
    first, second = post(here, **EVENT), post(here, **EVENT)
    move(first.activity_id, there)
    move(second.activity_id, elsewhere)
    for gone, left in ((there, {second.activity_id}), (here, set())):
        delete_conversation(database=database, user_email=ADA, conversation_id=gone)
        erase_binned(database=database, user_email=ADA, conversation_id=gone)
        with database.reading() as connection:
            assert set(connection.execute(select(former_short_ids.c.activity_id)).scalars()) == left
    assert resolve_activity(ADA, second.short_id, database=database).conversation_id == elsewhere
    with pytest.raises(ActivityNotFoundError):
        resolve_activity(ADA, first.short_id, conversation_id=here, database=database)
