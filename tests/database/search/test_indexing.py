"""The index of messages is made anew under way: whoever stops it loses nothing, whoever searches finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest
from sqlalchemy import insert

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.maintenance.verification import verify_store
from database.schema import message_words
from database.search import vocabulary
from database.search.index import term_prefix
from database.search.indexing import clear_retired_index, index_pending, reindex_messages
from database.turns.identity import FinishedTurn
from search.messages import search_messages
from search.query import parse_query

pytestmark = pytest.mark.contract

ANN = "ann@example.org"
TURNS = 20
PREFIX = term_prefix(ANN)


@pytest.fixture
def indexed(database: Database, take_turn: Callable[..., FinishedTurn]) -> str:
    """A store of forty indexed messages."""
    conversation_id = create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    for number in range(TURNS):
        take_turn(ANN, conversation_id, text=f"whale number{number}", answer="a song")
    index_pending(database=database)
    return database


def found(database: Database, words: str) -> int:
    return len(search_messages(database=database, user_email=ANN, query=parse_query(words), limit=100).messages)


def tables(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE name GLOB '*retired*'").scalars())


def test_a_new_index_finds_what_the_old_one_found(indexed: Database) -> None:
    assert sum(count for count, _ in reindex_messages(database=indexed)) == 2 * TURNS
    assert found(indexed, "whale") == TURNS
    assert found(indexed, "number7") == 1


def test_a_new_index_has_no_words_that_no_message_says(indexed: Database) -> None:
    indexed.write(lambda connection: connection.execute(insert(message_words).values(word=f"{PREFIX}stale")))
    list(reindex_messages(database=indexed))
    with indexed.reading() as connection:
        assert vocabulary.words_with(connection, PREFIX, "stale", at_end=False, most=100) == []
        assert vocabulary.words_with(connection, PREFIX, "umber7", at_end=False, most=100) == ["number7"]


@pytest.mark.only_sqlite
def test_searches_find_everything_at_each_moment(indexed: str) -> None:
    slices = reindex_messages(database=indexed, slice_ms=0)
    reached = []
    for _, mark in slices:
        reached.append(mark)
        assert found(indexed, "whale") == TURNS
        assert found(indexed, "number7") == 1
    assert len(reached) > TURNS
    assert reached[-1] == 2 * TURNS
    assert tables(indexed) == set()
    assert list(verify_store(database=indexed)) == []


@pytest.mark.only_sqlite
def test_what_was_stopped_is_gone_on_with(indexed: str) -> None:
    stopped = list(islice(reindex_messages(database=indexed, slice_ms=0), 5))
    again = list(reindex_messages(database=indexed, slice_ms=0))
    assert again[0][1] > stopped[-1][1]
    assert sum(count for count, _ in stopped + again) == 2 * TURNS
    assert tables(indexed) == set()
    assert list(verify_store(database=indexed)) == []


@pytest.mark.only_sqlite
def test_a_server_goes_on_with_what_was_stopped(indexed: str) -> None:
    done = sum(count for count, _ in islice(reindex_messages(database=indexed, slice_ms=0), 5))
    assert index_pending(database=indexed) == 2 * TURNS - done
    assert tables(indexed) != set()
    clear_retired_index(database=indexed)
    assert tables(indexed) == set()
    assert list(verify_store(database=indexed)) == []


@pytest.mark.only_sqlite
def test_an_index_that_waits_to_be_removed_keeps_nobody_from_making_a_new_one(indexed: Database) -> None:
    old = "CREATE VIRTUAL TABLE messages_fts_retired USING fts5(owner, conversation, body, content='')"
    indexed.write(lambda connection: connection.exec_driver_sql(old).close())
    assert sum(count for count, _ in reindex_messages(database=indexed)) == 2 * TURNS
    assert tables(indexed) == set()
    assert found(indexed, "number7") == 1
