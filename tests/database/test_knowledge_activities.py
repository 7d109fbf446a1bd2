"""Changes of a knowledge base become activities, each once."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from sqlalchemy import select

from database.activities.knowledge import store_changes
from database.engine.database import Database
from database.schema import activities

pytestmark = pytest.mark.contract

EMAIL = "ada@example.com"


def change(title: str) -> dict[str, Any]:
    """One change as the outbox tells it."""
    return {
        "id": str(uuid.uuid4()),
        "action": "add",
        "object_type": "claim",
        "object_id": "c1",
        "title": title,
        "detail": {"fields": {}},
        "claim_ids": ["c1"],
        "created_at": "2026-02-08T10:00:00.000000Z",
    }


def stored(database: Database) -> list[Any]:
    """All activities, oldest first."""
    with database.reading() as connection:
        return list(connection.execute(select(activities).order_by(activities.c.seq)))


def test_a_change_becomes_an_activity_of_its_id(database: Database) -> None:
    told = change("Tea is good")
    assert store_changes(database=database, user_email=EMAIL, changes=[told]) == 1
    (row,) = stored(database)
    assert (row.activity_id, row.recipe, row.type, row.created_at) == (
        told["id"],
        "knowledge",
        "pkb_change",
        told["created_at"],
    )
    assert (row.actor_type, row.actor_id) == ("user", EMAIL)
    assert row.payload == {name: told[name] for name in ("action", "object_type", "object_id", "title", "detail")}
    assert row.short_id == told["id"].replace("-", "")[-6:]


def test_what_arrives_again_changes_nothing(database: Database) -> None:
    first, second = change("Tea is good"), change("Milk too")
    assert store_changes(database=database, user_email=EMAIL, changes=[first]) == 1
    assert store_changes(database=database, user_email=EMAIL, changes=[first, second]) == 1
    assert store_changes(database=database, user_email=EMAIL, changes=[first, second]) == 0
    assert [row.payload["title"] for row in stored(database)] == ["Tea is good", "Milk too"]


def test_nothing_to_tell_stores_nothing(database: Database) -> None:
    assert store_changes(database=database, user_email=EMAIL, changes=[]) == 0
    assert stored(database) == []


def test_two_changes_with_one_ending_get_short_ids_of_their_own(database: Database) -> None:
    one = {**change("One"), "id": "00000000-0000-4000-8000-111111abcdef"}
    other = {**change("Other"), "id": "00000000-0000-4000-8000-222222abcdef"}
    store_changes(database=database, user_email=EMAIL, changes=[one, other])
    assert [row.short_id for row in stored(database)] == ["abcdef", "22abcdef"]
