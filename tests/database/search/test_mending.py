"""A full-text index that is met damaged is no damage of the store: it is made anew, and all else goes on."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.engine.errors import SearchIndexDamagedError
from database.history.editing import delete_message, edit_message, restore_message
from database.maintenance.verification import verify_store
from database.search.indexing import clear_retired_index, index_pending
from database.search.mending import IndexMending
from database.search.owned import DOCUMENTS, PASSAGES, fill_pending
from database.turns.identity import FinishedTurn
from search.messages import search_conversation, search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query
from search.things.documents import find_documents
from tests.database.owned_texts import store_text
from tests.stores import restarted

pytestmark = pytest.mark.only_sqlite

ADA = "ada@example.org"
TURNS = 20
DAMAGES = {
    "garbage": "UPDATE {table}_data SET block = x'00ff00ff' WHERE id > 10",
    "zeros": "UPDATE {table}_data SET block = zeroblob(length(block)) WHERE id > 10",
    "no words": "DELETE FROM {table}_data WHERE id > 10",
    "no segments": "DELETE FROM {table}_data WHERE id = 10",
    "broken segments": "UPDATE {table}_data SET block = x'ffffffffffffff' WHERE id = 10",
    "nothing": "DELETE FROM {table}_data",
}
damages = pytest.mark.parametrize("damage", DAMAGES)


@pytest.fixture
def conversation_id(database: Database, take_turn: Callable[..., FinishedTurn]) -> str:
    """A conversation with forty indexed messages."""
    made = create_conversation(database=database, user_email=ADA, domain="assistant").conversation_id
    for number in range(TURNS):
        seldom = " ".join(f"seldom{number}x{each}" for each in range(100))
        take_turn(ADA, made, text=f"whale number{number} {seldom}", answer="a song")
    index_pending(database=database)
    return made


@pytest.fixture(params=["open", "opened again"])
def store(request: pytest.FixtureRequest, database: Database, conversation_id: str) -> Database:
    """A store whose connections have read the index already, and one whose connections have not."""
    return database if request.param == "open" else restarted(database)


def spoil(store: Database, damage: str, table: str = "messages_fts") -> None:
    """Damage an index behind the back of the store, which is watched from now on."""
    with closing(sqlite3.connect(store.file)) as other, other:
        other.execute(DAMAGES[damage].format(table=table))
    store.on_damage = threading.Event().set


def found(store: Database, words: str) -> int:
    return len(search_messages(database=store, user_email=ADA, query=parse_query(words), limit=100).messages)


def assert_all_is_found(store: Database, *, whales: int = TURNS) -> None:
    assert found(store, "whale") == whales
    assert found(store, "number7") == 1
    matches = find_pattern("umber7", database=store, user_email=ADA, limit=100, deadline=Deadline(60)).matches
    assert len(matches) == 1


def assert_mended(store: Database, *, whales: int = TURNS) -> None:
    """Nothing was taken for damage of the store, and upkeep fills what is made anew."""
    assert store.damage is None
    assert store.write_failure is None
    index_pending(database=store)
    sum(fill_pending(database=store))
    assert_all_is_found(store, whales=whales)
    clear_retired_index(database=store)
    assert_all_is_found(store, whales=whales)
    assert list(verify_store(database=store)) == []


@damages
def test_a_search_that_meets_a_damaged_index_finds_all_the_same_and_has_it_made_anew(
    store: Database, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(store, damage)
    assert_all_is_found(store)
    if damage != "zeros":  # which one word alone can't tell from an index without it
        assert "A full-text index is damaged. messages_fts is made anew." in caplog.text
    with caplog.at_level(logging.WARNING):
        assert_mended(store)


@damages
def test_messages_that_are_changed_meanwhile_are_changed(
    store: Database, conversation_id: str, damage: str, take_turn: Callable[..., FinishedTurn]
) -> None:
    spoil(store, damage)
    hits = search_messages(database=store, user_email=ADA, query=parse_query("song"), limit=4).messages
    first, second, third, fourth = (hit.message.message_id for hit in hits)
    spoil(store, damage)
    where: dict[str, Any] = {"database": store, "user_email": ADA, "conversation_id": conversation_id}
    edit_message(**where, message_id=first, index=None, text="a whale sang")
    for message_id in (second, third):
        delete_message(**where, message_id=message_id, index=None)
    restore_message(**where, message_id=third)
    take_turn(ADA, conversation_id, text="one more whale", answer="so be it")
    spoil(store, damage)
    edit_message(**where, message_id=fourth, index=None, text="another whale sang")
    assert_mended(store, whales=TURNS + 3)
    assert found(store, "song") == TURNS - 3
    assert len(search_conversation(**where, q="whale", limit=100)) == TURNS + 3


@damages
def test_upkeep_that_meets_a_damaged_index_fills_a_new_one(
    store: Database, conversation_id: str, damage: str, take_turn: Callable[..., FinishedTurn]
) -> None:
    spoil(store, damage)
    take_turn(ADA, conversation_id, text="one more whale", answer="so be it")
    index_pending(database=store)
    assert_all_is_found(store, whales=TURNS + 1)
    assert_mended(store, whales=TURNS + 1)


@damages
@pytest.mark.parametrize("texts", [DOCUMENTS, PASSAGES], ids=lambda texts: texts.table)
def test_damaged_indexes_of_documents_and_files_are_made_anew(store: Database, damage: str, texts: Any) -> None:
    store.write(lambda connection: store_text(connection, 1, ADA, "Fish\nwhale"))
    spoil(store, damage, texts.table)
    for number in (2, 3):
        store.write(lambda connection, number=number: store_text(connection, number, ADA, f"Fish\nwhale {number}"))
        spoil(store, damage, texts.table)
    find_documents(database=store, user_email=ADA, query=parse_query("whale"))
    store.write(lambda connection: texts.remove(connection, ADA, [(2, "Fish\nwhale 2")]))
    store.write(lambda connection: texts.put(connection, ADA, [(2, "Fish\nwhale 2")]))
    sum(fill_pending(database=store))
    spoil(store, damage, texts.table)
    merge = f"INSERT INTO {texts.table} ({texts.table}) VALUES ('optimize')"
    store.write(lambda connection: connection.exec_driver_sql(merge).close())
    sum(fill_pending(database=store))
    assert find_documents(database=store, user_email=ADA, query=parse_query("whale 3")) == {"3.md": None}
    assert_mended(store)


def test_who_still_reads_the_damaged_index_does_not_have_the_new_one_thrown_away(database: Database) -> None:
    begun = list[str]()
    mend = IndexMending({"one": lambda _: begun.append("one"), "two": lambda _: begun.append("two")})
    since = time.monotonic()
    asked: Sequence[tuple[str, float | None]] = (
        ("SELECT 1 FROM one", since),
        ("SELECT 2 FROM one", since),
        ("SELECT 1 FROM two", since),
        ("INSERT INTO one", None),
        ("", None),
        ("", since),
    )
    for statement, began in asked:
        database.write(lambda connection, s=statement, b=began: mend(connection, statement=s, since=b))
    assert begun == ["one", "two", "one", "one", "two"]


def test_what_cannot_be_mended_is_told_with_a_type_of_its_own(database: Database, conversation_id: str) -> None:
    spoil(database, "nothing")
    database.mend_indexes = None
    with pytest.raises(SearchIndexDamagedError, match="Try again"):
        found(database, "whale")
    assert database.damage is None


def test_what_another_thread_wrote_while_the_index_was_damaged_is_refused_and_not_forgotten(
    database: Database, conversation_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction can't be run again: the commit is refused, and the next one goes well."""
    put = "INSERT INTO messages_fts (rowid, owner, conversation, body) VALUES (1000, 'u', 'c', 'whale')"
    gate, begun = threading.Event(), threading.Event()
    database.write(lambda connection: connection.exec_driver_sql(put.replace("1000", "999")).close())
    spoil(database, "no segments")
    waiting = database.submit(lambda _: (begun.set(), gate.wait(60)))
    assert begun.wait(60)
    queue = database._jobs.put

    def queue_and_go_on(job: Any) -> None:
        queue(job)
        gate.set()

    monkeypatch.setattr(database._jobs, "put", queue_and_go_on)
    with pytest.raises(SearchIndexDamagedError), database.writing(timeout=60) as connection:
        connection.exec_driver_sql(put)
    assert waiting.result(60)
    with database.writing(timeout=60) as connection:
        connection.exec_driver_sql("UPDATE search_state SET indexed_seq = indexed_seq")
    assert_mended(database)
