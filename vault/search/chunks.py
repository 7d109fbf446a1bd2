"""Cutting a document into chunks that a model reads whole: at headings and paragraphs, with overlap. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vault.content.markdown import Heading

MOST_TOKENS = 220
_OVERLAP = 40
_HEADING_TOKENS = 60
_PIECE_CHARACTERS = 2_000
_BREAK = re.compile(r"(?<=[.!?。！？])\s*|\s+")

CountTokens = Callable[[Sequence[str]], list[int]]


class Chunk(NamedTuple):
    """A part of a document. Lines are 1-based and inclusive. heading: the headings above it. text: without them."""

    line_start: int
    line_end: int
    heading: str
    text: str

    @property
    def embedded(self) -> str:
        """What the model is given: the chunk below its headings."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text


class _Line(NamedTuple):
    """A line, or a piece of a long one."""

    number: int
    text: str
    tokens: int


def cut(text: str, headings: Sequence[Heading], *, body_line: int, count: CountTokens) -> list[Chunk]:
    """The chunks of a document in order, each of at most 220 tokens with its headings.

    body_line: the first line behind the front matter. count: tokens of each of several texts.
    """
    lines = text.split("\n")
    starts = {heading.line: heading for heading in headings if heading.line >= body_line}
    chunks, path, begin = list[Chunk](), list[Heading](), body_line
    for number in (*sorted(starts), len(lines) + 1):
        chunks += _section(lines, begin, number, _path_text(path, count), count)
        if number in starts:
            path = [each for each in path if each.level < starts[number].level] + [starts[number]]
            begin = number
    return chunks


def _path_text(path: Sequence[Heading], count: CountTokens) -> str:
    """The headings above a section, the nearest ones where they are long."""
    texts = [heading.text for heading in path if heading.text]
    while texts and count([" > ".join(texts)])[0] > _HEADING_TOKENS:
        texts = texts[1:]
    return " > ".join(texts)


def _section(lines: Sequence[str], begin: int, end: int, heading: str, count: CountTokens) -> Iterator[Chunk]:
    """The chunks of the lines from `begin` to before `end`; none of a section that says nothing."""
    room = MOST_TOKENS - (count([heading])[0] if heading else 0)
    pieces = list(_pieces(lines, begin, end, room, count))
    current = list[_Line]()
    for paragraph in _paragraphs(pieces):
        if current and _size(current) + _size(paragraph) > room:
            yield _chunk(current, heading)
            current = _overlap(current, room - min(_size(paragraph), room))
        for line in paragraph:
            if current and _size(current) + line.tokens > room:
                yield _chunk(current, heading)
                current = _overlap(current, room - line.tokens)
            current.append(line)
    if any(line.text.strip() for line in current):
        yield _chunk(current, heading)


def _pieces(lines: Sequence[str], begin: int, end: int, room: int, count: CountTokens) -> Iterator[_Line]:
    """The lines, those that are too long in pieces."""
    part = lines[begin - 1 : end - 1]
    counts = count(part) if part else []
    for number, (text, tokens) in enumerate(zip(part, counts, strict=True), start=begin):
        if tokens <= room and len(text) <= _PIECE_CHARACTERS:
            yield _Line(number, text, tokens)
        else:
            yield from (_Line(number, piece, size) for piece, size in _cut_line(text, room, count))


def _cut_line(text: str, room: int, count: CountTokens) -> Iterator[tuple[str, int]]:
    """A long line in pieces of at most `room` tokens, cut behind sentences and words where it has some."""
    rest = text
    while rest:
        length = min(len(rest), _PIECE_CHARACTERS)
        while True:
            cuts = [found.end() for found in _BREAK.finditer(rest, length // 2, length) if found.end() > 0]
            at = length if length == len(rest) or not cuts else cuts[-1]
            (size,) = count([rest[:at]])
            if size <= room or at == 1:
                break
            length = max(1, at * room // (size + 1))
        yield rest[:at], size
        rest = rest[at:]


def _paragraphs(pieces: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Lines up to and with the empty line behind them."""
    current = list[_Line]()
    for line in pieces:
        current.append(line)
        if not line.text.strip():
            yield current
            current = []
    if current:
        yield current


def _overlap(lines: Sequence[_Line], room: int) -> list[_Line]:
    """The last lines of a chunk, at most 40 tokens and `room`, with which the next one begins."""
    kept, left = list[_Line](), min(_OVERLAP, room)
    for line in reversed(lines):
        left -= line.tokens
        if left < 0:
            break
        kept.insert(0, line)
    return kept if any(line.text.strip() for line in kept) else []


def _size(lines: Sequence[_Line]) -> int:
    return sum(line.tokens for line in lines)


def _chunk(lines: Sequence[_Line], heading: str) -> Chunk:
    said = [line for line in lines if line.text.strip()] or list(lines)
    return Chunk(said[0].number, said[-1].number, heading, "\n".join(line.text for line in lines).strip())
