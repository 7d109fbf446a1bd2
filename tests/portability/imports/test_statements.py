"""What storing costs: how many statements each further conversation of a batch takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from database.conversations.repository import get_conversations_for_user
from database.engine.database import Database
from database.imports.repository import Import

from .conftest import ADA, conversation

Imported = Callable[..., Import]


@contextmanager
def seen() -> Iterator[Counter[str]]:
    """The statements that are executed, by the table that they write, or how they begin."""
    found: Counter[str] = Counter()

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        found[" ".join(statement.split()[:3])] += 1

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_a_further_conversation_of_a_batch_takes_no_statement_of_its_own(imported: Imported) -> None:
    """But for one in 25 of them: fifty activities are stored by one statement."""
    # The first twenty of an import are told to open pages one by one.
    with seen() as few:
        imported(*[conversation(f"few{number}") for number in range(22)])
    with seen() as many:
        imported(*[conversation(f"many{number}") for number in range(38)])
    assert many.total() - few.total() <= 1, (many - few).most_common()


def test_conversations_of_the_same_title_and_time_take_no_statements_of_their_own_for_their_names(
    imported: Imported, database: Database
) -> None:
    with seen() as different:
        imported(*[conversation(f"other{number}") for number in range(38)])
    with seen() as same:
        imported(*[conversation(f"same{number}", title="About the same") for number in range(38)])
    assert same.total() - different.total() <= 2, (same - different).most_common()
    listed = get_conversations_for_user(database=database, user_email=ADA, domain="assistant")
    names = [each.conversation_friendly_id for each in listed if each.title == "About the same"]
    assert len(set(names)) == 38
