"""PostgreSQL's index takes texts that are larger than a `tsvector` may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from database.connection import close_store, open_store
from database.engine.database import Database
from database.search import index, postgresql
from tests.database.owned_texts import give_former_names
from tests.postgresql import PostgreSQLServer

OF_ANN = {"user_email": "ann@example.org", "conversation_id": "c"}


@pytest.fixture
def database(postgresql_server: PostgreSQLServer, tmp_path: Path) -> Iterator[Database]:
    """An empty store on PostgreSQL."""
    url = postgresql_server.empty_store()
    yield open_store(tmp_path, database_url=url)
    close_store(tmp_path)
    postgresql_server.take_back(url)


def test_a_text_of_any_length_is_indexed_and_its_beginning_is_found(database: Database) -> None:
    texts = {
        1: "whale " * 70_000 + "plankton",
        2: "first " + " ".join(f"word{number}" for number in range(200_000)),
        3: "x" * 1_000_000,
        4: "深" * 40_000,
    }
    rows = [
        index.indexed_text(seq=seq, user_email="ann@example.org", conversation_id="c", text=text)
        for seq, text in texts.items()
    ]
    database.write(lambda connection: postgresql.put(connection, rows))

    def found(word: str) -> list[int]:
        with database.reading() as connection:
            return index.newest_hits(connection, **OF_ANN, phrases=[[word]], limit=9)

    assert [found(word) for word in ("whale", "plankton", "first", "word7", "x" * 1_000_000, "xxx", "深")] == [
        [1],
        [1],
        [2],
        [2],
        [3],
        [3],
        [4],
    ]


def test_other_peoples_messages_are_not_touched_by_a_word_that_looks_like_a_token(database: Database) -> None:
    token = index.indexed_text(seq=1, user_email="ann@example.org", conversation_id="c", text="").conversation
    row = index.indexed_text(seq=1, user_email="eve@example.org", conversation_id="d", text=f"{token} whale")
    database.write(lambda connection: postgresql.put(connection, [row]))
    with database.reading() as connection:
        assert index.newest_hits(connection, **OF_ANN, phrases=[["whale"]], limit=9) == []
        of_eve = {"user_email": "eve@example.org", "conversation_id": "d"}
        assert index.newest_hits(connection, **of_eve, phrases=[["whale"]], limit=9) == [1]


_OPTIONS = "SELECT reloptions FROM pg_class WHERE relname = 'idx_messages_fts_words'"


def test_searches_read_no_list_of_pending_entries_also_in_a_database_of_an_earlier_version(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url = postgresql_server.empty_store()
    row = index.indexed_text(seq=1, user_email="ann@example.org", conversation_id="c", text="plankton")
    with_list = "ALTER INDEX anaphora.idx_messages_fts_words SET (fastupdate = on)"
    earlier = f"{with_list}; DELETE FROM anaphora.schema_version WHERE version > 20"
    former = open_store(tmp_path, database_url=url)
    former.write(give_former_names)
    former.write(lambda connection: connection.exec_driver_sql(earlier))
    close_store(tmp_path)
    store = open_store(tmp_path, database_url=url)
    store.write(lambda connection: postgresql.put(connection, [row]))
    with store.reading() as connection:
        options = connection.exec_driver_sql(_OPTIONS).scalar_one()
        found = index.newest_hits(connection, **OF_ANN, phrases=[["plankton"]], limit=9)
    close_store(tmp_path)
    postgresql_server.take_back(url)
    assert (options, found) == (["fastupdate=off"], [1])
