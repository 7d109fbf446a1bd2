"""Two processes behind one port, on PostgreSQL and Valkey, in the place of one process on SQLite: `--store=scaled`.

Tests that start a server by the fixtures of `tests/conftest.py` then run against these, as they are.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg
import pytest

from database.connection import close_store
from tests.live_server import LiveServer
from tests.postgresql import PostgreSQLServer
from tests.valkey import ValkeyServer

PROCESSES = 2


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
        assert self.process is not None
        pid = self.process.pid
        return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def process_of(self, connection: HTTPConnection) -> int:
        """The id of the process that has accepted this open connection."""
        found: list[int] = []
        self._wait_until(lambda: bool(found.extend(self._holders(connection)) or found))
        return found[0]

    def start(self) -> ScaledServer:
        """As of a LiveServer: until both serve, and the turns that a kill cut off are closed."""
        super().start()
        self._wait_until(lambda: len(self._listening()) == PROCESSES)
        if self.was_killed:
            self._wait_until(self._is_at_rest)
            self.was_killed = False
        return self

    def kill(self) -> int:
        """SIGKILL, to the processes and the supervisor, which starts none anew meanwhile. Not of a preloaded one."""
        if self.process is None:
            return 0
        self.was_killed = True
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return super().kill()

    def _holders(self, connection: HTTPConnection) -> set[int]:
        """The processes that have the server's end of the connection open; none until one has accepted it."""
        ends = self._sockets(connection.sock.getsockname()[1])
        return {pid for pid in self.processes() if ends & _open_files(pid)}

    def _listening(self) -> set[int]:
        """The processes that accept connections: each has a socket of its own that listens on the port."""
        sockets = self._sockets(0)
        return {pid for pid in self.processes() if sockets & _open_files(pid)}

    def _sockets(self, client_port: int) -> set[str]:
        """The server's sockets with this port at the other end, as `/proc` names open files; 0: those that listen."""
        ports = f"{self.port:04X}", f"{client_port:04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return {f"socket:[{row[9]}]" for row in rows if ports == (row[1][-4:], row[2][-4:])}

    def _is_at_rest(self) -> bool:
        with psycopg.connect(self.store) as connection:
            running = connection.execute("SELECT 1 FROM anaphora.messages WHERE status = 'streaming' LIMIT 1")
            return running.fetchone() is None

    def _wait_until(self, holds: Callable[[], bool], *, seconds: float = 120.0) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"it never came true:\n{self.log()}"
            time.sleep(0.02)


def _open_files(pid: int) -> set[str]:
    """What the open files of a process are, as `/proc` names them."""
    names = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.add(str(each.readlink()))
    return names


@dataclass(frozen=True)
class Engines:
    """What the servers of a test run share; each has a database of its own."""

    postgresql: PostgreSQLServer
    valkey: ValkeyServer

    def environ(self, database_url: str) -> dict[str, str]:
        """Settings of two processes on this database."""
        return {"DATABASE_URL": database_url, "REDIS_URL": self.valkey.url, "ANAPHORA_PROCESSES": str(PROCESSES)}

    @contextmanager
    def serving(self, folder: Path, environ: Mapping[str, str], **more: Any) -> Iterator[ScaledServer]:
        """Two processes on an empty store, or on that of `environ`. more: what else a LiveServer takes."""
        own = environ.get("DATABASE_URL") or None
        url = own or self.postgresql.empty_store()
        server = ScaledServer(folder, {**environ, **self.environ(url)}, **more).start()
        try:
            yield server
        finally:
            server.stop()
            close_store(server.users_dir)
            if own is None:
                self.postgresql.take_back(url, of_killed=server.was_killed)
