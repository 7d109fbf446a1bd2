"""What one process announces, the others hear by a real Valkey; without it each goes on by itself, and comes back."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chat.processes import announcements as brokers
from chat.processes.announcements import Broker, BrokerGoneError
from endpoints.http.scope import EXTENSION
from language_models.testing import Reply, ScriptedChatModel
from settings import Settings
from tests.endpoints.conftest import running_app, settings_in
from tests.valkey import ValkeyServer

SECONDS = 30.0
NewBroker = Callable[..., Broker]


@pytest.fixture
def new_broker(valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewBroker]:
    """Brokers of one installation, each as a process has it; a machine that is busy may answer late."""
    monkeypatch.setattr(brokers, "_ANSWER_SECONDS", SECONDS)
    made: list[Broker] = []

    def new(installation: str = "ours", url: str = "") -> Broker:
        broker = Broker(url or valkey.url, installation=installation)
        made.append(broker)
        broker.begin()
        return broker

    yield new
    for broker in made:
        broker.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of a server with its own data folder."""
    return settings_in(tmp_path)


def connected(broker: Broker) -> Broker:
    """The broker, when it has reached Valkey."""
    assert broker.wait_until_up(seconds=SECONDS)
    return broker


def went_down(broker: Broker) -> bool:
    """Whether the broker has noticed that Valkey is gone, or does so in time."""
    noticed = threading.Event()
    for _ in range(int(SECONDS / 0.05)):
        if not broker.is_up:
            return True
        noticed.wait(0.05)
    return False


def test_an_announcement_is_heard_once_here_and_once_in_other_processes(new_broker: NewBroker) -> None:
    ours, other = connected(new_broker()), connected(new_broker())
    here, there = list[bytes](), queue.Queue[bytes]()
    ours.subscribe("turns", here.append)
    other.subscribe("turns", there.put)
    other.subscribe("changes", lambda _: pytest.fail("another topic"))
    payloads = [b"", b"one\ntwo three", bytes(range(256))]
    for payload in payloads:
        ours.announce("turns", payload)
        assert here.pop() == payload  # heard before `announce` returns
    assert [there.get(timeout=SECONDS) for _ in payloads] == payloads
    other.announce("turns", b"back")  # on the same connection, so an echo would have come before
    wait_for(lambda: here == [b"back"])


def test_another_installation_hears_nothing(new_broker: NewBroker) -> None:
    ours, other, stranger = connected(new_broker()), connected(new_broker()), connected(new_broker("theirs"))
    heard, overheard = queue.Queue[bytes](), queue.Queue[bytes]()
    other.subscribe("turns", heard.put)
    stranger.subscribe("turns", overheard.put)
    ours.announce("turns", b"secret")
    assert heard.get(timeout=SECONDS) == b"secret"
    stranger.announce("turns", b"own")
    assert overheard.get(timeout=SECONDS) == b"own"


def test_valkey_that_is_killed_is_told_once_and_comes_back_without_a_restart(
    new_broker: NewBroker, valkey: ValkeyServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="chat.processes.announcements")
    ours, other = connected(new_broker()), connected(new_broker())
    here, there = list[bytes](), queue.Queue[bytes]()
    ours.subscribe("turns", here.append)
    other.subscribe("turns", there.put)
    valkey.kill()
    assert went_down(ours)
    assert went_down(other)
    ours.announce("turns", b"while it is gone")
    assert here == [b"while it is gone"]
    with pytest.raises(BrokerGoneError):
        ours.ask(lambda client: client.ping())
    valkey.start()
    connected(ours)
    connected(other)
    ours.announce("turns", b"again")
    assert there.get(timeout=SECONDS) == b"again"
    assert ours.ask(lambda client: client.ping()) is True
    told = [record.message for record in caplog.records]
    assert sum("can't be reached" in each for each in told) == 2  # each of the two, once
    assert sum("is reached again" in each for each in told) == 2


