"""`flask data …` where PostgreSQL holds the stores: what works, and what is left to PostgreSQL's own tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import text

from endpoints.http.scope import EXTENSION, AppState
from tests.endpoints.conftest import Person
from tests.postgresql import PostgreSQLServer

Run = Callable[..., Result]


@pytest.fixture
def database_url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    url = postgresql_server.empty_store()
    yield url
    postgresql_server.take_back(url)


@pytest.fixture
def state(app: Flask) -> AppState:
    return app.extensions[EXTENSION]  # type: ignore[no-any-return]


@pytest.fixture
def run(app: Flask, ada: Person) -> Run:
    """run("verify"): the result of `flask data verify`; there are messages and a memory."""
    ada.say(ada.new_conversation(), "What is it?")
    ada.remember("My bike is red", context_domains=["travel"])

    def invoke(*arguments: str) -> Result:
        return app.test_cli_runner().invoke(args=["data", *arguments])

    return invoke


def change(state: AppState, *statements: str) -> None:
    """Run statements past all checks of the product."""

    def job(connection: Any) -> None:
        for statement in statements:
            connection.execute(text(statement))

    state.database.write(job)


def test_what_is_whole_is_told_so(run: Run) -> None:
    told = run("verify")
    assert (told.exit_code, told.output) == (0, "Nothing is wrong.\n")


def test_what_follows_from_the_rest_is_made_anew(run: Run, state: AppState, ada: Person) -> None:
    change(
        state,
        'UPDATE "UserToConversationId" SET message_count = 7',
        "DELETE FROM anaphora_knowledge.claim_domains",
        "UPDATE anaphora_knowledge.claim_numbers SET last_number = 0",
    )
    told = run("verify")
    assert told.exit_code == 1
    rules = {line.split(": ")[1] for line in told.output.splitlines() if line.startswith(("conversations", "memories"))}
    assert rules == {"counts", "claim numbers", "domains of claims"}
    repaired = run("verify", "--repair")
    assert repaired.exit_code == 0, repaired.output
    assert repaired.output.endswith("Nothing is wrong.\n")
    assert ada.remember("My car is blue").claim_number == 2
    filed = state.knowledge.database().select("SELECT claim_rowid FROM claim_domains WHERE domain = ?", ["travel"])
    assert filed == [(1,)]


def test_what_is_broken_otherwise_is_told_and_left_alone(run: Run, state: AppState) -> None:
    change(
        state,
        "UPDATE messages SET message_short_hash = 'NO' WHERE ordinal = 1",
        "UPDATE anaphora_knowledge.claims SET friendly_id = 'claim_9'",
    )
    told = run("verify", "--repair")
    assert told.exit_code == 1
    assert "has the hash 'NO'" in told.output
    assert "is called 'claim_9'" in told.output


@pytest.mark.parametrize("command", [("backup",), ("restore", "pyproject.toml"), ("compact",)])
def test_what_works_on_files_names_the_tools_of_postgresql(run: Run, command: tuple[str, ...]) -> None:
    told = run(*command)
    assert told.exit_code == 1
    assert told.output.startswith("Error: This works on SQLite's files, and DATABASE_URL names a PostgreSQL database.")
    assert "pg_dump, pg_restore" in told.output


def test_indexes_are_made_anew_and_retracted_memories_erased(run: Run, state: AppState, ada: Person) -> None:
    gone = ada.remember("My boat is green")
    ada.delete(f"/pkb/claims/{gone.claim_id}")
    assert "Memories are indexed anew." in run("reindex").output
    found = state.knowledge.for_user(ada.email).search("bikes").data
    assert [each.claim.statement for each in found] == ["My bike is red"]
    assert run("forget", "--older-than-days", "0").output.startswith("1 retracted memories were erased.")
    assert state.knowledge.database().select("SELECT statement FROM claims") == [("My bike is red",)]
    assert run("backfill", "--email", ada.email).exit_code == 0
