"""Variants of answers in the store: begun, ended, broken off, chosen, edited, copied, found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from sqlalchemy import update

from database.conversations.repository import create_conversation, get_conversation
from database.engine.database import Database
from database.engine.errors import (
    ConversationNotFoundError,
    InvalidChangeError,
    MessageNotFoundError,
    TurnInProgressError,
    VariantNotFoundError,
)
from database.history import editing, reading
from database.messages.message import MessageRow
from database.schema import messages as message_table
from database.search.indexing import index_pending
from database.sharing.copying import clone_conversation
from database.turns.events import append_events, numbered, purge_events, read_events
from database.turns.identity import FinishedTurn, RepeatedTurn
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import finish_turn
from database.turns.variants import accept_again, choose_variant
from search.messages import search_conversation
from tests.stores import restarted

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
Own = dict[str, str]


@pytest.fixture
def own(database: Database) -> Own:
    """Where ann's conversation is."""
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture
def answer(own: Own, take_turn: Callable[..., FinishedTurn]) -> MessageRow:
    """The first of two answers."""
    for number in (1, 2):
        take_turn(ANN, own["conversation_id"], text=f"question {number}", answer=f"old words {number}")
    return reading.list_messages(**own)[1]


def begin(own: Own, answer: MessageRow) -> RepeatedTurn:
    return accept_again(**own, message_id=answer.message_id, model_name="second")


def end(own: Own, answer: MessageRow, text: str, status: str = "complete") -> FinishedTurn:
    finishing = {"text": text, "status": status, "config": {"model": "second"}}
    return finish_turn(**own, response_message_id=answer.message_id, **finishing)


def choose(own: Own, answer: MessageRow, number: int) -> None:
    who = {name: own[name] for name in ("database", "user_email")}
    choose_variant(**who, message_id=answer.message_id, number=number)


def now(own: Own, answer: MessageRow) -> MessageRow:
    found = reading.message_by_id(**own, message_id=answer.message_id)
    assert found is not None
    return found


def shown(row: MessageRow) -> list[tuple[int, str, Any, bool]]:
    return [(each["number"], each["status"], each["model"], each["chosen"]) for each in row.variants]


def hits(own: Own, words: str) -> list[str]:
    return [row.message_id for row in search_conversation(**own, q=words)]


def test_an_attempt_is_announced_while_the_answer_keeps_its_words(own: Own, answer: MessageRow) -> None:
    turn = begin(own, answer)
    assert (turn.text, turn.user_message_index, turn.response_message_id) == ("question 1", 1, answer.message_id)
    running = now(own, answer)
    assert (running.text, running.status) == ("old words 1", "streaming")
    assert shown(running) == [(1, "complete", None, True), (2, "streaming", "second", False)]
    assert get_conversation(**own).running_message_id == answer.message_id
    with pytest.raises(TurnInProgressError):
        begin(own, answer)
    with pytest.raises(TurnInProgressError):
        choose(own, answer, 1)


def test_an_attempt_that_ends_well_is_chosen_and_keeps_every_identifier(own: Own, answer: MessageRow) -> None:
    begin(own, answer)
    finished = end(own, answer, "new words")
    after = now(own, answer)
    assert (after.text, after.status, after.config) == ("new words", "complete", {"model": "second"})
    assert shown(after) == [(1, "complete", None, False), (2, "complete", "second", True)]
    assert finished.response_message_short_hash == after.message_short_hash == answer.message_short_hash
    assert (after.index, after.created_at) == (2, answer.created_at)
    assert get_conversation(**own).running_message_id is None
    assert end(own, answer, "said twice") == finished
    assert now(own, answer) == after


@pytest.mark.parametrize(("text", "status"), [("", "complete"), ("half", "failed"), ("", "cancelled")])
def test_an_attempt_that_came_to_nothing_is_kept_but_not_chosen(
    text: str, status: str, own: Own, answer: MessageRow
) -> None:
    begin(own, answer)
    end(own, answer, text, status)
    after = now(own, answer)
    assert (after.text, after.status, after.config) == (answer.text, "complete", answer.config)
    assert shown(after) == [(1, "complete", None, True), (2, status, "second", False)]


@pytest.mark.parametrize("indexed", [False, True])
def test_a_search_finds_the_words_that_are_chosen(indexed: bool, own: Own, answer: MessageRow) -> None:
    if indexed:
        index_pending(database=own["database"])
    begin(own, answer)
    assert hits(own, "old words 1") == [answer.message_id]
    index_pending(database=own["database"])
    end(own, answer, "new speech")
    assert (hits(own, "old words 1"), hits(own, "new speech")) == ([], [answer.message_id])
    index_pending(database=own["database"])
    choose(own, answer, 1)
    assert (hits(own, "old words 1"), hits(own, "new speech")) == ([answer.message_id], [])


