"""What only PostgreSQL understands of searching: queries of `tsvector`, and lists of numbers as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
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
# The query of the words comes first and alone: neither may the planner walk through all messages from the newest on
# instead, nor collect all up to a number beside it, as plans for any number do.
_CANDIDATES = """
    WITH said AS MATERIALIZED (
        SELECT seq, length FROM messages_fts WHERE words @@ CAST(:expression AS tsquery)
    ), looked_at AS (
        SELECT seq, length FROM said WHERE seq <= :up_to ORDER BY seq DESC LIMIT :looked_at
    ), hits AS MATERIALIZED (
        SELECT found.seq, found.length FROM looked_at AS found {filtered} ORDER BY found.seq DESC LIMIT :hits
    ), chosen AS (
        (SELECT seq FROM hits ORDER BY seq DESC LIMIT :newest)
        UNION
        (SELECT seq FROM hits ORDER BY length, seq DESC LIMIT :shortest)
    )
    SELECT messages.seq, messages.text, (SELECT count(*) FROM hits) > (SELECT count(*) FROM chosen)
    FROM messages JOIN "UserToConversationId" AS conversations USING (conversation_id)
    WHERE messages.seq IN (SELECT seq FROM chosen) AND messages.user_email = :user_email
        AND messages.deleted_at IS NULL AND conversations.deleted_at IS NULL AND conversations.expires_at IS NULL
    ORDER BY messages.seq DESC
"""
_OLDER = """
    WITH said AS MATERIALIZED (
        SELECT seq FROM messages_fts WHERE words @@ CAST(:expression AS tsquery)
    )
    SELECT seq FROM said WHERE seq < :before ORDER BY seq DESC LIMIT :most
"""
_FILTERED = "JOIN activities ON activities.seq = found.seq WHERE "
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


newest = index.newest


def listed(numbers: Iterable[int]) -> Select[tuple[int]]:
    """`numbers` as a subquery: one parameter, however many there are."""
    return select(func.unnest(literal(list(numbers), ARRAY(BigInteger))))


def candidates(
    connection: Connection,
    expression: str,
    *,
    user_email: str,
    up_to: int,
    conditions: Mapping[str, str],
    by_length: bool,
    only_live: bool,
) -> tuple[list[tuple[int, str]], bool]:
    """(seq, text) of messages that fit `expression`, newest first, and whether more fit than those.

    Of the newest 5,000 hits the newest and, by_length, the shortest are read: 400 together. conditions: values of
    "actor", "after" and "before". only_live makes no difference here: the join costs next to nothing.
    """
    del only_live
    chosen = " AND ".join(_CONDITIONS[name] for name in conditions)
    shortest = _READ // 2 if by_length else 0
    parameters = {
        **conditions,
        "expression": expression,
        "user_email": user_email,
        "up_to": up_to,
        "looked_at": _LOOKED_AT if chosen else _HITS,
        "hits": _HITS,
        "newest": _READ - shortest,
        "shortest": shortest,
    }
    query = text(_CANDIDATES.format(filtered=_FILTERED + chosen if chosen else ""))
    rows = connection.execute(query, parameters).all()
    return [(seq, said) for seq, said, _ in rows], any(is_part for *_, is_part in rows)


def shown(connection: Connection, seqs: Sequence[int]) -> Sequence[Sequence[Any]]:
    """See `Engine.shown`."""
    return connection.execute(_SHOWN, {"seqs": list(seqs)}).all()


def older(connection: Connection, expression: str, *, before: int, most: int) -> Sequence[int]:
    """`seq` of the newest messages that fit `expression` and come before `before`, newest first; at most `most`."""
    parameters = {"expression": expression, "before": before, "most": most}
    return connection.execute(text(_OLDER), parameters).scalars().all()


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
    """Friendly id, title, id and time of the conversations whose titles may hold all `fragments`, newest first.

    Titles with other than ASCII characters, which SQL doesn't fold as we do, are left to the caller. Temporary
    conversations are left out.
    """
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
