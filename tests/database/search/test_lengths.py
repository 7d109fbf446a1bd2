"""The lengths of indexed messages are packed behind the index, and follow edits, deletions and a new index."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.editing import delete_message, edit_message
from database.history.reading import list_messages
from database.search import lengths
from database.search.indexing import index_pending, reindex_messages
from database.turns.identity import FinishedTurn
from search import sqlite
from search.messages import search_messages
from search.query import parse_query

pytestmark = pytest.mark.only_sqlite

ANN = "ann@example.org"
BLOCK = 8
TURNS = 10


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "BLOCK", BLOCK)


@pytest.fixture
def own(database: Database, take_turn: Callable[..., FinishedTurn]) -> dict[str, str]:
    """Twenty messages: question n has n + 1 words, answer n has 100 + n."""
    conversation_id = create_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    for number in range(TURNS):
        take_turn(ANN, conversation_id, text="whale " * (number + 1), answer="whale song " * (50 + number))
    index_pending(database=database)
    return {"database": database, "user_email": ANN, "conversation_id": conversation_id}


def packed_blocks(database: Database) -> list[int]:
    with database.reading() as connection:
        return list(connection.exec_driver_sql("SELECT block FROM messages_fts_lengths ORDER BY block").scalars())


def told_lengths(own: dict[str, str]) -> list[int]:
    """The lengths of the live messages, in order, as they are told; and as the index itself has them."""
    seqs = [row.seq for row in list_messages(**own)]
    with own["database"].reading() as connection:
        told = lengths.lengths_of(connection, seqs).tolist()
        sizes = dict(connection.exec_driver_sql("SELECT id, sz FROM messages_fts_docsize").all())
    assert told == [lengths._words(sizes[seq]) for seq in seqs]
    return told


def test_lengths_are_packed_as_far_as_full_blocks_are_indexed(own: dict[str, str]) -> None:
    assert packed_blocks(own["database"]) == [0, 1]
    expected = [length for number in range(TURNS) for length in (number + 1, 100 + 2 * number)]
    assert told_lengths(own) == expected


def test_lengths_follow_edits_and_deletions(own: dict[str, str]) -> None:
    first, second, *_ = list_messages(**own)
    edit_message(**own, message_id=first.message_id, text="whale " * 300, index=None)
    delete_message(**own, message_id=second.message_id, index=None)
    assert told_lengths(own)[0] == 300
    with own["database"].reading() as connection:
        assert lengths.lengths_of(connection, [second.seq]).tolist() == [0]


def test_a_new_index_has_its_lengths_packed_anew(own: dict[str, str]) -> None:
    before = told_lengths(own)
    slices = reindex_messages(database=own["database"], slice_ms=0)
    next(slices)
    assert packed_blocks(own["database"]) == []
    for _ in slices:
        pass
    assert packed_blocks(own["database"]) == [0, 1]
    assert told_lengths(own) == before


def test_a_very_long_message_counts_as_the_longest_that_can_be_packed() -> None:
    assert lengths._words(bytes([1, 1, 0x7F])) == 127
    assert lengths._words(bytes([1, 1, 0x81, 0x00])) == 128
    assert lengths._words(bytes([1, 1, 0x84, 0x80, 0x00])) == lengths.LONGEST


@pytest.mark.parametrize("are_packed", [True, False])
def test_of_many_hits_the_newest_and_the_shortest_are_ranked(
    own: dict[str, str], monkeypatch: pytest.MonkeyPatch, are_packed: bool
) -> None:
    if not are_packed:  # as in a store of before there were blocks, until they are packed behind
        own["database"].write(lengths.forget)
    monkeypatch.setattr(sqlite, "_READ", 8)
    found = search_messages(**{name: own[name] for name in ("database", "user_email")}, query=parse_query("whale"))
    newest, shortest = {17, 18, 19, 20}, {1, 3, 5, 7}
    assert {hit.message.index for hit in found.messages} == newest | shortest
    assert found.warnings == ["Not all of very many messages are listed."]
