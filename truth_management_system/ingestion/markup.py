"""The lines of a text that may hold statements: Markdown's marks are taken off, headings and code are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+•·▪◦‣–—]|\d{1,3}[.)]|[a-zA-Z]\))\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s*#{1,6}(?:\s|$)|\s*\*\*[^*]+\*\*:?\s*$|\s*__[^_]+__:?\s*$")
_UNDERLINE = re.compile(r"\s*(?:=+|-{2,})\s*$")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_QUOTE = re.compile(r"\A\s*(?:>\s?)+")
_TABLE_RULE = re.compile(r"\s*(?:\|\s*)?:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*(?:\|\s*)?$")
_INTRODUCTION = re.compile(r"[:：]\s*$")
_CODE = re.compile(
    r"\s*(?:(?:def|class|function|func|fn)\s+\w+\s*[({:]|import\s+[\w.]+\s*(?:;|$|as\b|,)|from\s+[\w.]+\s+import\b|#include\b|"
    r"(?:const|let|var)\s+\w+\s*=|return\b.*;|\}|\{|</?\w+[^>]*>\s*$|\$\s+\w|SELECT\s.+\sFROM\s)|.*(?:[{;]|\);|=>|\(\):)\s*$"
)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)(?=\S)(.+?)(?<=\S)\1")
_STAR = re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])")

# Looking for pairs of marks takes long in very long lines.
_LONGEST_MARKED = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. text: without marks; "" ends a block. before: the line before it, as it was written."""

    text: str
    begins_block: bool = False
    is_indented: bool = False
    before: str = ""


def content_lines(text: str) -> Iterator[Line]:
    """The lines of `text` that are no heading, no code and no ornament; each of those is an empty line instead."""
    lines = _without_fenced_code(text.split("\n"))
    before = ""
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        said = _QUOTE.sub("", line)
        if _is_ornament(said, before=before, after=after):
            yield Line(text="")
        else:
            bullet = _BULLET.match(said)
            yield Line(
                text=_plain(said[bullet.end() :] if bullet else said),
                begins_block=bullet is not None or _is_row(said),
                is_indented=said[:1].isspace(),
                before=before,
            )
        before = said


def _without_fenced_code(lines: list[str]) -> list[str]:
    """The lines with fenced code as empty lines; a fence that nothing closes is only a line."""
    kept: list[str] = []
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        end = _closing(lines, number, fence[1]) if fence else None
        kept.append("" if fence else lines[number])
        if end is not None:
            kept += [""] * (end - number)
            number = end
        number += 1
    return kept


def _closing(lines: list[str], begin: int, fence: str) -> int | None:
    marks = (number for number in range(begin + 1, len(lines)) if lines[number].strip().startswith(fence))
    return next(marks, None)


def _is_ornament(line: str, *, before: str, after: str) -> bool:
    if not line.strip() or _RULE.match(line) or _TABLE_RULE.match(line) or _HEADING.match(line):
        return True
    if _UNDERLINE.match(line) and before.strip():
        return True
    is_underlined = bool(_UNDERLINE.match(after)) and not _BULLET.match(line)
    is_table_head = _is_row(line) and bool(_TABLE_RULE.match(after))
    return is_underlined or is_table_head or _introduces(line, after) or bool(_CODE.match(line))


def _introduces(line: str, after: str) -> bool:
    """Whether a line such as "Shopping:" only says what follows."""
    return bool(_INTRODUCTION.search(line)) and (not after.strip() or bool(_BULLET.match(after)) or len(line) < 40)


def _is_row(line: str) -> bool:
    return line.strip().startswith("|") and line.strip().endswith("|") and line.count("|") > 2


def _plain(line: str) -> str:
    if _is_row(line):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        line = (": " if len(cells) == 2 else ", ").join(cell for cell in cells if cell)
    if len(line) > _LONGEST_MARKED:
        return line.strip()
    line = _LINK.sub(r"\1", line)
    return _STAR.sub(r"\1", _EMPHASIS.sub(r"\2", line)).strip()
