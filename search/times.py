"""Times as a question says them: "last spring", "in March", "three weeks ago"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = {
    name: number
    for number, name in enumerate(
        (
            "january", "february", "march", "april", "may", "june",
            "july", "august", "september", "october", "november", "december",
        ),
        start=1,
    )
}  # fmt: skip
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
} | {"a": 1, "an": 1}
# (days of one, days by which a person may be wrong)
_UNITS = {"day": (1, 1), "week": (7, 5), "month": (30.44, 20), "year": (365.25, 120)}
_MONTH = "|".join(_MONTHS)
_SEASON = "|".join(_SEASONS)
_BEFORE_MONTH = "in|last|since|during|of|this|early|late|mid|by"


class Period(NamedTuple):
    """From the first day to the last, both included."""

    first: date
    last: date

    def days_from(self, day: date) -> int:
        """How many days `day` lies outside; 0 within."""
        return max(0, (self.first - day).days, (day - self.last).days)


def spoken_period(text: str, *, today: date) -> Period | None:
    """The period that a question in English names, the most recent one where it says no year; None for none."""
    plain = text.lower()
    for pattern, read in _READERS:
        if found := pattern.search(plain):
            try:
                return read(found, today)
            except (ValueError, OverflowError):
                return None  # the 31st of a short month, or a thousand years ago
    return None


def _day(found: re.Match[str], today: date) -> Period:
    named = found.groupdict()
    month = _MONTHS[named["month"]] if not named["month"].isdigit() else int(named["month"])
    day = date(int(named["year"]), month, int(named["day"]))
    return Period(day, day)


def _month_of_year(found: re.Match[str], today: date) -> Period:
    return _months(int(found["year"]), _MONTHS[found["month"]], 1)


def _month(found: re.Match[str], today: date) -> Period:
    month = _MONTHS[found["month"]]
    return _months(today.year if month <= today.month else today.year - 1, month, 1)


def _season(found: re.Match[str], today: date) -> Period:
    begin = _SEASONS[found["season"]]
    if found["year"]:
        return _months(int(found["year"]), begin, 3)
    year = today.year if date(today.year, begin, 1) <= today else today.year - 1
    if found["which"] == "last" and _months(year, begin, 3).last >= today:
        year -= 1
    return _months(year, begin, 3)


def _ago(found: re.Match[str], today: date) -> Period:
    number = int(found["number"]) if found["number"].isdigit() else _NUMBERS[found["number"]]
    length, error = _UNITS[found["unit"]]
    day = today - timedelta(days=number * length)
    return Period(day - timedelta(days=error), day + timedelta(days=error))


def _christmas(found: re.Match[str], today: date) -> Period:
    year = today.year if (today.month, today.day) >= (12, 10) else today.year - 1
    return Period(date(year, 12, 10), date(year + 1, 1, 2))


def _last(found: re.Match[str], today: date) -> Period:
    if found["unit"] == "year":
        return Period(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31))
    if found["unit"] == "month":
        return _months(*_wrapped(today.year, today.month - 1), 1)
    monday = today - timedelta(days=today.weekday() + 7)
    return Period(monday, monday + timedelta(days=6))


def _year(found: re.Match[str], today: date) -> Period:
    return Period(date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31))


def _yesterday(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(days=1), today - timedelta(days=1))


def _months(year: int, month: int, count: int) -> Period:
    end = date(*_wrapped(year, month + count), 1)
    return Period(date(year, month, 1), end - timedelta(days=1))


def _wrapped(year: int, month: int) -> tuple[int, int]:
    """The year and month (1 to 12) that the `month`th of `year` is, counted beyond its ends."""
    years, rest = divmod(month - 1, 12)
    return year + years, rest + 1


_Reader = Callable[[re.Match[str], date], Period]
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b"), _day),
    (re.compile(rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH}),? (?P<year>\d{{4}})\b"), _day),
    (re.compile(rf"\b(?P<month>{_MONTH}) (?P<day>\d\d?)(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b"), _day),
    (re.compile(rf"\b(?P<month>{_MONTH})(?: of)?,? (?P<year>\d{{4}})\b"), _month_of_year),
    (re.compile(rf"\b(?P<which>)(?P<season>{_SEASON})(?: of)? (?P<year>\d{{4}})\b"), _season),
    (re.compile(rf"\b(?:{_BEFORE_MONTH}) (?P<month>{_MONTH})\b"), _month),
    (re.compile(rf"\b(?P<which>last|in|this|during) (?:the )?(?P<season>{_SEASON})\b(?P<year>)"), _season),
    (re.compile(rf"\b(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>day|week|month|year)s? ago\b"), _ago),
    (re.compile(r"\b(?:around|at|before|over|last) christmas\b"), _christmas),
    (re.compile(r"\b(?:in|during|of|from) (?P<year>(?:19|20)\d\d)\b"), _year),
    (re.compile(r"\byesterday\b"), _yesterday),
    (re.compile(r"\blast (?P<unit>week|month|year)\b"), _last),
)
