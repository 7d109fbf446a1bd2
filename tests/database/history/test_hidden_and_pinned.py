"""Messages hidden and pinned, deleted and brought back, and what they said before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from database.conversations.repository import create_conversation, delete_conversation, get_conversation
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError
from database.history import editing, reading
from database.history.editing import edits_of, pin_message, pinned_messages, show_or_hide_message
from database.messages.message import MessageRow
from database.search.indexing import index_pending
from database.sharing.copying import clone_conversation
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn
from search.messages import search_conversation
from tests.stores import restarted

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    """Where ann's conversation is."""
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture
def six(own: dict[str, str], take_turn: Callable[..., FinishedTurn]) -> list[MessageRow]:
    """Three turns."""
    for number in range(3):
        take_turn(ANN, own["conversation_id"], text=f"question {number}", answer=f"answer {number}")
    return reading.list_messages(**own)


def person(own: dict[str, str]) -> dict[str, str]:
    return {name: own[name] for name in ("database", "user_email")}


def texts(own: dict[str, str]) -> list[str]:
    return [row.text for row in reading.list_messages(**own)]


@pytest.mark.parametrize("indexed", [False, True])
def test_a_deleted_message_comes_back_to_its_place_with_its_hash(
    indexed: bool, own: dict[str, str], six: list[MessageRow]
) -> None:
    if indexed:
        index_pending(database=own["database"])
    editing.delete_message(**own, message_id=six[2].message_id, index=3)
    assert search_conversation(**own, q="question 1") == []
    for _ in range(2):
        editing.restore_message(**own, message_id=six[2].message_id)
    assert reading.list_messages(**own) == six
    assert get_conversation(**own).message_count == 6
    assert [row.message_id for row in search_conversation(**own, q="question 1")] == [six[2].message_id]
    index_pending(database=own["database"])
    assert [row.message_id for row in search_conversation(**own, q="question 1")] == [six[2].message_id]


def test_only_an_own_message_of_this_conversation_comes_back(own: dict[str, str], six: list[MessageRow]) -> None:
    editing.delete_message(**own, message_id=six[0].message_id, index=1)
    with pytest.raises(ConversationNotFoundError):
        editing.restore_message(**own | {"user_email": BEN}, message_id=six[0].message_id)
    with pytest.raises(MessageNotFoundError):
        editing.restore_message(**own, message_id="nothing")
    assert len(texts(own)) == 5


def test_a_hidden_message_is_left_out_for_models_alone(own: dict[str, str], six: list[MessageRow]) -> None:
    show_or_hide_message(**own, message_id=six[2].message_id, index=3, show_hide="hide")
    shown = reading.last_messages(**own, hidden=False)
    assert [row.index for row in shown] == [1, 2, 4, 5, 6]
    assert len(reading.last_messages(**own)) == 6
    assert [row.show_hide for row in reading.list_messages(**own)] == ["show", "show", "hide", "show", "show", "show"]
    named = reading.message_by_hash(**own, short_hash=six[2].message_short_hash or "")
    assert named is not None
    assert named.text == "question 1"
    show_or_hide_message(**own, message_id=six[2].message_id, index=None, show_hide="show")
    assert reading.list_messages(**own) == six


def test_what_is_written_or_elsewhere_is_not_hidden(own: dict[str, str], six: list[MessageRow]) -> None:
    with pytest.raises(StaleIndexError):
        show_or_hide_message(**own, message_id=six[2].message_id, index=2, show_hide="hide")
    running = accept_turn(**own, text="more", config={}).response_message_id
    with pytest.raises(TurnInProgressError):
        show_or_hide_message(**own, message_id=running, index=8, show_hide="hide")
    with pytest.raises(ConversationNotFoundError):
        show_or_hide_message(**own | {"user_email": BEN}, message_id=six[2].message_id, index=3, show_hide="hide")


def test_pinned_messages_are_listed_in_order(
    own: dict[str, str], six: list[MessageRow], statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    for row in (six[4], six[1]):
        pin_message(**person(own), message_id=row.message_id, pinned=True)
    with statements() as seen:
        pinned = pinned_messages(**own)
    assert [(item["message_index"], item["preview"]) for item in pinned] == [(2, "answer 0"), (5, "question 2")]
    assert [item["message_short_hash"] for item in pinned] == [six[1].message_short_hash, six[4].message_short_hash]
    assert len(seen) == 2
    first = pinned[0]["pinned_at"]
    pin_message(**person(own), message_id=six[1].message_id, pinned=True)
    assert reading.list_messages(**own)[1].pinned_at == first
    pin_message(**person(own), message_id=six[1].message_id, pinned=False)
    editing.delete_message(**own, message_id=six[4].message_id, index=5)
    assert pinned_messages(**own) == []


def test_nobody_pins_what_is_not_there_for_them(own: dict[str, str], six: list[MessageRow]) -> None:
    with pytest.raises(MessageNotFoundError):
        pin_message(database=own["database"], user_email=BEN, message_id=six[0].message_id, pinned=True)
    with pytest.raises(ConversationNotFoundError):
        pinned_messages(**own | {"user_email": BEN})
    delete_conversation(**own)
    with pytest.raises(MessageNotFoundError):
        pin_message(**person(own), message_id=six[0].message_id, pinned=True)


def test_earlier_texts_are_told_oldest_first_to_their_owner(own: dict[str, str], six: list[MessageRow]) -> None:
    for text in ("first change", "second change"):
        editing.edit_message(**own, message_id=six[0].message_id, index=1, text=text)
    edits = edits_of(**person(own), message_id=six[0].message_id)
    assert [edit["text"] for edit in edits] == ["question 0", "first change"]
    assert edits[0]["replaced_at"] <= edits[1]["replaced_at"]
    assert edits_of(**person(own), message_id=six[1].message_id) == []
    with pytest.raises(MessageNotFoundError):
        edits_of(database=own["database"], user_email=BEN, message_id=six[0].message_id)


def test_marks_outlive_a_restart_and_go_into_clones(own: dict[str, str], six: list[MessageRow]) -> None:
    show_or_hide_message(**own, message_id=six[0].message_id, index=1, show_hide="hide")
    pin_message(**person(own), message_id=six[1].message_id, pinned=True)
    editing.edit_message(**own, message_id=six[2].message_id, index=3, text="changed")
    editing.delete_message(**own, message_id=six[5].message_id, index=6)
    own["database"] = restarted(own["database"])
    editing.restore_message(**own, message_id=six[5].message_id)
    own["database"] = restarted(own["database"])
    copy = clone_conversation(**own)
    theirs = own | {"conversation_id": copy.conversation_id}
    for where in (own, theirs):
        listed = reading.list_messages(**where)
        assert [row.text for row in listed][2:] == ["changed", "answer 1", "question 2", "answer 2"]
        assert listed[0].show_hide == "hide"
        assert [item["preview"] for item in pinned_messages(**where)] == ["answer 0"]
        assert [edit["text"] for edit in edits_of(**person(where), message_id=listed[2].message_id)] == ["question 1"]
