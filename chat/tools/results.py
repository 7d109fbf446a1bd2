"""Results of tools: cut to what a model can read, and told of in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from .registry import Result

_LISTS = ("results", "matches", "conversations")
_TEXTS = ("content", "answer", "text")
_LONGEST_VALUE = 60


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
