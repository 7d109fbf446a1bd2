"""A PostgreSQL server for the tests: one a test process, with an empty store for each test.

`setup/engines.py` starts it: as an unprivileged user where the tests run as root, and until the test process ends.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import psycopg
from sqlalchemy import Connection, inspect, make_url

from database.connection import close_store, open_store
from database.engine.clock import store_time
from database.engine.postgresql import database_at
from engines import LocalPostgreSQL
from truth_management_system import PKBConfig, get_database

_OPTIONS = {
    "max_connections": "200",
    "shared_buffers": "32MB",
    # Nothing of it outlives the tests.
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "128MB",
    "jit": "off",
}
_LONGEST_END_MS = 60_000
# Without the checks of foreign keys and the triggers, in any order.
_EMPTY = """
    DO $$ DECLARE name regclass; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relname <> 'schema_version'
            AND pg_relation_size(oid) > 0 AND relnamespace::regnamespace::text IN ('anaphora', 'anaphora_knowledge')
        LOOP
            EXECUTE format('DELETE FROM %s', name);
        END LOOP;
        PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence JOIN pg_class ON pg_class.oid = seqrelid
            WHERE relnamespace::regnamespace::text IN ('anaphora', 'anaphora_knowledge');
        INSERT INTO anaphora.search_state (name, indexed_seq) VALUES ('message_terms', 0);
    END $$
"""


_DIALECT = database_at("postgresql+psycopg://").engine(connections=1, writing=False).dialect
NOW = str(store_time().compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True}))
"""The clock of the database, in SQL, in the form of stored times: `lease_until > {NOW}`. PostgreSQL writes its own
`now()::text` with a blank instead of the T, so that every stored time of the same day would be later."""


class PostgreSQLServer:
    """A running server. Its databases are emptied and used again, which is five times as quick as copying one."""

    def __init__(self, *, is_killed: bool = False) -> None:
        """Start it. is_killed: tests kill it, and ask what it had committed.

        Raises subprocess.CalledProcessError, EngineError with what the server said.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))
        options = _OPTIONS if is_killed else _OPTIONS | {"synchronous_commit": "off"}
        self.engine = LocalPostgreSQL(self._folder / "data", options=options, syncs=False)
        self.engine.start()
        self._numbers = itertools.count(1)
        self._unused: list[str] = []
        # Emptying a store by a new connection costs the server ten times as much: it plans each statement anew.
        self._emptying: dict[str, psycopg.Connection] = {}

    def stop(self) -> None:
        """End the server at once, and delete what it stored."""
        for connection in self._emptying.values():
            connection.close()
        self.engine.end_at_once()
        self.engine.close()
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
        self.engine.make_database(name)
        return self.engine.url(name)

    def take_back(self, url: str, *, of_killed: bool = False) -> None:
        """Empty the store at `url`, so that another test can have it.

        of_killed: of servers that were killed. Whole transactions that they had sent may be committed later yet.
        """
        if of_killed:
            self.cut_connections(to=url)
        if url not in self._emptying:
            self._emptying[url] = psycopg.connect(self.engine.dsn(str(make_url(url).database)), autocommit=True)
        self._emptying[url].execute(_EMPTY)
        self._unused.append(url)

    def cut_connections(self, *, to: str | None = None) -> None:
        """Close all other connections to the server, or to the store at this URL, as its restart would.

        They are closed when this returns.
        """
        ended = f"pg_terminate_backend(pid, {_LONGEST_END_MS})"
        those = "application_name = 'anaphora'" + (f" AND datname = '{make_url(to).database}'" if to else "")
        self.execute(f"SELECT {ended} FROM pg_stat_activity WHERE {those}")

    def execute(self, statements: str, *, database: str = "postgres") -> None:
        """Run statements as the server's owner."""
        with psycopg.connect(self.engine.dsn(database), autocommit=True) as connection:
            connection.execute(statements)


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
