"""What only PostgreSQL understands of searching: queries of `tsvector`, and lists of numbers as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.dialects.postgresql import ARRAY

from database.schema import conversations
from database.search import postgresql as index

_HITS = 5_000
_LOOKED_AT = 100_000
_READ = 400
_BINS = 200
_TEXTS = text("""
    SELECT messages.seq, messages.text
    FROM messages JOIN "UserToConversationId" AS conversations USING (conversation_id)
    WHERE messages.seq = ANY(CAST(:seqs AS bigint[])) AND messages.user_email = :user_email
        AND messages.deleted_at IS NULL AND conversations.deleted_at IS NULL AND conversations.expires_at IS NULL
    ORDER BY messages.seq DESC
""")
_FILTERED = "JOIN activities ON activities.seq = looked_at.seq WHERE "
_CONDITIONS = {
    "actor": "activities.actor_type = :actor",
    "after": "activities.created_at >= :after",
    "before": "activities.created_at < :before",
}
_SHOWN = text("""
    SELECT seq, message_id, conversation_id, sender, messages.text, message_short_hash, messages.created_at,
        config ->> 'model', ordinal, title, conversation_friendly_id,
        message_count = last_ordinal AND incomplete_since IS NULL
    FROM messages JOIN "UserToConversationId" AS conversations USING (conversation_id)
    WHERE seq = ANY(CAST(:seqs AS bigint[])) AND messages.deleted_at IS NULL
""")


def listed(numbers: Iterable[int]) -> Select[tuple[int]]:
    """`numbers` as a subquery: one parameter, however many there are."""
    return select(func.unnest(cast(literal(_listed(numbers), Text), ARRAY(BigInteger))))


def _listed(numbers: Iterable[int]) -> str:
    """As PostgreSQL reads an array: of its own lists the driver looks at each number several times."""
    return f"{{{','.join(map(str, numbers))}}}"


def candidates(
    connection: Connection,
    expression: str,
    *,
    user_email: str,
    up_to: int,
    conditions: Mapping[str, str],
    by_length: bool,
    only_live: bool,
) -> tuple[Sequence[Any], bool]:
    """See `Engine.candidates`. only_live makes no difference here: the join costs next to nothing."""
    del only_live
    chosen = " AND ".join(_CONDITIONS[name] for name in conditions)
    hits = index.newest(
        connection,
        expression,
        before=up_to + 1,
        most=_HITS,
        looked_at=_LOOKED_AT if chosen else _HITS,
        condition=_FILTERED + chosen if chosen else "",
        parameters=conditions,
    )
    seqs = _chosen(hits) if by_length else hits.seqs[:_READ]
    rows = connection.execute(_TEXTS, {"seqs": _listed(seqs), "user_email": user_email}).all()
    return rows, bool(rows) and len(hits.seqs) > len(seqs)


def _chosen(hits: index.Hits) -> list[int]:
    """The newest of the hits and, of all, the shortest: half as many as can be read of each."""
    half = _READ // 2
    if len(hits.seqs) <= half:
        return hits.seqs
    shortest = nsmallest(half, zip(hits.lengths, range(len(hits.seqs)), strict=True))
    return list({*hits.seqs[:half], *(hits.seqs[place] for _, place in shortest)})


def shown(connection: Connection, seqs: Sequence[int]) -> Sequence[Sequence[Any]]:
    """See `Engine.shown`."""
    return connection.execute(_SHOWN, {"seqs": _listed(seqs)}).all()


newest_of_each = index.newest_of_each


def older(connection: Connection, expression: str, *, before: int, most: int) -> Sequence[int]:
    """`seq` of the newest messages that fit `expression` and come before `before`, newest first; at most `most`."""
    return index.newest(connection, expression, before=before, most=most).seqs


def says(said: ColumnElement[str], words: str) -> ColumnElement[bool]:
    """Whether `said` holds `words` as they are, case included."""
    return func.strpos(said, words) > 0


def has_more_than_ascii(text: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether `text` has characters that SQL doesn't fold."""
    return func.octet_length(text) > func.char_length(text)


def left_out(connection: Connection, *, user_email: str) -> tuple[Sequence[str], bool]:
    """A person's temporary conversations, and those in the bin, the last 200 of each; and whether these are all."""
    c = conversations.c
    own = select(c.conversation_id).where(c.user_email == user_email)
    temporary = own.where(c.expires_at.is_not(None)).limit(_BINS)
    deleted = own.where(c.deleted_at.is_not(None)).order_by(c.deleted_at.desc()).limit(_BINS)
    found = connection.execute(union(temporary, deleted)).scalars().all()
    return found, len(found) < _BINS


def titled(
    connection: Connection,
    *,
    user_email: str,
    domain: str | None,
    fragments: Sequence[str],
    among: Sequence[str] | None,
) -> Iterable[Row[Any]]:
    """See `Engine.titled`."""
    c = conversations.c
    query = select(c.conversation_friendly_id, c.title, c.conversation_id, c.updated_at).where(
        c.user_email == user_email,
        c.deleted_at.is_(None),
        c.expires_at.is_(None),
    )
    if fragments:
        holds = (func.lower(c.title).contains(fragment, autoescape=True) for fragment in fragments)
        query = query.where(or_(and_(*holds), has_more_than_ascii(c.title)))
    if domain is not None:
        query = query.where(c.domain == domain)
    if among is not None:
        query = query.where(c.conversation_id == func.any(literal(list(among), ARRAY(Text))))
    return connection.execute(query.order_by(c.updated_at.desc(), c.conversation_id.desc()))