def test_an_edit_stays_with_the_variant_that_was_edited(own: Own, answer: MessageRow) -> None:
    begin(own, answer)
    end(own, answer, "new words")
    editing.edit_message(**own, message_id=answer.message_id, index=2, text="better words")
    choose(own, answer, 1)
    assert now(own, answer).text == "old words 1"
    choose(own, answer, 2)
    assert now(own, answer).text == "better words"
    with pytest.raises(VariantNotFoundError):
        choose(own, answer, 3)


def test_a_crash_keeps_the_answer_and_marks_the_attempt(own: Own, answer: MessageRow) -> None:
    begin(own, answer)
    told = [(answer.message_id, seq, event) for seq, event in numbered([{"text": "new "}, {"text": "wo"}], after=0)]
    own["database"].write(lambda connection: append_events(connection, told))
    own["database"] = restarted(own["database"])
    assert close_interrupted_turns(database=own["database"]) == 1
    after = now(own, answer)
    assert (after.text, after.status) == ("old words 1", "complete")
    assert shown(after) == [(1, "complete", None, True), (2, "interrupted", "second", False)]
    assert close_interrupted_turns(database=own["database"]) == 0
    who = {name: own[name] for name in ("database", "user_email")}
    read = read_events(**who, message_id=answer.message_id, after=2)
    assert read.complete
    assert b'"interrupted"' in read.events[0][1]
    choose(own, answer, 2)
    assert now(own, answer).text == "new wo"


def test_the_events_of_the_attempt_before_are_not_told_again(own: Own, answer: MessageRow) -> None:
    old = [(answer.message_id, seq, event) for seq, event in numbered([{"text": "old words 1"}], after=0)]
    own["database"].write(lambda connection: append_events(connection, old))
    begin(own, answer)
    who = {name: own[name] for name in ("database", "user_email")}
    read = read_events(**who, message_id=answer.message_id, after=0)
    assert (read.events, read.complete) == ([], False)


def test_events_of_an_attempt_are_kept_as_long_as_those_of_a_new_answer(own: Own, answer: MessageRow) -> None:
    store = own["database"]
    store.write(lambda connection: connection.execute(update(message_table).values(created_at="2020-01-01T00:00:00Z")))
    begin(own, now(own, answer))
    told = [(answer.message_id, seq, event) for seq, event in numbered([{"text": "new words"}], after=0)]
    store.write(lambda connection: append_events(connection, told))
    end(own, answer, "new words")
    assert purge_events(database=own["database"]) == 0
    assert purge_events(database=own["database"], older_than_hours=-1) == 1


def test_clones_have_every_variant_and_those_of_a_running_attempt(own: Own, answer: MessageRow) -> None:
    begin(own, answer)
    end(own, answer, "new words")
    begin(own, answer)
    told = [(answer.message_id, seq, event) for seq, event in numbered([{"text": "newest"}], after=0)]
    own["database"].write(lambda connection: append_events(connection, told))
    copy = own | {"conversation_id": clone_conversation(**own).conversation_id}
    theirs = reading.list_messages(**copy)[1]
    assert (theirs.text, theirs.status) == ("new words", "complete")
    assert [(number, status) for number, status, _, _ in shown(theirs)] == [
        (1, "complete"),
        (2, "complete"),
        (3, "interrupted"),
    ]
    choose(copy, theirs, 3)
    assert [now(copy, theirs).text, now(own, answer).text] == ["newest", "new words"]


def test_a_list_takes_one_statement_more_however_many_answers_have_variants(
    own: Own,
    answer: MessageRow,
    take_turn: Callable[..., FinishedTurn],
    statements: Callable[[], AbstractContextManager[list[str]]],
) -> None:
    counts = []
    for repeated in ([], [answer], reading.list_messages(**own)[1::2]):
        for each in repeated:
            begin(own, each)
            end(own, each, "new words")
        with statements() as seen:
            reading.list_messages(**own)
        counts.append(len(seen))
    assert counts == [2, 3, 3]


def test_an_answer_of_unknown_origin_is_given_to_the_last_question_before_it(own: Own, answer: MessageRow) -> None:
    forget = update(message_table).values(in_answer_to=None)
    own["database"].write(lambda connection: connection.execute(forget))
    assert begin(own, reading.list_messages(**own)[3]).text == "question 2"


def test_nothing_is_made_again_without_its_question_or_by_others(own: Own, answer: MessageRow) -> None:
    question = reading.list_messages(**own)[0]
    with pytest.raises(InvalidChangeError):
        begin(own, question)
    with pytest.raises(ConversationNotFoundError):
        begin(own | {"user_email": BEN}, answer)
    with pytest.raises(MessageNotFoundError):
        choose(own | {"user_email": BEN}, answer, 1)
    with pytest.raises(VariantNotFoundError):
        choose(own, answer, 1)
    editing.delete_message(**own, message_id=question.message_id, index=1)
    with pytest.raises(InvalidChangeError):
        begin(own, now(own, answer))
