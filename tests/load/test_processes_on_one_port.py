"""Two processes on one port, with a real PostgreSQL and a real Valkey: whichever answers, people see one server."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import RecordingModel, saying
from tests.load.crash import messages_of
from tests.load.test_failing_storage import eventually
from tests.scaled import Engines, ScaledServer

pytestmark = pytest.mark.live
WATCHERS = 6


@pytest.fixture
def server(
    tmp_path: Path, joined_page: None, engines: Engines, recording_model: RecordingModel
) -> Iterator[ScaledServer]:
    """A supervisor with two processes that serve."""
    with engines.serving(tmp_path / "server", recording_model.environ) as started:
        yield started
        assert started.stop() == 0


def test_a_turn_is_watched_anywhere_outlives_a_rolling_restart_and_is_cancelled_anywhere(
    server: ScaledServer, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying("half", " whole", pause_after=1)
    ada = server.sign_up()
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

    before, statuses, over = server.processes(), list[int](), threading.Event()

    def ask_again_and_again() -> None:
        while not over.is_set():
            statuses.append(ada.get("/list_conversation_by_user/assistant").status)

    asking = threading.Thread(target=ask_again_and_again)
    asking.start()
    assert server.process is not None
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.processes() - before)
    recording_model.release()
    assert any(event.get("done") for event in events)
    for watcher in watchers:
        watcher.join(60)
    eventually(lambda: not server.processes() & before and len(server.processes()) == 2)
    over.set()
    asking.join(60)
    assert statuses
    assert set(statuses) == {200}
    assert ["".join(texts) for texts in watched] == ["half whole"] * WATCHERS
    assert (messages_of(ada, kept)[-1]["text"], messages_of(ada, kept)[-1]["status"]) == ("half whole", "complete")

    recording_model.scripts["main"] = saying("never", " ended", pause_after=1)
    cancelled = ada.create_conversation()
    events = ada.send(cancelled, "To be cancelled.")
    next(event for event in events if event.get("text"))
    assert ada.post(f"/cancel_response/{cancelled}").status == 200
    list(events)
    eventually(lambda: messages_of(ada, cancelled)[-1]["status"] == "cancelled")
    assert messages_of(ada, cancelled)[-1]["text"] == "never"
    recording_model.release()

    one = min(server.processes())
    os.kill(one, signal.SIGKILL)
    eventually(lambda: len(server.processes() - {one}) == 2)
    recording_model.scripts["main"] = saying("Still here.")
    assert [event["text"] for event in ada.send(kept, "And now?") if event.get("text")] == ["Still here."]
