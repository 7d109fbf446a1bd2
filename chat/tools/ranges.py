"""Numbered lines, and ranges of them: the same for conversations, whose lines are messages, and for documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from .registry import ToolError

LineStart = Annotated[int | None, Field(alias="lineStart", ge=1, description="The first line, from 1.")]
LineEnd = Annotated[int | None, Field(alias="lineEnd", ge=1, description="The last line, itself included.")]
_ARROW = "→"
_CUT = " […]"


class InvalidRangeError(ToolError):
    """A range that ends before it begins."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"lineStart ({start}) is after lineEnd ({end}).")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """Lines `start` to `end`, 1-based and inclusive. message: why there are none; start and end are None then."""

    start: int | None
    end: int | None
    message: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is no line."""
        return self.start is None


def line_range(start: int | None, end: int | None, *, total: int) -> LineRange:
    """The lines of `total` that are asked for; a bound that is left out is open. Raises InvalidRangeError."""
    if start is not None and end is not None and start > end:
        raise InvalidRangeError(start, end)
    first = start or 1
    if first > total:
        return LineRange(start=None, end=None, message=beyond_end(first, total=total) if start else None)
    return LineRange(start=first, end=min(end or total, total))


def beyond_end(line: int, *, total: int) -> str:
    """What is said of a line that comes after the last one."""
    return f"Line {line} is beyond the end ({'1 line' if total == 1 else f'{total} lines'})."


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedText:
    """Numbered lines. last: the number of the last one that is shown. is_cut: there was no room for all of them.

    long_line: the number of a line that alone was too long, so that its end is left out.
    """

    content: str
    last: int | None
    is_cut: bool
    long_line: int | None = None

    def told(self, lines: LineRange) -> dict[str, Any]:
        """`content` and where it begins and ends, as the fields of a result."""
        told: dict[str, Any] = {"content": self.content, "rangeStart": lines.start, "rangeEnd": lines.end}
        if lines.message is not None:
            told["rangeMessage"] = lines.message
        if self.last is not None and (self.is_cut or self.long_line is not None):
            next_line = self.last + 1 if self.is_cut else None
            told |= {"rangeEnd": self.last, **cut_fields(next_line=next_line, long_line=self.long_line)}
        return told


def cut_fields(*, next_line: int | None, long_line: int | None = None) -> dict[str, Any]:
    """The fields by which a result says that it was cut, and where to go on. For the arguments see `cut_message`."""
    message = cut_message(next_line=next_line, long_line=long_line)
    more = {} if next_line is None else {"nextLine": next_line}
    return {"truncated": True, "rangeMessage": message, **more}


def cut_message(*, next_line: int | None, long_line: int | None = None) -> str:
    """What a result says that was cut. next_line: where to go on. long_line: the line whose end is left out."""
    long = "" if long_line is None else f"Line {long_line} is too long to be shown whole."
    more = "" if next_line is None else f"Cut: there was no room for more. Go on with lineStart {next_line}."
    return f"{long} {more}".strip()


def numbered(lines: Iterable[tuple[int, str]], *, max_chars: int | None) -> NumberedText:
    """`lines`, each with its number before it, as far as they fit; the first is cut where it alone is too long.

    Further lines of one text are indented, so that nothing in it reads as a numbered line of its own.
    """
    shown, left, last = list[str](), max_chars, None
    long_line: int | None = None
    for number, text in lines:
        line = f"{number}{_ARROW}" + "\n    ".join(text.splitlines() or [""])
        if left is not None and len(line) + 1 > left:
            if shown:
                return NumberedText(content="\n".join(shown), last=last, is_cut=True, long_line=long_line)
            line, long_line = line[: max(0, left - len(_CUT))] + _CUT, number
        shown.append(line)
        last = number
        left = None if left is None else left - len(line) - 1
    return NumberedText(content="\n".join(shown), last=last, is_cut=False, long_line=long_line)


def counted(lines: Sequence[str], within: LineRange) -> list[tuple[int, str]]:
    """The lines of a range with their numbers."""
    if within.start is None or within.end is None:
        return []
    return list(enumerate(lines[within.start - 1 : within.end], within.start))
