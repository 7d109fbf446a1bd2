"""Turns with more than one answer."""

from __future__ import annotations

from typing import Any

import pytest

from database.connection import open_store
from database.conversations.repository import create_conversation
from database.engine.errors import ConflictError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.history import reading
from database.maintenance.verification import verify_store
from database.turns.answers import add_answer
from database.turns.events import append_events, numbered
from database.turns.identity import AcceptedTurn
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import accept_turn, finish_turn

ANN = "ann@example.org"


@pytest.fixture
def own(users_dir: str) -> dict[str, Any]:
    """Where ann's conversation is."""
    database = open_store(users_dir)
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


def finish(own: dict[str, Any], message_id: str, text: str) -> None:
    answer = {"response_message_id": message_id, "text": text, "status": "complete"}
    finish_turn(**own, **answer, config={"model": text}, title="Talk")


@pytest.fixture
def asked(own: dict[str, Any]) -> AcceptedTurn:
    """A question with one answer."""
    turn = accept_turn(**own, text="Who is there?", config={})
    finish(own, turn.response_message_id, "one")
    return turn


def test_a_question_gets_any_number_of_answers(own: dict[str, Any], asked: AcceptedTurn) -> None:
    for number, text in enumerate(("two", "three"), 3):
        added = add_answer(**own, question_id=asked.user_message_id, model_name=text)
        assert (added.response_message_index, added.status, added.user_message_id) == (
            number,
            "streaming",
            asked.user_message_id,
        )
        with pytest.raises(TurnInProgressError):
            accept_turn(**own, text="Meanwhile", config={})
        finish(own, added.response_message_id, text)
    rows = reading.list_messages(**own)
    assert [row.text for row in rows] == ["Who is there?", "one", "two", "three"]
    assert {row.in_answer_to for row in rows[1:]} == {asked.user_message_id}
    assert len({row.message_short_hash for row in rows}) == 4
    assert list(verify_store(database=own["database"])) == []


def test_a_crash_closes_a_further_answer_with_what_it_had_said(own: dict[str, Any], asked: AcceptedTurn) -> None:
    added = add_answer(**own, question_id=asked.user_message_id)
    rows = [(added.response_message_id, seq, event) for seq, event in numbered([{"text": "tw"}], after=0)]
    own["database"].write(lambda connection: append_events(connection, rows))
    close_interrupted_turns(database=own["database"])
    assert [(row.text, row.status) for row in reading.list_messages(**own)[1:]] == [
        ("one", "complete"),
        ("tw", "interrupted"),
    ]
    assert list(verify_store(database=own["database"])) == []


def test_only_the_question_of_the_last_turn_gets_further_answers(own: dict[str, Any], asked: AcceptedTurn) -> None:
    with pytest.raises(InvalidChangeError):
        add_answer(**own, question_id=asked.response_message_id)
    with pytest.raises(MessageNotFoundError):
        add_answer(**own, question_id="nothing")
    later = accept_turn(**own, text="And now?", config={})
    finish(own, later.response_message_id, "later")
    with pytest.raises(ConflictError):
        add_answer(**own, question_id=asked.user_message_id)
    assert len(reading.list_messages(**own)) == 4
