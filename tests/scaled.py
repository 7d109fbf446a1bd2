"""Two processes behind one port, on PostgreSQL and Valkey, in the place of one process on SQLite: `--store=scaled`.

Tests that start a server by the fixtures of `tests/conftest.py` then run against these, as they are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flask import Flask

from database.connection import close_store
from endpoints.http.scope import EXTENSION
from server import create_app
from settings import load_settings
from tests.fakes import RecordingModel
from tests.live_server import LiveServer
from tests.postgresql import PostgreSQLServer
from tests.valkey import ValkeyServer

PROCESSES = 2
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding"})


def is_scaled(config: pytest.Config) -> bool:
    """Whether tests run against two processes."""
    return config.getoption("--store") == "scaled"


@dataclass
class ScaledServer(LiveServer):
    """A supervisor with two processes. `kill` kills all of them, as a machine that loses its power."""

    was_killed: bool = field(default=False, kw_only=True)

    @property
    def store(self) -> str:
        """As of a LiveServer: here the address of the database."""
        return self.environ["DATABASE_URL"].replace("postgresql+psycopg", "postgresql", 1)

    def processes(self) -> set[int]:
        """The process ids below the supervisor."""
        assert isinstance(self.process, subprocess.Popen)
        pid = self.process.pid
        return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def start(self) -> ScaledServer:
        """As of a LiveServer: until both serve, and the turns that a kill cut off are closed."""
        super().start()
        self._wait_until(lambda: len(self.processes()) == PROCESSES)
        if self.was_killed:
            self._wait_until(self._is_at_rest)
            self.was_killed = False
        return self

    def kill(self) -> int:
        """SIGKILL, to the processes and the supervisor, which starts none anew meanwhile."""
        if self.process is None:
            return 0
        self.was_killed = True
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return super().kill()

    def _is_at_rest(self) -> bool:
        with psycopg.connect(self.store) as connection:
            running = connection.execute("SELECT 1 FROM anaphora.messages WHERE status = 'streaming' LIMIT 1")
            return running.fetchone() is None

    def _wait_until(self, holds: Callable[[], bool], *, seconds: float = 120.0) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"it never came true:\n{self.log()}"
            time.sleep(0.02)


@dataclass(frozen=True)
class Engines:
    """What the servers of a test run share; each has a database of its own."""

    postgresql: PostgreSQLServer
    valkey: ValkeyServer

    def environ(self, database_url: str) -> dict[str, str]:
        """Settings of two processes on this database."""
        return {"DATABASE_URL": database_url, "REDIS_URL": self.valkey.url, "ANAPHORA_PROCESSES": str(PROCESSES)}

    @contextmanager
    def serving(self, folder: Path, environ: Mapping[str, str]) -> Iterator[ScaledServer]:
        """Two processes on an empty store, or on that of `environ`."""
        own = environ.get("DATABASE_URL") or None
        url = own or self.postgresql.empty_store()
        server = ScaledServer(folder, {**environ, **self.environ(url)}).start()
        try:
            yield server
        finally:
            server.stop()
            close_store(server.users_dir)
            if own is None:
                self.postgresql.take_back(url, of_killed=server.was_killed)


@contextmanager
def app_at_two_processes(folder: Path, engines: Engines, model: RecordingModel) -> Iterator[Flask]:
    """An application whose requests are answered by two processes on the same store; tests look into it as ever."""
    with engines.serving(folder, model.environ) as server:
        models = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
        own = {"ANAPHORA_DATA_DIR": str(server.data_dir), "DATABASE_URL": server.environ["DATABASE_URL"]}
        application = create_app(load_settings(models | own, env_file=folder / "no.env"), serves=False)
        application.wsgi_app = forwarding_to(server)  # type: ignore[method-assign]
        yield application
        application.extensions[EXTENSION].knowledge.close()


def forwarding_to(server: LiveServer) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    """A WSGI application that has a server answer, by a connection of its own for each request."""

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        sent = {name[5:].replace("_", "-"): text for name, text in environ.items() if name.startswith("HTTP_")}
        if environ.get("CONTENT_TYPE"):
            sent["Content-Type"] = environ["CONTENT_TYPE"]
        body = environ["wsgi.input"].read() or None
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request(environ["REQUEST_METHOD"], environ["REQUEST_URI"], body, sent)
            response = connection.getresponse()
            told = [each for each in response.getheaders() if each[0].lower() not in _HOP_BY_HOP]
            start_response(f"{response.status} {response.reason}", told)
            return [response.read()]

    return answer
