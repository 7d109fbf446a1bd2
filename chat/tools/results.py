"""Results of tools: cut to what a model can read, and told of in one line."""

from __future__ import annotations

import logging
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from database.conversations.listing import encode_cursor
from language_models.ports import ChatMessage

from .ranges import cut_fields
from .registry import Result, ToolContext, ToolFailedError, ToolRegistry, failure

log = logging.getLogger(__name__)
RANKED = "results"
"""The field with the rows of a search, best first."""
_CONVERSATIONS = "conversations"
_LISTS = (RANKED, "matches", _CONVERSATIONS)
_TEXTS = ("content", "answer", "text")
_STRUCTURED = "structured"
_LONGEST_VALUE = 60
_NUMBER = re.compile(r"^(\d+)→", re.MULTILINE)
_SAID = ("text", "statement", "matchPreview", "firstMessagePreview")
_ABOUT = ("title", "date", "lastActivity", "sender")
_TIMES = frozenset({"date", "lastActivity"})
_DAY = len("2026-02-08")
_PLACE = {"lastActivity", "conversationId"}
"""What of a conversation says where a list goes on."""


def call_fitted(registry: ToolRegistry, name: str, arguments: Mapping[str, Any], context: ToolContext) -> Result:
    """`ToolRegistry.call`, its result cut to the `max_chars` of the context, which has some. Never raises."""
    result = registry.call(name, arguments, context)
    try:
        return fitted_result(result, context.max_chars or sys.maxsize)
    except Exception:  # the result of a stranger's tool may only look like one of ours
        log.exception("the result of the tool %s could not be cut", name)
        return failure(ToolFailedError.code, "The result is too long, and could not be cut.")


def fitted_result(result: Result, chars: int) -> Result:
    """`result` as JSON of at most about `chars` characters; a shorter one says so by `truncated`.

    Of a list its end is left out, of a text its end; anything else is given as the beginning of its JSON. Where there
    is a way to go on (numbered lines, pages of conversations), it leads to the first that was left out.
    """
    if _length(result) <= chars:
        return result
    shorter = _shorter(result, chars)
    if _length(shorter) <= chars:
        return shorter
    whole = {"success": result.get("success", True), "json": orjson.dumps(result).decode()}
    return _with_less_text(whole, "json", chars)


def _shorter(result: Result, chars: int) -> Result:
    """`result` with less of what it mainly says; whatever else it has stays as long as it is."""
    if _STRUCTURED in result:  # of a foreign server, whose text says the same
        others = {name: value for name, value in result.items() if name != _STRUCTURED}
        text = others.get("content") or orjson.dumps(result[_STRUCTURED]).decode()
        return fitted_result({**others, "content": text, "truncated": True}, chars)
    for name in (*_LISTS, "items"):
        if isinstance(result.get(name), list):
            return _with_fewer(result, name, chars)
    for name in _TEXTS:
        if isinstance(result.get(name), str):
            return _with_less_text(result, name, chars)
    return result


def shorten_results(messages: list[ChatMessage], *, enough: int) -> bool:
    """Give each result among `messages` at most half of the room of the longest.

    False where that makes none shorter, or where none is longer than `enough` characters.
    """
    longest = _longest_result(messages)
    if longest <= enough:
        return False
    for place, each in enumerate(messages):
        if each["role"] == "tool" and len(each["content"]) > longest // 2:
            shorter = fitted_result(orjson.loads(each["content"]), longest // 2)
            messages[place] = {**each, "content": orjson.dumps(shorter).decode()}
    return _longest_result(messages) < longest


def _longest_result(messages: Sequence[ChatMessage]) -> int:
    return max((len(each["content"]) for each in messages if each["role"] == "tool"), default=0)


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
    told = {**result, "truncated": True}
    kept, left = list[Any](), chars - _length({**told, name: []})
    for each in result[name]:
        left -= _length(each) + 1
        if left < 0:
            if not kept:  # a list without its only row would say that there is nothing
                kept += _shortened(each, left + _length(each))
            break
        kept.append(each)
    return {**told, name: kept, **_page_behind(result, name, kept)}


def _shortened(row: Any, chars: int) -> list[Result]:
    """`row` with less text; nothing for one without a text."""
    texts = [name for name in _TEXTS if isinstance(row, Mapping) and isinstance(row.get(name), str)]
    return [_with_less_text({**row}, texts[0], chars)] if texts else []


def _page_behind(result: Result, name: str, kept: list[Any]) -> Result:
    """Where a list of conversations goes on of which only the first ones are kept."""
    last = kept[-1] if kept else None
    if name != _CONVERSATIONS or "next" not in result or not isinstance(last, Mapping) or not last.keys() >= _PLACE:
        return {}
    return {
        "count": len(kept),
        "next": encode_cursor(updated_at=last["lastActivity"], conversation_id=last["conversationId"]),
    }


def _with_less_text(result: Result, name: str, chars: int) -> Result:
    """`result` with the beginning of its text; of numbered lines with the first ones, and where to go on."""
    start, end = result.get("rangeStart"), result.get("rangeEnd")
    if isinstance(start, int) and isinstance(end, int):
        return _with_fewer_lines(result, name, chars, start=start, end=end)
    told = {**result, "truncated": True}
    return {**told, name: result[name][: _room(told, name, chars)]}


def _with_fewer_lines(result: Result, name: str, chars: int, *, start: int, end: int) -> Result:
    # While it is measured, it says as much as it may say in the end.
    behind = result.get("nextLine")
    longest = cut_fields(next_line=behind if isinstance(behind, int) else end, long_line=end)
    room = _room({**result, **longest}, name, chars)
    text: str = result[name]
    further = [found for found in _NUMBER.finditer(text) if 0 < found.start() <= room + 1]
    if further:
        last = int(further[-1][1]) - 1
        shown, cut = text[: further[-1].start() - 1], cut_fields(next_line=last + 1)
    else:
        last, shown = start, text[:room]
        # A tool that cut the result before has said where to go on.
        following = start + 1 if end > start else behind if isinstance(behind, int) else None
        cut = cut_fields(next_line=following, long_line=start)
    told = {**result, name: shown, "rangeEnd": last, **cut}
    return {**told, "returnedCount": last - start + 1} if "returnedCount" in result else told


def _room(result: Result, name: str, chars: int) -> int:
    """How many characters of its text the result may have, to be at most `chars` long as JSON."""
    text: str = result[name]
    lengths = range(min(len(text), chars) + 1)
    fitting = bisect_right(lengths, chars, key=lambda length: _length({**result, name: text[:length]}))
    return max(0, fitting - 1)


def _shown(value: Any) -> str:
    """`value` on one line, without the bracket that ends the account in the prompt of a later turn."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    text = " ".join(text.replace("]", "").split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _length(value: Any) -> int:
    return len(orjson.dumps(value))
