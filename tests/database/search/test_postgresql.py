"""PostgreSQL's index takes texts that are larger than a `tsvector` may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import event

from database.connection import close_store, open_store
from database.engine.database import Database
from database.search import index, postgresql, vocabulary
from tests.database.owned_texts import drop_indexes_of_waiting_work, give_former_names, give_name_of_messages
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


_OPTIONS = "SELECT reloptions FROM pg_class WHERE relname = 'idx_message_terms_words'"


def test_searches_read_no_list_of_pending_entries_also_in_a_database_of_an_earlier_version(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url = postgresql_server.empty_store()
    row = index.indexed_text(seq=1, user_email="ann@example.org", conversation_id="c", text="plankton")
    with_list = "ALTER INDEX anaphora.idx_messages_fts_words SET (fastupdate = on)"
    earlier = f"{with_list}; DELETE FROM anaphora.schema_version WHERE version > 20"
    former = open_store(tmp_path, database_url=url)
    former.write(drop_indexes_of_waiting_work)
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


def test_an_index_of_an_earlier_version_is_filled_anew_with_the_blocks_of_its_messages(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url = postgresql_server.empty_store()
    row = index.indexed_text(seq=1, user_email="ann@example.org", conversation_id="c", text="plankton")
    former = open_store(tmp_path, database_url=url)
    former.write(lambda connection: index.advance(connection, [row], up_to=1, queues_vectors=False))
    former.write(drop_indexes_of_waiting_work)
    former.write(give_name_of_messages)
    former.write(
        lambda connection: connection.exec_driver_sql("DELETE FROM anaphora.schema_version WHERE version > 45")
    )
    close_store(tmp_path)
    store = open_store(tmp_path, database_url=url)
    with store.reading() as connection:
        emptied = index.indexed_seq(connection), postgresql.newest(connection, "':b0.0'", before=9, most=9).seqs
    store.write(lambda connection: index.advance(connection, [row], up_to=1, queues_vectors=False))
    with store.reading() as connection:
        filled = index.indexed_seq(connection), postgresql.newest(connection, "':b0.0'", before=9, most=9).seqs
    close_store(tmp_path)
    postgresql_server.take_back(url)
    assert (emptied, filled) == ((0, []), (1, [1]))


_STORED = 4_000
_EVERY = {"always": 1, "often": 3, "sometimes": 40, "rarely": 900}


def _stored(database: Database) -> dict[str, list[int]]:
    """Messages whose words are strewn over them, and which of them say each word, newest first."""
    random = Random(20261129)
    seqs = [seq for seq in range(1, _STORED) if random.random() < 0.9]
    saying = {word: [seq for seq in seqs if random.randrange(every) == 0] for word, every in _EVERY.items()}
    saying["once"] = seqs[: len(seqs) // 3]
    words_of = {seq: [word for word, said in saying.items() if seq in set(said)] for seq in seqs}
    rows = [
        index.indexed_text(seq=seq, user_email="ann@example.org", conversation_id="c", text=" ".join(words))
        for seq, words in words_of.items()
    ]
    database.write(lambda connection: postgresql.put(connection, rows))
    return {word: said[::-1] for word, said in {**saying, "never": []}.items()}


def test_the_newest_messages_are_found_wherever_they_are(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "BLOCKS", (4, 16, 64, 256))
    saying = _stored(database)
    prefix = index.term_prefix("ann@example.org")
    with database.reading() as connection:
        for word, said in saying.items():
            for before in (2**62, _STORED, 2_047, 2_048, 2_049, 300, 17, 16, 1, 0):
                older = [seq for seq in said if seq < before]
                for most in (1, 50, 1_000, 9_999):
                    found = postgresql.newest(connection, f"'{prefix}{word}'", before=before, most=most)
                    assert found.seqs == older[:most], (word, before, most)
                    assert len(found.lengths) == len(found.seqs)


def test_few_blocks_are_asked_for_what_is_said_often_and_few_times_for_what_is_said_rarely(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "BLOCKS", (4, 16, 64, 256))
    _stored(database)
    prefix = index.term_prefix("ann@example.org")
    asked: list[str] = []

    def note(*call: Any) -> None:
        asked.append(str(call[3].get("blocks0")))

    ranges: dict[str, list[int]] = {}
    with database.reading() as connection:
        event.listen(connection, "before_cursor_execute", note)
        for word in ("always", "often", "sometimes", "never"):
            asked.clear()
            postgresql.newest(connection, f"'{prefix}{word}'", before=2**62, most=100)
            ranges[word] = [_reach(expression) for expression in asked[1:]]
        event.remove(connection, "before_cursor_execute", note)
    assert sum(ranges["always"]) <= 130
    assert sum(ranges["often"]) <= 500
    assert len(ranges["sometimes"]) <= 5
    assert ranges["never"] == [96, _STORED]  # the rest at once


def _reach(expression: str) -> int:
    """How many messages are in the blocks that are asked for."""
    blocks = re.findall(r"':b(\d)\.\d+'", expression)
    return sum(4 ** (int(level) + 1) for level in blocks) if blocks else _STORED


def test_words_are_forgotten_unless_any_message_says_them_however_old(database: Database) -> None:
    said = {1: "once", 200_000: "between", 400_000: "lately"}
    rows = [
        index.indexed_text(seq=seq, user_email="ann@example.org", conversation_id="c", text=text)
        for seq, text in said.items()
    ]

    def known() -> list[str]:
        with database.reading() as connection:
            found = vocabulary.words_with(connection, index.term_prefix("ann@example.org"), "e", at_end=False, most=9)
            return sorted(found or [])

    terms = [index.terms_of("ann@example.org", f"{' '.join(said.values())} never")]
    database.write(lambda connection: vocabulary.add(connection, terms))
    database.write(lambda connection: vocabulary.doubt(connection, terms))
    assert known() == ["between", "lately", "never", "once"]
    database.write(lambda connection: postgresql.put(connection, rows))
    assert vocabulary.forget_unsaid(database=database) == 1
    assert known() == ["between", "lately", "once"]
    database.write(lambda connection: postgresql.empty(connection))
    database.write(lambda connection: vocabulary.doubt(connection, terms))
    assert vocabulary.forget_unsaid(database=database) == 3
