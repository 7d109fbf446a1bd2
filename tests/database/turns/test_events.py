"""Watching an answer can go on anywhere: live, after the end, after a crash, after its events were purged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from sqlalchemy import delete, update
from sqlalchemy.exc import IntegrityError

from database.conversations.repository import create_conversation, delete_conversation
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError, StreamExpiredError
from database.history.editing import delete_message, edit_message
from database.schema import messages, stream_events
from database.turns.events import StreamRead, append_events, joined_text, numbered, purge_events, read_events
from database.turns.identity import AcceptedTurn
from database.turns.turns import accept_turn, finish_turn

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}


@pytest.fixture
def turn(own: dict[str, str]) -> AcceptedTurn:
    return accept_turn(**own, text="Hello", config={})


def append(own: dict[str, str], message_id: str, *contents: dict[str, Any], after: int = 0) -> None:
    rows = [(message_id, seq, event) for seq, event in numbered(contents, after=after)]
    own["database"].write(lambda connection: append_events(connection, rows))


def finish(
    own: dict[str, str],
    turn: AcceptedTurn,
    text: str,
    status: str = "complete",
    config: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    return finish_turn(
        **own, response_message_id=turn.response_message_id, text=text, status=status, config=config, title="Greeting"
    ).message_ids()


def watch(own: dict[str, str], turn: AcceptedTurn, after: int = 0, user_email: str = ANN) -> StreamRead:
    return read_events(
        database=own["database"], user_email=user_email, message_id=turn.response_message_id, after=after
    )


def contents(read: StreamRead) -> list[dict[str, Any]]:
    return [orjson.loads(event) for _, event in read.events]


def rebuilt(text: str, ids: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of an answer of which only the message itself is left."""
    end = {"done": True, "answer_status": "complete"}
    parts: list[dict[str, Any]] = [{"references": []}, {"text": text}, {"message_ids": ids}, end]
    return [orjson.loads(event) for _, event in numbered(parts, after=0)]


def age(own: dict[str, str], *turns: AcceptedTurn) -> None:
    """Make answers a day older, and an hour."""
    ids = [turn.response_message_id for turn in turns]
    query = update(messages).where(messages.c.message_id.in_(ids)).values(created_at=iso_in(hours=-25))
    own["database"].write(lambda connection: connection.execute(query).close())


def forget_events(own: dict[str, str]) -> None:
    own["database"].write(lambda connection: connection.execute(delete(stream_events)).close())


def test_a_running_answer_gives_what_is_stored_beyond_a_point(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "One"}, {"text": " two"}, {"text": " three"})
    read = watch(own, turn, after=1)
    assert (read.status, read.complete) == ("streaming", False)
    assert [seq for seq, _ in read.events] == [2, 3]
    assert joined_text(read.events) == " two three"
    assert watch(own, turn, after=3).events == []


def test_every_event_has_seq_text_and_status(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"status": "Thinking"}, {"done": True})
    assert contents(watch(own, turn)) == [
        {"seq": 1, "text": "", "status": "Thinking"},
        {"seq": 2, "text": "", "status": "", "done": True},
    ]


def test_no_event_is_stored_twice(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "One"})
    with pytest.raises(IntegrityError):
        append(own, turn.response_message_id, {"text": "Other"})
    assert joined_text(watch(own, turn).events) == "One"


