"""Messages are listed in order, in windows, one by one; they move, change and go without losing who they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import select

from database.connection import close_store, open_store
from database.conversations.repository import create_conversation, delete_conversation, get_conversation
from database.engine.database import Database
from database.engine.errors import (
    ConversationNotFoundError,
    MessageNotFoundError,
    StaleIndexError,
    StoreError,
    TurnInProgressError,
)
from database.history import editing, reading
from database.messages.message import MessageRow, message_shape
from database.schema import message_edits
from database.schema import messages as table
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from tests.tiers import examples

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture
def ten(own: dict[str, str], take_turn: Callable[..., FinishedTurn]) -> list[MessageRow]:
    """Ten messages: "question 1", "answer 1", …"""
    for number in range(1, 6):
        take_turn(ANN, own["conversation_id"], text=f"question {number}", answer=f"answer {number}")
    return reading.list_messages(**own)


def indexes(rows: list[MessageRow]) -> list[int]:
    return [row.index for row in rows]


def texts(own: dict[str, str]) -> list[str]:
    return [row.text for row in reading.list_messages(**own)]


def test_all_messages_come_in_order_when_no_window_is_asked(own: dict[str, str], ten: list[MessageRow]) -> None:
    assert indexes(ten) == list(range(1, 11))
    assert [row.text for row in ten[:3]] == ["question 1", "answer 1", "question 2"]
    assert reading.message_count(**own) == 10


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"limit": 3}, [8, 9, 10]),
        ({"before": 8}, [1, 2, 3, 4, 5, 6, 7]),
        ({"before": 8, "limit": 2}, [6, 7]),
        ({"before": 99, "limit": 2}, [9, 10]),
        ({"before": 1}, []),
        ({"before": -5}, []),
        ({"after": 8}, [9, 10]),
        ({"after": 2, "limit": 3}, [3, 4, 5]),
        ({"after": 10}, []),
        ({"after": 0, "limit": 1}, [1]),
        ({"after": 3, "before": 6}, [4, 5]),
        ({"around": 5, "limit": 3}, [4, 5, 6]),
        ({"around": 1, "limit": 4}, [1, 2, 3, 4]),
        ({"around": 10, "limit": 4}, [7, 8, 9, 10]),
        ({"around": 10, "limit": 99}, list(range(1, 11))),
    ],
)
def test_a_window_holds_what_was_asked_for(
    own: dict[str, str], ten: list[MessageRow], window: dict[str, int], expected: list[int]
) -> None:
    rows = reading.list_messages(**own, **window)
    assert indexes(rows) == expected
    assert rows == [ten[index - 1] for index in expected]


def test_a_window_around_a_message_is_found_by_id_and_by_hash(own: dict[str, str], ten: list[MessageRow]) -> None:
    assert ten[4].message_short_hash is not None
    for name in (ten[4].message_id, ten[4].message_short_hash, ten[4].message_short_hash.upper()):
        assert indexes(reading.list_messages(**own, around=name, limit=3)) == [4, 5, 6]
    for nobody in ("nothing", 0, 11):
        with pytest.raises(MessageNotFoundError):
            reading.list_messages(**own, around=nobody)


def test_a_window_takes_as_many_statements_as_the_whole(
    own: dict[str, str], ten: list[MessageRow], statements: Callable[[], Any]
) -> None:
    with statements() as whole:
        reading.list_messages(**own)
    with statements() as window:
        reading.list_messages(**own, before=8, limit=3)
    assert len(whole) == len(window) == 2


def test_a_message_is_found_by_index_hash_and_id(own: dict[str, str], ten: list[MessageRow]) -> None:
    assert reading.message_at(**own, index=3) == ten[2]
    assert reading.message_by_hash(**own, short_hash=ten[2].message_short_hash or "") == ten[2]
    assert reading.message_by_id(**own, message_id=ten[2].message_id) == ten[2]
    assert reading.message_location(database=own["database"], user_email=ANN, message_id=ten[2].message_id) == (
        own["conversation_id"],
        ten[2],
    )


def test_what_is_not_there_is_none(own: dict[str, str], ten: list[MessageRow]) -> None:
    for index in (-1, 0, 11, 10**30):
        assert reading.message_at(**own, index=index) is None
    assert reading.message_by_hash(**own, short_hash="zzzzzz") is None
    assert reading.message_by_id(**own, message_id="nothing") is None


def test_a_range_ends_where_the_messages_end(own: dict[str, str], ten: list[MessageRow]) -> None:
    assert indexes(reading.messages_between(**own, start=9, end=40)) == [9, 10]
    assert indexes(reading.messages_between(**own, start=-3, end=2)) == [1, 2]
    assert reading.messages_between(**own, start=11, end=12) == []
    assert reading.messages_between(**own, start=5, end=4) == []


def test_the_newest_messages_are_whole_and_fit(own: dict[str, str], ten: list[MessageRow]) -> None:
    assert indexes(reading.last_messages(**own, count=2)) == [9, 10]
    assert indexes(reading.last_messages(**own)) == list(range(1, 11))
    assert indexes(reading.last_messages(**own, max_chars=len("answer 5question 5"))) == [9, 10]
    assert indexes(reading.last_messages(**own, max_chars=len("answer 5question 5") - 1)) == [10]
    assert indexes(reading.last_messages(**own, max_chars=0)) == [10]
    assert indexes(reading.last_messages(**own, before=4, count=2)) == [2, 3]
    assert indexes(reading.last_messages(**own, before=2**53)) == list(range(1, 11))
    assert reading.last_messages(**own, before=1) == []
    assert reading.last_messages(**own, count=0) == []


def test_the_newest_messages_are_one_statement(
    own: dict[str, str], ten: list[MessageRow], statements: Callable[[], Any]
) -> None:
    with statements() as seen:
        assert indexes(reading.last_messages(**own, before=4)) == [1, 2, 3]
    assert len(seen) == 1


def test_an_edit_keeps_hash_and_history(own: dict[str, str], ten: list[MessageRow]) -> None:
    who = own | {"message_id": ten[2].message_id}
    edited = editing.edit_message(**who, index=3, text="first change")
    again = editing.edit_message(**who, index=None, text="second change")
    assert editing.edit_message(**who, index=3, text="second change") == again

    assert (edited.text, again.text) == ("first change", "second change")
    assert edited.edited_at is not None
    assert again.message_short_hash == ten[2].message_short_hash
    assert reading.message_at(**own, index=3) == again
    with own["database"].reading() as connection:
        history = connection.execute(select(message_edits.c.text).order_by(message_edits.c.edit_id)).scalars().all()
    assert history == ["question 2", "first change"]


def test_a_stale_index_changes_nothing(own: dict[str, str], ten: list[MessageRow]) -> None:
    with pytest.raises(StaleIndexError):
        editing.edit_message(**own, message_id=ten[2].message_id, index=4, text="changed")
    with pytest.raises(StaleIndexError):
        editing.delete_message(**own, message_id=ten[2].message_id, index=4)
    assert reading.list_messages(**own) == ten


def test_an_answer_being_written_is_left_alone(own: dict[str, str]) -> None:
    accepted = accept_turn(**own, text="Hello", config={})
    answer = {"message_id": accepted.response_message_id, "index": 2}
    with pytest.raises(TurnInProgressError):
        editing.edit_message(**own, **answer, text="changed")
    with pytest.raises(TurnInProgressError):
        editing.delete_message(**own, **answer)
    editing.edit_message(**own, message_id=accepted.user_message_id, index=1, text="changed")
    assert texts(own) == ["changed", ""]


def test_a_deleted_message_is_found_by_hash_as_deleted(own: dict[str, str], ten: list[MessageRow]) -> None:
    editing.delete_message(**own, message_id=ten[2].message_id, index=3)

    found = reading.message_by_hash(**own, short_hash=ten[2].message_short_hash or "")
    assert found is not None
    assert (found.message_id, found.index) == (ten[2].message_id, 0)
    assert message_shape(found)["deleted_at"] == found.deleted_at is not None
    assert ten[2].message_id not in [row.message_id for row in reading.list_messages(**own)]
    at_three = reading.message_at(**own, index=3)
    assert at_three == reading.message_by_id(**own, message_id=ten[3].message_id)
    assert at_three is not None
    assert get_conversation(**own).message_count == 9
    with pytest.raises(MessageNotFoundError):
        editing.delete_message(**own, message_id=ten[2].message_id, index=None)
    with pytest.raises(MessageNotFoundError):
        reading.message_location(database=own["database"], user_email=ANN, message_id=ten[2].message_id)


def test_a_listed_message_says_nothing_of_deletion(ten: list[MessageRow]) -> None:
    shape = message_shape(ten[1])
    assert "deleted_at" not in shape
    assert (shape["message_index"], shape["user_id"], shape["backlink_count"], shape["references"]) == (2, ANN, 0, [])


def test_identifiers_survive_edits_moves_and_deletes_of_neighbours(
    own: dict[str, str], ten: list[MessageRow], take_turn: Callable[..., FinishedTurn]
) -> None:
    born = {row.message_id: (row.message_short_hash, row.short_id) for row in ten}
    editing.edit_message(**own, message_id=ten[4].message_id, index=5, text="changed")
    editing.move_messages(**own, message_ids=[ten[5].message_id], direction="up")
    editing.delete_message(**own, message_id=ten[3].message_id, index=4)
    take_turn(ANN, own["conversation_id"], text="question 2", answer="answer 2")

    now = {row.message_id: (row.message_short_hash, row.short_id) for row in reading.list_messages(**own)}
    assert {message_id: now[message_id] for message_id in now if message_id in born} == {
        message_id: ids for message_id, ids in born.items() if message_id != ten[3].message_id
    }
    assert len({short_hash for short_hash, _ in (born | now).values()}) == 12


@pytest.mark.parametrize(
    ("chosen", "direction", "order"),
    [
        ([3], "up", [1, 3, 2, 4]),
        ([3], "down", [1, 2, 4, 3]),
        ([1], "up", [1, 2, 3, 4]),
        ([4], "down", [1, 2, 3, 4]),
        ([2, 3], "up", [2, 3, 1, 4]),
        ([2, 3], "down", [1, 4, 2, 3]),
        ([1, 2, 4], "up", [1, 2, 4, 3]),
        ([2, 4], "up", [2, 1, 4, 3]),
        ([1, 2, 3, 4], "down", [1, 2, 3, 4]),
        ([], "up", [1, 2, 3, 4]),
    ],
)
def test_messages_move_by_one_as_a_block(
    own: dict[str, str],
    take_turn: Callable[..., FinishedTurn],
    chosen: list[int],
    direction: Any,
    order: list[int],
) -> None:
    for number in (1, 3):
        take_turn(ANN, own["conversation_id"], text=str(number), answer=str(number + 1))
    ids = [row.message_id for row in reading.list_messages(**own)]
    editing.move_messages(**own, message_ids=[ids[number - 1] for number in chosen], direction=direction)
    assert texts(own) == [str(number) for number in order]


def test_a_move_of_something_unknown_moves_nothing(own: dict[str, str], ten: list[MessageRow]) -> None:
    with pytest.raises(MessageNotFoundError):
        editing.move_messages(**own, message_ids=[ten[3].message_id, "nothing"], direction="up")
    assert reading.list_messages(**own) == ten


def every_door(own: dict[str, str], message: MessageRow) -> list[Callable[[], object]]:
    which = {"message_id": message.message_id, "index": message.index}
    return [
        lambda: reading.list_messages(**own),
        lambda: reading.list_messages(**own, around=message.message_id),
        lambda: reading.message_at(**own, index=1),
        lambda: reading.message_by_hash(**own, short_hash=message.message_short_hash or ""),
        lambda: reading.message_by_id(**own, message_id=message.message_id),
        lambda: reading.messages_between(**own, start=1, end=2),
        lambda: reading.last_messages(**own),
        lambda: reading.message_count(**own),
        lambda: editing.edit_message(**own, **which, text="changed"),
        lambda: editing.delete_message(**own, **which),
        lambda: editing.move_messages(**own, message_ids=[message.message_id], direction="down"),
    ]


def refusals(own: dict[str, str], message: MessageRow) -> list[tuple[type, str]]:
    told = []
    for call in every_door(own, message):
        with pytest.raises(StoreError) as caught:
            call()
        told.append((caught.type, str(caught.value)))
    return told


def test_foreign_missing_and_binned_conversations_answer_the_same(own: dict[str, str], ten: list[MessageRow]) -> None:
    missing = refusals(own | {"conversation_id": "nobody_1"}, ten[0])
    assert {kind for kind, _ in missing} == {ConversationNotFoundError}
    assert refusals(own | {"user_email": BOB}, ten[0]) == missing
    assert reading.list_messages(**own) == ten
    delete_conversation(**own)
    assert refusals(own, ten[0]) == missing


def test_a_message_of_another_conversation_is_not_found_here(own: dict[str, str], ten: list[MessageRow]) -> None:
    elsewhere = create_conversation(database=own["database"], user_email=ANN, domain="assistant").conversation_id
    here = own | {"conversation_id": elsewhere}
    assert reading.message_by_id(**here, message_id=ten[0].message_id) is None
    assert reading.message_by_hash(**here, short_hash=ten[0].message_short_hash or "") is None
    for change in every_door(here, ten[0])[-3:]:
        with pytest.raises(MessageNotFoundError):
            change()


@pytest.mark.parametrize("binned", [False, True])
def test_a_permalink_to_a_foreign_or_binned_message_is_missing(
    own: dict[str, str], ten: list[MessageRow], binned: bool
) -> None:
    if binned:
        delete_conversation(**own)
    with pytest.raises(MessageNotFoundError):
        reading.message_location(
            database=own["database"], user_email=ANN if binned else BOB, message_id=ten[0].message_id
        )


def test_messages_tell_which_conversation_they_are_in(
    own: dict[str, str], ten: list[MessageRow], statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    who = {"database": own["database"], "user_email": ANN}
    ids = [row.message_id for row in ten]
    editing.delete_message(**own, message_id=ids[3], index=4)
    with statements() as seen:
        found = reading.conversations_of_messages(**who, message_ids={*ids, "no-such-message"})
    assert found == {message_id: own["conversation_id"] for message_id in ids if message_id != ids[3]}
    assert sum("FROM messages" in statement for statement in seen) == 1
    assert reading.conversations_of_messages(database=own["database"], user_email=BOB, message_ids=ids) == {}
    assert reading.conversations_of_messages(**who, message_ids=[]) == {}
    delete_conversation(**own)
    assert reading.conversations_of_messages(**who, message_ids=ids) == {}


class ConversationOfMessages(RuleBasedStateMachine):
    """A conversation must behave as a plain list of texts does."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        row = create_conversation(database=open_store(self.folder.name), user_email=ANN, domain="assistant")
        self.own = {"database": open_store(self.folder.name), "user_email": ANN, "conversation_id": row.conversation_id}
        self.model: list[str] = []
        self.hashes: dict[str, str | None] = {}
        self.said = 0

    def teardown(self) -> None:
        close_store(self.folder.name)
        self.folder.cleanup()

    def rows(self) -> list[MessageRow]:
        return reading.list_messages(**self.own)

    @rule()
    def turn(self) -> None:
        self.said += 1
        texts = [f"q{self.said}", f"a{self.said}"]
        accepted = accept_turn(**self.own, text=texts[0], config={})
        finish_turn(
            **self.own,
            response_message_id=accepted.response_message_id,
            text=texts[1],
            status="complete",
            config={},
            title="Talk",
        )
        self.model += texts
        self.hashes |= {row.message_id: row.message_short_hash for row in self.rows()[-2:]}

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.model:
            return
        place = data.draw(st.integers(0, len(self.model) - 1))
        editing.delete_message(**self.own, message_id=self.rows()[place].message_id, index=place + 1)
        del self.model[place]

    @rule(data=st.data(), up=st.booleans())
    def move(self, data: st.DataObject, up: bool) -> None:
        if not self.model:
            return
        places = data.draw(st.sets(st.integers(0, len(self.model) - 1), min_size=1, max_size=4))
        ids = [row.message_id for row in self.rows()]
        chosen = {self.model[place] for place in places}
        editing.move_messages(
            **self.own, message_ids=[ids[place] for place in places], direction="up" if up else "down"
        )
        self.model = moved(self.model, chosen, up=up)

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        if not self.model:
            return
        place = data.draw(st.integers(0, len(self.model) - 1))
        self.said += 1
        text = f"e{self.said}"
        editing.edit_message(**self.own, message_id=self.rows()[place].message_id, index=place + 1, text=text)
        self.model[place] = text

    @invariant()
    def is_as_the_list(self) -> None:
        rows = self.rows()
        assert [row.text for row in rows] == self.model
        assert [row.index for row in rows] == list(range(1, len(self.model) + 1))
        assert reading.message_count(**self.own) == len(self.model)
        assert {row.message_id: row.message_short_hash for row in rows}.items() <= self.hashes.items()
        with open_store(self.folder.name).reading() as connection:
            ordinals = connection.execute(select(table.c.ordinal)).scalars().all()
        assert sorted(ordinals) == list(range(1, len(ordinals) + 1))


def moved(order: list[str], chosen: set[str], *, up: bool) -> list[str]:
    """The list after every chosen element that can has stepped over one that is not chosen."""
    if not up:
        return moved(order[::-1], chosen, up=True)[::-1]
    stuck = next((place for place, text in enumerate(order) if text not in chosen), len(order))
    result, rest = order[:stuck], order[stuck:]
    while rest:
        waiting, rest = rest[0], rest[1:]
        while rest and rest[0] in chosen:
            result.append(rest.pop(0))
        result.append(waiting)
    return result


TestConversationOfMessages = ConversationOfMessages.TestCase
TestConversationOfMessages.settings = examples(15, steps=20)
