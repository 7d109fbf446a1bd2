"""What SQLite's query planner knows of the tables: statistics, made once a table has rows and renewed as it grows.

No statement of ours depends on them: `tests/endpoints/http/test_query_plans.py` reads the plans without them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import func, select

from database.engine.database import Database, Urgency

Run = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one statement as a transaction of its own and returns its rows."""

_INDEXED_TABLES = "SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'index'"
_KNOWN = "SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat1'"
_ANALYSED_TABLES = "SELECT DISTINCT tbl FROM sqlite_stat1"
# Without the second bit, only what this very connection has asked for is looked at.
_OPTIMIZE = "PRAGMA optimize(0x10002)"


def optimize(*, database: Database) -> None:
    """Make the statistics of the store that are missing, and renew those of tables that have grown a lot since.

    Each table is a small job of the writer: `PRAGMA analysis_limit` bounds what is read of it. A database server does
    this by itself.
    """
    if database.backend.file is None:
        return
    renew_statistics(
        lambda sql: database.write(
            lambda connection: connection.connection.cursor().execute(sql).fetchall(), urgency=Urgency.INDEX
        )
    )


def engine_version(*, database: Database) -> str:
    """Which database holds the store, such as "sqlite 3.46.1"."""
    with database.reading() as connection:
        name = connection.dialect.name
        asked = func.sqlite_version() if name == "sqlite" else func.current_setting("server_version")
        return f"{name} {connection.execute(select(asked)).scalar_one()}"


def renew_statistics(run: Run) -> None:
    """`optimize` for any SQLite database of ours."""
    analysed = {name for (name,) in run(_ANALYSED_TABLES)} if run(_KNOWN) else set()
    for (table,) in run(_INDEXED_TABLES):
        if table not in analysed:
            run(f'ANALYZE "{table}"')
    run(_OPTIMIZE)
