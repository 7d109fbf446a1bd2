"""Whatever an import computes within a transaction, the database hears of it every few seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Engine, event

from database.activities.storing import NewActivity
from database.conversations.repository import new_conversation_id
from database.engine import statements as statements_module
from database.engine.database import Database
from database.engine.postgresql import IDLE_WRITER_MS
from database.history.reading import list_messages
from database.imports import changes, importing
from database.imports.changes import BroughtBy
from database.imports.importing import ImportedActivity, ImportedConversation, store_conversation, store_file
from database.imports.outside import id_in_account

pytestmark = pytest.mark.contract
ANN = "ann@example.org"
MESSAGES = 40
SLOW = {importing: ("storable", "_said", "renamed", "part_rows", "_activity"), changes: ("digest_of_said",)}
"""What is done for each message, in which modules: here each takes a second."""


@dataclass
class SlowMachine:
    """A clock that goes on where something slow is done, and what it said at each statement."""

    now: float = 0.0
    asked_at: list[float] = field(default_factory=list)

    def slowed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, which takes a second."""

        def slow(*values: Any, **named: Any) -> Any:
            self.now += 1.0
            return work(*values, **named)

        return slow

    def note(self, *_: Any) -> None:
        """A statement is executed."""
        self.asked_at.append(self.now)

    @property
    def longest_silence(self) -> float:
        """How long the database heard nothing."""
        return max(later - earlier for earlier, later in pairwise(self.asked_at))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, database: Database) -> Iterator[SlowMachine]:
    found = SlowMachine()
    monkeypatch.setattr(statements_module, "monotonic", lambda: found.now)
    for module, names in SLOW.items():
        for name in names:
            monkeypatch.setattr(module, name, found.slowed(getattr(module, name)))
    event.listen(Engine, "before_cursor_execute", found.note)
    yield found
    event.remove(Engine, "before_cursor_execute", found.note)


def said(number: int) -> dict[str, Any]:
    """A message as an importer makes it."""
    sender = "user" if number % 2 == 0 else "model"
    return {"sender": sender, "text": f"Number {number}", "parts": [{"id": 1, "kind": "text", "at": 0, "text": "More"}]}


def texts(database: Database, conversation_id: str) -> list[str]:
    own: dict[str, Any] = {"database": database, "user_email": ANN, "conversation_id": conversation_id}
    return [each.text for each in list_messages(**own, after=0, limit=MESSAGES)]


def test_a_conversation_that_takes_long_to_compute_keeps_its_transaction(
    database: Database, machine: SlowMachine
) -> None:
    conversation_id = new_conversation_id(ANN)
    own = {"user_email": ANN, "conversation_id": conversation_id, "friendly_id": None, "domain": "assistant"}
    store_conversation([said(number) for number in range(MESSAGES)], database=database, title="Long", **own)
    assert machine.now > MESSAGES * 3
    assert machine.longest_silence * 1_000 < IDLE_WRITER_MS
    assert texts(database, conversation_id) == [f"Number {number}" for number in range(MESSAGES)]


def test_so_does_a_file_whose_ids_are_made_anew(database: Database, machine: SlowMachine) -> None:
    there = new_conversation_id("eve@example.org")
    imported = [
        ImportedActivity(
            conversation_id=there,
            activity=NewActivity(
                recipe="general-discussion",
                type="chat_message",
                actor_type="user",
                actor_id=ANN,
                actor_name=ANN,
                created_at="2026-01-01T00:00:00Z",
                activity_id=f"00000000-0000-4000-8000-{number:012}",
            ),
            message=said(number),
        )
        for number in range(MESSAGES)
    ]
    named = {"domain": "assistant", "title": "Long"}
    whole = ImportedConversation(conversation_id=there, friendly_id=None, tags=(), columns=named)
    by = BroughtBy("an import", "anaphora")
    assert store_file(imported, [whole], [], database=database, user_email=ANN, by=by).conversations == 1
    assert machine.now > MESSAGES * 3
    assert machine.longest_silence * 1_000 < IDLE_WRITER_MS
    assert len(texts(database, id_in_account(there, ANN))) == MESSAGES
