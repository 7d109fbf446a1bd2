"""The one place that asks what time it is, so that stored times have one shape.

Leases are counted by the clock of the store (`store_time`): those of two machines may differ by minutes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Float, Text, literal, select
from sqlalchemy.sql.functions import FunctionElement


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """`moment` as stored: ISO 8601 in UTC with microseconds, e.g. "2026-02-08T10:00:00.000000Z"; sorts as text."""
    # `strftime` takes five times as long, and many threads at once wait for each other in it.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def now_iso() -> str:
    """The current time as stored."""
    return iso(now())


def iso_in(**delta: float) -> str:
    """The time that lies `delta` (as for timedelta) from now, as stored."""
    return iso(now() + timedelta(**delta))


class StoreTime(FunctionElement[str]):
    """An expression of the database: its own time, so many seconds from now; each engine's module writes it."""

    name = "store_time"
    type = Text()
    inherit_cache = True


def store_time(*, seconds: float = 0.0) -> ColumnElement[str]:
    """The moment `seconds` from now by the clock of the database, as `iso` writes it."""
    return StoreTime(literal(seconds, Float))


def corrected_now(connection: Connection) -> datetime:
    """The current time, corrected by how far the clock of this process is off that of the database."""
    told = connection.execute(select(store_time())).scalar_one()
    return now() + (datetime.fromisoformat(told) - datetime.now(UTC))
