"""What a signal leaves running answers: SIGTERM as long as the settings say, Ctrl+C and a second signal a moment."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endpoints.serving.server_hurried import PROGRAM
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.crash import messages_of
from tests.load.test_failing_storage import eventually

pytestmark = pytest.mark.live


@pytest.fixture
def start(tmp_path: Path, recording_model: RecordingModel, joined_page: None) -> Iterator[Callable[..., LiveServer]]:
    """Starts a server that is in a hurry, but for its settings: start(ANAPHORA_DRAIN_SECONDS="600")."""
    recording_model.scripts["main"] = saying("half", " whole", pause_after=1)
    started: list[LiveServer] = []

    def start(**settings: str) -> LiveServer:
        environ = {**recording_model.environ, **settings}
        started.append(LiveServer(tmp_path / "server", environ, program=PROGRAM, is_preloaded=True))
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


def begun(client: Client, conversation_id: str) -> Iterator[dict[str, Any]]:
    """What follows the first words of an answer."""
    events = client.send(conversation_id, "Go on")
    next(event for event in events if event.get("text"))
    return events


def told(server: LiveServer, number: signal.Signals) -> None:
    """Send the signal, and wait until the server accepts no connection any more."""
    assert server.process is not None
    server.process.send_signal(number)
    eventually(lambda: not accepts(server))


def accepts(server: LiveServer) -> bool:
    try:
        server.client().get("/healthz")
    except OSError:
        return False
    return True


def test_sigterm_lets_running_answers_go_on_for_as_long_as_the_settings_say(
    start: Callable[..., LiveServer], recording_model: RecordingModel
) -> None:
    server = start(ANAPHORA_DRAIN_SECONDS="600")
    ada = server.sign_up()
    conversation_id = ada.create_conversation()
    events = begun(ada, conversation_id)
    told(server, signal.SIGTERM)
    recording_model.release()
    assert list(events)[-1]["answer_status"] == "complete"
    assert server.process is not None
    assert server.process.wait(60) in (0, -signal.SIGTERM)
    server.start()
    assert messages_of(ada, conversation_id)[-1]["text"] == "half whole"


def test_a_second_sigterm_ends_what_the_first_one_let_go_on(start: Callable[..., LiveServer]) -> None:
    server = start(ANAPHORA_DRAIN_SECONDS="600")
    ada = server.sign_up()
    events = begun(ada, ada.create_conversation())
    told(server, signal.SIGTERM)
    assert server.stop() in (0, -signal.SIGTERM)
    assert list(events)[-1]["answer_status"] == "interrupted"


def test_ctrl_c_ends_running_answers_soon_whatever_the_settings_say(start: Callable[..., LiveServer]) -> None:
    server = start(ANAPHORA_DRAIN_SECONDS="600")
    ada = server.sign_up()
    events = begun(ada, ada.create_conversation())
    told(server, signal.SIGINT)
    assert list(events)[-1]["answer_status"] == "interrupted"
