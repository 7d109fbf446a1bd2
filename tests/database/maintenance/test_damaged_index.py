"""A store whose full-text index is damaged is brought to today's schema: the index and its words are made anew."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.engine.errors import DatabaseDamagedError
from database.maintenance.verification import verify_store
from database.search.indexing import clear_retired_index, index_pending
from database.search.owned import fill_pending
from database.turns.identity import FinishedTurn
from search.messages import search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query
from tests.database.owned_texts import drop_indexes_of_waiting_work, give_former_names, store_text

pytestmark = pytest.mark.only_sqlite

ADA = "ada@example.org"
PAGE = 4096
TURNS = 20
WORDS_BEFORE = 27
"""The schema before the list of words."""
DAMAGES = (
    "UPDATE messages_fts_data SET block = x'00ff00ff' WHERE id > 10",
    "DELETE FROM messages_fts_data WHERE id > 10",
    "DELETE FROM messages_fts_data WHERE id = 10",
    "DELETE FROM messages_fts_data",
)
"""The words of the index, the list of its segments, everything."""


@pytest.fixture
def of_before(users_dir: str, take_turn: Callable[..., FinishedTurn]) -> Path:
    """The file of a store with forty indexed messages, closed, as the version before the list of words left it."""
    database = open_store(users_dir)
    conversation_id = create_conversation(database=database, user_email=ADA, domain="assistant").conversation_id
    for number in range(TURNS):
        seldom = " ".join(f"seldom{number}x{each}" for each in range(100))
        take_turn(ADA, conversation_id, text=f"whale number{number} {seldom}", answer="a song")
    index_pending(database=database)
    database.write(lambda connection: store_text(connection, 1, ADA, "Fish\nwhale"))
    database.write(drop_indexes_of_waiting_work)
    database.write(give_former_names)
    close_store(users_dir)
    file = Path(users_dir) / "users.db"
    change(file, "DROP TABLE message_words", f"DELETE FROM schema_version WHERE version > {WORDS_BEFORE}")
    return file


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def spoil_table(file: Path, table: str, *, keep: str = "") -> None:
    """Overwrite the leaf pages of a table, but the one at the path `keep` (see SQLite's `dbstat`)."""
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' AND path <> ?"
        pages = [row[0] for row in connection.execute(query, (table, keep))]
    assert pages
    with file.open("r+b") as opened:
        for number in pages:
            opened.seek((number - 1) * PAGE)
            opened.write(b"\xa7" * PAGE)


def found(database: Database, words: str) -> int:
    return len(search_messages(database=database, user_email=ADA, query=parse_query(words), limit=100).messages)


def is_found(database: Database) -> None:
    assert found(database, "whale") == TURNS
    assert found(database, "number7") == 1
    by_pattern = find_pattern("umber7", database=database, user_email=ADA, limit=100, deadline=Deadline(60))
    assert len(by_pattern.matches) == 1


def versions(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.exec_driver_sql("SELECT max(version) FROM schema_version").scalar() or 0)


@pytest.mark.parametrize("damaged", DAMAGES)
def test_a_damaged_index_is_made_anew_with_its_words(
    damaged: str, of_before: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(of_before, damaged)
    with caplog.at_level(logging.WARNING):
        database = open_store(of_before.parent)
    assert versions(database) > WORDS_BEFORE
    assert "The full-text index is damaged" in caplog.text
    is_found(database)  # by reading the messages
    assert index_pending(database=database) == 2 * TURNS
    is_found(database)
    clear_retired_index(database=database)
    assert sum(fill_pending(database=database)) == 2
    is_found(database)
    assert list(verify_store(database=database)) == []


@pytest.mark.parametrize("table", ["documents_fts", "passages_fts"])
@pytest.mark.parametrize("damaged", DAMAGES)
def test_a_damaged_index_of_documents_or_files_keeps_nothing_closed(of_before: Path, damaged: str, table: str) -> None:
    change(of_before, damaged.replace("messages_fts", table))
    database = open_store(of_before.parent)
    assert index_pending(database=database) == 2 * TURNS
    with database.reading() as connection:
        names = set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())
    assert not {name for name in names if name.startswith(table)}
    assert sum(fill_pending(database=database)) == 2
    assert list(verify_store(database=database)) == []


def test_an_index_whose_pages_are_overwritten_is_made_anew(of_before: Path) -> None:
    spoil_table(of_before, "messages_fts_data", keep="/000/")
    database = open_store(of_before.parent)
    assert versions(database) > WORDS_BEFORE
    assert index_pending(database=database) == 2 * TURNS
    is_found(database)


def test_a_store_whose_index_cannot_even_be_replaced_opens(of_before: Path, caplog: pytest.LogCaptureFixture) -> None:
    spoil_table(of_before, "messages_fts_data")
    database = open_store(of_before.parent)
    assert versions(database) > WORDS_BEFORE
    assert "can't be replaced" in caplog.text
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM messages").scalar() == 2 * TURNS


def test_damage_while_an_older_index_is_being_replaced_is_mended_too(of_before: Path) -> None:
    change(
        of_before,
        "CREATE VIRTUAL TABLE messages_fts_retired USING fts5(owner, conversation, body, content='')",
        DAMAGES[0],
    )
    database = open_store(of_before.parent)
    assert index_pending(database=database) == 2 * TURNS
    clear_retired_index(database=database)
    assert sum(fill_pending(database=database)) == 2
    is_found(database)
    assert list(verify_store(database=database)) == []


def test_damaged_messages_stay_damaged(of_before: Path) -> None:
    spoil_table(of_before, "messages")
    spoil_table(of_before, "messages_fts_data")
    with pytest.raises(DatabaseDamagedError):
        index_pending(database=open_store(of_before.parent))


def test_nothing_is_said_where_a_whole_index_is_replaced(of_before: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = open_store(of_before.parent)
    is_found(database)  # by reading the messages
    assert index_pending(database=database) == 2 * TURNS
    is_found(database)
    assert caplog.text == ""
