"""A supervisor that runs in this process, with real workers: from its first worker to a stop by a signal."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chat.processes import supervisor as supervising
from chat.processes.supervisor import LEAVE, SERVES, Supervisor, http_address, inherited, serve_by_line
from tests.chat.processes.test_supervisor import WORKER, wait_for
from tests.live_server import ROOT, free_port

PATIENT_WORKER = """
import os, signal, time
from pathlib import Path
from chat.processes import supervisor

inherited = supervisor.inherited()
for each in (signal.SIGTERM, signal.SIGINT):
    signal.signal(each, lambda number, _: Path(f"told-{os.getpid()}-{number}").touch())
inherited.line.send(supervisor.SERVES)
Path(f"serves-{os.getpid()}").touch()
while not Path("may-end").exists():
    time.sleep(0.02)
Path(f"ended-{os.getpid()}").touch()
"""
"""It lets its work go on when it is told to stop."""


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Supervisor:
    """One with two workers, in a folder of their own, which may go on for ten minutes after SIGTERM."""
    caplog.set_level(logging.INFO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "worker.py").write_text(WORKER)
    command = [sys.executable, "worker.py"]
    return Supervisor(command, count=2, host="127.0.0.1", port=free_port(), drain_seconds=600.0)


def serving() -> set[int]:
    """The workers that live and have said that they serve."""
    said = {int(file.name.partition("-")[2]) for file in Path().glob("serves-*")}
    return {pid for pid in said if Path(f"/proc/{pid}").exists()}


def test_it_replaces_renews_and_stops_its_workers(
    supervisor: Supervisor, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    ended = threading.Event()

    def operate() -> None:
        try:
            wait_for(lambda: len(serving()) == 2)
            dead = min(serving())
            os.kill(dead, signal.SIGKILL)
            wait_for(lambda: len(serving()) == 2 and dead not in serving())
            before = serving()
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: len(serving()) == 2 and not serving() & before)
            renewed = serving()
            (tmp_path / "broken").touch()
            os.kill(os.getpid(), signal.SIGHUP)
            wait_for(lambda: "the others are kept" in caplog.text)
            assert serving() == renewed
        finally:
            if not ended.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        operating = pool.submit(operate)
        try:
            status = supervisor.run()
        finally:
            ended.set()
        operating.result()
    assert status == 0
    assert serving() == set()
    assert "served by 2 processes" in caplog.text
    assert caplog.messages.count("all 2 processes were restarted; the last of before ends with its answers") == 1
    assert caplog.messages[-2:] == ["stopping 2 processes", "stopped"]
    assert "it is started again in 0.5 s" in caplog.text


def stopped(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *numbers: signal.Signals
) -> tuple[int, int]:
    """Have patient workers told by signals, each when the one before has arrived: how many were told, and ended."""
    monkeypatch.setattr(supervising, "_STOP_SECONDS", 0.0)
    (tmp_path / "worker.py").write_text(PATIENT_WORKER)

    def operate() -> None:
        wait_for(lambda: len(serving()) == 2)
        for number in numbers:
            os.kill(os.getpid(), number)
            wait_for(lambda number=number: len(told(number)) == 2 or not serving())
        (tmp_path / "may-end").touch()

    def told(number: signal.Signals) -> list[Path]:
        return list(tmp_path.glob(f"told-*-{number}"))

    with ThreadPoolExecutor(1) as pool:
        operating = pool.submit(operate)
        assert supervisor.run() == 0
        operating.result()
    return len(told(numbers[0])), len(list(tmp_path.glob("ended-*")))


def test_after_sigterm_it_waits_for_workers_as_long_as_turns_may_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    assert stopped(supervisor, tmp_path, monkeypatch, signal.SIGTERM) == (2, 2)


def test_it_waits_no_longer_after_a_second_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor
) -> None:
    assert stopped(supervisor, tmp_path, monkeypatch, signal.SIGTERM, signal.SIGINT) == (2, 0)


def test_it_ends_with_the_status_of_the_first_where_none_has_ever_served(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    (tmp_path / "broken").touch()
    assert supervisor.run() == 3


def test_it_takes_no_port_that_another_program_has(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        supervisor = Supervisor([sys.executable], count=1, host="127.0.0.1", port=other.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            supervisor.run()


def test_a_worker_has_the_sockets_and_the_line_of_its_supervisor_and_its_children_have_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, its = socket.socketpair()
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    monkeypatch.setenv("ANAPHORA_INHERITED_SOCKETS", str(listening.detach()))
    monkeypatch.setenv("ANAPHORA_INHERITED_LINE", str(its.detach()))
    given = inherited()
    assert given is not None
    assert [each.getsockname() for each in given.sockets] == [address]
    assert inherited() is None
    given.sockets[0].close()
    with ours, given.line:
        given.line.send(b"x")
        assert ours.recv(1) == b"x"


def test_a_worker_says_that_it_serves_leaves_when_asked_to_and_stops_without_its_supervisor() -> None:
    ours, its = socket.socketpair()
    done: list[str] = []
    with its:
        heard = serve_by_line(its, leave=lambda: done.append("leave"), stop=lambda: done.append("stop"))
        assert ours.recv(16) == SERVES
        heard()
        assert done == []
        ours.send(LEAVE)
        heard()
        ours.close()
        heard()
    assert done == ["leave", "stop"]


def test_an_address_has_ipv6_in_brackets() -> None:
    hosts = ("127.0.0.1", "::1", "[::1]", "localhost")
    addresses = [http_address(host, 5000) for host in hosts]
    assert addresses == [f"http://{host}:5000/" for host in ("127.0.0.1", "[::1]", "[::1]", "localhost")]
