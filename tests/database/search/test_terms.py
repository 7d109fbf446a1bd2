"""Words stand in the indexes behind a prefix of their owner: nobody walks through what other people say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.maintenance.verification import verify_store
from database.migrations import m0045_words_of_their_owner, m0046_blocks_of_messages
from database.search import index, owned, vocabulary
from database.search.indexing import index_pending
from database.search.owned import DOCUMENTS, PASSAGES, OwnedTexts, fill_pending, refill
from database.turns.identity import FinishedTurn
from search.messages import search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query
from tests.database.owned_texts import give_former_names, store_text

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
            database.write(lambda connection, row=(number, email, text): store_text(connection, *row))
        assert numbers(database, DOCUMENTS, ANN, "whale") == [2]  # the owner's token was asked for as well
    database.write(give_former_names)
    database.write(m0045_words_of_their_owner.upgrade)
    database.write(m0046_blocks_of_messages.upgrade)
    assert found(database, ANN, "whale") == ["A white whale"]  # by reading the messages
    assert index_pending(database=database) == 2
    assert sum(fill_pending(database=database)) == 2 * len(texts)
    assert list(fill_pending(database=database)) == []
    if database.backend.file is not None:
        assert list(verify_store(database=database)) == []
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


def test_texts_that_change_while_their_index_is_filled_anew_are_in_it_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 7):
        database.write(lambda connection, number=number: store_text(connection, number, ANN, f"Fish\nwhale {number}"))
    monkeypatch.setattr(owned, "_SLICE_SECONDS", 0.0)  # one text a slice
    added, filling = 0, refill(database=database)
    for _ in range(2):
        added += next(filling)
    database.write(lambda connection: DOCUMENTS.remove(connection, ANN, [(2, "Fish\nwhale 2")]))
    database.write(lambda connection: DOCUMENTS.put(connection, ANN, [(2, "Fish\nshark")]))
    database.write(lambda connection: DOCUMENTS.remove(connection, ANN, [(5, "Fish\nwhale 5")]))  # not in it yet
    database.write(lambda connection: DOCUMENTS.put(connection, ANN, [(5, "Fish\nshark")]))
    database.write(lambda connection: store_text(connection, 7, ANN, "Fish\nwhale 7"))
    filling.close()  # whoever comes next goes on
    added += sum(fill_pending(database=database))
    assert added == 2 + 3 + 6  # the others were put by whoever changed them
    assert numbers(database, DOCUMENTS, ANN, "whale") == [7, 6, 4, 3, 1]
    assert numbers(database, DOCUMENTS, ANN, "shark") == [5, 2]
    assert numbers(database, PASSAGES, ANN, "whale") == [7, 6, 5, 4, 3, 2, 1]
    database.write(lambda connection: DOCUMENTS.remove(connection, ANN, [(5, "Fish\nshark"), (7, "Fish\nwhale 7")]))
    assert numbers(database, DOCUMENTS, ANN, "fish") == [6, 4, 3, 2, 1]


@pytest.mark.only_sqlite
def test_an_index_that_was_damaged_while_it_is_filled_is_begun_anew(database: Database) -> None:
    for number in (1, 2):
        database.write(lambda connection, number=number: store_text(connection, number, ANN, "Fish\nwhale"))
    database.write(DOCUMENTS.empty)
    damage = "DELETE FROM document_terms_data"
    database.write(lambda connection: connection.exec_driver_sql(damage).close())
    assert sum(refill(database=database)) >= 2
    assert numbers(database, DOCUMENTS, ANN, "whale") == [2, 1]
    assert numbers(database, PASSAGES, ANN, "whale") == [2, 1]
