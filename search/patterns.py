"""Searching by regular expressions of google-re2, in time linear in the length of what is searched.

What a match must say of plain text narrows the messages before the expression looks at any: words by the full-text
index, a part of a word by the words of all messages that hold it, the longest literal by the database. A search ends in
time with what it has found by then.
"""

from __future__ import annotations

import re
import time
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Select, select

from database.engine.database import Database
from database.engine.text import storable
from database.messages.message import rows_numbered
from database.schema import conversations, messages
from database.search import index as fulltext_index
from database.search import vocabulary
from database.search.index import OPTIONAL_MARKS, UNSPACED, WORD, completions, expression_for, folded
from database.search.mending import again_in_new_index
from search import engine_of

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


_LOOKED_AT_FIRST = 1_000
_LOOKED_AT = 8_000
"""A search whose matches are many ends with few texts; one that goes on reads more and more of them at once."""
_TAIL = 5_000
_MOST_WORDS = 256
_NEWEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch:
    """A place that matches. index: of the message; None for a title. message_count: of the conversation.

    identifier: the short hash of the message, or its index while it has none.
    """

    conversation_id: str
    friendly_id: str
    title: str
    message_count: int
    index: int | None
    identifier: str | int | None
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMatches:
    """Matches, titles first, each newest first. is_partial: there may be more."""

    matches: list[PatternMatch]
    is_partial: bool


@again_in_new_index
def find_pattern(
    pattern: str,
    *,
    database: Database,
    user_email: str,
    titles: bool = True,
    contents: bool = True,
    limit: int,
    deadline: Deadline,
) -> FoundMatches:
    """The user's live conversations whose title matches, and live messages that do; at most `limit` together.

    Temporary conversations, messages beside the active path and those that are hidden from models are not looked at.
    Raises InvalidPatternError.
    """
    expression = compiled(pattern)
    with database.reading() as connection:
        found = list(_titles(connection, pattern, user_email=user_email, limit=limit + 1)) if titles else []
        looked = _Looked(seqs={}, is_partial=False)
        if contents and len(found) <= limit:
            looked = _looked(
                connection, pattern, expression, user_email=user_email, limit=limit + 1 - len(found), deadline=deadline
            )
        found += _described(connection, looked.seqs)
    return FoundMatches(matches=found[:limit], is_partial=looked.is_partial or len(found) > limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """Messages that match, newest first, with their previews; is_partial: not all could be looked at."""

    seqs: dict[int, str]
    is_partial: bool


def _looked(
    connection: Connection,
    pattern: str,
    expression: re2._Regexp[str],
    *,
    user_email: str,
    limit: int,
    deadline: Deadline,
) -> _Looked:
    found: dict[int, str] = {}
    for texts in _texts(connection, pattern, user_email=user_email):
        for number, (seq, text) in enumerate(texts):
            match = expression.search(text)
            if match is not None:
                found[seq] = preview(text, match.span())
            if len(found) == limit:
                return _Looked(seqs=found, is_partial=False)
            if number % 256 == 0 and deadline.is_over():
                return _Looked(seqs=found, is_partial=True)
        if deadline.is_over():
            return _Looked(seqs=found, is_partial=True)
    return _Looked(seqs=found, is_partial=False)


def _texts(connection: Connection, pattern: str, *, user_email: str) -> Iterator[Sequence[tuple[int, str]]]:
    """(seq, text) of the messages that may match, newest first, in portions that take a fraction of a second."""
    engine, m, literal = engine_of(connection), messages.c, required_literal(pattern)
    wanted = select(m.seq, m.text).where(
        m.user_email == user_email, m.deleted_at.is_(None), m.other_branch.is_(None), m.show_hide != "hide"
    )
    if literal:
        wanted = wanted.where(engine.says(m.text, literal))
    wanted = wanted.order_by(m.seq.desc())
    mark = fulltext_index.waiting_behind(connection)
    if mark is not None:
        yield from _unindexed(connection, wanted, mark)
    part = required_part(pattern)
    prefix = fulltext_index.term_prefix(user_email)
    one_of = (
        vocabulary.words_with(connection, prefix, part.text, at_end=part.at_end, most=_MOST_WORDS) if part else None
    )
    if one_of == []:
        return  # nobody says such a word
    phrases, goes_on = required_phrases(pattern)
    expression = expression_for(
        connection,
        user_email=user_email,
        phrases=phrases,
        beginning=goes_on,
        completions=completions(connection, user_email, phrases[-1][-1]) if goes_on else None,
        one_of=one_of or (),
        not_in=engine.left_out(connection, user_email=user_email)[0],
    )
    before, most = _NEWEST, _LOOKED_AT_FIRST
    while seqs := engine.older(connection, expression, before=before, most=most):
        yield [(seq, text) for seq, text in connection.execute(wanted.where(m.seq.in_(engine.listed(seqs))))]
        if len(seqs) < most:
            return  # asked again, the index would look through all older messages for nothing
        before, most = seqs[-1], min(most * 2, _LOOKED_AT)


def _unindexed(connection: Connection, wanted: Select[tuple[int, str]], mark: int) -> Iterator[list[tuple[int, str]]]:
    """Those that the index, which reaches up to `mark`, does not know yet: millions while it is made anew."""
    m, before = messages.c, _NEWEST
    while rows := connection.execute(wanted.where(m.seq > mark, m.seq < before).limit(_TAIL)).all():
        yield [(row.seq, row.text) for row in rows]
        if len(rows) < _TAIL:
            return
        before = rows[-1].seq


def _described(connection: Connection, previews: dict[int, str]) -> Iterator[PatternMatch]:
    rows = {row.seq: row for row in rows_numbered(connection, list(previews))}
    c = conversations.c
    wanted = {row.conversation_id for row in rows.values()}
    shown = select(c.conversation_id, c.conversation_friendly_id, c.title, c.message_count).where(
        c.conversation_id.in_(wanted), c.deleted_at.is_(None), c.expires_at.is_(None)
    )
    named = {row.conversation_id: row for row in connection.execute(shown)}
    for seq, preview_of in previews.items():
        row = rows.get(seq)
        if row is not None and row.index and row.conversation_id in named:
            conversation = named[row.conversation_id]
            yield PatternMatch(
                conversation_id=row.conversation_id,
                friendly_id=conversation.conversation_friendly_id or "",
                title=conversation.title,
                message_count=conversation.message_count,
                index=row.index,
                identifier=row.message_short_hash or row.index,
                preview=preview_of,
            )


def _titles(connection: Connection, pattern: str, *, user_email: str, limit: int) -> Iterator[PatternMatch]:
    c, expression, literal = conversations.c, compiled(pattern), required_literal(pattern)
    query = (
        select(c.conversation_id, c.conversation_friendly_id, c.title, c.message_count)
        .where(c.user_email == user_email, c.deleted_at.is_(None), c.expires_at.is_(None))
        .order_by(c.updated_at.desc(), c.conversation_id.desc())
    )
    for row in connection.execute(query):
        match = expression.search(row.title) if literal in row.title else None
        if match is not None:
            limit -= 1
            yield PatternMatch(
                conversation_id=row.conversation_id,
                friendly_id=row.conversation_friendly_id or "",
                title=row.title,
                message_count=row.message_count,
                index=None,
                identifier=None,
                preview=preview(row.title, match.span()),
            )
        if limit == 0:
            return
