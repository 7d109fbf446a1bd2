"""Words stand in the indexes behind a prefix of their owner: nobody walks through what other people say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.maintenance.verification import verify_store
from database.migrations import m0045_words_of_their_owner
from database.schema import documents, file_passages
from database.search import index, vocabulary
from database.search.indexing import index_pending
from database.search.owned import DOCUMENTS, PASSAGES, OwnedTexts
from database.turns.identity import FinishedTurn
from search.messages import search_messages
from search.patterns.expressions import Deadline
from search.patterns.messages import find_pattern
from search.query import parse_query

pytestmark = pytest.mark.contract

ANN, BOB = "ann@example.org", "bob@example.org"
LONG = "x" * 600
TakeTurn = Callable[..., FinishedTurn]


@pytest.fixture
def say(database: Database, take_turn: TakeTurn) -> Callable[[str, str], None]:
    """Stores and indexes a message of a person, in a conversation of its own."""

    def said(email: str, text: str) -> None:
        talk = create_conversation(database=database, user_email=email, domain="assistant").conversation_id
        take_turn(email, talk, text=text, answer="so be it")
        index_pending(database=database)

    return said


def found(database: Database, email: str, words: str) -> list[str]:
    hits = search_messages(database=database, user_email=email, query=parse_query(words), limit=100)
    return sorted(each.message.text for each in hits.messages)


def expression(database: Database, email: str, **asked: Any) -> str:
    with database.reading() as connection:
        return index.expression_for(connection, user_email=email, **asked)


def numbers(database: Database, texts: OwnedTexts, email: str, *phrases: str) -> list[int]:
    sought = expression(database, email, phrases=[phrase.split() for phrase in phrases], beginning=False)
    with database.reading() as connection:
        return list(texts.newest(connection, sought, most=9))


def test_two_people_ask_the_index_for_no_common_term(database: Database) -> None:
    words = {"white", "whale", "wh", "what", "no", "grey"}
    for email, other in ((ANN, BOB), (BOB, ANN)):
        sought = expression(
            database,
            email,
            phrases=[["white", "whale"], ["wh"]],
            beginning=True,
            completions=["what"],
            one_of=["grey"],
            excluded=[["no"]],
        )
        asked = {word.strip("()!'\"*:") for word in sought.split()}
        prefix = index.term_prefix(email)
        assert {each.removeprefix(prefix) for each in asked if each.startswith(prefix)} == words - {"wh"}
        assert not words & asked
        assert index.term_prefix(other) not in sought


def test_a_prefix_is_a_digit_and_seven_more_characters_for_any_address() -> None:
    prefixes = {index.term_prefix(f"person-{number}@example.org") for number in range(2_000)}
    assert len(prefixes) == 2_000
    assert all(each.isalnum() and each.isascii() and each[0].isdigit() for each in prefixes)
    assert {len(each) for each in prefixes} == {index.PREFIX_LENGTH}


def test_a_beginning_is_completed_by_ones_own_words_alone(database: Database, say: Callable[[str, str], None]) -> None:
    say(ANN, "A white whale")
    say(BOB, "A whale, and whaling")
    with database.reading() as connection:
        assert index.completions(connection, ANN, "whal") == ["whale"]
        assert sorted(index.completions(connection, BOB, "whal") or []) == ["whale", "whaling"]
        assert vocabulary.words_with(connection, index.term_prefix(ANN), "hal", at_end=False, most=9) == ["whale"]


def test_people_with_the_same_prefix_find_nothing_of_each_other(
    database: Database, say: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "term_prefix", lambda _email: "0another")
    say(ANN, "A white whale")
    say(BOB, "A grey whale")
    assert found(database, ANN, "whale") == ["A white whale"]
    assert found(database, BOB, "whale -white") == ["A grey whale"]
    by_pattern = find_pattern("w.ale", database=database, user_email=BOB, limit=9, deadline=Deadline(60))
    assert [match.preview for match in by_pattern.matches] == ["A grey whale"]


def test_indexes_of_an_earlier_version_are_put_behind_prefixes(
    database: Database, say: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {1: (ANN, f"Fish\nStraße, 鯨 und {LONG} Café's o_o"), 2: (BOB, "Fish\nA grey whale"), 3: (ANN, "Fish\n")}
    with monkeypatch.context() as earlier:
        earlier.setattr(index, "term_prefix", lambda _email: "")
        say(ANN, "A white whale")
        for number, (email, text) in texts.items():
            database.write(lambda connection, row=(number, email, text): _store(connection, *row))
        assert numbers(database, DOCUMENTS, ANN, "whale") == [2]  # the owner's token was asked for as well
    database.write(_rename)
    database.write(m0045_words_of_their_owner.upgrade)
    assert found(database, ANN, "whale") == ["A white whale"]  # by reading the messages
    assert index_pending(database=database) == 2
    assert found(database, ANN, "whale") == ["A white whale"]
    for kind in (DOCUMENTS, PASSAGES):
        assert numbers(database, kind, BOB, "whale") == [2]
        assert numbers(database, kind, ANN, "whale") == []
        assert numbers(database, kind, ANN, "fish") == [3, 1]
        for word in ("straße", "鯨", "cafe", "o", LONG, "cafe s o o"):
            assert numbers(database, kind, ANN, word) == [1]
        assert numbers(database, kind, ANN) == [3, 1]
        for number, (email, text) in texts.items():
            database.write(lambda connection, kind=kind, row=(email, [(number, text)]): kind.remove(connection, *row))
        assert numbers(database, kind, ANN, "fish") == []
    if database.backend.file is not None:
        assert list(verify_store(database=database)) == []


def _rename(connection: Connection) -> None:
    """Give what has another name since `m0045` its former one."""
    for new, old in (("document_terms", "documents_fts"), ("passage_terms", "passages_fts")):
        connection.exec_driver_sql(f"ALTER TABLE {new} RENAME TO {old}")
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"ALTER INDEX idx_{new}_words RENAME TO idx_{old}_words")
    connection.exec_driver_sql("UPDATE search_state SET name = 'messages' WHERE name = 'message_terms'")


def _store(connection: Connection, number: int, email: str, text: str) -> None:
    title, _, body = text.partition("\n")
    row: dict[str, Any] = {"document_id": number, "user_email": email, "path": f"{number}.md", "title": title}
    row |= {"version": "", "size": 0, "modified_ns": 0, "front_matter": {}, "headings": [], "chunked": 0, "text": body}
    connection.execute(insert(documents).values(row))
    DOCUMENTS.put(connection, email, [(number, text)])
    row = {"passage_id": number, "user_email": email, "sha256": str(number), "number": 0, "line_start": 1}
    connection.execute(insert(file_passages).values(row | {"line_end": 1, "text": text}))
    PASSAGES.put(connection, email, [(number, text)])
