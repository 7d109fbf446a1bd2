"""Finding messages and titles by a regular expression.

What a match must say of plain text narrows the messages before the expression looks at any: words by the full-text
index, a part of a word by the words of all messages that hold it, the longest literal by the database. A search ends in
time with what it has found by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Select, select

from database.engine.database import Database
from database.messages.message import rows_numbered
from database.schema import conversations, messages
from database.search import index as fulltext_index
from database.search import vocabulary
from database.search.index import completions, expression_for
from database.search.mending import again_in_new_index

from .. import engine_of
from .expressions import Deadline, compiled, preview, required_literal, required_part, required_phrases

if TYPE_CHECKING:
    import re2

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
