"""A turn is accepted and finished in one transaction each, costs the same in any conversation, and is never lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, delete, insert, select, update

from conversation_reference_utils import unique_message_short_hash
from database.conversations.repository import (
    create_conversation,
    delete_conversation,
    get_conversation,
    restore_conversation,
    set_friendly_id,
    update_conversation,
)
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import (
    ConversationNotFoundError,
    MessageNotFoundError,
    StorageFailedError,
    TurnInProgressError,
)
from database.history.reading import list_messages, message_by_id
from database.schema import activities, conversations, messages
from database.turns.events import append_events, numbered, read_events
from database.turns.leases import running_turns
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import accept_turn, finish_turn

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    return {"database": database, "user_email": ANN, "conversation_id": new_conversation(database)}


def new_conversation(database: Database) -> str:
    return create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id


def accept(own: dict[str, str], text: str = "Hello", **more: Any) -> Any:
    return accept_turn(**own, text=text, config={}, **more)


def finish(own: dict[str, str], message_id: str, **more: Any) -> Any:
    told = {"text": "Hi there", "status": "complete", "config": {}, "title": "Greeting"} | more
    return finish_turn(**own, response_message_id=message_id, **told)


class _TooManyError(Exception):
    """There is no room for another turn."""


def room_for(most: int, connection: Connection) -> Callable[[], None]:
    """An `Admission`: so many turns of Ann may run."""
    running = running_turns(connection, user_email=ANN, most=most)

    def refuse_beyond() -> None:
        if running() >= most:
            raise _TooManyError

    return refuse_beyond


@pytest.mark.parametrize("most", [1, 3, 8])
def test_turns_that_are_accepted_in_one_transaction_count_for_the_limit(database: Database, most: int) -> None:
    rooms = [{"database": database, "user_email": ANN, "conversation_id": new_conversation(database)} for _ in range(6)]
    begun, gate = threading.Event(), threading.Event()
    blocking = database.submit(lambda _: (begun.set(), gate.wait(60))[1])
    assert begun.wait(60)
    with ThreadPoolExecutor(len(rooms)) as pool:
        sent = [pool.submit(accept, room, admit=partial(room_for, most)) for room in rooms]
        while database._submitted < len(rooms) + 1:
            time.sleep(0.001)
        gate.set()
        assert blocking.result(60)
        refused = [isinstance(each.exception(60), _TooManyError) for each in sent]
    assert refused.count(False) == min(most, len(rooms))


def fill(own: dict[str, str], count: int) -> None:
    """Put `count` finished messages into an empty conversation, in bulk."""
    base = {"user_email": own["user_email"], "conversation_id": own["conversation_id"], "created_at": now_iso()}
    act = base | {"recipe": "general-discussion", "type": "chat_message", "actor_type": "user", "payload": {}}
    row = base | {"sender": "user", "text": "filler", "config": {}, "report": []}

    def job(connection: Any) -> None:
        connection.execute(
            insert(activities),
            [act | {"seq": 100 + n, "activity_id": f"a{n}", "short_id": f"s{n}"} for n in range(1, count + 1)],
        )
        connection.execute(
            insert(messages),
            [
                row | {"seq": 100 + n, "message_id": f"a{n}", "ordinal": n, "message_short_hash": f"x{n:05}"}
                for n in range(1, count + 1)
            ],
        )
        connection.execute(
            update(conversations)
            .where(conversations.c.conversation_id == own["conversation_id"])
            .values(message_count=count, last_ordinal=count)
        )

    own["database"].write(job)


def test_an_accepted_turn_stores_the_question_and_an_empty_answer(own: dict[str, str]) -> None:
    accepted = accept_turn(**own, text="What now?", config={"use_pkb": True}, model_name="scripted")

    question, answer = list_messages(**own)
    assert (question.text, question.status, question.sender, question.index) == ("What now?", "complete", "user", 1)
    assert question.config == {"use_pkb": True}
    assert (answer.text, answer.status, answer.sender, answer.index) == ("", "streaming", "model", 2)
    assert answer.in_answer_to == question.message_id == accepted.user_message_id
    assert (accepted.first_turn, accepted.user_message_short_hash, accepted.response_message_index) == (True, None, 2)
    assert get_conversation(**own).message_count == 2


def test_a_second_question_is_refused_while_an_answer_is_written(own: dict[str, str]) -> None:
    accept(own)
    with pytest.raises(TurnInProgressError):
        accept(own, "And another")
    assert len(list_messages(**own)) == 2


def test_the_first_turn_gives_title_friendly_id_and_both_hashes(own: dict[str, str]) -> None:
    accepted = accept(own)
    finished = finish(own, accepted.response_message_id, title="React performance")

    assert finished.title == "React performance"
    assert finished.conversation_friendly_id.startswith("react_performance_")
    listed = {row.message_id: row.message_short_hash for row in list_messages(**own)}
    told = finished.message_ids()
    assert listed[told["user_message_id"]] == told["user_message_short_hash"] is not None
    assert listed[told["response_message_id"]] == told["response_message_short_hash"] is not None


def test_later_questions_have_their_hash_from_acceptance_on(own: dict[str, str]) -> None:
    finish(own, accept(own).response_message_id)
    accepted = accept(own, "More")
    finished = finish(own, accepted.response_message_id, title="Ignored")
    assert accepted.user_message_short_hash == finished.user_message_short_hash is not None
    assert (accepted.first_turn, finished.title, finished.user_message_index) == (False, "Greeting", 3)


def test_a_title_set_by_hand_is_kept(own: dict[str, str]) -> None:
    accepted = accept(own)
    update_conversation(**own, changes={"title": "Mine", "title_force_set": True})
    finished = finish(own, accepted.response_message_id, title="The model's")
    assert finished.title == get_conversation(**own).title == "Mine"
    assert finished.conversation_friendly_id.startswith("mine_")


def test_finishing_twice_changes_nothing_and_answers_the_same(own: dict[str, str]) -> None:
    accepted = accept(own)
    first = finish(own, accepted.response_message_id)
    before = get_conversation(**own)
    assert finish(own, accepted.response_message_id, text="Other", status="failed", title="Other") == first
    assert get_conversation(**own) == before
    assert list_messages(**own)[1].text == "Hi there"


def test_yes_said_three_times_has_three_hashes_and_three_ids(own: dict[str, str]) -> None:
    turns = []
    for _ in range(3):
        accepted = accept(own, "yes")
        turns.append(finish(own, accepted.response_message_id, text="yes", title="Say yes"))
    rows = list_messages(**own)
    for name in ("message_short_hash", "message_id", "short_id"):
        assert len({getattr(row, name) for row in rows}) == 6
    assert [turn.user_message_short_hash for turn in turns] == [row.message_short_hash for row in rows[::2]]


def test_a_text_said_thirty_times_still_gets_a_hash_of_its_own(own: dict[str, str]) -> None:
    for _ in range(15):
        finish(own, accept(own, "yes").response_message_id, text="yes")
    assert len({row.message_short_hash for row in list_messages(**own)}) == 30


def test_no_hash_reads_as_an_index(own: dict[str, str]) -> None:
    set_friendly_id(**own, conversation_friendly_id="say_yes_aaaa")
    accepted = accept(own, "text 3825")  # whose plain hash under this friendly id is 649698
    assert accepted.user_message_short_hash is not None
    assert not accepted.user_message_short_hash.isdigit()


@pytest.mark.parametrize("known", [None, "say_yes_aaaa", "its_former_name_bbbb"])
def test_a_hash_is_that_of_the_friendly_id_that_is_stored_whatever_the_caller_knew(
    own: dict[str, str], known: str | None
) -> None:
    set_friendly_id(**own, conversation_friendly_id="say_yes_aaaa")
    hashes = []
    for _ in range(2):
        accepted = accept(own, "yes", friendly_id=known)
        hashes.append(accepted.user_message_short_hash)
        finish(own, accepted.response_message_id, text="yes")
    first = unique_message_short_hash("say_yes_aaaa", "yes", ())
    assert hashes[0] == first
    assert hashes[1] not in {None, first}


def test_a_turn_costs_as_many_statements_at_10_as_at_10000_messages(
    database: Database, statements: Callable[[], Any]
) -> None:
    counts = []
    for size in (10, 10_000):
        row = create_conversation(database=database, user_email=ANN, domain="assistant")
        own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
        if size == 10:
            for _ in range(5):
                finish(own, accept(own).response_message_id)
        else:
            fill(own, size)
            set_friendly_id(**own, conversation_friendly_id="long_one_aaaa")
        with statements() as accepting:
            accepted = accept(own, "A question never asked before")
        with statements() as finishing:
            finish(own, accepted.response_message_id, text="An answer never given before")
        assert accepted.user_message_index == size + 1
        counts.append((len(accepting), len(finishing)))
    assert counts[0] == counts[1]
    assert max(counts[0]) <= 10


def test_acceptance_that_fails_leaves_nothing(own: dict[str, str]) -> None:
    with pytest.raises(MessageNotFoundError):
        accept(own, reply_to="#ffffff")
    assert list_messages(**own) == []
    assert get_conversation(**own).message_count == 0


def test_another_users_conversation_is_as_missing(own: dict[str, str]) -> None:
    accepted = accept(own)
    foreign, missing = own | {"user_email": BOB}, own | {"conversation_id": "nobody_1"}
    for who in (foreign, missing):
        with pytest.raises(ConversationNotFoundError):
            accept(who)
        with pytest.raises(ConversationNotFoundError):
            finish(who, accepted.response_message_id)
    assert message_by_id(**own, message_id=accepted.response_message_id).status == "streaming"  # type: ignore[union-attr]


def test_only_an_answer_of_this_conversation_can_be_finished(own: dict[str, str]) -> None:
    accepted = accept(own)
    other = create_conversation(database=own["database"], user_email=ANN, domain="assistant").conversation_id
    with pytest.raises(MessageNotFoundError):
        finish(own | {"conversation_id": other}, accepted.response_message_id)
    with pytest.raises(MessageNotFoundError):
        finish(own, accepted.user_message_id)


def test_a_turn_ends_also_in_the_bin(own: dict[str, str]) -> None:
    accepted = accept(own)
    delete_conversation(**own)
    finish(own, accepted.response_message_id, status="cancelled", text="Half")
    restore_conversation(**own)
    assert [(row.status, row.text) for row in list_messages(**own)][1] == ("cancelled", "Half")


@pytest.mark.only_sqlite
def test_lone_surrogates_and_nul_can_be_said(own: dict[str, str]) -> None:
    accepted = accept(own, "a\ud800b\x00c \ud83d\ude00")
    finish(own, accepted.response_message_id, text="\udfff")
    assert [row.text for row in list_messages(**own)] == ["a\ufffdb\x00c 😀", "\ufffd"]


def test_every_change_is_a_new_version(own: dict[str, str]) -> None:
    start = get_conversation(**own).version
    accepted = accept(own)
    middle = get_conversation(**own).version
    finish(own, accepted.response_message_id)
    assert start < middle < get_conversation(**own).version


def stream(own: dict[str, str], message_id: str, *texts: str) -> None:
    rows = [(message_id, seq, event) for seq, event in numbered([{"text": text} for text in texts], after=0)]
    own["database"].write(lambda connection: append_events(connection, rows))


def test_an_interrupted_turn_is_closed_with_all_that_was_stored(own: dict[str, str]) -> None:
    accepted = accept(own, "How do I centre a box?")
    stream(own, accepted.response_message_id, "Use ", "grid")

    assert close_interrupted_turns(database=own["database"]) == 1

    question, answer = list_messages(**own)
    assert (answer.text, answer.status) == ("Use grid", "interrupted")
    assert None not in (question.message_short_hash, answer.message_short_hash)
    row = get_conversation(**own)
    assert (row.title, row.running_message_id) == ("centre a box", None)
    read = read_events(database=own["database"], user_email=ANN, message_id=answer.message_id, after=2)
    events = [orjson.loads(event) for _, event in read.events]
    assert [seq for seq, _ in read.events] == [3, 4, 5, 6]
    assert events[0]["error"]["code"] == "interrupted"
    assert events[1]["conversation"]["conversation_friendly_id"] == row.conversation_friendly_id
    assert events[2]["message_ids"]["response_message_short_hash"] == answer.message_short_hash
    assert (events[3]["done"], events[3]["answer_status"]) == (True, "interrupted")
    accept(own, "Go on")


def test_recovery_doubles_nothing(own: dict[str, str]) -> None:
    finish(own, accept(own).response_message_id)
    accepted = accept(own, "Again")
    stream(own, accepted.response_message_id, "So")
    who = {"database": own["database"], "user_email": ANN, "message_id": accepted.response_message_id}
    close_interrupted_turns(database=own["database"])
    once, rows = read_events(**who, after=0), list_messages(**own)

    assert close_interrupted_turns(database=own["database"]) == 0
    assert read_events(**who, after=0) == once
    assert list_messages(**own) == rows
    assert [seq for seq, _ in once.events] == [1, 2, 3, 4]


def test_a_turn_in_the_bin_is_recovered_too(own: dict[str, str]) -> None:
    accept(own)
    delete_conversation(**own)
    assert close_interrupted_turns(database=own["database"]) == 1
    with own["database"].reading() as connection:
        assert (
            connection.execute(select(messages.c.status).where(messages.c.sender == "model")).scalar() == "interrupted"
        )


DAMAGED_TURNS = {
    "a variant that is not there": "UPDATE messages SET chosen_variant = 7 WHERE message_id = '{}'",
    "settings that are no JSON": "UPDATE messages SET config = '{{' WHERE message_id = '{}'",
    "an event that is no JSON": "INSERT INTO stream_events (message_id, seq, event) VALUES ('{}', 1, x'ff')",
    "text that is no UTF-8": "UPDATE messages SET text = CAST(x'ff' AS TEXT), chosen_variant = 1 "
    "WHERE message_id = '{}'",
}


@pytest.mark.only_sqlite
@pytest.mark.parametrize("damage", DAMAGED_TURNS)
def test_a_damaged_turn_is_marked_and_keeps_neither_others_nor_its_conversation_waiting(
    own: dict[str, str], caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    damaged = accept(own, "Hello")
    other = {**own, "conversation_id": new_conversation(own["database"])}
    sound = accept(other, "And me?")
    stream(other, sound.response_message_id, "You")
    statement = DAMAGED_TURNS[damage].format(damaged.response_message_id)
    own["database"].write(lambda connection: connection.exec_driver_sql(statement).rowcount)

    assert close_interrupted_turns(database=own["database"]) == 2

    assert any(damaged.response_message_id in message for message in caplog.messages)
    assert list_messages(**other)[1].text == "You"
    assert close_interrupted_turns(database=own["database"]) == 0
    accept(own, "Go on")


def test_a_conversation_that_waits_for_an_answer_that_is_gone_goes_on(own: dict[str, str]) -> None:
    accepted = accept(own, "Hello")
    gone = delete(messages).where(messages.c.message_id == accepted.response_message_id)
    own["database"].write(lambda connection: connection.execute(gone).rowcount)
    close_interrupted_turns(database=own["database"])
    assert get_conversation(**own).running_message_id is None


def test_a_store_that_cannot_be_written_is_no_damaged_turn(
    own: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(own, "Hello")

    def full(*_job: object, **_urgency: object) -> None:
        raise StorageFailedError("The disk is full.")

    monkeypatch.setattr(Database, "write", full)
    with pytest.raises(StorageFailedError):
        close_interrupted_turns(database=own["database"])
    assert get_conversation(**own).running_message_id is not None
