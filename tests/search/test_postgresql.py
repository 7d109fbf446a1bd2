"""How PostgreSQL answers a search: by its plan for any values, which it takes from the sixth time on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from database.connection import close_store, open_store
from database.engine.database import Database
from search.postgresql import candidates, older
from tests.postgresql import PostgreSQLServer

_MANY_WORDS = """
INSERT INTO message_terms (seq, length, words)
SELECT number, 2, array_to_tsvector(
    ARRAY[mod(number, 400) || 'white', repeat('x', 1500)]
    || ARRAY(SELECT ':b' || level || '.' || number / (1024 << 2 * level) FROM generate_series(0, 4) AS level)
)
FROM generate_series(1, 40000) AS number
"""
_NEWEST = 2**62


@pytest.fixture
def database(postgresql_server: PostgreSQLServer, tmp_path: Path) -> Iterator[Database]:
    """A store on PostgreSQL whose index has a hundred messages of each of 400 people."""
    url = postgresql_server.empty_store()
    store = open_store(tmp_path, database_url=url)
    store.write(lambda connection: connection.exec_driver_sql(_MANY_WORDS))
    store.write(lambda connection: connection.exec_driver_sql("ANALYZE message_terms"))
    yield store
    close_store(tmp_path)
    postgresql_server.take_back(url)


def test_a_plan_for_any_search_collects_nothing_but_what_says_its_words(database: Database) -> None:
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, sql: str, *_: Any) -> None:
        asked.append(sql)

    limits: dict[str, Any] = {"up_to": _NEWEST, "conditions": {}, "by_length": True, "only_live": False}
    with database.reading() as connection:
        event.listen(connection, "before_cursor_execute", note)
        candidates(connection, "'7white'", user_email="ann@example.org", **limits)
        assert len(older(connection, "'7white'", before=_NEWEST, most=500)) == 100
        assert older(connection, "'7white'", before=407, most=500) == [7]
        event.remove(connection, "before_cursor_execute", note)
        plans = [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN (GENERIC_PLAN) {_numbered(sql)}").scalars())
            for sql in dict.fromkeys(asked)
            if "words @@" in sql
        ]
    assert len(plans) == 2  # within some blocks, and of the rest
    for plan in plans:
        assert "Bitmap Index Scan on idx_message_terms_words" in plan
        assert "message_terms_pkey" not in plan
    assert [plan.count("words @@") for plan in plans] == [4, 2]  # all conditions are the index's, and checked again


def _numbered(sql: str) -> str:
    """With $1, $2 and so on in the place of named parameters."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    return re.sub(r"%\((\w+)\)s", lambda name: f"${names.index(name[1]) + 1}", sql)
