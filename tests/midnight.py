"""Tests that count by the day by UTC end within the day they began in."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def away_from_midnight(seconds: float) -> None:
    """Where fewer seconds than these are left of the day by UTC, wait for the next one."""
    now = datetime.now(UTC)
    left = (now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - now).total_seconds()
    if left < seconds:
        time.sleep(left + 1)
