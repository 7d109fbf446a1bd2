"""Stores that released versions wrote become stores of today: nothing in them is lost, also when starts collide."""

from __future__ import annotations

import signal
import sqlite3
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from database.connection import close_store, open_store
from database.maintenance.verification import verify_store
from database.migrations import MIGRATIONS
from database.search.indexing import index_pending
from tests.load.invariants import broken_invariants
from tests.preloaded import PreloadedScript, start_preloaded
from tests.released_stores import Teller, differences, released, serving, unpack
from truth_management_system.config import PKBConfig
from truth_management_system.database import PKBDatabase

pytestmark = pytest.mark.thorough

RELEASES = released()
OPEN_BOTH = """
    from database.connection import close_store, open_store
    from truth_management_system.config import PKBConfig
    from truth_management_system.database import get_database, pkb_database

    pkb_database._READERS_WAIT_MS = 60_000  # of two processes, the one that ends later writes its log back
    open_store({users_dir!r})
    close_store({users_dir!r})
    get_database(PKBConfig(db_path={users_dir!r} + "/pkb.sqlite")).close()
"""
DIE_IN_MIGRATION = """
    import os, signal
    from database import migrations

    def dying(number):
        apply = migrations.MIGRATIONS[number - 1]
        def upgrade(connection):
            apply(connection)
            connection.exec_driver_sql("CREATE TABLE half_way (number INTEGER)")
            os.kill(os.getpid(), signal.SIGKILL)
        return upgrade

    steps = list(migrations.MIGRATIONS)
    steps[{number} - 1] = dying({number})
    migrations.MIGRATIONS = tuple(steps)
"""


def run(script: str, *, users_dir: Path, **values: object) -> PreloadedScript:
    """A process of its own that runs `script`."""
    return start_preloaded(textwrap.dedent(script).format(users_dir=str(users_dir), **values))


def version_of(users_dir: Path) -> int:
    with closing(sqlite3.connect(users_dir / "users.db")) as connection:
        return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0])


def texts_of(users_dir: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(users_dir / "users.db")) as connection:
        return connection.execute("SELECT message_id, text, message_short_hash FROM messages ORDER BY seq").fetchall()


def test_there_is_a_store_of_each_schema_up_to_the_last_release() -> None:
    assert [name for name in RELEASES if name.startswith("schema-")] == [f"schema-{n:02}" for n in range(1, 6)]


@pytest.mark.parametrize("name", RELEASES)
def test_every_question_is_answered_as_the_released_version_answered_it(name: str, tmp_path: Path) -> None:
    asked = unpack(name, tmp_path / "users")
    assert len(asked) >= 35
    with serving(tmp_path) as app:
        tellers = {email: Teller(app, email) for email in {each.email for each in asked}}
        changed = {
            each.path: found
            for each in asked
            if (found := differences(each.answer, tellers[each.email].get(each.path)))
        }
        assert changed == {}
    assert version_of(tmp_path / "users") == len(MIGRATIONS)
    assert broken_invariants(tmp_path / "users") == {}


@pytest.mark.parametrize("name", RELEASES)
def test_what_a_released_version_wrote_is_found_and_can_be_added_to(name: str, tmp_path: Path) -> None:
    unpack(name, tmp_path / "users")
    with serving(tmp_path) as app:
        ada = Teller(app, "ada@example.org")
        while index_pending(database=open_store(str(tmp_path / "users"))):
            pass
        found = ada.get("/search?q=sourdoug")["results"]
        assert any("sourdough" in str(hit).lower() for hit in found)
        conversations = ada.get("/list_conversation_by_user/assistant")
        conversation_id = next(row["conversation_id"] for row in conversations if row["message_count"] == 2)
        ada.say(conversation_id, "And now?")
        assert [message["message_index"] for message in ada.messages(conversation_id)] == [1, 2, 3, 4]
        assert list(verify_store(database=open_store(str(tmp_path / "users")))) == []


def test_an_update_is_logged_once_and_a_store_of_today_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="database.migrations")
    unpack(RELEASES[-1], tmp_path / "users")
    for _ in range(2):
        open_store(str(tmp_path / "users"))
        close_store(str(tmp_path / "users"))
    told = [record.getMessage() for record in caplog.records if record.name == "database.migrations"]
    assert told == [f"bringing the store from schema version 5 to {len(MIGRATIONS)}"]


