"""What a running summary tells of: messages in order, as they are stored now, and nothing that is gone or hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from database.conversations.repository import create_conversation, get_conversation, update_conversation
from database.engine.database import Database
from database.history import editing, reading
from database.history.editing import show_or_hide_message
from database.history.summary import Unsummarised, count_summarised, store_summary, unsummarised
from database.sharing.copying import clone_conversation, fork_conversation
from database.turns import variants
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again

pytestmark = pytest.mark.contract

ANN = "ann@example.org"
Own = dict[str, str]
TakeTurn = Callable[..., FinishedTurn]


@pytest.fixture
def own(database: Database, take_turn: TakeTurn) -> Own:
    """Where ann's conversation of six turns is; the message of ordinal 2 was deleted."""
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    for number in range(6):
        take_turn(ANN, row.conversation_id, text=f"question {number}", answer=f"answer {number}")
    own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
    editing.delete_message(**own, message_id=id_at(own, 2), index=2)
    return own


def id_at(own: Own, ordinal: int) -> str:
    return next(row.message_id for row in reading.list_messages(**own) if row.ordinal == ordinal)


def left(own: Own, **limits: int) -> Unsummarised:
    return unsummarised(**own, **{"limit": 100, "max_chars": 100} | limits)


def summarised(own: Own) -> tuple[str, int]:
    row = get_conversation(**own)
    return row.running_summary, row.summarised_ordinal


def test_what_is_left_to_tell_is_read_in_order_from_the_first_on(own: Own) -> None:
    show_or_hide_message(**own, message_id=id_at(own, 4), index=None, show_hide="hide")
    assert [said.ordinal for said in left(own, limit=4).messages] == [1, 3, 5, 6]
    assert [said.text for said in left(own, limit=2, max_chars=6).messages] == ["questi", "questi"]
    assert store_summary(**own, summary="So far.", since=left(own), read=3)
    assert (summarised(own), count_summarised(**own)) == (("So far.", 5), 4)
    assert [said.ordinal for said in left(own).messages] == [6, 7, 8, 9, 10, 11, 12]


@pytest.mark.parametrize("kept", [True, False])
def test_an_answer_that_is_being_written_is_not_told_of(own: Own, kept: bool) -> None:
    update_conversation(**own, changes={"stateless": not kept})
    accept_turn(**own, text="and now?", config={})
    assert [said.ordinal for said in left(own).messages][-1] == (13 if kept else 12)


def hide(own: Own, message_id: str) -> None:
    show_or_hide_message(**own, message_id=message_id, index=None, show_hide="hide")


def delete(own: Own, message_id: str) -> None:
    editing.delete_message(**own, message_id=message_id, index=None)


def edit(own: Own, message_id: str) -> None:
    editing.edit_message(**own, message_id=message_id, index=None, text="never mind")


def move(own: Own, message_id: str) -> None:
    editing.move_messages(**own, message_ids=[message_id], direction="up")


def repeat(own: Own, message_id: str) -> None:
    again = accept_again(**own, message_id=message_id, model_name="m")
    ending: dict[str, Any] = {"text": "otherwise", "status": "complete", "config": {}}
    finish_turn(**own, response_message_id=again.response_message_id, **ending)


CHANGES = [hide, delete, edit, move, repeat]


@pytest.mark.parametrize("change", CHANGES)
def test_a_summary_is_forgotten_with_what_it_tells_of(own: Own, change: Callable[[Own, str], None]) -> None:
    store_summary(**own, summary="So far.", since=left(own), read=5)
    change(own, id_at(own, 10))
    assert summarised(own) == ("So far.", 6)
    change(own, id_at(own, 6))
    assert summarised(own) == ("", 0)


@pytest.mark.parametrize("change", CHANGES)
def test_a_summary_made_of_what_changed_meanwhile_is_not_stored(own: Own, change: Callable[[Own, str], None]) -> None:
    since = left(own)
    change(own, id_at(own, 6))
    assert not store_summary(**own, summary="So far.", since=since, read=5)
    assert summarised(own) == ("", 0)


def test_what_comes_back_and_what_was_chosen_anew_is_told_of_anew(own: Own) -> None:
    gone = id_at(own, 1)
    delete(own, gone)
    store_summary(**own, summary="So far.", since=left(own), read=3)
    editing.restore_message(**own, message_id=gone)
    assert summarised(own) == ("", 0)
    repeat(own, id_at(own, 4))
    store_summary(**own, summary="So far.", since=left(own), read=3)
    variants.choose_variant(database=own["database"], user_email=ANN, message_id=id_at(own, 4), number=1)
    assert summarised(own) == ("", 0)


def test_only_one_of_two_summaries_of_the_same_messages_is_stored(own: Own) -> None:
    since = left(own)
    assert store_summary(**own, summary="First.", since=since, read=5)
    assert not store_summary(**own, summary="Second.", since=since, read=7)
    assert summarised(own) == ("First.", 6)


def test_a_copy_knows_the_place_up_to_which_its_summary_tells(own: Own) -> None:
    store_summary(**own, summary="So far.", since=left(own), read=5)
    copy = clone_conversation(**own)
    # Its messages are numbered anew: the one of ordinal 2 is missing.
    assert (copy.running_summary, copy.summarised_ordinal) == ("So far.", 5)
    same = fork_conversation(**own, message_id=id_at(own, 6))
    assert (same.running_summary, same.summarised_ordinal) == ("So far.", 5)
    earlier = fork_conversation(**own, message_id=id_at(own, 5))
    assert (earlier.running_summary, earlier.summarised_ordinal) == ("", 0)