def test_readiness_says_whether_valkey_is_reached(
    settings: Settings, valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = dict.fromkeys(("main", "cheap"), ScriptedChatModel(replies=lambda _prompt: Reply("Fine.")))
    with running_app(settings.model_copy(update={"redis_url": valkey.url}), **models) as app:
        broker: Broker = app.extensions[EXTENSION].broker
        client = app.test_client()

        def told() -> tuple[int, str, str]:
            ready = client.get("/readyz")
            return ready.status_code, ready.json["status"], ready.json["broker"]

        # Nothing has failed yet: the first connection is still to come.
        monkeypatch.setattr(broker, "begin", lambda: None)
        assert told() == (200, "degraded", "starting")
        monkeypatch.undo()
        broker.begin()
        connected(broker)
        assert told() == (200, "ready", "ok")
        valkey.kill()
        assert went_down(broker)
        assert told() == (200, "degraded", "failed")
        valkey.start()
        connected(broker)
        assert told() == (200, "ready", "ok")
        broker.close()


def test_a_broker_that_was_not_begun_is_heard_in_its_process_alone(valkey: ValkeyServer) -> None:
    broker, heard = Broker(valkey.url, installation="ours"), list[bytes]()
    broker.subscribe("turns", heard.append)
    broker.announce("turns", b"one")
    assert heard == [b"one"]
    assert not broker.is_up
    broker.close()


def test_what_waits_to_be_sent_is_bounded(new_broker: NewBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = connected(new_broker())
    monkeypatch.setattr(broker, "_waiting", queue.Queue(3))  # nobody empties this one
    heard = list[bytes]()
    broker.subscribe("turns", heard.append)
    for number in range(10):
        broker.announce("turns", b"%d" % number)
    assert len(heard) == 10
    assert broker._waiting.qsize() == 3
    monkeypatch.undo()


class Line:
    """A subscription, and the clock of the process that listens to it.

    looks: what each look finds, and how many seconds pass meanwhile; nothing in half a second after the last one.
    """

    def __init__(self, broker: Broker, *looks: tuple[str, float]) -> None:
        self.now = 1_000.0
        self.pinged_at: list[float] = []
        self._looks = iter(looks)
        self._broker = broker

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now

    def subscribe(self, channel: str) -> None:
        assert channel.endswith(":announcements")

    def ping(self) -> None:
        self.pinged_at.append(self.now)

    def get_message(self, timeout: float) -> dict[str, object] | None:
        kind, seconds = next(self._looks, ("", timeout))
        self.now += seconds
        assert self.now < 1_100, "it listens on"
        if kind == "close":
            self._broker._ended.set()
        return {"type": kind, "data": b""} if kind else None


def heard_on(monkeypatch: pytest.MonkeyPatch, *looks: tuple[str, float]) -> Line:
    """The line after a broker has listened to it, until it was closed. Raises ConnectionError."""
    broker = Broker("redis://127.0.0.1:1", installation="ours")
    line = Line(broker, *looks)
    monkeypatch.setattr(brokers, "time", line)
    broker._hear(line)  # type: ignore[arg-type]
    return line


def test_a_silent_connection_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the network between them is cut, and nobody closes the connection."""
    broker = Broker("redis://127.0.0.1:1", installation="ours")
    line = Line(broker, ("subscribe", 0.0))
    monkeypatch.setattr(brokers, "time", line)
    with pytest.raises(ConnectionError, match="silent"):
        broker._hear(line)  # type: ignore[arg-type]
    (pinged_at,) = line.pinged_at
    assert 2.0 < pinged_at - 1_000.0 < 3.5
    assert 6.0 < line.now - pinged_at < 7.5


def test_a_process_that_stood_still_asks_before_it_takes_valkey_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    line = heard_on(monkeypatch, ("subscribe", 0.0), ("", 60.0), ("", 0.5), ("pong", 0.1), ("", 0.5), ("close", 0.5))
    assert len(line.pinged_at) == 1


@pytest.mark.parametrize("answered", ["pong", "message"])
def test_an_answer_that_came_while_the_process_stood_still_is_read_first(
    monkeypatch: pytest.MonkeyPatch, answered: str
) -> None:
    """The look that it stood still in may end without it, as where its time had passed."""
    quiet = [("", 0.5)] * 6
    line = heard_on(monkeypatch, ("subscribe", 0.0), *quiet, ("", 60.0), (answered, 0.0), *quiet, ("close", 0.5))
    assert len(line.pinged_at) == 2


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds."""
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    assert condition()
