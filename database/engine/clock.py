"""The one place that asks what time it is, so that stored times have one shape."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


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
