"""Regular expressions of google-re2: compiled, and asked what each match must say of plain text."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from database.engine.text import storable

if TYPE_CHECKING:
    import re2

SECONDS = 3.0
LONGEST_PATTERN = 200
_SHORTEST_LITERAL = 3
_PREVIEW = 200
_OPTIONS = {"log_errors": False, "max_mem": 16 * 1024 * 1024}
# Of a literal, the words that surely stand alone: what is before and behind them is in the literal too.
_WHOLE_WORD = re.compile(r"(?<=[^a-zA-Z0-9])[a-zA-Z0-9]+(?=[^a-zA-Z0-9])")


class InvalidPatternError(ValueError):
    """The expression can't be used. `message` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"This is no regular expression that can be used: {reason}.")
        self.message = str(self)


class Deadline:
    """The moment at which a search ends, however much is left to be looked at."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re2._Regexp[str]:
    """`pattern`, whose `^` and `$` match at the lines of a text. Raises InvalidPatternError."""
    import re2

    if not 1 <= len(pattern) <= LONGEST_PATTERN:
        raise InvalidPatternError(f"it must have 1 to {LONGEST_PATTERN} characters")
    options = re2.Options()
    for name, value in _OPTIONS.items():
        setattr(options, name, value)
    try:
        return re2.compile(f"(?m){pattern}", options=options)
    except re2.error as error:
        raise InvalidPatternError(_reason(error, pattern)) from None


def preview(text: str, span: tuple[int, int]) -> str:
    """The line of a match as one line of text, cut around the match where it is long."""
    begin, end = span
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", max(begin, end - 1))
    line_end = len(text) if last < 0 else last
    if line_end - first > _PREVIEW:
        first = max(first, begin - (_PREVIEW - min(end - begin, _PREVIEW)) // 2)
    return " ".join(text[first : min(line_end, first + _PREVIEW)].split())


@lru_cache(maxsize=64)
def required_literal(pattern: str) -> str:
    """The longest text that each match of `pattern` holds, as far as that is certain; "" where there is none."""
    if "[:" in pattern:
        return ""  # a class of RE2 that Python reads in another way
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return ""  # RE2 knows more than Python does
    if tree.state.flags & re.IGNORECASE:
        return ""
    longest = max(_literals(tree), key=len, default="")
    return longest if len(longest) >= _SHORTEST_LITERAL and storable(longest) == longest else ""


def whole_words(literal: str) -> list[str]:
    """The words in `literal` that stand alone wherever it is said; of ASCII text, where that is certain."""
    return _WHOLE_WORD.findall(literal) if literal.isascii() else []


def _literals(tree: Any) -> Iterator[str]:
    """Runs of characters that each match holds."""
    run = ""
    for operator, argument in tree:
        if operator is _constants.LITERAL:
            run += chr(argument)
        elif operator is not _constants.AT:
            yield run
            run = ""
            yield from _inner(operator, argument)
    yield run


def _inner(operator: Any, argument: Any) -> Iterator[str]:
    if operator is _constants.SUBPATTERN and not argument[1] & re.IGNORECASE:
        yield from _literals(argument[3])
    elif operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
        yield from _literals(argument[2])


def _reason(error: Exception, pattern: str) -> str:
    told = error.args[0] if error.args else ""
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    if re.search(r"\(\?<?[=!]", pattern):
        return "there is no looking ahead or behind"
    if re.search(r"\\[1-9]", pattern):
        return "there are no references to groups"
    return text.rstrip(".") or "it is malformed"
