"""The tables that statements are made of are those to which the frozen migrations lead."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import create_engine

from truth_management_system import PKBDatabase
from truth_management_system.database.change_set import stored_columns
from truth_management_system.schema import metadata
from truth_management_system.schema.operators import list_as_json

Run = Callable[[str], Sequence[Sequence[Any]]]


def described(run: Run, table: str) -> dict[str, Any]:
    """Columns, foreign keys and indexes of a table as SQLite tells them."""
    columns = run(
        f"SELECT name, type, pk > 0 OR \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo('{table}')"
    )
    keys = run(f'SELECT "from", "table", "to", on_delete FROM pragma_foreign_key_list(\'{table}\')')
    indexes = {
        name: (unique, partial, list(map(tuple, run(f"SELECT name, coll FROM pragma_index_xinfo('{name}') WHERE key"))))
        for name, unique, partial in run(f"SELECT name, \"unique\", partial FROM pragma_index_list('{table}')")
    }
    return {
        "columns": [(name, kind.replace("FLOAT", "REAL"), *rest) for name, kind, *rest in columns],
        "foreign keys": sorted(map(tuple, keys)),
        "indexes": indexes,
    }


@pytest.mark.only_sqlite
@pytest.mark.only_sqlite
@pytest.mark.parametrize("table", metadata.tables)
def test_a_migrated_store_has_the_tables_that_statements_are_made_of(table: str, db: PKBDatabase) -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    with engine.connect() as connection:
        wanted = described(lambda sql: connection.exec_driver_sql(sql).fetchall(), table)
    engine.dispose()
    assert described(lambda sql: [tuple(row.values()) for row in db.fetchall(sql)], table) == wanted


@pytest.mark.only_sqlite
@pytest.mark.only_sqlite
def test_a_migrated_store_has_no_table_besides(db: PKBDatabase) -> None:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '*_fts*'"
    assert {row["name"] for row in db.fetchall(sql)} == set(metadata.tables)


def test_computed_columns_are_not_stored() -> None:
    assert "pinned" in metadata.tables["claims"].c
    assert "pinned" not in stored_columns("claims")


@pytest.mark.parametrize("count", [0, 1, 1_000, 1_001, 2_500])
def test_a_list_is_made_in_pieces_and_reads_as_made_in_one(count: int) -> None:
    values = [f'{number}: "], [é' for number in range(count)]
    assert list_as_json(values) == json.dumps(values)