@pytest.mark.parametrize("name", [RELEASES[0], RELEASES[-1]])
def test_processes_that_start_at_once_apply_each_change_once(name: str, tmp_path: Path) -> None:
    unpack(name, tmp_path)
    before = texts_of(tmp_path)
    started = [run(OPEN_BOTH, users_dir=tmp_path) for _ in range(2)]
    ended = [process.ended() for process in started]
    assert [each.returncode for each in ended] == [0, 0], ended
    with closing(sqlite3.connect(tmp_path / "users.db")) as connection:
        versions = connection.execute("SELECT version FROM schema_version ORDER BY version").fetchall()
    assert versions == [(number,) for number in range(1, len(MIGRATIONS) + 1)]
    assert texts_of(tmp_path) == before


@pytest.mark.parametrize("number", range(2, len(MIGRATIONS) + 1))
def test_a_start_that_is_killed_in_a_change_leaves_the_store_as_it_was_before_this_change(
    number: int, tmp_path: Path
) -> None:
    unpack(RELEASES[0], tmp_path)
    before = texts_of(tmp_path)
    killed = run(DIE_IN_MIGRATION + OPEN_BOTH, users_dir=tmp_path, number=number).ended()
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert version_of(tmp_path) == number - 1
    with open_store(tmp_path).reading() as connection:
        tables = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
    close_store(tmp_path)
    assert "half_way" not in tables
    assert version_of(tmp_path) == len(MIGRATIONS)
    assert texts_of(tmp_path) == before
    assert broken_invariants(tmp_path) == {}


def test_a_change_that_fails_stops_the_start_and_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(RELEASES[-1], tmp_path)

    def failing(connection: object) -> None:
        connection.exec_driver_sql("CREATE TABLE half_way (number INTEGER)")  # type: ignore[attr-defined]
        raise RuntimeError("this change fails")

    whole = len(MIGRATIONS)
    monkeypatch.setattr("database.migrations.MIGRATIONS", (*MIGRATIONS, failing))
    with pytest.raises(RuntimeError, match="this change fails"):
        open_store(tmp_path)
    monkeypatch.undo()
    with open_store(tmp_path).reading() as connection:
        tables = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
    close_store(tmp_path)
    assert "half_way" not in tables
    assert version_of(tmp_path) == whole


def test_a_knowledge_base_whose_change_is_killed_is_as_it_was_before(tmp_path: Path) -> None:
    unpack(RELEASES[-1], tmp_path)
    script = """
        import os, signal, sqlite3
        from truth_management_system.database import pkb_database as database

        database.SCHEMA_VERSION += 1
        database.statements = lambda number, dialect: ["CREATE TABLE half_way (number INTEGER)", "SELECT die()"]
        from truth_management_system.config import PKBConfig

        real = database.PKBDatabase.execute
        def execute(self, sql, parameters=()):
            if sql == "SELECT die()":
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, sql, parameters)
        database.PKBDatabase.execute = execute
        database.get_database(PKBConfig(db_path={users_dir!r} + "/pkb.sqlite"))
    """
    with closing(sqlite3.connect(tmp_path / "pkb.sqlite")) as connection:
        before = connection.execute("SELECT claim_id, statement FROM claims ORDER BY 1").fetchall()
    killed = run(script, users_dir=tmp_path).ended()
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    base = PKBDatabase(PKBConfig(db_path=str(tmp_path / "pkb.sqlite"))).connect()
    base.initialize_schema()
    assert base.select("SELECT name FROM sqlite_master WHERE name = 'half_way'") == []
    assert [tuple(row) for row in base.select("SELECT claim_id, statement FROM claims ORDER BY 1")] == before
    base.close()


def test_shares_of_a_conversation_are_deleted_through_an_index(tmp_path: Path) -> None:
    unpack("schema-04", tmp_path)
    open_store(tmp_path)
    close_store(tmp_path)
    with closing(sqlite3.connect(tmp_path / "users.db")) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN DELETE FROM shares WHERE conversation_id = 'x'").fetchall()
        pages = connection.execute("EXPLAIN QUERY PLAN DELETE FROM share_pages WHERE conversation_id = 'x'").fetchall()
    assert "USING INDEX sqlite_autoindex_shares_1" in str(plan)
    assert "idx_share_pages_cascade" in str(pages)
