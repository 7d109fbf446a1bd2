"""A report is kept with its message, and its targets know who refers to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from database.conversations.repository import create_conversation, delete_conversation, get_conversation
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError
from database.history.editing import delete_message, edit_message
from database.history.reading import list_messages
from database.history.references import backlinks, store_report
from database.schema import message_references
from database.turns.identity import FinishedTurn

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
Turns = tuple[FinishedTurn, FinishedTurn]


@pytest.fixture
def rooms(database: Database) -> tuple[str, str]:
    first, second = (
        create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id for _ in range(2)
    )
    return first, second


@pytest.fixture
def turns(rooms: tuple[str, str], take_turn: Callable[..., FinishedTurn]) -> Turns:
    """The turn that is referred to, and the one that refers."""
    return take_turn(ANN, rooms[0], title="Target talk"), take_turn(ANN, rooms[1], text="See\n\n that  one")


def entry(room: str, message_id: str | None, *, kind: str = "message", ref: str = "@it") -> dict[str, Any]:
    target = {"conversation_id": room} | ({"message_id": message_id} if message_id else {})
    return {"ref": ref, "kind": kind, "status": "resolved", "target": target}


def report(database: Database, turn: FinishedTurn, *entries: dict[str, Any]) -> None:
    store_report(database=database, user_email=ANN, message_id=turn.user_message_id, report=entries)


def links(database: Database, turn: FinishedTurn, user_email: str = ANN) -> list[dict[str, Any]]:
    return backlinks(database=database, user_email=user_email, message_id=turn.response_message_id)


def counts(database: Database, room: str) -> list[int]:
    listed = list_messages(database=database, user_email=ANN, conversation_id=room)
    return [row.backlink_count for row in listed]


def test_a_backlink_says_where_it_comes_from(database: Database, rooms: tuple[str, str], turns: Turns) -> None:
    target, source = turns
    report(database, source, entry(rooms[0], target.response_message_id))

    (link,) = links(database, target)
    asked = list_messages(database=database, user_email=ANN, conversation_id=rooms[1])[0]
    assert link == {
        "message_id": source.user_message_id,
        "conversation_id": rooms[1],
        "conversation_friendly_id": source.conversation_friendly_id,
        "title": "Greeting",
        "message_index": 1,
        "message_short_hash": source.user_message_short_hash,
        "sender": "user",
        "model": None,
        "preview": "See that one",
        "created_at": asked.created_at,
    }
    assert counts(database, rooms[0]) == [0, 1]
    assert asked.report == [entry(rooms[0], target.response_message_id)]


def test_two_references_in_one_message_are_one_backlink(
    database: Database, rooms: tuple[str, str], turns: Turns
) -> None:
    target, source = turns
    named = [entry(rooms[0], target.response_message_id, ref=ref) for ref in ("@by_index", "@by_hash")]
    report(database, source, *named)
    assert len(links(database, target)) == 1
    assert counts(database, rooms[0]) == [0, 1]


def test_a_reference_to_a_file_of_a_message_is_a_backlink_of_the_message(
    database: Database, rooms: tuple[str, str], turns: Turns
) -> None:
    target, source = turns
    report(database, source, entry(rooms[0], target.response_message_id, kind="file"))
    assert len(links(database, target)) == 1
    assert counts(database, rooms[0]) == [0, 1]
    # What is attached to the message itself names no other.
    report(database, source, {"ref": "@its_file_1", "kind": "file", "status": "resolved", "target": {"number": 1}})
    assert links(database, target) == []


def test_a_second_report_takes_the_place_of_the_first(database: Database, rooms: tuple[str, str], turns: Turns) -> None:
    target, source = turns
    report(database, source, entry(rooms[0], target.response_message_id))
    before = get_conversation(database=database, user_email=ANN, conversation_id=rooms[1]).version
    report(database, source)
    assert links(database, target) == []
    assert get_conversation(database=database, user_email=ANN, conversation_id=rooms[1]).version > before


def test_ranges_and_whole_conversations_are_no_backlinks_of_a_message(
    database: Database, rooms: tuple[str, str], turns: Turns
) -> None:
    target, source = turns
    ranged = entry(rooms[0], target.response_message_id, kind="message_range")
    report(database, source, ranged, entry(rooms[0], None, kind="conversation"))
    assert links(database, target) == []
    with database.reading() as connection:
        kept = connection.execute(select(message_references.c.target_conversation_id)).scalars().all()
    assert kept == [rooms[0], rooms[0]]


def test_failed_references_and_claims_are_kept_with_what_is_known(
    database: Database, rooms: tuple[str, str], turns: Turns
) -> None:
    missing = {"ref": "@nowhere", "kind": "message", "status": "not_found"}
    claim = {"ref": "@tea_a1b2", "kind": "claim", "status": "resolved", "target": {"claim_id": "claim-7"}}
    report(database, turns[1], missing, claim)
    columns = (message_references.c.ref, message_references.c.status, message_references.c.target_id)
    with database.reading() as connection:
        rows = connection.execute(select(*columns).order_by(message_references.c.position)).all()
    assert [tuple(row) for row in rows] == [("@nowhere", "not_found", None), ("@tea_a1b2", "resolved", "claim-7")]


@pytest.mark.parametrize("gone", ["message", "conversation"])
def test_a_source_that_is_gone_refers_no_more(
    database: Database, rooms: tuple[str, str], turns: Turns, gone: str
) -> None:
    target, source = turns
    report(database, source, entry(rooms[0], target.response_message_id))
    own = {"database": database, "user_email": ANN, "conversation_id": rooms[1]}
    if gone == "message":
        delete_message(**own, message_id=source.user_message_id, index=1)
    else:
        delete_conversation(**own)
    assert links(database, target) == []
    assert counts(database, rooms[0]) == [0, 0]


def test_backlinks_take_as_many_statements_whatever_their_number(
    database: Database,
    rooms: tuple[str, str],
    turns: Turns,
    take_turn: Callable[..., FinishedTurn],
    statements: Callable[[], Any],
) -> None:
    target, _ = turns
    seen_at = []
    for _ in range(2):
        for _ in range(3):
            report(database, take_turn(ANN, rooms[1]), entry(rooms[0], target.response_message_id))
        with statements() as seen:
            links(database, target)
        seen_at.append(len(seen))
    assert seen_at == [2, 2]
    assert [link["message_index"] for link in links(database, target)] == [13, 11, 9, 7, 5, 3]


def test_foreign_messages_are_as_missing(database: Database, rooms: tuple[str, str], turns: Turns) -> None:
    target, source = turns
    report(database, source, entry(rooms[0], target.response_message_id))
    for user_email, message_id in ((BOB, target.response_message_id), (ANN, "nothing")):
        who = {"database": database, "user_email": user_email, "message_id": message_id}
        with pytest.raises(MessageNotFoundError):
            backlinks(**who)
        with pytest.raises(MessageNotFoundError):
            store_report(**who, report=[])
    assert len(links(database, target)) == 1


def test_a_foreign_source_is_never_told(
    database: Database, rooms: tuple[str, str], turns: Turns, take_turn: Callable[..., FinishedTurn]
) -> None:
    room = create_conversation(database=database, user_email=BOB, domain="assistant").conversation_id
    theirs = take_turn(BOB, room)
    store_report(
        database=database,
        user_email=BOB,
        message_id=theirs.user_message_id,
        report=[entry(rooms[0], turns[0].response_message_id)],
    )
    assert links(database, turns[0]) == []
    assert counts(database, rooms[0]) == [0, 0]


def test_an_edit_takes_the_references_along_that_it_removes(
    database: Database, rooms: tuple[str, str], take_turn: Callable[..., FinishedTurn]
) -> None:
    target = take_turn(ANN, rooms[0])
    source = take_turn(ANN, rooms[1], text="See @this_one, @that_one, #a1b2c3 and @memory:some-id")
    named = ["@this_one", "@that_one", "#a1b2c3", "@memory:some-id", "@listed_beside", "[[Note]]"]
    report(database, source, *(entry(rooms[0], target.response_message_id, ref=ref) for ref in named))

    def refers_to() -> list[str]:
        (question, _) = list_messages(database=database, user_email=ANN, conversation_id=rooms[1])
        return [each["ref"] for each in question.report]

    def edit(text: str) -> None:
        who = {"user_email": ANN, "conversation_id": rooms[1], "message_id": source.user_message_id}
        edit_message(database=database, **who, index=1, text=text)

    edit("See @that_one, #A1B2C3, @memory:some-id and @new_one")
    assert refers_to() == named[1:]
    assert len(links(database, target)) == 1
    edit("See nothing")
    assert refers_to() == ["@listed_beside", "[[Note]]"]
    report(database, source, entry(rooms[0], target.response_message_id, ref="@that_one"))
    edit("See @that_one")
    edit("See `@that_one` as code")
    assert (refers_to(), links(database, target), counts(database, rooms[0])) == ([], [], [0, 0])
