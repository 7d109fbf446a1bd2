"""Results of tools: cut to what a model can read, and told of in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from .registry import Result

RANKED = "results"
"""The field with the rows of a search, best first."""
_LISTS = (RANKED, "matches", "conversations")
_TEXTS = ("content", "answer", "text")
_LONGEST_VALUE = 60
_NUMBER = re.compile(r"^\d+→", re.MULTILINE)
_SAID = ("text", "statement", "matchPreview", "firstMessagePreview")
_ABOUT = ("title", "date", "lastActivity", "sender")
_TIMES = frozenset({"date", "lastActivity"})
_DAY = len("2026-02-08")


def fitted_result(result: Result, chars: int) -> Result:
    """`result` as JSON of at most about `chars` characters; a shorter one says so by `truncated`.

    Of a list its end is left out, of a text its end; anything else is given as the beginning of its JSON.
    """
    if _length(result) <= chars:
        return result
    for name in _LISTS:
        if isinstance(result.get(name), list):
            return _with_fewer(result, name, chars)
    for name in _TEXTS:
        if isinstance(result.get(name), str):
            rest = _length({**result, name: ""})
            shown = result[name][: max(0, chars - rest)]
            while shown and _length({**result, name: shown}) > chars:
                shown = shown[: len(shown) * 3 // 4]
            return {**result, name: shown, "truncated": True}
    encoded = orjson.dumps(result).decode()
    return {"success": result.get("success", True), "truncated": True, "json": encoded[: chars // 2]}


def rows_of(result: Result) -> list[Mapping[str, Any]]:
    """The rows of a result that lists something; of any other one, none."""
    lists = (result[name] for name in _LISTS if isinstance(result.get(name), list))
    return [row for row in next(lists, ()) if isinstance(row, Mapping)]


def as_text(result: Result, chars: int) -> str:
    """`result` as plain text of at most about `chars` characters: what a small model reads better than JSON.

    Lines come without their numbers, which small models would quote.
    """
    if not result.get("success", True):
        return str(result.get("error", {}).get("message", "It failed."))[:chars]
    if any(isinstance(result.get(name), list) for name in _LISTS):
        return _first_lines(map(_row_as_text, rows_of(result)), chars) or "Nothing was found."
    for name in _TEXTS:
        if isinstance(result.get(name), str):
            text = _NUMBER.sub("", result[name])
            shown = text if len(text) <= chars else f"{text[:chars]} […]"
            return shown or str(result.get("rangeMessage") or "It is empty.")
    return orjson.dumps(fitted_result(result, chars)).decode()[: 2 * chars]


def _first_lines(lines: Iterable[str], chars: int) -> str:
    """As many lines as fit; the first one always, cut if need be."""
    shown = list[str]()
    for line in lines:
        chars -= len(line) + 1
        if chars < 0:
            if not shown:
                shown.append(f"{line[:chars]} […]")
            break
        shown.append(line)
    return "\n".join(shown)


def _row_as_text(row: Mapping[str, Any]) -> str:
    said = next((str(row[name]) for name in _SAID if row.get(name)), None)
    if said is None and not row.get("title"):
        return f"- {orjson.dumps(row).decode()}"
    name = row.get("reference") or row.get("friendlyId") or row.get("conversationId") or row.get("path")
    about = [f"({str(row[key])[:_DAY] if key in _TIMES else row[key]})" for key in _ABOUT if row.get(key)]
    return f"- {' '.join([str(name or ''), *about]).strip()}: {' '.join((said or '').split())}"


def account(name: str, arguments: Mapping[str, Any], result: Result) -> str:
    """One line about a call, for later turns: what was asked and what came of it, not what was found."""
    asked = ", ".join(f"{_shown(key)}={_shown(value)}" for key, value in arguments.items() if key != "title")
    return f"{_shown(name)}({asked}) → {_outcome(result)}"


def _outcome(result: Result) -> str:
    if not result.get("success", True):
        return str(result.get("error", {}).get("code", "failed"))
    for key in _LISTS:
        if isinstance(result.get(key), list):
            return f"{len(result[key])} found"
    return _shown(result["title"]) if result.get("title") else "done"


def _with_fewer(result: Result, name: str, chars: int) -> Result:
    kept, left = list[Any](), chars - _length({**result, name: [], "truncated": True})
    for each in result[name]:
        left -= _length(each) + 1
        if left < 0:
            break
        kept.append(each)
    return {**result, name: kept, "truncated": True}


def _shown(value: Any) -> str:
    """`value` on one line, without the bracket that ends the account in the prompt of a later turn."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = " ".join(text.replace("]", "").split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _length(value: Any) -> int:
    return len(orjson.dumps(value))