def test_a_finished_answer_is_given_as_it_was_streamed(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi"}, {"message_ids": {}}, {"done": True})
    finish(own, turn, "Hi")
    read = watch(own, turn)
    assert read.complete
    assert len(read.events) == 3
    assert watch(own, turn, after=2).events == read.events[2:]
    assert watch(own, turn, after=3).events == []


def test_closing_events_that_a_crash_took_are_made_again_the_same(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi "}, {"text": "there"})
    ids = finish(own, turn, "Hi there")

    whole = watch(own, turn)
    assert contents(whole)[2:] == [
        {"seq": 3, "text": "", "status": "", "message_ids": ids},
        {"seq": 4, "text": "", "status": "", "done": True, "answer_status": "complete"},
    ]
    assert watch(own, turn, after=2).events == whole.events[2:]
    assert watch(own, turn, after=3).events == whole.events[3:]
    assert watch(own, turn, after=4).events == []


def test_text_that_was_stored_but_not_streamed_is_made_up_for(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi "})
    finish(own, turn, "Hi there", status="interrupted")
    read = watch(own, turn)
    assert joined_text(read.events) == "Hi there"
    assert contents(read)[2]["error"]["code"] == "interrupted"


def test_an_edit_afterwards_is_no_missing_text(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi"})
    finish(own, turn, "Hi")
    edit_message(**own, message_id=turn.response_message_id, index=2, text="Hi there")
    assert joined_text(watch(own, turn).events) == "Hi"


def test_a_purged_answer_is_given_whole_from_the_beginning_only(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi "}, {"text": "there"}, {"done": True})
    ids = finish(own, turn, "Hi there")
    forget_events(own)
    assert contents(watch(own, turn)) == rebuilt("Hi there", ids)
    age(own, turn)
    assert contents(watch(own, turn)) == rebuilt("Hi there", ids)
    with pytest.raises(StreamExpiredError):
        watch(own, turn, after=1)


def test_events_after_one_that_never_was_belong_to_an_earlier_attempt(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi "}, {"text": "there"}, {"done": True})
    finish(own, turn, "Hi there")
    assert watch(own, turn, after=3).events == []
    with pytest.raises(StreamExpiredError):
        watch(own, turn, after=4)
    forget_events(own)
    assert watch(own, turn, after=4).events == []
    with pytest.raises(StreamExpiredError):
        watch(own, turn, after=5)


def test_an_answer_whose_events_a_crash_took_altogether_is_watched_on_from_any_point(
    own: dict[str, str], turn: AcceptedTurn
) -> None:
    ids = finish(own, turn, "Hi there")
    for after in range(5):
        assert contents(watch(own, turn, after=after)) == rebuilt("Hi there", ids)[after:]


def test_the_error_of_a_failed_answer_is_told_again_when_a_crash_took_the_event(
    own: dict[str, str], turn: AcceptedTurn
) -> None:
    error = {"code": "model_unavailable", "message": "There is no model."}
    append(own, turn.response_message_id, {"text": "Hi"})
    finish(own, turn, "Hi", status="failed", config={"error": error})
    assert [event["error"] for event in contents(watch(own, turn)) if "error" in event] == [error]


def test_purging_forgets_old_finished_answers_alone(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Old"}, {"done": True})
    finish(own, turn, "Old")
    young = accept_turn(**own, text="And?", config={})
    append(own, young.response_message_id, {"text": "New"}, {"done": True})
    finish(own, young, "New")
    running = accept_turn(**own, text="And?", config={})
    append(own, running.response_message_id, {"text": "Now"})
    age(own, turn, running)

    assert purge_events(database=own["database"]) == 1
    assert purge_events(database=own["database"]) == 0
    with pytest.raises(StreamExpiredError):
        watch(own, turn, after=1)
    assert len(watch(own, young, after=1).events) == 1
    assert joined_text(watch(own, running).events) == "Now"


def test_foreign_missing_binned_and_deleted_answers_are_not_found(own: dict[str, str], turn: AcceptedTurn) -> None:
    append(own, turn.response_message_id, {"text": "Hi"}, {"done": True})
    finish(own, turn, "Hi")
    who = {"database": own["database"], "user_email": ANN, "after": 0}
    with pytest.raises(MessageNotFoundError) as foreign:
        watch(own, turn, user_email=BOB)
    with pytest.raises(MessageNotFoundError) as missing:
        read_events(**who, message_id="nothing")  # type: ignore[arg-type]
    assert str(foreign.value) == str(missing.value)
    with pytest.raises(MessageNotFoundError):
        read_events(**who, message_id=turn.user_message_id)  # type: ignore[arg-type]
    delete_conversation(**own)
    with pytest.raises(MessageNotFoundError):
        watch(own, turn)


def test_a_deleted_answer_is_not_watched(own: dict[str, str], turn: AcceptedTurn) -> None:
    finish(own, turn, "Hi")
    delete_message(**own, message_id=turn.response_message_id, index=2)
    with pytest.raises(MessageNotFoundError):
        watch(own, turn)
