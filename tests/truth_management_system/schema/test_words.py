"""How the index of a file knows words: cut, stemmed as SQLite itself does, each behind a prefix of its owner."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from database.search.index import term_prefix
from tests.truth_management_system.conftest import (
    added,
    finds_its_memories,
    make_store_before,
    stored_knowledge_base,
)
from truth_management_system import PKBDatabase, StructuredAPI
from truth_management_system.interface.structured_api import verify_knowledge
from truth_management_system.schema import sqlite
from truth_management_system.schema.sqlite import owned_words, stem, terms

ANN, BEN = "ann@example.org", "ben@example.org"
# Those of the paper, each with an ending that one of its steps knows.
_OF_THE_PAPER = """
    caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
    falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer
    conformabli radicalli differentli vileli analogousli vietnamization predication operator feudalism decisiveness
    hopefulness callousness formaliti sensitiviti sensibiliti triplicate formative formalize electriciti
    electrical hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible irritant
    replacement adjustment dependent adoption decision homologou communism activate angulariti homologous effective
    bowdlerize probate rate cease controll roll y yes syzygy as by js ion sion eye über naïveté
"""


def documented_words() -> set[str]:
    """The words of the documentation."""
    pages = Path(__file__).parents[3].joinpath("documentation").glob("*.md")
    return {word for page in pages for word in re.findall(r"[a-z]+", page.read_text(encoding="utf-8").lower())}


def test_stems_are_those_of_sqlites_own_tokenizer() -> None:
    known = sorted({*_OF_THE_PAPER.split(), *documented_words()})
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE said USING fts5(word, content='', tokenize='porter ascii')")
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(said, 'instance')")
        connection.executemany("INSERT INTO said (rowid, word) VALUES (?, ?)", enumerate(known))
        expected = dict(connection.execute("SELECT doc, term FROM stems"))
    assert {word: stem(word) for word in known} == {word: expected[place] for place, word in enumerate(known)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Whales sing, at-night!", ["whale", "sing", "at", "night"]),
        ("Überblick über ﬁlms\x00x", ["uberblick", "uber", "film", "x"]),
        ("it's_20€ … 東京", ["it", "s", "20", "東京"]),
        ("", []),
        ("?!", []),
    ],
)
def test_a_text_is_cut_where_neither_letters_nor_digits_stand(text: str, expected: list[str]) -> None:
    assert terms("", text) == expected


def test_each_text_of_a_row_keeps_its_place() -> None:
    prefix = term_prefix(ANN)
    held = json.loads(owned_words(ANN, json.dumps(["Red bikes", None, ""])))
    assert held == [f"{prefix}red {prefix}bike", None, ""]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For whom words were cut."""
    asked: list[str] = []

    def counted(user_email: str, texts: str) -> str:
        asked.append(user_email)
        return owned_words(user_email, texts)

    monkeypatch.setattr(sqlite, "owned_words", counted)
    return asked


@pytest.fixture
def counted_db(calls: list[str], db: PKBDatabase) -> Iterator[PKBDatabase]:
    """A store whose connections were opened after `calls` began to count."""
    db.close()
    with db.connect():
        db.initialize_schema()
        calls.clear()
        yield db


@pytest.mark.only_sqlite
@pytest.mark.parametrize(
    ("change", "cut"),
    [
        ("UPDATE claims SET statement = 'Blue bikes', predicate = 'are'", 2),
        ("UPDATE claims SET confidence = 0.5", 0),
        ("DELETE FROM claims", 1),
    ],
)
def test_the_words_of_a_row_are_cut_once_for_all_of_its_texts(
    counted_db: PKBDatabase, calls: list[str], change: str, cut: int
) -> None:
    added(StructuredAPI(counted_db, {}, counted_db.config, ANN), "Red bikes")
    assert calls == [ANN]
    calls.clear()
    counted_db.execute(change)
    assert calls == [ANN] * cut


def words_of(db: PKBDatabase) -> Callable[[str], set[str]]:
    """By person, what the index of claims holds of them."""
    if db.is_postgresql:
        rows = db.select("SELECT user_email, lexeme FROM claims, unnest(words)")
    else:
        db.execute("CREATE VIRTUAL TABLE claims_fts_words USING fts5vocab(claims_fts, 'instance')")
        rows = db.select("SELECT user_email, term FROM claims_fts_words JOIN claims ON claim_rowid = doc")
    return lambda email: {word for owner, word in rows if owner == email}


def test_no_word_of_the_index_is_anybody_elses(db: PKBDatabase) -> None:
    for email in (ANN, BEN):
        added(StructuredAPI(db, {}, db.config, email), "I ride red bikes", possible_questions=["Which bikes?"])
    held = words_of(db)
    anns, bens = held(ANN), held(BEN)
    assert len(anns) == len(bens) >= 4
    assert len({word[:8] for word in anns}) == len({word[:8] for word in bens}) == 1
    assert anns.isdisjoint(bens)
    shared = {word[8:] for word in anns} & {word[8:] for word in bens}
    assert {"ride", "red", "bike", "which"} <= shared


def test_people_with_an_equal_prefix_find_their_own_memories_alone(
    db: PKBDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    if db.is_postgresql:
        made = "FUNCTION anaphora_knowledge.owner_prefix(token text) RETURNS text LANGUAGE sql IMMUTABLE"
        db.execute(f"CREATE OR REPLACE {made} AS $$ SELECT '12345678' $$")
    monkeypatch.setattr(sqlite, "term_prefix", lambda _: "12345678")
    anns, bens = (StructuredAPI(db, {}, db.config, email) for email in (ANN, BEN))
    added(anns, "I ride red bikes")
    added(bens, "I ride blue bikes")
    for api, own in ((anns, "I ride red bikes"), (bens, "I ride blue bikes")):
        assert [found.claim.statement for found in api.search("bike", strategy="fts").data] == [own]
        assert [memory["statement"] for memory in api.autocomplete("bike").data["memories"]] == [own]


def test_memories_of_the_version_before_are_found_by_their_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before, make_store_before(before, None, tmp_path):
        pass
    with stored_knowledge_base(None, tmp_path) as db:
        assert finds_its_memories(db)
    assert list(verify_knowledge(tmp_path / "pkb.sqlite")) == []
    with closing(sqlite3.connect(tmp_path / "pkb.sqlite")) as other_program:
        assert other_program.execute("SELECT COUNT(*) FROM claims_fts").fetchone() == (1,)
