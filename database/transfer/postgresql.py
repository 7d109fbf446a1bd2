"""What is written to PostgreSQL in its own way: many rows at once, the numbers that were given out, whole schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.schema import DropSchema

from .ranges import Row

_SEQUENCE = "SELECT pg_get_serial_sequence(%s, %s)"
STATISTICS = "ANALYZE"


def insert_rows(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Insert rows by COPY. names: of their columns."""
    quoted = connection.dialect.identifier_preparer
    columns = ", ".join(map(quoted.quote, names))
    driver: Any = connection.connection.dbapi_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {quoted.format_table(table)} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def highest_number(connection: Connection, table: Table, column: str) -> int:
    """The highest number that a row of `table` ever had in `column`; 0 for none."""
    if (sequence := _sequence_of(connection, table, column)) is None:
        return 0
    last, is_called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()  # noqa: S608
    return int(last) if is_called else 0


def continue_behind(connection: Connection, table: Table, column: str, number: int) -> None:
    """Give the next row of `table` a greater number than `number`."""
    if number and (sequence := _sequence_of(connection, table, column)) is not None:
        connection.exec_driver_sql("SELECT setval(%s, %s)", (sequence, number))


def drop_schema(connection: Connection, *, schema: str) -> None:
    """Drop a schema with everything in it; a no-op where there is none."""
    connection.execute(DropSchema(schema, cascade=True, if_exists=True))


def _sequence_of(connection: Connection, table: Table, column: str) -> str | None:
    name = connection.dialect.identifier_preparer.format_table(table)
    found: str | None = connection.exec_driver_sql(_SEQUENCE, (name, column)).scalar()
    return found
