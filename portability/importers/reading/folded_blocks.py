"""Blocks that a program writes into the text of an answer and shows folded: what the model thought, or called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_code import code_ranges

_MOST_BLOCKS = 1_000
"""Of one text: what comes behind them stays text."""


def folded_blocks(
    text: str, *, opening: re.Pattern[str], head_ends: str, closing: re.Pattern[str]
) -> Iterator[tuple[str | None, str]]:
    """The pieces of a text in order: plain ones with None, and blocks with their heads.

    A block begins at the beginning of a line with `opening` and its head, up to `head_ends`. One that never ends, or
    that stands in a block of code, is only quoted: it is plain.
    """
    at = clean = looked = 0
    for _ in range(_MOST_BLOCKS):
        begins = opening.search(text, looked)
        body = text.find(head_ends, begins.end()) if begins else -1
        ends = closing.search(text, body + len(head_ends)) if body >= 0 else None
        if begins is None or ends is None:
            break
        start = begins.start()
        if not _begins_line(text, start, after=at):
            looked = begins.end()
        elif code_end := _end_of_code(text, start, clean=clean):
            clean = looked = code_end
        else:
            yield None, text[at:start]
            yield text[start:body], text[body + len(head_ends) : ends.start()]
            at = clean = looked = ends.end()
    yield None, text[at:]


def _begins_line(text: str, start: int, *, after: int) -> bool:
    """Whether only blanks stand before `start` in its line, or since the block before."""
    line = max(text.rfind("\n", 0, start) + 1, after)
    return not text[line:start].strip()


def _end_of_code(text: str, start: int, *, clean: int) -> int:
    """Where the block of code ends in which `start` stands; 0 outside of any. clean: a place outside, before it."""
    # A further letter is code exactly where a block of code is open.
    piece = f"{text[clean:start]}x"
    is_code = any(end == len(piece) for _, end in code_ranges(piece))
    if not is_code:
        return 0
    return clean + next(end for _, end in code_ranges(text[clean:]) if end > start - clean)
