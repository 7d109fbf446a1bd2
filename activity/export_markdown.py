"""An export as Markdown: a heading, then each activity as a block quote below a line that names its author."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from activity.recipes.formatting import one_line

from .export_document import (
    Entry,
    Heading,
    facts_of,
    link_to,
    literal,
    moment,
    reply_of,
    text_of,
    title_of,
    totals_line,
)
from .parts import ExportedPart

_LINE_END = re.compile(r"\r\n|\r|\n")
_FENCES = re.compile(r"`{3,}")
_LEVEL = "↳"


def render(heading: Heading, entries: Iterator[Entry]) -> Iterator[str]:
    """The file, piece by piece."""
    yield _head(heading)
    messages = others = 0
    for entry in entries:
        messages, others = messages + entry.is_message, others + (not entry.is_message)
        section = "" if entry.section is None else f"\n## {literal(entry.section)}\n"
        yield section + _entry(entry, heading)
    yield f"\n---\n\n{totals_line(messages=messages, others=others)}\n"


def _head(heading: Heading) -> str:
    title = literal(heading.title)
    if heading.recipe is not None:
        return f"# {title}\n"
    lines = f"# {'Conversation' if heading.conversation else 'Thread'}: {title}\n\n"
    if heading.conversation is not None:
        lines += "".join(f"{name}: {literal(value)}  \n" for name, value in facts_of(heading.conversation))
        if heading.thread is not None:
            lines += f"\n## Thread: {literal(one_line(heading.thread_title))}\n"
    return lines


def _entry(entry: Entry, heading: Heading) -> str:
    text = text_of(entry)
    reply, elsewhere = reply_of(entry.activity), heading.elsewhere(entry.activity)
    told = [f"by {literal(text.by)}"] if text.by else []
    told += [f"reply to {reply}"] if reply else []
    marks = [", ".join(told)] if told else []
    marks += [f"in {literal(elsewhere)}"] if elsewhere else []
    head = f"**[#{entry.activity.short_id}] {literal(text.label)}** ({moment(entry.activity.created_at)})"
    said = "".join(f" *{mark}*" for mark in [*marks, *text.notes])
    pieces = [_piece(piece, heading) for piece in text.pieces]
    if text.data is not None:
        pieces.append(_fenced(text.data))
    body = "\n\n".join(pieces) or ">"
    # Four spaces would be code, so that from the second level on arrows say how deep it is.
    margin, arrows = ("  " if entry.depth else ""), _LEVEL * max(0, entry.depth - 1)
    first = f"{margin}{arrows}{' ' if arrows else ''}{head}{said}"
    return f"\n{first}\n\n{_indented(body, margin)}\n"


def _piece(piece: str | ExportedPart, heading: Heading) -> str:
    if isinstance(piece, str):
        return _quoted(piece)
    title, link = f"*{literal(title_of(piece))}*", link_to(piece, heading)
    if link:
        # In angle brackets, since names may hold parentheses.
        title = f"[{title}](<{link}>)"
    return f"{title}\n\n{_quoted(piece.body)}" if piece.body else title


def _quoted(text: str) -> str:
    """Quote each line, so that nothing in the text, such as an unclosed fence, affects what follows."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))


def _fenced(data: Mapping[str, Any]) -> str:
    """JSON in a fence longer than any inside."""
    shown = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    fence = "`" * max(3, 1 + max((len(found) for found in _FENCES.findall(shown)), default=0))
    return f"{fence}json\n{shown}\n{fence}"


def _indented(text: str, margin: str) -> str:
    return "\n".join(margin + line if line else line for line in text.split("\n")) if margin else text
