"""Answers that are being written on a real server: left, watched by several, stopped, raced for, drained."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.fakes import Answer, RecordingModel, saying
from tests.http_client import Client, told
from tests.live_server import ROOT, LiveServer, free_port
from tests.load.crash import messages_of
from tests.load.invariants import broken_invariants
from tests.load.server_unhurried import PROGRAM
from tests.preloaded import start_preloaded
from tests.scaled import is_scaled

PIECES = tuple(f"piece {number}, " for number in range(20))
WHOLE = "".join(PIECES)


@pytest.fixture
def ada(live_server: LiveServer) -> Client:
    return live_server.sign_up()


@pytest.fixture
def unhurried(
    request: pytest.FixtureRequest, tmp_path: Path, recording_model: RecordingModel, joined_page: None
) -> Iterator[LiveServer]:
    """A server that, told to stop, leaves its responses far more time than it leaves their turns."""
    if is_scaled(request.config):
        yield request.getfixturevalue("live_server")
        return
    server = LiveServer(tmp_path / "server", recording_model.environ, program=PROGRAM, is_preloaded=True)
    yield server.start()
    server.stop()


def first_events(client: Client, conversation_id: str, count: int, text: str = "Go on") -> list[dict[str, Any]]:
    """The first events of an answer, whose sender then closes the tab."""
    with closing(client.send(conversation_id, text)) as events:
        return list(itertools.islice(told(events), count))


def heard(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events)


def answer_id(events: list[dict[str, Any]]) -> str:
    return next(event["message_ids"]["response_message_id"] for event in events if "message_ids" in event)


def whole_stream(client: Client, message_id: str, after: int = 0) -> list[dict[str, Any]]:
    return list(told(client.stream(f"/stream/{message_id}?after={after}")))


def test_an_answer_whose_tab_was_closed_completes_and_two_viewers_follow_it_from_where_they_like(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id = ada.create_conversation()
    seen = first_events(ada, conversation_id, 3)
    message_id = answer_id(seen)
    with ThreadPoolExecutor(2) as pool:
        viewers = [pool.submit(whole_stream, ada, message_id, after) for after in (1, 3)]
        recording_model.release()
        one, other = (viewer.result() for viewer in viewers)
    assert [event["seq"] for event in one] == list(range(2, len(one) + 2))
    assert one[2:] == other
    assert one[-1]["done"] is True
    stored = messages_of(ada, conversation_id)[1]
    assert heard(seen[:1] + one) == stored["text"] == WHOLE
    assert stored["status"] == "complete"
    live_server.kill()
    live_server.start()
    assert whole_stream(ada, message_id, 1) == one


def test_an_answer_nobody_watches_completes(ada: Client, recording_model: RecordingModel) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id = ada.create_conversation()
    message_id = answer_id(first_events(ada, conversation_id, 3))
    recording_model.release()
    recording_model.wait_until(lambda model: model.running == 0)
    assert whole_stream(ada, message_id)[-1]["done"] is True
    assert messages_of(ada, conversation_id)[1]["text"] == WHOLE
    assert recording_model.hung_up.total() == 0


def test_of_two_sends_at_once_into_one_conversation_one_is_taken_and_one_is_told(
    ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id, barrier = ada.create_conversation(), Barrier(2)

    def send(text: str) -> Any:
        barrier.wait()
        return ada.post(f"/send_message/{conversation_id}", {"messageText": text})

    with ThreadPoolExecutor(2) as pool:
        sends = [pool.submit(send, text) for text in ("one", "two")]
        # The answer pauses until the other one has been told: after its end it would be right to take both.
        [refused], [taken] = wait(sends, return_when=FIRST_COMPLETED)
        recording_model.release()
    assert (refused.result().status, refused.result().json()["code"]) == (409, "turn_in_progress")
    assert taken.result().status == 200
    assert len(messages_of(ada, conversation_id)) == 2


def test_fifty_sends_at_once_into_fifty_conversations_all_complete(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, delay=0.01)
    conversations, barrier = [ada.create_conversation() for _ in range(50)], Barrier(50)

    def send(conversation_id: str) -> list[dict[str, Any]]:
        barrier.wait()
        return list(ada.send(conversation_id, "Go on"))

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, conversations))
    assert {heard(events) for events in answers} == {WHOLE}
    assert all(events[-1]["done"] for events in answers)
    assert {messages_of(ada, each)[1]["status"] for each in conversations} == {"complete"}
    assert broken_invariants(live_server.store) == {}


def test_a_stopped_answer_keeps_what_was_said_and_hangs_up_on_the_model(
    ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id = ada.create_conversation()
    events = ada.send(conversation_id, "Go on")
    seen = list(itertools.takewhile(lambda event: "piece 4" not in event["text"], events))
    assert ada.post(f"/cancel_response/{conversation_id}").json()["cancelled"] is True
    recording_model.wait_until(lambda model: model.hung_up["main"] == 1)
    rest = list(events)
    assert rest[-1]["done"] is True
    assert not any("error" in event for event in seen + rest)
    stored = messages_of(ada, conversation_id)[1]
    assert (stored["text"], stored["status"]) == ("".join(PIECES[:5]), "cancelled")
    assert stored["message_short_hash"]
    assert ada.post(f"/cancel_response/{conversation_id}").json()["cancelled"] is False
    recording_model.release()
    assert heard(list(ada.send(conversation_id, "And again"))) == WHOLE


def test_stopping_at_any_moment_ends_the_answer_and_frees_the_conversation(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying("one ", "two ", delay=0.1)
    recording_model.scripts["cheap"] = saying("Some Title Of It", delay=0.05)
    statuses = set()
    for number in range(20):
        conversation_id = ada.create_conversation()
        stream = ada.send(conversation_id, "Go on")
        # From before the first event to the last one: while it is gathered, said, titled, stored.
        events = list(itertools.islice(stream, number % 5))
        ada.post(f"/cancel_response/{conversation_id}")
        events += stream
        assert events[-1].get("done"), f"the stream broke off: {events}"
        stored = messages_of(ada, conversation_id)[1]
        assert heard(events) == stored["text"]
        statuses.add(stored["status"])
    assert statuses <= {"complete", "cancelled"}
    assert "cancelled" in statuses
    assert broken_invariants(live_server.store) == {}


@pytest.mark.live
def test_a_server_told_to_stop_ends_every_stream_properly_and_keeps_what_was_said(
    unhurried: LiveServer, recording_model: RecordingModel
) -> None:
    ada = unhurried.sign_up()
    slow = Answer(deltas=PIECES, pause_after=5)
    recording_model.scripts["main"] = lambda request: (
        saying(*PIECES, delay=0.02) if "soon" in request["messages"][-1]["content"] else slow
    )
    conversations = [ada.create_conversation() for _ in range(6)]
    texts = ["soon over", "never over"] * 3
    with ThreadPoolExecutor(6) as pool:
        sent = [pool.submit(lambda c=c, t=t: list(ada.send(c, t))) for c, t in zip(conversations, texts, strict=True)]
        recording_model.wait_until(lambda model: len(model.requests_to("main")) == 6)
        code = unhurried.stop()
        answers = [list(told(each.result())) for each in sent]
    assert code in (0, -signal.SIGTERM)
    assert all(events[-1].get("done") for events in answers)
    assert [heard(events) for events in answers[::2]] == [WHOLE] * 3
    assert all(any("error" in event for event in events) for events in answers[1::2])
    assert "Traceback" not in unhurried.log()
    unhurried.start()
    for events, conversation_id, status in zip(answers, conversations, ["complete", "interrupted"] * 3, strict=True):
        stored = messages_of(ada, conversation_id)[1]
        assert (stored["text"], stored["status"]) == (heard(events), status)
        assert whole_stream(ada, stored["message_id"]) == events
    assert broken_invariants(unhurried.store) == {}


def test_a_stopping_server_takes_no_new_turns(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel
) -> None:
    held_back = saying(*PIECES, pause_after=5)
    recording_model.scripts["main"] = lambda request: (
        held_back if "hold" in request["messages"][-1]["content"] else saying("Quick")
    )
    held = ada.send(ada.create_conversation(), "hold the door")
    next(held)
    other = ada.create_conversation()
    assert live_server.process is not None
    live_server.process.send_signal(signal.SIGTERM)
    sent, refused = 0, ""
    while not refused:
        try:
            reply = ada.post(f"/send_message/{other}", {"messageText": f"number {sent}"})
        except ConnectionError:  # it listens no longer
            refused = "no connection"
        else:
            refused = "" if reply.status == 200 else reply.json()["code"]
        sent += not refused
    assert refused in {"no connection", "shutting_down"}
    recording_model.release()
    assert list(held)[-1]["done"] is True
    live_server.stop()
    live_server.start()
    said = [message["text"] for message in messages_of(ada, other) if message["sender"] == "user"]
    assert said == [f"number {number}" for number in range(sent)]


def test_a_second_server_on_the_same_data_refuses_to_start_and_says_why(live_server: LiveServer) -> None:
    environ = LiveServer(live_server.folder, port=free_port())._environ()
    ended = start_preloaded(ROOT / "server.py", folder=live_server.folder, environ=environ).ended()
    assert ended.returncode == 1
    assert "Another server is running on" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert live_server.client().get("/healthz").status == 200


def test_edits_moves_and_deletes_during_an_answer_are_serialised_with_it(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel, race: Callable[..., None]
) -> None:
    conversation_id = ada.create_conversation()
    recording_model.scripts["main"] = saying("short")
    for number in range(6):
        list(ada.send(conversation_id, f"message {number}"))
    before = messages_of(ada, conversation_id)
    recording_model.scripts["main"] = saying(*PIECES, delay=0.02, pause_after=15)
    events = ada.send(conversation_id, "the running one")
    ids = next(event["message_ids"] for event in events if "message_ids" in event)
    running = ids["response_message_id"]
    base = f"{conversation_id}/{running}/{ids['response_message_index']}"
    assert ada.post(f"/edit_message_from_conversation/{base}", {"text": "x"}).json()["code"] == "turn_in_progress"
    assert ada.delete(f"/delete_message_from_conversation/{base}").json()["code"] == "turn_in_progress"
    race(
        lambda n: edit(ada, conversation_id, before[n]["message_id"], f"edited {n}"),
        lambda n: move(ada, conversation_id, [before[n]["message_id"], running], "up" if n % 2 else "down"),
    )
    delete(ada, conversation_id, before[3]["message_id"])
    delete(ada, conversation_id, ids["user_message_id"])
    recording_model.release()
    rest = list(events)
    assert heard(rest) == WHOLE
    stored = messages_of(ada, conversation_id)
    assert len(stored) == len(before)
    assert [message["message_index"] for message in stored] == list(range(1, len(stored) + 1))
    by_id = {message["message_id"]: message for message in stored}
    assert (by_id[running]["text"], by_id[running]["status"]) == (WHOLE, "complete")
    ids = rest[-2]["message_ids"]
    assert ids["response_message_index"] == by_id[running]["message_index"]
    assert ids["response_message_short_hash"] == by_id[running]["message_short_hash"]
    kept = {message["message_id"]: message["message_short_hash"] for message in before}
    assert all(by_id[each]["message_short_hash"] == kept[each] for each in kept if each in by_id)
    assert broken_invariants(live_server.store) == {}


def edit(client: Client, conversation_id: str, message_id: str, text: str) -> None:
    """Edit until the index fits: others move messages meanwhile."""
    at_current_place(client, conversation_id, message_id, "POST", "edit", {"text": text})


def delete(client: Client, conversation_id: str, message_id: str) -> None:
    at_current_place(client, conversation_id, message_id, "DELETE", "delete", None)


def at_current_place(
    client: Client, conversation_id: str, message_id: str, method: str, verb: str, body: dict[str, str] | None
) -> None:
    for _ in range(100):
        index = {m["message_id"]: m["message_index"] for m in messages_of(client, conversation_id)}[message_id]
        path = f"/{verb}_message_from_conversation/{conversation_id}/{message_id}/{index}"
        reply = client.request(method, path, body)
        if reply.status != 409:
            assert reply.status == 200, reply.text
            return
    raise AssertionError("its index never stood still")


def move(client: Client, conversation_id: str, message_ids: list[str], direction: str) -> None:
    body = {"message_ids": message_ids, "direction": direction}
    reply = client.post(f"/move_messages_up_or_down/{conversation_id}", body)
    assert reply.status == 200, reply.text


@pytest.fixture
def race() -> Callable[..., None]:
    """Does all of several things, each ten times, all at once."""

    def run(*works: Callable[[int], Any]) -> None:
        with ThreadPoolExecutor(len(works)) as pool:
            done = [pool.submit(lambda work=work: [work(n) for n in range(10)]) for work in works]
            for each in done:
                each.result()

    return run


def test_a_conversation_deleted_in_mid_answer_frees_the_model_and_comes_back_with_what_was_said(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id = ada.create_conversation()
    events = ada.send(conversation_id, "Go on")
    next(event for event in events if "piece 4" in event["text"])
    assert ada.delete(f"/delete_conversation/{conversation_id}").status == 200
    recording_model.wait_until(lambda model: model.hung_up["main"] == 1)
    assert list(events)[-1]["done"] is True
    assert ada.post(f"/restore_conversation/{conversation_id}").status == 200
    stored = messages_of(ada, conversation_id)[1]
    assert (stored["text"], stored["status"]) == ("".join(PIECES[:5]), "cancelled")
    assert broken_invariants(live_server.store) == {}
