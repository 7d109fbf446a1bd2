"""People that are copied within the database have as whole a history as those who were made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_up.crowd import ORIGINALS, seed_crowd
from benchmarks.made_up.history import SeedPlan
from database.connection import open_database
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.search.indexing import reindex_messages
from database.turns.turns import accept_turn
from search.messages import search_messages
from search.query import parse_query

pytestmark = pytest.mark.contract
PLAN = SeedPlan(conversations=3, messages=24, chars=60, workspaces=2)


def email(number: int) -> str:
    return f"person-{number}@example.org"


def said(database: Database, person: str) -> dict[str, list[str]]:
    """What each conversation of a person says, by its friendly id."""
    own: dict[str, Any] = {"database": database, "user_email": person}
    rows, _ = list_conversations(**own, domain="assistant")
    return {
        str(row.conversation_friendly_id): [
            each.text for each in list_messages(**own, conversation_id=row.conversation_id)
        ]
        for row in rows
    }


def index_rows(database: Database) -> list[Any]:
    """What PostgreSQL's index of messages holds."""
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT seq, length, CAST(words AS text) FROM message_terms ORDER BY seq")
        return list(rows)


def test_a_copy_says_what_its_original_does_and_is_a_person_of_its_own(
    tmp_path: Path, database_url: str | None
) -> None:
    people = ORIGINALS + 3
    database = open_database(tmp_path, database_url=database_url)
    made = list(seed_crowd(database=database, people=people, plan=PLAN, email=email, password_hash="none"))
    assert made[-1] == people
    copy = email(ORIGINALS + 1)
    told = said(database, copy)
    assert told == said(database, email(1)) != said(database, email(2))
    assert sum(map(len, told.values())) == PLAN.messages
    words = next(iter(told.values()))[0].split()[:2]
    assert search_messages(database=database, user_email=copy, query=parse_query(" ".join(words))).messages
    if database_url is not None:
        copied = index_rows(database)
        for _ in reindex_messages(database=database):
            pass
        assert copied == index_rows(database)
    new = create_conversation(database=database, user_email=copy, domain="assistant")
    accept_turn(
        database=database, user_email=copy, conversation_id=new.conversation_id, text="And a message more", config={}
    )
    database.close()
