"""Two processes on one port, with a real PostgreSQL and a real Valkey: whichever answers, people see one server."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection, HTTPException

import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import new_account
from tests.load.crash import messages_of
from tests.load.figures import record
from tests.load.test_failing_storage import eventually
from tests.scaled import Engines, ScaledServer
from tests.tiers import TIER

pytestmark = pytest.mark.live
WATCHERS = 6
SENDERS, LISTERS, KEEPERS = 4, 2, 2
RESTARTS = {"check": 1, "test": 1, "proofs": 10}[TIER]
TURNS, LISTS, KEPT = "turns", "lists", "pairs of requests over kept connections"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    joined_page: None,
    engines: Engines,
    shared_recording_model: RecordingModel,
) -> Iterator[ScaledServer]:
    """A supervisor with two processes that serve."""
    with engines.serving(tmp_path_factory.mktemp("two") / "server", shared_recording_model.environ) as started:
        yield started
        assert started.stop() == 0


def restarted(server: ScaledServer) -> Iterator[None]:
    """Replace both processes one after the other; yields once the first successor is there."""
    before = server.processes()
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.processes() - before)
    yield
    eventually(lambda: not server.processes() & before and len(server.processes()) == 2)


class Load:
    """Threads that ask a server again and again until it is over: what was answered, and what was not."""

    def __init__(self) -> None:
        self.answered = Counter[str]()
        self.failed: list[str] = []
        self._over = threading.Event()
        self._lock = threading.Lock()

    def again_and_again(self, what: str, ask: Callable[[], object]) -> None:
        """Ask until it is over; one thread's work."""
        while not self._over.is_set():
            try:
                ask()
            except (OSError, HTTPException, ValueError, AssertionError) as error:
                self.failed.append(f"{what}: {error!r}")
                return
            with self._lock:
                self.answered[what] += 1

    def goes_on(self) -> None:
        """Wait until as much again as all threads do at once was answered, of each kind."""
        before = self.answered.copy()
        wanted = {TURNS: SENDERS, LISTS: LISTERS, KEPT: KEEPERS}
        eventually(
            lambda: self.failed or all(self.answered[what] >= before[what] + more for what, more in wanted.items())
        )

    def end(self) -> None:
        """Ask nothing more."""
        self._over.set()


def sends(client: Client, conversation_id: str) -> None:
    """A turn, from its message to the end of its answer."""
    *_, last = client.send(conversation_id, "Go on.")
    assert last["answer_status"] == "complete", last


def lists(client: Client) -> None:
    """A list, over a connection of its own."""
    assert client.get("/list_conversation_by_user/assistant").status == 200


def asks_kept(connection: HTTPConnection, client: Client, conversation_id: str) -> None:
    """What reads and what writes, over a connection that stays open for as long as the server leaves it open."""
    headers = {
        "Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items()),
        "Origin": client.origin,
    }
    for method, path in (
        ("GET", f"/list_messages_by_conversation/{conversation_id}"),
        ("POST", f"/cancel_response/{conversation_id}"),
    ):
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer
        json.loads(answer)


def test_rolling_restarts_under_load_fail_no_request_and_cut_no_turn_short(
    server: ScaledServer, shared_model: RecordingModel
) -> None:
    pieces = tuple(f"piece {number} " for number in range(10))
    shared_model.scripts["main"] = saying(*pieces, delay=0.05)
    people = [new_account(server) for _ in range(SENDERS + LISTERS + KEEPERS)]
    conversations = [each.create_conversation() for each in people]
    load = Load()
    with ExitStack() as kept, ThreadPoolExecutor(len(people)) as pool:
        try:
            for number, (client, conversation_id) in enumerate(zip(people, conversations, strict=True)):
                if number < SENDERS:
                    work = (TURNS, partial(sends, client, conversation_id))
                elif number < SENDERS + LISTERS:
                    work = (LISTS, partial(lists, client))
                else:
                    connection = kept.enter_context(closing(HTTPConnection(client.host, client.port, timeout=60)))
                    work = (KEPT, partial(asks_kept, connection, client, conversation_id))
                pool.submit(load.again_and_again, *work)
            for _ in range(RESTARTS):
                load.goes_on()
                for _ in restarted(server):
                    load.goes_on()
            load.goes_on()
        finally:
            load.end()
    assert load.failed == []
    stored = [messages_of(*each) for each in zip(people[:SENDERS], conversations[:SENDERS], strict=True)]
    answers = [message for messages in stored for message in messages if message["sender"] != "user"]
    assert len(answers) == load.answered[TURNS]
    assert {(answer["text"], answer["status"]) for answer in answers} == {("".join(pieces), "complete")}
    record(**{f"during {RESTARTS} rolling restarts: {what}": count for what, count in load.answered.items()})


def test_a_turn_is_watched_anywhere_outlives_a_rolling_restart_and_is_cancelled_anywhere(
    server: ScaledServer, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("half", " whole", pause_after=1)
    ada = new_account(server)
    kept = ada.create_conversation()
    events = ada.send(kept, "Go on while the processes are replaced.")
    next(event for event in events if event.get("text"))
    answer = messages_of(ada, kept)[-1]["message_id"]
    watched: list[list[str]] = []

    def watch() -> None:
        watched.append([event["text"] for event in ada.stream(f"/stream/{answer}?after=0") if event.get("text")])

    watchers = [threading.Thread(target=watch) for _ in range(WATCHERS)]
    for watcher in watchers:
        watcher.start()

    for _ in restarted(server):
        shared_model.release()
        assert any(event.get("done") for event in events)
        for watcher in watchers:
            watcher.join(60)
    assert ["".join(texts) for texts in watched] == ["half whole"] * WATCHERS
    assert (messages_of(ada, kept)[-1]["text"], messages_of(ada, kept)[-1]["status"]) == ("half whole", "complete")

    shared_model.scripts["main"] = saying("never", " ended", pause_after=1)
    cancelled = ada.create_conversation()
    events = ada.send(cancelled, "To be cancelled.")
    next(event for event in events if event.get("text"))
    assert ada.post(f"/cancel_response/{cancelled}").status == 200
    list(events)
    eventually(lambda: messages_of(ada, cancelled)[-1]["status"] == "cancelled")
    assert messages_of(ada, cancelled)[-1]["text"] == "never"
    shared_model.release()

    one = min(server.processes())
    os.kill(one, signal.SIGKILL)
    eventually(lambda: len(server.processes() - {one}) == 2)
    shared_model.scripts["main"] = saying("Still here.")
    assert [event["text"] for event in ada.send(kept, "And now?") if event.get("text")] == ["Still here."]
