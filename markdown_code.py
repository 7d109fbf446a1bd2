"""Where the code of a Markdown text stands: what is code is quoted, and no reference is read in it.

Pure, and linear in the text. `interface/static/page/markdown/code_ranges_model.js` is the same for the browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
# Fences stand in quotes and lists too; how deep a list indents them is not looked at.
_CONTAINER = r"(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*"
_FENCE_OPENS = re.compile(_CONTAINER + r"(?:(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*)[\r\n]*")
_FENCE_CLOSES = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*[\r\n]*")
_QUOTED = re.compile(r"[ \t]*>")
_BLANK = re.compile(r"[ \t>]*[\r\n]*")
_BACKTICKS = re.compile(r"(?<!\\)(\\*)(`+)")


class _Fence(NamedTuple):
    start: int
    marker: str
    is_quoted: bool


def code_ranges(text: str, *, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of each fenced block and code span, in order; an unclosed fence reaches to the end.

    begin: a place outside of code, from which on the text is read.
    """
    fence, paragraph_start = None, begin
    for line in _LINE.finditer(text, begin):
        start, end = line.span()
        if fence and fence.is_quoted and not _QUOTED.match(line[0]):
            yield fence.start, start
            fence, paragraph_start = None, start
        if fence:
            if _is_closed(fence, line[0]):
                yield fence.start, end
                fence, paragraph_start = None, end
            continue
        fence = _open_fence(line[0], start)
        if fence or _BLANK.fullmatch(line[0]):
            yield from _spans(text, paragraph_start, start)
            paragraph_start = end
    if fence:
        yield fence.start, len(text)
    else:
        yield from _spans(text, paragraph_start, len(text))


def _open_fence(line: str, start: int) -> _Fence | None:
    opens = _FENCE_OPENS.fullmatch(line)
    return _Fence(start, opens[1] or opens[2], bool(_QUOTED.match(line))) if opens else None


def _is_closed(fence: _Fence, line: str) -> bool:
    closes = _FENCE_CLOSES.fullmatch(line)
    return closes is not None and closes[1].startswith(fence.marker)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans between runs of equally many backticks in one paragraph; a run without a partner is plain text."""
    runs = list(_BACKTICKS.finditer(text, start, end))
    partners: dict[int, list[int]] = {}
    for index in reversed(range(len(runs))):
        partners.setdefault(len(runs[index][2]), []).append(index)
    index = 0
    while index < len(runs):
        # A backslash makes one backtick plain where code could begin; within code it means nothing.
        escaped = len(runs[index][1]) % 2
        candidates = partners.get(len(runs[index][2]) - escaped, [])
        while candidates and candidates[-1] <= index:
            candidates.pop()
        opening = runs[index].start(2) + escaped
        if candidates:
            index = candidates[-1]
            yield opening, runs[index].end()
        index += 1
