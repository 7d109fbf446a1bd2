"""Regular expressions of google-re2: compiled, and asked what each match must say of plain text."""

from __future__ import annotations

import re
import time
import unicodedata
import warnings
from collections.abc import Iterator
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NamedTuple

from database.engine.text import storable
from database.search.index import OPTIONAL_MARKS, UNSPACED, WORD, folded

if TYPE_CHECKING:
    import re2

SECONDS = 2.8
"""So that a search ends within 3 s: what is being read then is still read."""
LONGEST_PATTERN = 200
_SHORTEST_LITERAL = 3
_PREVIEW = 200
_OPTIONS = {"log_errors": False, "max_mem": 16 * 1024 * 1024}
_MOST_PHRASES = 4
_SHORTEST_BEGINNING = 3
_SHORTEST_PART = 3
_ASCII = 128
_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"
_UNSPACED = re.compile(f"[{UNSPACED}]")
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


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
    tree = _parsed(pattern)
    if tree is None or tree.state.flags & re.IGNORECASE:
        return ""
    longest = max(_runs(tree, of_words=False), key=len, default="")
    return longest if len(longest) >= _SHORTEST_LITERAL and storable(longest) == longest else ""


@lru_cache(maxsize=64)
def required_phrases(pattern: str) -> tuple[tuple[tuple[str, ...], ...], bool]:
    r"""Words that stand side by side in whatever text `pattern` matches, folded as the full-text index has them.

    Also whether the last word of the last phrase may go on. The longest phrases, since they are rare. `\b` is the
    border of a word as the full-text index cuts words, which knows more letters than RE2 does: `\bber` is not sought
    within "über".
    """
    phrases = sorted({each for words in _required_words(pattern) for each in _phrases(words)}, key=_length)
    whole = [phrase for phrase, goes_on in phrases if not goes_on]
    going_on = [phrase for phrase, goes_on in phrases if goes_on]
    return (*whole[-_MOST_PHRASES:], *going_on[-1:]), bool(going_on)


class PartOfWord(NamedTuple):
    """What a word holds, folded. at_end: the word ends with it."""

    text: str
    at_end: bool


@lru_cache(maxsize=64)
def required_part(pattern: str) -> PartOfWord | None:
    """The longest part of a word, of three characters at least, that may begin within the word; None: there is none.

    Each text that `pattern` matches says such a word, as the full-text index cuts words.
    """
    parts = [
        PartOfWord(first.text, at_end=not first.goes_on)
        for first, *_ in filter(None, _required_words(pattern))
        if not first.begins_here and len(first.text) >= _SHORTEST_PART
    ]
    return max(parts, key=lambda part: len(part.text), default=None)


class _Word(NamedTuple):
    """A word, or a part of one, that each match says. begins_here: nothing of the word stands before it."""

    text: str
    begins_here: bool
    goes_on: bool


def _required_words(pattern: str) -> list[list[_Word]]:
    """Sequences of words that stand side by side in each match; only the ends of a sequence may be parts of words."""
    tree = _parsed(pattern)
    if tree is None:
        return []
    ignores_case = bool(tree.state.flags & re.IGNORECASE)
    return [_words(part) for run in _runs(tree, of_words=True, ignores_case=ignores_case) for part in _certain(run)]


def _certain(run: str) -> Iterator[str]:
    """The parts of a run that the full-text index has as they are, folded, whatever stands beside them."""
    part = ""
    for character in run:
        if _is_certain(character):
            part += character
        else:
            yield folded(part)
            part = ""
    yield folded(part)


@lru_cache(maxsize=1024)
def _is_certain(character: str) -> bool:
    """Whether `folded` makes the same of a character in every text; marks change places, and a sigma has two forms."""
    forms = OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", character))
    return bool(forms) and _SIGMA not in forms and not any(map(unicodedata.combining, forms))


def _words(text: str) -> list[_Word]:
    return [
        _Word(
            text=found[0],
            begins_here=found.start() > 0 or bool(_UNSPACED.match(found[0])),
            goes_on=found.end() == len(text) and not _UNSPACED.match(found[0]),
        )
        for found in WORD.finditer(text)
    ]


def _phrases(words: list[_Word]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The words that surely begin where they begin in a sequence, and whether the last one may go on behind it."""
    known = [word for word in words if word.begins_here]
    if known and known[-1].goes_on:
        if len(known[-1].text) >= _SHORTEST_BEGINNING:
            yield tuple(word.text for word in known), True
            return
        known.pop()
    if known:
        yield tuple(word.text for word in known), False


def _length(phrase: tuple[tuple[str, ...], bool]) -> tuple[int, tuple[str, ...]]:
    return sum(map(len, phrase[0])), phrase[0]


def _parsed(pattern: str) -> Any:
    """`pattern` as Python's parser sees it; None where Python reads it in another way than RE2 or not at all."""
    if "[:" in pattern:
        return None  # a class of RE2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None  # RE2 knows more than Python does


def _runs(tree: Any, *, of_words: bool, ignores_case: bool = False) -> Iterator[str]:
    """Runs of characters that each match holds.

    of_words: in any case, with a space for white space of any length and for the borders of words and lines. Where case
    is ignored, other characters than those of ASCII may have forms of their own, and end a run.
    """
    run = ""
    for operator, argument in tree:
        if operator is _constants.LITERAL and (argument < _ASCII or not ignores_case):
            run += chr(argument)
        elif operator is _constants.AT:
            run += " " if of_words and argument is not _constants.AT_NON_BOUNDARY else ""
        elif of_words and _is_space(operator, argument):
            run += " "
        else:
            yield run
            run = ""
            yield from _inner(operator, argument, of_words=of_words, ignores_case=ignores_case)
    yield run


def _is_space(operator: Any, argument: Any) -> bool:
    """Whether this is white space, one character at least."""
    if operator in _REPEATS:
        return argument[0] > 0 and len(argument[2]) == 1 and _is_space(*argument[2][0])
    return operator is _constants.IN and argument == [(_constants.CATEGORY, _constants.CATEGORY_SPACE)]


def _inner(operator: Any, argument: Any, *, of_words: bool, ignores_case: bool) -> Iterator[str]:
    if operator is _constants.SUBPATTERN and (of_words or not argument[1] & re.IGNORECASE):
        within = (ignores_case or bool(argument[1] & re.IGNORECASE)) and not argument[2] & re.IGNORECASE
        yield from _runs(argument[3], of_words=of_words, ignores_case=within)
    elif operator in _REPEATS and argument[0] > 0:
        yield from _runs(argument[2], of_words=of_words, ignores_case=ignores_case)


def _reason(error: Exception, pattern: str) -> str:
    told = error.args[0] if error.args else ""
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    if re.search(r"\(\?<?[=!]", pattern):
        return "there is no looking ahead or behind"
    if re.search(r"\\[1-9]", pattern):
        return "there are no references to groups"
    return text.rstrip(".") or "it is malformed"
