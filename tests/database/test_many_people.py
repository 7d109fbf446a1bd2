"""A person's requests ask the same, by indexes on their own rows, whether one person uses the store or twenty."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, event

from benchmarks.made_up.history import DOMAIN, SEED, SeedPlan, seed
from benchmarks.made_up.words import TextMaker
from database.accounts.users import create_user
from database.conversations.listing import list_conversations
from database.engine.database import Database
from database.history.reading import list_messages
from database.search.indexing import index_pending
from database.turns.leases import running_turns
from database.turns.turns import accept_turn, finish_turn
from search.messages import search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query

pytestmark = pytest.mark.contract

ADA = "ada@example.org"
OTHERS = 20
PLAN = SeedPlan(conversations=4, messages=24, chars=60)
# Whose rows are other people's too, and grow with them.
GROWING = (
    "messages|activities|UserToConversationId|ConversationIdToWorkspaceId|WorkspaceMetadata|changes|threads|users|"
    "sessions|usage_days|quotas|attachments|documents"
)

Asked = list[tuple[str, Any]]


@contextmanager
def recorded() -> Iterator[Asked]:
    """The statements that are executed inside, with their parameters."""
    asked: Asked = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE)\b", statement):
            asked.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def requests_of(database: Database, user_email: str) -> dict[str, Callable[[], Any]]:
    """What a person does most, by name."""
    own: dict[str, Any] = {"database": database, "user_email": user_email}
    rows, _ = list_conversations(**own, domain=DOMAIN)
    of_one = {**own, "conversation_id": rows[-1].conversation_id}
    word = list_messages(**of_one, after=0, limit=1)[0].text.split()[0]

    def turn() -> None:
        accepted = accept_turn(**of_one, text="What follows?", config={})
        ending = {"text": "Nothing.", "status": "complete", "config": {}, "title": "Talk"}
        finish_turn(**of_one, response_message_id=accepted.response_message_id, **ending)

    return {
        "list": lambda: list_conversations(**own, domain=DOMAIN, limit=50),
        "window": lambda: list_messages(**of_one, after=0, limit=50),
        "search": lambda: search_messages(**own, query=parse_query(word)),
        "pattern": lambda: find_pattern(f"{word}", **own, limit=5, deadline=Deadline(60.0)),
        "turn": turn,
    }


def scans(database: Database, asked: Asked) -> list[str]:
    """The statements whose plan walks through all people's rows, each with that line of the plan."""
    found = []
    with database.reading() as connection:
        is_postgresql = connection.dialect.name == "postgresql"
        if is_postgresql:
            # Otherwise a small table is read whole, whatever indexes it has.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        for statement, parameters in asked:
            if is_postgresql and not statement.lstrip().startswith(("SELECT", "WITH")):
                continue  # a reading transaction plans no change; SQLite's plans show those
            explained = connection.exec_driver_sql(
                f"{'EXPLAIN' if is_postgresql else 'EXPLAIN QUERY PLAN'} {statement}", parameters
            )
            whole = rf'(Seq Scan on|SCAN) "?({GROWING})\b'
            found += [f"{line}: {statement}" for line in map(str, explained) if re.search(whole, line)]
    return found


def test_requests_cost_the_same_among_many_people(database: Database) -> None:
    own: dict[str, Any] = {"database": database, "user_email": ADA}
    create_user(**own, password="correct horse battery")
    assert list(seed(**own, plan=PLAN))[-1] == PLAN.messages
    index_pending(database=database)
    counts: list[dict[str, int]] = []
    sentences = TextMaker(Random(SEED))
    for people in (0, OTHERS):
        for number in range(people):
            other: dict[str, Any] = {"database": database, "user_email": f"person-{number}@example.org"}
            for _ in seed(**other, plan=PLAN, sentences=sentences):
                pass
        index_pending(database=database)
        counted = {}
        for name, request in requests_of(database, ADA).items():
            request()  # what is held in memory afterwards is read once
            with recorded() as asked:
                request()
            counted[name] = len(asked)
            assert scans(database, asked) == [], name
        counts.append(counted)
    alone, among_many = counts
    assert {name: count for name, count in among_many.items() if not 0 < count <= alone[name]} == {}


def test_counting_the_running_turns_of_a_person_reads_no_others(database: Database) -> None:
    is_postgresql = database.backend.file is None
    with database.reading() as connection, recorded() as asked:
        assert running_turns(connection, user_email=ADA, most=9)() == 0
        (statement, parameters), *_ = asked
        if is_postgresql:  # which reads an empty table whole
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        explained = connection.exec_driver_sql(
            f"EXPLAIN {'' if is_postgresql else 'QUERY PLAN'} {statement}", parameters
        )
        plan = " ".join(str(row[-1]) for row in explained)
    by_owner = r"Index Cond: \(user_email =" if is_postgresql else r"\(status=\? AND user_email=\?\)"
    assert re.search(rf"idx_messages_streaming.*{by_owner}", plan), plan
