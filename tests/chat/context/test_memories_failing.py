"""Whatever happens to the memories, a message is answered; the report says what was missing, and mending is enough."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chat.context.knowledge import KnowledgeAccess
from language_models.errors import ModelUnavailableError
from tests.chat.conftest import EMAIL, Talk, joined, remember
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.interface.structured_api import KnowledgeModels
from truth_management_system.schema.sqlite import prepare

ANSWER = "Fine, thank you."
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA locking_mode = {sys.argv[2]}")
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that failed is tried again with the next message."""
    monkeypatch.setattr("chat.context.knowledge._TRY_AGAIN_AFTER", 0.0)


@pytest.fixture
def file(talk: Talk, knowledge: KnowledgeAccess) -> Path:
    """The file of a knowledge base with one memory in it, closed."""
    remember(knowledge, "I prefer morning workouts", friendly_id="my_mornings")
    knowledge.close()
    return talk.database.folder / "pkb.sqlite"


def report(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of the report by reference."""
    return {entry["ref"]: entry for entry in events[0].get("references", [])}


def overwrite(file: Path) -> None:
    """Garbage from the first byte on."""
    file.write_bytes(os.urandom(file.stat().st_size))


def tear(file: Path) -> None:
    """Garbage behind the first page."""
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(os.urandom(file.stat().st_size - 4096))


def block(file: Path) -> None:
    """A folder where the file was: it can't be opened."""
    file.unlink()
    file.mkdir()


def outdate(file: Path) -> None:
    """A store that a newer version wrote."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO schema_version VALUES (999, '')")


def unpick(file: Path) -> None:
    """A store without its most important table."""
    with closing(sqlite3.connect(file)) as connection, connection:
        prepare(connection)
        connection.execute("ALTER TABLE claims RENAME TO lost")


BREAKING: list[Callable[[Path], None]] = [overwrite, tear, block, outdate, unpick]


@contextmanager
def locked(file: Path, mode: str) -> Iterator[None]:
    """Another process has the store for itself."""
    command = [sys.executable, "-c", LOCK, str(file), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.communicate()


def assert_answered_without_memories(talk: Talk, **more: Any) -> None:
    """A message is answered, and its report says in a sentence that the memories could not be had."""
    other = talk.about("Running Plans", ("When?", "At dawn."))
    message = f"@conversation_{other.get_metadata()['conversation_friendly_id']}_message_2"
    events = talk.say(talk.new(), f"@my_mornings {message} how am I?", **more)
    assert joined(events) == ANSWER
    assert events[-1]["done"] is True
    entries = report(events)
    assert entries[message]["status"] == "resolved"
    for ref in ("@my_mornings", "memories"):
        assert entries[ref]["status"] == "unavailable"
        (note,) = entries[ref]["notes"]
        assert note.endswith((".", ". Try again in a moment."))
        assert entries[ref]["muted"] is False
    assert "At dawn." in talk.last_prompt


def assert_answered_with_memories(talk: Talk) -> None:
    """A message is answered with its memories."""
    events = talk.say(talk.new(), "@my_mornings how am I?")
    assert (joined(events), report(events)["@my_mornings"]["status"]) == (ANSWER, "resolved")
    assert "I prefer morning workouts" in talk.last_prompt


@pytest.mark.parametrize("broken", BREAKING)
def test_a_message_is_answered_while_the_memories_can_not_be_read(
    broken: Callable[[Path], None], talk: Talk, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken(file)
    assert_answered_without_memories(talk)
    assert any("memories can't be read" in message or "can't be opened" in message for message in caplog.messages)


@pytest.mark.parametrize("broken", BREAKING)
def test_mending_the_file_is_enough(broken: Callable[[Path], None], talk: Talk, file: Path) -> None:
    whole = file.read_bytes()
    broken(file)
    assert_answered_without_memories(talk)
    mended = file.with_suffix(".mended")
    mended.write_bytes(whole)
    if file.is_dir():
        file.rmdir()
    mended.replace(file)
    assert_answered_with_memories(talk)


@pytest.mark.parametrize("broken", [overwrite, tear])
def test_a_file_that_breaks_while_it_is_open_is_given_up_and_taken_up_again(
    broken: Callable[[Path], None], talk: Talk, file: Path
) -> None:
    assert_answered_with_memories(talk)
    whole = file.read_bytes()
    other = file.with_suffix(".other")
    other.write_bytes(whole)
    broken(other)
    other.replace(file)
    assert_answered_without_memories(talk)
    other.write_bytes(whole)
    other.replace(file)
    assert_answered_with_memories(talk)


def test_a_file_that_is_deleted_while_it_is_open_is_made_anew(
    talk: Talk, knowledge: KnowledgeAccess, file: Path
) -> None:
    assert_answered_with_memories(talk)
    file.unlink()
    events = talk.say(talk.new(), "@my_mornings how am I?")
    assert report(events)["@my_mornings"]["status"] == "not_found"
    remember(knowledge, "I prefer morning workouts", friendly_id="my_mornings")
    assert_answered_with_memories(talk)
    knowledge.close()
    assert_answered_with_memories(talk)


def test_another_process_that_writes_for_long_takes_no_memories_away(talk: Talk, file: Path) -> None:
    with locked(file, "NORMAL"):
        assert_answered_with_memories(talk)


def test_another_process_that_lets_nobody_read_holds_no_message_up(talk: Talk, file: Path) -> None:
    with locked(file, "EXCLUSIVE"):
        assert_answered_without_memories(talk)
    assert_answered_with_memories(talk)


def test_readers_of_the_knowledge_base_wait_a_second_at_most(knowledge: KnowledgeAccess) -> None:
    assert knowledge.database().select("PRAGMA busy_timeout")[0][0] == 1_000


def test_a_store_that_failed_is_not_asked_again_for_the_same_message(
    talk: Talk, knowledge: KnowledgeAccess, file: Path
) -> None:
    database = knowledge.database()
    unpick(file)
    before = database.statements
    events = talk.say(talk.new(), " ".join(f"@claim_{number}" for number in range(1, 31)) + " what is all this?")
    assert {entry["status"] for entry in report(events).values()} == {"unavailable"}
    assert len(report(events)) == 31
    assert database.statements - before <= 2
    assert joined(events) == ANSWER


def test_while_it_is_still_being_opened_a_message_does_not_wait(
    talk: Talk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.context.knowledge._PATIENCE", 0.0)
    with locked(file, "EXCLUSIVE"):
        events = talk.say(talk.new(), "@my_mornings how am I?")
    assert "still being opened" in report(events)["@my_mornings"]["notes"][0]
    assert joined(events) == ANSWER


def test_who_wants_no_memories_is_not_told_that_there_are_none(talk: Talk, file: Path) -> None:
    overwrite(file)
    events = talk.say(talk.new(), "how am I?", checkboxes={"use_pkb": False})
    assert (report(events), joined(events)) == ({}, ANSWER)


class TestSearch:
    """A search that fails in part or in whole."""

    @pytest.fixture
    def vectors(self, talk: Talk) -> Iterator[WordVectors]:
        model = WordVectors()
        access = KnowledgeAccess(talk.database.folder, models=lambda: KnowledgeModels(embedding=model))
        access._config = replace(access._config, embedding_timeout=300.0)
        talk.configure(knowledge=access)
        remember(access, "I prefer morning workouts")
        yield model
        access.close()

    def test_without_its_embedding_model_words_are_searched_and_the_report_says_so(
        self, talk: Talk, vectors: WordVectors
    ) -> None:
        vectors.fails_with = ModelUnavailableError("The model is not there.")
        events = talk.say(talk.new(), "When are my morning workouts?")
        assert "I prefer morning workouts" in talk.last_prompt
        entry = report(events)["memories"]
        assert (entry["status"], entry["muted"]) == ("unavailable", True)
        assert "The model is not there." in entry["notes"][0]

    def test_a_fault_of_a_search_is_told_without_its_inside_and_pins_still_come(
        self, talk: Talk, vectors: WordVectors, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: Any) -> Any:
            raise RuntimeError("secret inside")

        monkeypatch.setattr("truth_management_system.search.fts_search.best_matches", broken)
        assert talk.services.knowledge is not None
        api = talk.services.knowledge.for_user(EMAIL)
        api.pin_claim(api.resolve_claim_identifier("1").claim_id)
        events = talk.say(talk.new(), "When are my morning workouts?")
        assert joined(events) == ANSWER
        assert "I prefer morning workouts" in talk.last_prompt
        (note,) = report(events)["memories"]["notes"]
        assert note == "Memories could not be looked through. The server's log says why."
        assert "secret inside" in caplog.text

    def test_a_fault_of_vectors_leaves_what_words_find(
        self, talk: Talk, vectors: WordVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(_texts: Any) -> Any:
            raise RuntimeError("secret inside")

        monkeypatch.setattr(vectors, "embed", broken)
        events = talk.say(talk.new(), "When are my morning workouts?")
        assert "I prefer morning workouts" in talk.last_prompt
        (note,) = report(events)["memories"]["notes"]
        assert note == "Search by meaning took no part: it failed. The log says why."

    def test_with_neither_model_memories_are_found_by_words(self, talk: Talk, knowledge: KnowledgeAccess) -> None:
        remember(knowledge, "I prefer morning workouts")
        talk.say(talk.new(), "When are my morning workouts?")
        assert "I prefer morning workouts" in talk.last_prompt


def test_a_memory_that_can_not_be_rendered_costs_no_answer(
    talk: Talk, knowledge: KnowledgeAccess, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        prepare(connection)
        connection.execute("UPDATE claims SET possible_questions = '[1, ['")
    events = talk.say(talk.new(), "@my_mornings how are my workouts?")
    assert joined(events) == ANSWER
    assert report(events)["@my_mornings"]["status"] == "unavailable"
    assert "could not be resolved" in caplog.text
