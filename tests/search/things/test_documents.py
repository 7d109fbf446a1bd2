"""Documents are found by what they are called and say: by their owner alone, while they are there."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from database.accounts.users import create_user
from database.engine.database import Database
from search.query import parse_query
from search.things.documents import FoundDocument, described_documents, documents_in_time, find_documents
from vault.documents import Vaults

pytestmark = pytest.mark.contract
ANN, BOB = "ann@example.org", "bob@example.org"
Put = Callable[..., None]
Statements = Callable[[], AbstractContextManager[list[str]]]


@pytest.fixture
def vaults(database: Database) -> Vaults:
    for email in (ANN, BOB):
        create_user(database=database, user_email=email, password="a long password")
    return Vaults(database=database)


@pytest.fixture
def put(vaults: Vaults) -> Put:
    """Writes files of a vault, `{path: text}`, changed on a day, and has them indexed."""

    def write(texts: dict[str, str], *, email: str = ANN, day: str = "2026-03-05") -> None:
        vault = vaults.of(email)
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
        for path, text in texts.items():
            file = Path(vault.root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            os.utime(file, (moment, moment))
        list(vault.refresh())

    return write


def find(database: Database, q: str, *, email: str = ANN) -> list[FoundDocument]:
    own: dict[str, Any] = {"database": database, "user_email": email, "query": parse_query(q)}
    return described_documents(**own, shown=find_documents(**own))


def paths(found: list[FoundDocument]) -> list[str]:
    return [each.path for each in found]


def marked(found: FoundDocument) -> list[str]:
    return [found.snippet.text[slice(*place)] for place in found.snippet.ranges]


def test_a_document_is_found_by_its_words_with_the_place_that_says_them(database: Database, put: Put) -> None:
    put(
        {
            "coast/north.md": f"# The coast\n\n{'Sand and wind. ' * 600}\n\nA lighthouse stands there.",
            "b.md": "Nothing.",
        }
    )
    (found,) = find(database, "lightho")
    assert (found.path, found.title, found.modified) == ("coast/north.md", "The coast", "2026-03-05T00:00:00+00:00")
    assert found.snippet.text.startswith("… ")
    assert marked(found) == ["lighthouse"]


@pytest.mark.parametrize("q", ["garten köln", "KÖLN garten", "Ko\u0308ln"])
def test_a_document_is_found_by_the_names_of_its_file_and_its_aliases(database: Database, put: Put, q: str) -> None:
    put({"Garten in Köln.md": "# Beete\n\nTomaten.", "a.md": "---\naliases: [Köln und sein Garten]\n---\nRosen."})
    found = find(database, q)
    assert sorted(paths(found)) == ["Garten in Köln.md", "a.md"]
    assert {each.snippet.text for each in found if each.path != "a.md"} == {"Garten in Köln"}
    assert find(database, "garten paris") == []


@pytest.mark.parametrize("q", ["koln", "Köln", "grosse", "Größe", "gross koln", "日本"])
def test_names_are_found_without_their_diacritics_and_in_scripts_without_spaces(
    database: Database, put: Put, q: str
) -> None:
    put({"Köln.md": "Rosen.", "Größe.md": "Zahlen.", "Große Karte von Köln.md": "Wege.", "旅行日本.md": "Bilder."})
    put({"本を読む日.md": "Text.", "Other.md": "Nothing."})
    expected = {
        "koln": ["Große Karte von Köln.md", "Köln.md"],
        "gross koln": ["Große Karte von Köln.md"],
        "grosse": ["Große Karte von Köln.md", "Größe.md"],
        "日本": ["旅行日本.md"],
    }
    expected |= {"Köln": expected["koln"], "Größe": expected["grosse"]}
    assert sorted(paths(find(database, q))) == expected[q]


def test_what_is_called_so_comes_first_and_then_what_says_it_most(database: Database, put: Put) -> None:
    put({"rye.md": "Flour.", "a.md": f"rye {'and much else ' * 90}", "b.md": "rye, rye and rye"})
    assert paths(find(database, "rye")) == ["rye.md", "b.md", "a.md"]


def test_phrases_and_words_that_are_left_out_count(database: Database, put: Put) -> None:
    put({"a.md": "rye flour and water", "yeast.md": "flour of rye and yeast"})
    assert sorted(paths(find(database, "rye flour"))) == ["a.md", "yeast.md"]
    assert paths(find(database, '"rye flour"')) == ["a.md"]
    assert paths(find(database, "flour -yeast")) == ["a.md"]
    assert paths(find(database, "yeast -rye")) == []
    assert find(database, "-rye") == []


def test_the_time_of_the_last_change_filters(database: Database, put: Put) -> None:
    put({"old.md": "rye"}, day="2025-12-31")
    put({"new.md": "rye"}, day="2026-01-01")
    assert paths(find(database, "rye after:2026")) == ["new.md"]
    assert paths(find(database, "rye before:2026")) == ["old.md"]
    assert paths(find(database, "old after:2026")) == []
    own: dict[str, Any] = {"database": database, "user_email": ANN, "query": parse_query("rye after:2026")}
    assert documents_in_time(**own, paths=["old.md", "new.md", "gone.md"]) == {"new.md"}


@pytest.mark.parametrize("has_same_prefix", [False, True])
def test_nobody_finds_the_documents_of_others(
    database: Database, put: Put, monkeypatch: pytest.MonkeyPatch, has_same_prefix: bool
) -> None:
    if has_same_prefix:
        monkeypatch.setattr("database.search.index.term_prefix", lambda _email: "0another")
    put({"treasure.md": "The treasure lies in Zanzibar."})
    put({"own.md": "Mine."}, email=BOB)
    for q in ("zanzibar", "treasure"):
        assert paths(find(database, q)) == ["treasure.md"]
        assert find(database, q, email=BOB) == []
    own: dict[str, Any] = {"database": database, "user_email": BOB, "query": parse_query("mine")}
    assert documents_in_time(**own, paths=["treasure.md", "own.md"]) == {"own.md"}
    assert paths(described_documents(**own, shown={"treasure.md": None, "own.md": None})) == ["own.md"]


def test_a_document_that_was_changed_or_deleted_is_not_found_by_what_it_said(
    database: Database, put: Put, vaults: Vaults
) -> None:
    put({"a.md": "The zeppelin landed.", "b.md": "The zeppelin started."})
    assert sorted(paths(find(database, "zeppelin"))) == ["a.md", "b.md"]
    vaults.of(ANN).delete("a.md")
    put({"b.md": "The balloon."}, day="2026-03-06")
    assert find(database, "zeppelin") == []


@pytest.mark.parametrize("q", ["", '"', "%", "_", "a_b%", "rye' OR 1=1 --", '"*" OR NEAR(', "\ud800", "x" * 2_000])
def test_any_text_is_a_query(database: Database, put: Put, q: str) -> None:
    put({"a.md": "Rose."})
    assert find(database, q) == []


def test_a_search_takes_three_statements_however_much_there_is(
    database: Database, put: Put, statements: Statements
) -> None:
    put({f"{number}.md": "rye" for number in range(30)})
    with statements() as asked:
        found = find_documents(database=database, user_email=ANN, query=parse_query("rye"))
    assert (len(found), len(asked)) == (30, 3)
