"""SQLite's planner gets statistics of what is stored, a table at a time, and renews none without need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.maintenance.statistics import optimize, renew_statistics
from truth_management_system import PKBDatabase, StructuredAPI, get_memory_database

ANN = "ann@example.org"


def analysed(database: Database) -> set[str]:
    """The tables that have statistics."""
    with database.reading() as connection:
        return set(connection.exec_driver_sql("SELECT tbl FROM sqlite_stat1").scalars())


@pytest.fixture
def memories() -> Iterator[PKBDatabase]:
    with get_memory_database() as db:
        StructuredAPI(db, {}, db.config, ANN).add_claim("I keep bees", "fact", "personal", auto_extract=False)
        yield db


def test_tables_with_rows_get_statistics(database: Database, take_turn: Callable[..., Any]) -> None:
    row = create_conversation(database=database, user_email=ANN, domain="assistant")
    take_turn(ANN, row.conversation_id)
    optimize(database=database)
    assert {"UserToConversationId", "messages", "activities"} <= analysed(database)


def test_a_table_that_has_statistics_is_left_to_sqlites_own_judgement(memories: PKBDatabase) -> None:
    ran = list[str]()

    def run(sql: str) -> list[tuple[object, ...]]:
        ran.append(sql)
        return [tuple(row.values()) for row in memories.execute(sql).rows]

    for _ in range(2):
        ran.clear()
        renew_statistics(run)
    assert 'ANALYZE "claims"' not in ran
    assert ran[-1].startswith("PRAGMA optimize")


def test_memories_get_statistics_too(memories: PKBDatabase) -> None:
    memories.optimize()
    assert ("claims",) in {tuple(row) for row in memories.select("SELECT DISTINCT tbl FROM sqlite_stat1")}
