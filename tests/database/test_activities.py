"""Short ids never collide within a conversation; replies make, join and keep threads."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from database.activities.storing import NewActivity, allocate_short_ids, insert_activities
from database.conversations.repository import create_conversation
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import (
    ConversationNotFoundError,
    MessageNotFoundError,
    ThreadMismatchError,
    ThreadNotFoundError,
)
from database.history.editing import delete_message
from database.history.reading import list_messages
from database.schema import activities, threads
from database.timeline.transcript import read_arrivals
from database.turns.identity import FinishedTurn

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
TAIL = "ab12cd34ef56"


def conversation(database: Database, user_email: str = ANN) -> str:
    return create_conversation(database=database, user_email=user_email, domain="assistant").conversation_id


def event(activity_id: str) -> NewActivity:
    return NewActivity(
        recipe="system",
        type="system_event",
        actor_type="system",
        actor_id="",
        actor_name="",
        created_at=now_iso(),
        activity_id=activity_id,
    )


def ids_ending_alike() -> list[str]:
    """Uuids whose last 6, 8, 12 digits are those of one before."""
    return [
        f"00000000-0000-4000-8000-{TAIL}",
        "00000000-0000-4000-8000-00000034ef56",
        f"00000000-0000-4000-8000-0000{TAIL[4:]}",
        f"00000000-0000-4000-9000-{TAIL}",
        f"00000000-0000-4000-a000-{TAIL}",
    ]


def test_a_taken_short_id_is_made_longer_and_the_holder_keeps_its_own(database: Database) -> None:
    room = conversation(database)
    first, *others = ids_ending_alike()
    store = database

    def one_after_the_other(connection: Any) -> list[str]:
        born = [[event(activity_id)] for activity_id in (first, *others)]
        return [insert_activities(connection, new, user_email=ANN, conversation_id=room)[0].short_id for new in born]

    given = store.write(one_after_the_other)
    assert given[0] == TAIL[-6:]
    assert [len(short_id) for short_id in given] == [6, 8, 8, 12, 32]
    assert all(uuid.UUID(i).hex.endswith(s) for i, s in zip((first, *others), given, strict=True))
    with store.reading() as connection:
        assert allocate_short_ids(connection, [event(first)], conversation_id="another")[0] == TAIL[-6:]


def test_ids_of_what_is_stored_one_after_the_other_stand_side_by_side_in_the_indexes(
    database: Database, take_turn: Callable[..., FinishedTurn]
) -> None:
    rooms = [conversation(database) for _ in range(3)]
    turns = [take_turn(ANN, room) for room in rooms * 2]
    ids = [each for turn in turns for each in (turn.user_message_id, turn.response_message_id)]
    assert sorted(ids) == ids
    # A short id is the end of an id, which no other has to share.
    assert len({each[-6:] for each in ids}) == len(ids)
    assert {uuid.UUID(each).version for each in ids} == {7}


def test_activities_born_together_are_ordered_and_distinct(database: Database) -> None:
    room = conversation(database)
    born = [event(activity_id) for activity_id in ids_ending_alike()]
    stored = database.write(
        lambda connection: insert_activities(connection, born, user_email=ANN, conversation_id=room)
    )
    assert [new.activity_id for new in stored] == ids_ending_alike()
    assert [new.seq for new in stored] == sorted(new.seq for new in stored)
    assert len({new.short_id for new in stored}) == len(born)


def test_a_reply_to_an_unthreaded_message_makes_a_thread_with_it_as_root(
    database: Database, take_turn: Callable[..., FinishedTurn]
) -> None:
    room = conversation(database)
    root = take_turn(ANN, room)
    reply = take_turn(ANN, room, reply_to=f"#{root.response_short_id.upper()}")

    rows = {row.message_id: row for row in list_messages(database=database, user_email=ANN, conversation_id=room)}
    parent, question = rows[root.response_message_id], rows[reply.user_message_id]
    answer = rows[reply.response_message_id]
    assert parent.thread_id is not None
    assert question.thread_id == answer.thread_id == parent.thread_id
    assert (question.reply_to_id, answer.reply_to_id) == (parent.message_id, question.message_id)
    assert rows[root.user_message_id].thread_id is None
    with database.reading() as connection:
        assert connection.execute(select(threads.c.root_activity_id)).scalars().all() == [parent.message_id]


def test_a_second_reply_joins_the_thread(database: Database, take_turn: Callable[..., FinishedTurn]) -> None:
    room = conversation(database)
    root = take_turn(ANN, room).user_message_id
    take_turn(ANN, room, reply_to=root)
    take_turn(ANN, room, reply_to=root)
    rows = list_messages(database=database, user_email=ANN, conversation_id=room)
    assert len({row.thread_id for row in rows if row.thread_id}) == 1
    assert [row.thread_id is not None for row in rows] == [True, False, True, True, True, True]


def test_a_message_joins_a_thread_by_its_id(database: Database, take_turn: Callable[..., FinishedTurn]) -> None:
    room = conversation(database)
    take_turn(ANN, room, reply_to=take_turn(ANN, room).user_message_id)
    own = {"database": database, "user_email": ANN, "conversation_id": room}
    thread = list_messages(**own)[0].thread_id
    take_turn(ANN, room, thread_id=thread)
    assert [(row.thread_id, row.reply_to_id) for row in list_messages(**own)][-2] == (thread, None)


def test_a_reply_cannot_name_another_thread(database: Database, take_turn: Callable[..., FinishedTurn]) -> None:
    room = conversation(database)
    first, second = take_turn(ANN, room), take_turn(ANN, room)
    take_turn(ANN, room, reply_to=first.user_message_id)
    thread = list_messages(database=database, user_email=ANN, conversation_id=room)[0].thread_id
    for parent in (second.user_message_id, second.response_message_id):
        with pytest.raises(ThreadMismatchError):
            take_turn(ANN, room, reply_to=parent, thread_id=thread)
    take_turn(ANN, room, reply_to=first.user_message_id, thread_id=thread)


def test_what_is_foreign_or_deleted_cannot_be_replied_to(
    database: Database, take_turn: Callable[..., FinishedTurn]
) -> None:
    room, foreign = conversation(database), conversation(database, BOB)
    gone = take_turn(ANN, room)
    delete_message(database=database, user_email=ANN, conversation_id=room, message_id=gone.user_message_id, index=1)
    for parent in (gone.user_message_id, take_turn(BOB, foreign).user_message_id, "nothing"):
        with pytest.raises(MessageNotFoundError):
            take_turn(ANN, room, reply_to=parent)


def test_a_message_of_another_conversation_is_replied_to_in_its_thread(
    database: Database, take_turn: Callable[..., FinishedTurn]
) -> None:
    room, elsewhere = conversation(database), conversation(database)
    parent = take_turn(ANN, elsewhere).user_message_id
    take_turn(ANN, room, reply_to=parent)
    reply = list_messages(database=database, user_email=ANN, conversation_id=room)[0]
    root = list_messages(database=database, user_email=ANN, conversation_id=elsewhere)[0]
    assert (reply.reply_to_id, reply.thread_id) == (parent, root.thread_id)
    assert root.thread_id is not None


def test_a_foreign_thread_is_as_missing(database: Database, take_turn: Callable[..., FinishedTurn]) -> None:
    room, foreign = conversation(database), conversation(database, BOB)
    take_turn(BOB, foreign, reply_to=take_turn(BOB, foreign).user_message_id)
    thread = list_messages(database=database, user_email=BOB, conversation_id=foreign)[0].thread_id
    for named in (thread, "missing"):
        with pytest.raises(ThreadNotFoundError):
            take_turn(ANN, room, thread_id=named)


def test_who_follows_a_conversation_gets_past_what_was_deleted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("database.timeline.transcript._AT_ONCE", 2)
    own: dict[str, Any] = {"database": database, "user_email": ANN, "conversation_id": conversation(database)}
    ids = [str(uuid.uuid4()) for _ in range(5)]
    rows = [event(each) for each in ids]
    where = {"user_email": ANN, "conversation_id": own["conversation_id"]}
    database.write(lambda connection: insert_activities(connection, rows, **where))
    gone = activities.c.activity_id.in_(ids[:3])
    database.write(lambda connection: connection.execute(update(activities).where(gone).values(deleted_at=now_iso())))
    came, after = list[list[str]](), 0
    for _ in range(4):
        arrived = read_arrivals(**own, after=after, unfinished=())
        came.append([each.activity_id for each in arrived.activities])
        after = arrived.after
    assert came == [[], [ids[3]], [ids[4]], []]


def test_nobody_follows_another_persons_conversation(database: Database) -> None:
    room = conversation(database, BOB)
    with pytest.raises(ConversationNotFoundError):
        read_arrivals(database=database, user_email=ANN, conversation_id=room, after=0, unfinished=())
