"""What is written to SQLite in its own way: many rows at once, and the numbers that were given out."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Table, func, select

from .ranges import Row

_GIVEN_OUT = "SELECT seq FROM sqlite_sequence WHERE name = ?"
_FORGET = "DELETE FROM sqlite_sequence WHERE name = ?"
_GIVE_OUT = "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)"
STATISTICS = "ANALYZE"


def insert_rows(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Insert rows. names: of their columns."""
    quoted = connection.dialect.identifier_preparer
    columns, marks = ", ".join(map(quoted.quote, names)), ", ".join("?" * len(names))
    connection.exec_driver_sql(
        f"INSERT INTO {quoted.format_table(table)} ({columns}) VALUES ({marks})",  # noqa: S608 - names of ours
        list(rows),
    )


def highest_number(connection: Connection, table: Table, column: str) -> int:
    """The highest number that a row of `table` ever had in `column`, as far as it is known; 0 for none."""
    highest = connection.execute(select(func.max(table.c[column]))).scalar() or 0
    if table.dialect_options["sqlite"]["autoincrement"]:
        highest = max(highest, connection.exec_driver_sql(_GIVEN_OUT, (table.name,)).scalar() or 0)
    return int(highest)


def continue_behind(connection: Connection, table: Table, column: str, number: int) -> None:
    """Give the next row of `table` a greater number than `number`."""
    del column  # it is the table's key
    if table.dialect_options["sqlite"]["autoincrement"]:
        connection.exec_driver_sql(_FORGET, (table.name,))
        connection.exec_driver_sql(_GIVE_OUT, (table.name, number))
