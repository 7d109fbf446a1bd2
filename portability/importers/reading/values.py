"""Values out of JSON that anybody may have written: of the type that is needed, or nothing."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

import orjson

from database.engine.text import DEEPEST_JSON, storable

LONGEST_ID = 200
_LONGEST_NUMBER = 40
_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_EARLIEST_SECOND, _LATEST_SECOND = _EARLIEST.timestamp(), _LATEST.timestamp()
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
"""Of times as numbers: seconds, milliseconds, microseconds, nanoseconds."""
_DEEPEST_ARGUMENT = DEEPEST_JSON - 4
"""Levels of a tool's arguments: they are stored inside of other JSON."""
_MOST_ENTRIES = 10_000
_TOO_DEEP = "…"
_DATA_URL = re.compile(r"data:([a-z0-9]+/[a-z0-9.+-]+)(?:;[a-z0-9=._-]+)*;base64,", re.IGNORECASE)
_LONGEST_DATA_HEAD = 200


def text_of(value: object) -> str:
    """A text that every store can hold: no NUL, no lone surrogate; "" for anything else than a string."""
    return storable(value.replace("\0", "\ufffd")) if isinstance(value, str) else ""


def line_of(value: object) -> str:
    """A text on one line."""
    return " ".join(text_of(value).split())


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[Any]:
    """An array of JSON; an empty one for anything else."""
    return value if isinstance(value, list) else ()


def mappings_of(value: object) -> list[Mapping[str, Any]]:
    """The objects in an array of JSON."""
    return [each for each in list_of(value) if isinstance(each, dict)]


def id_of(value: object) -> str | None:
    """An id: a short text, or a whole number as text. None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_NUMBER:
        return str(value)
    found = line_of(value)
    return found if 0 < len(found) <= LONGEST_ID else None


def time_of(value: object) -> datetime | None:
    """A time in UTC: of an ISO 8601 text, or of seconds, milliseconds, … since 1970. None for anything else.

    A text without an offset is UTC. Times that no chat can have (before 1990, after 2199) are None.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        return _time_of_number(value)
    try:
        found = datetime.fromisoformat(text_of(value).strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if _EARLIEST <= found < _LATEST else None


def _time_of_number(value: float | Decimal) -> datetime | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    for unit in _UNITS:
        if _EARLIEST_SECOND <= number / unit < _LATEST_SECOND:
            return datetime.fromtimestamp(number / unit, tz=UTC)
    return None


def plain(value: Any, *, deepest: int = _DEEPEST_ARGUMENT) -> Any:
    """Any JSON with storable texts. Levels below `deepest` and entries beyond 10,000 are replaced by "…"."""
    if isinstance(value, str):
        return text_of(value)
    if value is None or isinstance(value, bool | int | float | Decimal):
        return _number(value)
    if deepest == 0:
        return _TOO_DEEP
    if isinstance(value, dict):
        entries = islice(value.items(), _MOST_ENTRIES)
        return {text_of(name): plain(each, deepest=deepest - 1) for name, each in entries}
    return [plain(each, deepest=deepest - 1) for each in list_of(value)[:_MOST_ENTRIES]]


def _number(value: Any) -> Any:
    """A number as our JSON has them, or as a text where it has no such number."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)[:_LONGEST_NUMBER]
    number = float(value) if isinstance(value, float | Decimal) else math.nan
    return number if math.isfinite(number) else text_of(str(value)[:_LONGEST_NUMBER])


def json_of(value: Any) -> Any:
    """What a text says as JSON, or the text itself: tools are called with either."""
    if not isinstance(value, str):
        return plain(value)
    if not value.lstrip().startswith(("{", "[", '"')):
        return text_of(value)
    try:
        return plain(orjson.loads(storable(value)))
    except orjson.JSONDecodeError:
        return text_of(value)


def result_of(value: object) -> str:
    """What a tool gave, as a text: a text, the texts of a list of parts, or anything else as JSON."""
    if isinstance(value, str):
        return text_of(value)
    if value is None:
        return ""
    texts = [_part_text(each) for each in list_of(value)]
    if texts and all(texts):
        return "\n".join(texts)
    return orjson.dumps(plain(value), option=orjson.OPT_INDENT_2).decode()


def _part_text(part: object) -> str:
    return text_of(part) if isinstance(part, str) else text_of(mapping_of(part).get("text"))


def in_json(text: str, fields: Mapping[str, Any]) -> str:
    """A text, and below it fields that nobody knows, as a block of JSON."""
    block = f"```json\n{result_of(fields)}\n```" if fields else ""
    return "\n\n".join(each for each in (text, block) if each)


def embedded_file(url: object) -> tuple[str, bytes] | None:
    """Media type and content of a file that stands in the JSON itself, as a `data:` URL. None for anything else."""
    if not isinstance(url, str) or (match := _DATA_URL.match(url[:_LONGEST_DATA_HEAD])) is None:
        return None
    try:
        content = base64.b64decode(url[match.end() :])
    except (binascii.Error, ValueError):
        return None
    return (match[1].lower(), content) if content else None


def embedded_name(media_type: str) -> str:
    """A name for such a file where the source gives none: "image.png"."""
    kind, _, form = media_type.partition("/")
    return f"{kind}.{form.partition('+')[0]}"


def unique_id(value: object, taken: Collection[str]) -> str:
    """An id that is not taken yet: the given one, or one made of it and of how many there are."""
    found = id_of(value) or "message"
    return found if id_of(value) and found not in taken else f"{found}~{len(taken) + 1}"
