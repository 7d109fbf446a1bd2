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
    at = clean = looked = found = 0
    # Whether an opening counts is known from what stands before it, and each piece of the text is looked at once.
    while found < _MOST_BLOCKS and (begins := opening.search(text, looked)):
        start = begins.start()
        if not _begins_line(text, start, looked=looked, after=at):
            looked = begins.end()
            continue
        found += 1
        if code_end := _end_of_code(text, start, clean=clean):
            clean = looked = code_end
            continue
        body = text.find(head_ends, begins.end())
        ends = closing.search(text, body + len(head_ends)) if body >= 0 else None
        if ends is None:
            break
        yield None, text[at:start]
        yield text[start:body], text[body + len(head_ends) : ends.start()]
        at = clean = looked = ends.end()
    yield None, text[at:]


def _begins_line(text: str, start: int, *, looked: int, after: int) -> bool:
    """Whether only blanks stand before `start` in its line, or since the block that ended at `after`.

    looked: where something else than blanks ended, unless it is `after`.
    """
    line = text.rfind("\n", max(looked - 1, after), start) + 1
    return (line > 0 or looked == after) and not text[line or after : start].strip()


def _end_of_code(text: str, start: int, *, clean: int) -> int:
    """Where the block of code ends in which `start` stands; 0 outside of any. clean: a place outside, before it."""
    # A further letter is code exactly where a block of code is open.
    piece = f"{text[clean:start]}x"
    is_code = any(end == len(piece) for _, end in code_ranges(piece))
    return next(end for _, end in code_ranges(text, begin=clean) if end > start) if is_code else 0
