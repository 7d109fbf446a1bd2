"""The real server as a process of its own: `python server.py` on a free port with a data folder of its own."""

from __future__ import annotations

import atexit
import itertools
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from database.accounts.sessions import create_session
from database.accounts.users import create_user
from database.connection import open_store
from endpoints.http.guards import SESSION_COOKIE
from tests.http_client import Client
from tests.preloaded import PreloadedProcess
from tests.stores import put_empty_knowledge_base, put_empty_store

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "correct horse battery staple"
NO_MODELS = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
_numbers = itertools.count(1)
_OURS = ("ANAPHORA_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "REDIS_URL")


@dataclass
class LiveServer:
    """One server. `environ` adds settings; a model that is not among them it does not have. `root`: whose code runs.
    `program`: what starts it. `is_preloaded`: it is forked off a process that has imported the modules.

    Started again after `stop` or `kill`, it has the same port and data.
    """

    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    process: subprocess.Popen[bytes] | PreloadedProcess | None = None
    root: Path = ROOT
    program: str = "server.py"
    is_preloaded: bool = False

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def data_dir(self) -> Path:
        """Its data folder."""
        return self.folder / "data"

    @property
    def users_dir(self) -> str:
        """Where its stores are."""
        return str(self.data_dir / "users")

    @property
    def store(self) -> str:
        """What `tests.load.invariants` looks into."""
        return self.users_dir

    def start(self) -> LiveServer:
        """Start and wait until it answers. Raises AssertionError with the log where it ends or says nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        self.process = self._forked() if self.is_preloaded else self._started()
        self._wait_until_it_answers()
        return self

    def _started(self) -> subprocess.Popen[bytes]:
        with (self.folder / "server.log").open("ab") as log:
            command = [sys.executable, str(self.root / self.program)]
            # Another working folder than the repository: a developer's `.env` is none of the tests' business.
            return subprocess.Popen(command, cwd=self.folder, env=self._environ(), stdout=log, stderr=log)

    def _forked(self) -> PreloadedProcess:
        if not self.data_dir.exists() and not self.environ.get("DATABASE_URL"):
            put_empty_knowledge_base(put_empty_store(self.users_dir))  # making them would take half of the start
        program, log = self.root / self.program, self.folder / "server.log"
        return PreloadedProcess(program, folder=self.folder, environ=self._environ(), log=log)

    def _environ(self) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
        own = {"ANAPHORA_DATA_DIR": str(self.data_dir), "ANAPHORA_PORT": str(self.port)}
        own["ANAPHORA_TOOL_SERVERS"] = "private"  # those of the tests are on this machine
        return inherited | NO_MODELS | own | dict(self.environ)

    def _wait_until_it_answers(self, *, seconds: float = 120.0) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.process is not None
            assert self.process.poll() is None, f"the server ended at start:\n{self.log()}"
            try:
                if self.client().get("/healthz").status == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the server never answered:\n{self.log()}")

    def client(self) -> Client:
        """A client that has not logged in."""
        return Client(self.port)

    def log(self) -> str:
        """What it has written."""
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def stop(self, *, seconds: float = 60.0) -> int:
        """SIGTERM, as an operator would; the exit code. A no-op (0) where it is not running."""
        return self._end(signal.SIGTERM, seconds)

    def interrupt(self, *, seconds: float = 60.0) -> int:
        """SIGINT, as Ctrl+C sends it; the exit code."""
        return self._end(signal.SIGINT, seconds)

    def kill(self) -> int:
        """SIGKILL: no time to say goodbye."""
        return self._end(signal.SIGKILL, 60.0)

    def _end(self, number: signal.Signals, seconds: float) -> int:
        if self.process is None:
            return 0
        process, self.process = self.process, None
        process.send_signal(number)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not stop within {seconds} s:\n{self.log()}") from error

    def file(self, name: str) -> Path:
        """A store's file, of a server that is stopped, with all that its log may still hold."""
        file = Path(self.users_dir) / name
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        return file

    def sign_up(self, email: str = "ada@example.org") -> Client:
        """A client that has logged in to a new account, made over HTTP: the first by /setup, others by its owner."""
        client = self.client()
        credentials = {"email": email, "password": PASSWORD}
        reply = client.post("/setup", credentials)
        if reply.status == 409:
            administrator = self.sign_in("ada@example.org")
            made = administrator.post("/users", credentials)
            assert made.status in (200, 201), made.text
            return self.sign_in(email)
        assert reply.status in (200, 201), reply.text
        return client

    def sign_in(self, email: str) -> Client:
        """A client with a new session of an existing account."""
        client = self.client()
        reply = client.post("/login", {"email": email, "password": PASSWORD})
        assert reply.status == 200, reply.text
        return client


def new_account(server: LiveServer, email: str | None = None, *, is_admin: bool = False) -> Client:
    """Somebody with a new account, put into the server's store, and logged in. Without `email`, one nobody has yet."""
    email = email or f"person-{next(_numbers)}@example.org"
    database = open_store(server.users_dir, database_url=server.environ.get("DATABASE_URL") or None)
    who: dict[str, Any] = {"database": database, "user_email": email}
    create_user(**who, password=PASSWORD, is_admin=is_admin)
    client = server.client()
    client.cookies[SESSION_COOKIE] = create_session(**who)
    return client


def free_port() -> int:
    """A port of loopback that nobody listens on, and that nobody else gets until this process ends."""
    # A server may listen where a socket that was bound like this, too, does not. The system gives the port to no other.
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    atexit.register(holder.close)
    return int(holder.getsockname()[1])
