"""How a person says when something was: "last spring", "in March", "three months ago"."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime

_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_SEASONS = {12: "winter", 1: "winter", 2: "winter", 3: "spring", 4: "spring", 5: "spring"}
_SEASONS |= {6: "summer", 7: "summer", 8: "summer", 9: "autumn", 10: "autumn", 11: "autumn"}
_NUMBERS = "no one two three four five six seven eight nine ten eleven".split()  # noqa: SIM905

IsThen = Callable[[datetime], bool]


def spoken_time(rng: random.Random, time: datetime, *, asked_at: datetime) -> tuple[str, IsThen]:
    """Words for `time` as said at `asked_at`, and whether another time could be meant by them too."""
    ways = [_in_month_of_year(time)]
    days = (asked_at - time).days
    if 35 < days < 320:
        ways += [_in_month(time), _months_ago(time, asked_at)]
    if 95 < days < 300:
        ways.append(_last_season(time))
    if time.month == 12 and time.day > 14 and days < 360:
        ways.append(("around Christmas", lambda other: other.month == 12 and other.day > 5))
    return rng.choice(ways)


def _in_month_of_year(time: datetime) -> tuple[str, IsThen]:
    words = f"in {_MONTHS[time.month - 1]} {time.year}"
    return words, lambda other: (other.year, other.month) == (time.year, time.month)


def _in_month(time: datetime) -> tuple[str, IsThen]:
    return f"in {_MONTHS[time.month - 1]}", lambda other: other.month == time.month


def _months_ago(time: datetime, asked_at: datetime) -> tuple[str, IsThen]:
    months = max(1, round((asked_at - time).days / 30.4))
    words = "a month ago" if months == 1 else f"{_NUMBERS[min(months, 11)]} months ago"
    return words, lambda other: abs((other - time).days) < 50


def _last_season(time: datetime) -> tuple[str, IsThen]:
    season = _SEASONS[time.month]
    return f"last {season}", lambda other: _SEASONS[other.month] == season
