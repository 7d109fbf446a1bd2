"""Running turns: watched from any point, by many, stopped at once, never shown before they are stored."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import orjson
import pytest
from sqlalchemy import update

from chat.exchange.errors import ShuttingDownError, TooManyTurnsError
from chat.processes.metrics import Metrics
from chat.turns import runner as runners
from chat.turns import streams
from chat.turns.accept import OWNER
from chat.turns.runner import TurnRunner
from chat.turns.streams import LiveStream
from database.engine.clock import iso_in
from database.engine.errors import (
    ConversationNotFoundError,
    MessageNotFoundError,
    StorageBusyError,
    StorageFailedError,
    StreamExpiredError,
    TurnInProgressError,
)
from database.schema import messages
from database.turns import turns
from database.turns.events import append_events
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.chat.conftest import (
    EMAIL,
    Talk,
    fid,
    joined,
    parsed,
    part,
    slowly,
    storing_held_back,
    wait_until,
    wait_until_shown,
)


def test_a_turn_goes_on_when_nobody_watches(talk: Talk, runner: TurnRunner) -> None:
    talk.models.main_model = slowly("one ", "two ", "three")
    conversation = talk.new()
    runner.start(conversation, talk.query("count"))
    wait_until(lambda: runner.running() == 0)
    answer = talk.again(conversation).get_message_list()[1]
    assert (answer["text"], answer["status"]) == ("one two three", "complete")


def test_events_are_numbered_from_one_without_gap_and_the_text_joined_is_the_text_stored(
    talk: Talk, runner: TurnRunner
) -> None:
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("hello"))
    events = parsed(stream.lines())
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "references" in events[0]
    assert joined(events) == talk.again(conversation).get_message_list()[1]["text"]


def test_no_watcher_sees_an_event_before_its_commit(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued: list[tuple[Any, Future[None]]] = []

    def hold_back(rows: Any, _writes: Any) -> asyncio.Future[None]:
        queued.append((rows, Future()))
        return asyncio.wrap_future(queued[-1][1])

    monkeypatch.setattr(runner, "_submit", hold_back)
    talk.models.main_model = slowly("one ", "two ")
    stream = runner.start(talk.new(), talk.query("count"))
    done = False
    while not done:
        wait_until(lambda: bool(queued))
        rows, committed = queued.pop()
        before_commit = stream.last_seq
        assert before_commit < min(seq for _, seq, _ in rows)
        talk.database.write(partial(append_events, rows=rows))
        assert stream.last_seq == before_commit
        committed.set_result(None)
        wait_until_shown(stream, max(seq for _, seq, _ in rows))
        done = any(orjson.loads(line).get("done") for _, _, line in rows)
    assert joined(parsed(stream.lines())) == "one two "


def test_two_watchers_who_join_at_any_point_see_the_rest_without_gap_or_repetition(
    talk: Talk, runner: TurnRunner
) -> None:
    talk.models.main_model = slowly(*[f"{n} " for n in range(20)])
    stream = runner.start(talk.new(), talk.query("count"))
    with ThreadPoolExecutor(3) as pool:
        whole = pool.submit(lambda: parsed(stream.lines()))
        wait_until(lambda: stream.last_seq > 5)
        watched = runner.watch(user_email=EMAIL, message_id=stream.message_id, after=3)
        rest = pool.submit(lambda: parsed(watched.lines(3)))
        assert rest.result() == whole.result()[3:]


def test_the_stored_events_are_the_events_that_were_live(talk: Talk, runner: TurnRunner) -> None:
    stream = runner.start(talk.new(), talk.query("hello"))
    live = parsed(stream.lines())
    wait_until(lambda: runner.running() == 0)
    again = runner.watch(user_email=EMAIL, message_id=stream.message_id, after=2)
    assert again is not stream
    assert parsed(again.lines(2)) == live[2:]


def test_stopping_keeps_what_was_said_and_frees_the_model_at_once(talk: Talk, runner: TurnRunner) -> None:
    talk.models.main_model = ScriptedChatModel.hanging("said ")
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("go on for ever"))
    wait_until(lambda: b'"text":"said "' in b"".join(stream._lines))
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    events = parsed(stream.lines())
    assert events[-1]["done"] is True
    assert talk.models.main_model.closed_streams == 1
    answer = talk.again(conversation).get_message_list()[1]
    assert (answer["text"], answer["status"]) == ("said ", "cancelled")
    assert not runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)


def test_an_answer_without_end_goes_on_until_it_is_stopped_and_keeps_what_was_said(
    talk: Talk, runner: TurnRunner
) -> None:
    endless = Reply(delay=0.0001)
    endless.steps = itertools.repeat("word ")
    talk.models.main_model = ScriptedChatModel(replies=[endless, Reply("Fine.")])
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("never stop"))
    wait_until_shown(stream, 300)
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    events = parsed(stream.lines())
    assert events[-1]["done"] is True
    answer = talk.again(conversation).get_message_list()[1]
    assert (answer["text"], answer["status"]) == (joined(events), "cancelled")
    assert answer["text"] == "word " * answer["text"].count("word")
    assert talk.models.main_model.closed_streams == 1
    assert joined(parsed(runner.start(conversation, talk.query("and now?")).lines())) == "Fine."


def test_the_position_of_an_earlier_attempt_is_refused_while_the_answer_is_made_again(
    talk: Talk, runner: TurnRunner
) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("One ", Hold())])
    stream = runner.start(talk.new(), talk.query("count"))
    wait_until_shown(stream, 3)
    watch = partial(runner.watch, user_email=EMAIL, message_id=stream.message_id)
    assert watch(after=stream.last_seq) is stream
    with pytest.raises(StreamExpiredError):
        watch(after=stream.last_seq + 100)
    runner.cancel(user_email=EMAIL, conversation_id=stream.conversation_id)


def test_nobody_else_can_watch_or_stop_a_turn(talk: Talk, runner: TurnRunner) -> None:
    talk.models.main_model = slowly(*[f"{n} " for n in range(20)])
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("private"))
    with pytest.raises(MessageNotFoundError):
        runner.watch(user_email="eve@example.com", message_id=stream.message_id, after=0)
    with pytest.raises(ConversationNotFoundError):
        runner.cancel(user_email="eve@example.com", conversation_id=conversation.conversation_id)
    assert joined(parsed(stream.lines())).startswith("0 1 2")


def test_of_eight_sends_at_once_one_wins(talk: Talk, runner: TurnRunner) -> None:
    # The answer lasts until all have sent: otherwise a late sender would be right to begin a second turn.
    everybody_sent = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("a", everybody_sent, "b")])
    conversation = talk.new()
    barrier = threading.Barrier(8)

    def send(n: int) -> bool:
        barrier.wait()
        try:
            runner.start(conversation, talk.query(f"message {n}"))
        except TurnInProgressError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(8))) == 1
    everybody_sent.release()
    wait_until(lambda: runner.running() == 0)
    assert len(talk.again(conversation).get_message_list()) == 2


def test_draining_takes_no_new_turns_and_stores_the_running_ones_as_interrupted(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "_STOP_SECONDS", 60.0)
    talk.models.main_model = ScriptedChatModel.hanging("half ")
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("tell me"))
    wait_until(lambda: stream.last_seq >= 3)
    assert runner._loop is not None
    asyncio.run_coroutine_threadsafe(runner.drain(timeout=0.05), runner._loop).result(60)
    with pytest.raises(ShuttingDownError):
        runner.start(talk.new(), talk.query("too late"))
    answer = talk.again(conversation).get_message_list()[1]
    assert (answer["text"], answer["status"]) == ("half ", "interrupted")


def test_an_answer_that_cannot_be_stored_is_not_shown_and_the_watcher_is_told(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_rows: object, _writes: object) -> Any:
        raise StorageFailedError("The disk is full.")

    monkeypatch.setattr(runner, "_submit", full)
    stream = runner.start(talk.new(), talk.query("hello"))
    events = parsed(stream.lines())
    assert joined(events) == ""
    assert events[0]["error"] == {"code": "storage_failed", "message": "The disk is full."}
    assert events[1]["done"] is True


def test_the_model_is_asked_while_the_report_is_stored_and_nobody_is_told_of_it_before(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = talk.about("Deploying", ("How?", "With blue and green."))
    talk.models.main_model = ScriptedChatModel.saying("Hello.")
    let_go = storing_held_back(runner, monkeypatch)
    conversation = talk.new()
    stream = runner.start(conversation, talk.query(f"See @conversation_{fid(other)}_message_2 again"))
    wait_until(lambda: bool(talk.models.main_model.calls))
    assert "With blue and green." in talk.last_prompt
    assert stream.last_seq == 0
    assert talk.again(conversation).get_message_list()[0]["references"] == []
    let_go.set_result(None)
    told = parsed(stream.lines())
    assert [entry["status"] for entry in part(told, "references")] == ["resolved"]
    assert talk.again(conversation).get_message_list()[0]["references"] == part(told, "references")


def test_the_report_of_a_question_that_is_gone_stops_nobody(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = talk.about("Deploying", ("How?", "With blue and green."))

    conversation, submit, written = talk.new(), runner._submit, list[Any]()

    def once_it_is_gone(rows: Any, writes: Any) -> Any:
        asked = messages.c.conversation_id == conversation.conversation_id, messages.c.sender == "user"
        talk.store.write(lambda connection: connection.execute(update(messages).where(*asked).values(deleted_at="now")))
        written.extend(writes)
        return submit(rows, writes)

    monkeypatch.setattr(runner, "_submit", once_it_is_gone)
    told = parsed(runner.start(conversation, talk.query(f"See @conversation_{fid(other)}_message_2 again")).lines())
    assert len(written) == 1
    assert (joined(told), told[-1]["answer_status"]) == ("Fine, thank you.", "complete")


def test_a_conversation_whose_turn_could_not_be_stored_goes_on_when_the_store_does(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Any:
        raise StorageFailedError("The disk is full.")

    monkeypatch.setattr("chat.turns.runner._SALVAGE_EVERY", 0.01)
    conversation = talk.new()
    with monkeypatch.context() as broken:
        broken.setattr("chat.turns.runner.append_events", full)
        broken.setattr("chat.turns.history.turns.finish_turn", full)
        broken.setattr("chat.turns.runner.close_interrupted_turns", full)
        assert parsed(runner.start(conversation, talk.query("hello")).lines())[-1]["done"] is True
        wait_until(lambda: runner.running() == 0)
        with pytest.raises(TurnInProgressError):
            runner.start(conversation, talk.query("again"))
    wait_until(lambda: talk.again(conversation).get_message_list()[1]["status"] == "interrupted")
    stream = runner.start(talk.again(conversation), talk.query("again"))
    assert joined(parsed(stream.lines())) == "Fine, thank you."


def test_a_turn_that_is_stopped_before_its_first_step_ends_and_frees_its_conversation(
    talk: Talk, runner: TurnRunner
) -> None:
    conversation = talk.new()
    runner.attach(runner._running_loop())

    async def start_and_stop() -> LiveStream:
        started = runner.start(conversation, talk.query("never mind"))
        assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
        return started

    assert runner._loop is not None
    stream = asyncio.run_coroutine_threadsafe(start_and_stop(), runner._loop).result(60)
    assert parsed(stream.lines())[-1]["done"] is True
    assert talk.again(conversation).get_message_list()[1]["status"] == "cancelled"
    assert joined(parsed(runner.start(conversation, talk.query("go on")).lines())) == "Fine, thank you."


def failing(function: Callable[..., Any], *, with_error: Exception, calls: int) -> Callable[..., Any]:
    """`function`, but the first `calls` calls raise."""
    left = iter(range(calls))

    def sometimes(*args: Any, **kwargs: Any) -> Any:
        if next(left, None) is not None:
            raise with_error
        return function(*args, **kwargs)

    return sometimes


def test_while_another_program_holds_the_store_answers_wait_and_lose_nothing(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = StorageBusyError("The database is busy.")
    talk.models.main_model = slowly("one ", "two ", "three")
    monkeypatch.setattr(runner, "_submit", failing(runner._submit, with_error=busy, calls=20))
    finish = failing(turns.finish_turn, with_error=busy, calls=2)
    monkeypatch.setattr("chat.turns.history.turns.finish_turn", finish)
    conversation = talk.new()
    events = parsed(runner.start(conversation, talk.query("count")).lines())
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    stored = talk.again(conversation).get_message_list()[1]
    assert (joined(events), stored["text"], stored["status"]) == ("one two three", "one two three", "complete")


def test_after_a_failure_of_the_store_the_stored_events_have_no_gap_and_spell_the_stored_text(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_way = Hold()
    numbers = [f"{n} " for n in range(20)]
    talk.models.main_model = ScriptedChatModel(replies=[Reply(*numbers[:10], half_way, *numbers[10:])])
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("count"))
    wait_until(lambda: b'"text":"0 ' in b"".join(stream._lines))
    full = StorageFailedError("The disk is full.")
    monkeypatch.setattr("chat.turns.runner.append_events", failing(append_events, with_error=full, calls=1))
    half_way.release()
    seen = parsed(stream.lines())
    assert [event["error"]["code"] for event in seen if "error" in event] == ["storage_failed"]
    assert seen[-1]["done"] is True
    wait_until(lambda: runner.running() == 0)
    events = parsed(runner.watch(user_email=EMAIL, message_id=stream.message_id, after=0).lines(0))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[: len(seen) - 2] == seen[:-2]
    stored = talk.again(conversation).get_message_list()[1]
    assert joined(events) == stored["text"]
    assert stored["status"] == "interrupted"


def test_a_commit_that_fails_behind_the_models_last_word_makes_no_complete_answer_of_what_was_told_to_have_failed(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.models.main_model = ScriptedChatModel.saying("All ", "of it")
    held = Future[None]()
    monkeypatch.setattr(runner, "_submit", lambda _rows, _writes: asyncio.wrap_future(held))
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("hello"))
    wait_until(lambda: bool(talk.models.cheap_model.calls))  # the title is made when the answer has ended
    held.set_exception(StorageFailedError("The disk is full."))
    told = parsed(stream.lines())
    assert [event["error"]["code"] for event in told if "error" in event] == ["storage_failed"]
    assert (told[-1]["done"], told[-1]["answer_status"]) == (True, "interrupted")
    wait_until(lambda: runner.running() == 0)
    assert talk.again(conversation).get_message_list()[1]["status"] == "interrupted"


@pytest.mark.parametrize("number", range(8))
def test_whichever_commit_fails_what_is_told_is_what_is_stored(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    talk.models.main_model = slowly("one ", "two ", "three")
    count, append = itertools.count(), append_events

    def sometimes(connection: Any, rows: Any, writes: Any, **by: Any) -> None:
        if next(count) == number:
            raise StorageFailedError("The disk is full.")
        append(connection, rows, writes, **by)

    monkeypatch.setattr("chat.turns.runner.append_events", sometimes)
    conversation = talk.new()
    told = parsed(runner.start(conversation, talk.query("count")).lines())
    wait_until(lambda: runner.running() == 0)
    stored = talk.again(conversation).get_message_list()[1]
    assert told[-1]["answer_status"] == stored["status"]
    assert stored["text"].startswith(joined(told))
    replayed = parsed(runner.watch(user_email=EMAIL, message_id=stored["message_id"], after=0).lines(0))
    assert (joined(replayed), replayed[-1]["answer_status"]) == (stored["text"], stored["status"])


def test_closing_events_that_cannot_be_stored_are_told_since_the_answer_is(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = runner._submit

    def all_but_the_end(rows: Any, writes: Any) -> Any:
        if any(b'"done"' in event for _, _, event in rows):
            raise StorageFailedError("The disk is full.")
        return submit(rows, writes)

    monkeypatch.setattr(runner, "_submit", all_but_the_end)
    conversation = talk.new()
    told = parsed(runner.start(conversation, talk.query("hello")).lines())
    assert not any("error" in event for event in told)
    assert told[-1]["answer_status"] == talk.again(conversation).get_message_list()[1]["status"] == "complete"


def test_a_silent_stream_sends_heartbeats_that_repeat_the_last_number(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    silence = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("a", silence, "b")])
    events = []
    for chunk in runner.start(talk.new(), talk.query("slow")).lines():
        events += parsed(iter([chunk]))
        if events[-1].get("heartbeat"):
            silence.release()
    beats = [event for event in events if event.get("heartbeat")]
    assert beats
    real = [event["seq"] for event in events if not event.get("heartbeat")]
    assert real == list(range(1, len(real) + 1))


def test_watchers_on_the_loop_see_the_same_as_watchers_in_threads(talk: Talk, runner: TurnRunner) -> None:
    talk.models.main_model = slowly("one ", "two ", "three")
    stream = runner.start(talk.new(), talk.query("count"))

    async def watch() -> list[bytes]:
        return [chunk async for chunk in stream.tail(1)]

    assert runner._loop is not None
    tailed = asyncio.run_coroutine_threadsafe(watch(), runner._loop)
    assert parsed(iter(tailed.result(60))) == parsed(stream.lines(1))


@pytest.mark.parametrize("said", range(4))
def test_stopping_after_any_piece_keeps_the_pieces_before_it(talk: Talk, runner: TurnRunner, said: int) -> None:
    pieces, here = ["a", "b", "c"], Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply(*pieces[:said], here, *pieces[said:])])
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("go"))
    assert here.wait_until_reached()
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    events = parsed(stream.lines())
    assert events[-1]["done"] is True
    assert talk.models.main_model.closed_streams == 1
    stored = talk.again(conversation).get_message_list()[1]
    assert (stored["status"], stored["text"], joined(events)) == ("cancelled", "".join(pieces[:said]), stored["text"])


def test_a_person_has_only_so_many_answers_written_at_once(talk: Talk, runner: TurnRunner) -> None:
    hold = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Well", hold)])
    runner._limits._most = 2
    first, second = (runner.start(talk.new(), talk.query("Hello")) for _ in range(2))
    refused = talk.new()
    with pytest.raises(TooManyTurnsError, match=r"^2 of your messages are .* or stop one\. Then send this again"):
        runner.start(refused, talk.query("Hello"))
    assert talk.again(refused).get_message_list() == []
    other = runner.start(talk.new(email="ben@example.com"), talk.query("Hello", email="ben@example.com"))
    hold.release()
    for stream in (first, second, other):
        assert list(stream.lines())
    third = runner.start(refused, talk.query("Hello"))
    assert list(third.lines())


def test_a_running_turn_keeps_its_lease_and_other_processes_leave_it_alone(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "RENEW_SECONDS", 0.01)
    renewals: list[str] = []
    renew = runners.renew_leases

    def counted(connection: Any, *, owner: str) -> None:
        renew(connection, owner=owner)
        renewals.append(owner)

    monkeypatch.setattr(runners, "renew_leases", counted)
    hold = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("said ", hold, "more")])
    conversation = talk.new()
    stream = runner.start(conversation, talk.query("go on"))
    wait_until(lambda: len(renewals) > 1)
    other = TurnRunner(database=talk.database, metrics=Metrics())
    assert other.close_abandoned() == 0
    hold.release()
    assert parsed(stream.lines())[-1]["answer_status"] == "complete"
    wait_until(lambda: not runner._renewing)
    assert set(renewals) == {runner.owner}


def test_a_turn_of_a_process_that_is_gone_is_closed_with_what_was_said(talk: Talk, runner: TurnRunner) -> None:
    conversation = talk.new()
    gone = TurnRunner(database=talk.database, metrics=Metrics())
    accepted = conversation.reply({**talk.query("hello"), OWNER: gone.owner})
    accepted.run_by_server(lambda: asyncio.sleep(0, result=True))
    assert runner.close_abandoned() == 0
    ended = update(messages).values(lease_until=iso_in(seconds=-1))
    talk.database.write(lambda connection: connection.execute(ended).rowcount)
    assert runner.close_abandoned() == 1
    assert talk.again(conversation).get_message_list()[1]["status"] == "interrupted"
