"""Conversations and documents that a message or a result names, each with the call that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.exchange.documents import wikilinks_of
from chat.tools.registry import Result
from chat.tools.results import RANKED, rows_of
from conversation_reference_utils import CONV_REF_PATTERN

READ_CONVERSATION, READ_DOCUMENT = "read_conversation", "read_document"
PARAMETERS: Mapping[str, str] = {READ_CONVERSATION: "conversationId", READ_DOCUMENT: "relative_path"}
"""By which parameter each of these tools is told what to read."""
_BEFORE = 3
"""So many lines before one that was found are read, too."""
_FRIENDLY_ID = re.compile(r"(?<![\w@#/])[a-z0-9]+(?:_[a-z0-9]+)+(?![\w/])")
_PATH = re.compile(r"[\w./-]*\w\.md\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """Something that a tool reads. name: what a model calls it by. arguments: of the call."""

    tool: str
    name: str
    arguments: Mapping[str, Any]


def named_in(text: str) -> list[Readable]:
    """What a message names: wikilinks and paths of documents, friendly ids of conversations."""
    links = wikilinks_of(text)
    rest = text
    for link in links:
        rest = rest.replace(link, " ")
    documents = [*links, *_PATH.findall(rest)]
    return _each_once(
        [
            *(_readable(READ_DOCUMENT, name, None) for name in documents),
            *(_readable(READ_CONVERSATION, name, None) for name in _FRIENDLY_ID.findall(rest)),
        ]
    )


def found_in(result: Result) -> list[Readable]:
    """What the rows of a result lie in, from a few lines before the first hit on; of a text that was cut, its rest.

    Of rows that are ranked the first one alone: ranking is better at that than a small model.
    """
    rows = rows_of(result)[:1] if RANKED in result else rows_of(result)
    found = [each for each in map(_of_row, rows) if each is not None]
    if result.get("truncated") and isinstance(result.get("rangeEnd"), int) and _goes_on(result):
        rest = _of_row({**result, "lineNumber": result["rangeEnd"] + 1 + _BEFORE})
        found += [] if rest is None else [rest]
    return _each_once(found)


def _goes_on(result: Result) -> bool:
    """Whether there are lines behind those of a result that was cut."""
    total = result.get("totalLines", result.get("messageCount"))
    return total is None or result["rangeEnd"] < total


def name_of(row: Mapping[str, Any]) -> str | None:
    """What a model calls the conversation or document of a row by; None where it lies in neither."""
    path = row.get("relative_path") or row.get("path")
    if isinstance(path, str):
        return path
    if row.get("friendlyId"):
        return str(row["friendlyId"])
    if isinstance(row.get("conversationId"), str):
        cited = CONV_REF_PATTERN.match(str(row.get("reference") or "").removeprefix("@"))
        return cited[1] if cited else str(row["conversationId"])
    return None


def _of_row(row: Mapping[str, Any]) -> Readable | None:
    name = name_of(row)
    if name is None:
        return None
    is_document = "relative_path" in row or "path" in row
    line = row.get("lineNumber") or row.get("lineStart")
    return _readable(READ_DOCUMENT if is_document else READ_CONVERSATION, name, line)


def _readable(tool: str, name: str, line: int | None) -> Readable:
    arguments: dict[str, Any] = {PARAMETERS[tool]: name}
    if line is not None and line > _BEFORE + 1:
        arguments["lineStart"] = line - _BEFORE
    return Readable(tool=tool, name=name, arguments=arguments)


def _each_once(readable: Iterable[Readable]) -> list[Readable]:
    by_name: dict[tuple[str, str], Readable] = {}
    for each in readable:
        by_name.setdefault((each.tool, each.name), each)
    return list(by_name.values())


def unread(readable: Iterable[Readable], calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Readable]:
    """Those that none of `calls` (names and arguments) has read already."""
    return [each for each in readable if (each.tool, each.arguments) not in calls]
