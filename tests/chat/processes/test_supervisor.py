"""Several processes on one port: started one after the other, again when they die, renewed without a lost connection.

The supervisor runs for real; its workers are a small server that speaks its protocol, so that no test waits for ours.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.live_server import ROOT, free_port

pytestmark = pytest.mark.live
SECONDS = 60.0

SUPERVISOR = """
import logging, sys
from chat.processes import supervisor
logging.basicConfig(level=logging.INFO)
sys.exit(supervisor.Supervisor([sys.executable, sys.argv[1]], count=2, host="127.0.0.1", port=int(sys.argv[2])).run())
"""
WORKER = """
import json, os, signal, sys, threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from chat.processes import supervisor

if Path("broken").exists():
    sys.exit(3)
inherited = supervisor.inherited()
assert supervisor.inherited() is None

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/slow":
            Path("slow-began").touch()
            while not Path("slow-may-end").exists():
                threading.Event().wait(0.02)
        body = json.dumps({"pid": os.getpid()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

class Server(ThreadingHTTPServer):
    daemon_threads = False

signal.signal(signal.SIGINT, signal.SIG_DFL)
server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
server.socket.close()
server.socket = inherited.sockets[0]
server.socket.listen(64)
serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
serving.start()
inherited.line.send(supervisor.SERVES)
Path(f"serves-{os.getpid()}").touch()
with suppress(ConnectionResetError):  # a supervisor that is killed before it has read what was sent
    inherited.line.recv(16)
server.shutdown()
server.server_close()
"""


class Running:
    """A supervisor with two workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        (folder / "worker.py").write_text(WORKER)

    def start(self) -> Running:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SUPERVISOR, str(self.folder / "worker.py"), str(self.port)],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stderr=log,
            )
        return self

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def ask(self, path: str = "/") -> int:
        """The process that answered. Raises OSError."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=SECONDS) as answer:
            return int(json.load(answer)["pid"])

    def children(self) -> set[int]:
        """The workers that live."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return {int(number) for number in listed.split()}

    def is_up(self) -> bool:
        """Whether both serve."""
        there = self.children()
        return len(there) == 2 and all((self.folder / f"serves-{pid}").exists() for pid in there)


def wait_for(condition: Callable[[], object]) -> None:
    """Return when the condition holds."""
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    supervisor = Running(tmp_path).start()
    wait_for(supervisor.is_up)
    yield supervisor
    (tmp_path / "slow-may-end").touch()
    supervisor.process.terminate()
    supervisor.process.wait(SECONDS)


def test_a_worker_that_dies_is_started_again_and_the_other_answers_meanwhile(running: Running) -> None:
    before = running.children()
    dead = sorted(before)[0]
    os.kill(dead, signal.SIGKILL)
    wait_for(lambda: dead not in running.children())
    # No request fails, and the other goes on answering; the newcomer may be there already, too.
    wait_for(lambda: running.ask() in before - {dead})
    wait_for(running.is_up)
    assert before & running.children() == before - {dead}
    assert "it is started again in 0.5 s" in running.log()
    assert "served by 2 processes" in running.log()


def test_a_renewal_replaces_all_one_after_the_other_and_no_request_fails(running: Running) -> None:
    before, failed, answered = running.children(), list[str](), list[int]()
    ended = threading.Event()

    def ask_again_and_again() -> None:
        while not ended.is_set():
            try:
                answered.append(running.ask())
            except OSError as error:
                failed.append(repr(error))

    slow = list[int]()
    asking = threading.Thread(target=ask_again_and_again)
    waiting = threading.Thread(target=lambda: slow.append(running.ask("/slow")))
    waiting.start()
    wait_for((running.folder / "slow-began").exists)
    asking.start()
    running.process.send_signal(signal.SIGHUP)
    wait_for(lambda: running.children() - before)
    (running.folder / "slow-may-end").touch()
    wait_for(lambda: not running.children() & before and running.is_up())
    ended.set()
    asking.join(SECONDS)
    waiting.join(SECONDS)
    assert failed == []
    assert answered
    assert set(slow) <= before  # the running request was answered by the process that had it
    assert len(slow) == 1


def test_a_renewal_whose_first_process_fails_keeps_the_others(running: Running) -> None:
    before = running.children()
    (running.folder / "broken").touch()
    running.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "the others are kept" in running.log())
    assert running.children() == before
    assert running.ask() in before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_and_frees_the_port(running: Running, number: signal.Signals) -> None:
    workers = running.children()
    running.process.send_signal(number)
    assert running.process.wait(SECONDS) == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", running.port))


def test_workers_end_when_their_supervisor_is_killed(running: Running) -> None:
    workers = running.children()
    running.process.kill()
    running.process.wait(SECONDS)
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_workers_end_when_their_supervisor_is_killed_before_it_hears_of_them(tmp_path: Path) -> None:
    starting = Running(tmp_path).start()
    wait_for(lambda: len(starting.children()) == 2)
    starting.process.send_signal(signal.SIGSTOP)
    workers = starting.children()
    wait_for(starting.is_up)
    starting.process.kill()
    starting.process.wait(SECONDS)
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_where_none_has_ever_served_the_supervisor_ends_with_the_status_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    supervisor = Running(tmp_path).start()
    assert supervisor.process.wait(SECONDS) == 3
