"""What the tests of the store share: a store of its own for each test, turns to fill it, and a count of its queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from database.connection import close_store, open_store
from database.engine.database import Database
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn, finish_turn
from tests.stores import put_empty_store

# Bounds of transactions, and whether a server holds its lock of the database still, which it asks by the clock.
UNCOUNTED = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT true")


@pytest.fixture
def users_dir(tmp_path: Path, database_url: str | None) -> Iterator[str]:
    """The folder of a fresh store, which is closed again after the test."""
    folder = put_empty_store(tmp_path / "users") if database_url is None else str(tmp_path / "users")
    open_store(folder, database_url=database_url)
    yield folder
    close_store(folder)


@pytest.fixture
def database(users_dir: str) -> Database:
    """A fresh store."""
    return open_store(users_dir)


@pytest.fixture
def take_turn(users_dir: str) -> Callable[..., FinishedTurn]:
    """Has one turn: take_turn(user_email, conversation_id, text="Hello", answer="Hi there", title="Greeting")."""

    def take(
        user_email: str,
        conversation_id: str,
        *,
        text: str = "Hello",
        answer: str = "Hi there",
        title: str = "Greeting",
        **accepting: Any,
    ) -> FinishedTurn:
        own: dict[str, Any] = {
            "database": open_store(users_dir),
            "user_email": user_email,
            "conversation_id": conversation_id,
        }
        accepted = accept_turn(**own, text=text, config={}, **accepting)
        response_id = accepted.response_message_id
        return finish_turn(
            **own, response_message_id=response_id, text=answer, status="complete", config={}, title=title
        )

    return take


@pytest.fixture
def statements() -> Callable[[], AbstractContextManager[list[str]]]:
    """Collects the SQL statements that are executed inside of `with statements() as seen:`.

    Those on the databases that the calling thread uses there, from whichever thread: what other tests leave behind may
    still ask its own. `seen` is complete after the block.
    """

    @contextmanager
    def collect() -> Iterator[list[str]]:
        seen: list[str] = []
        heard: list[tuple[str, str]] = []
        own, asking = set[str](), threading.current_thread()

        def note(connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            database = str(connection.engine.url)
            if not statement.startswith(UNCOUNTED):
                heard.append((database, statement))
            if threading.current_thread() is asking:
                own.add(database)

        event.listen(Engine, "before_cursor_execute", note)
        try:
            yield seen
        finally:
            event.remove(Engine, "before_cursor_execute", note)
            seen.extend(statement for database, statement in heard if not own or database in own)

    return collect
