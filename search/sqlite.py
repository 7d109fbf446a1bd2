"""What only SQLite understands of searching: FTS5's expressions, and lists of numbers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, LargeBinary, Row, Select, cast, func, select

from database.engine.statements import rows_of
from database.search.lengths import lengths_of

_HITS = 5_000
_LOOKED_AT = 100_000
_READ = 400
_BINS = 200
_OLDER = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
_SAID = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
_TEXTS = """
    SELECT seq, text FROM messages
    WHERE seq IN (SELECT value FROM json_each(:chosen)) AND user_email = :user_email AND deleted_at IS NULL
        {in_live_conversations}
    ORDER BY seq DESC
"""
_IN_LIVE_CONVERSATIONS = """
        AND (
            SELECT deleted_at IS NULL AND expires_at IS NULL FROM "UserToConversationId" AS conversations
            WHERE conversations.conversation_id = messages.conversation_id
        )
"""
# As one text: thousands of rows of one number each take three times as long to read.
_TOLD = "SELECT group_concat(rowid) FROM ({hits})"
_NEWEST_HITS = """
    SELECT rowid FROM messages_fts WHERE messages_fts MATCH :expression AND rowid <= :up_to
    ORDER BY rowid DESC LIMIT :looked_at
"""
# What is asked of a message beside its words stands in its activity too, which is read faster: it has no text.
_FILTERED_HITS = """
    SELECT found.rowid AS rowid FROM ({hits}) AS found JOIN activities ON activities.seq = found.rowid
    WHERE {conditions} ORDER BY found.rowid DESC LIMIT :hits
"""
# Walks through what is left out alone, never through all conversations: the index of the list has deleted
# conversations at the end of each domain.
_LEFT_OUT = """
    WITH RECURSIVE domains(name) AS (
        SELECT min(domain) FROM "UserToConversationId" WHERE user_email = :user_email
        UNION ALL
        SELECT (
            SELECT min(domain) FROM "UserToConversationId" WHERE user_email = :user_email AND domain > domains.name
        ) FROM domains WHERE domains.name IS NOT NULL
    )
    SELECT conversation_id FROM (
        SELECT conversation_id FROM "UserToConversationId" INDEXED BY "idx_UserToConversationId_temporary"
        WHERE user_email = :user_email AND expires_at IS NOT NULL LIMIT :most
    )
    UNION
    SELECT conversation_id FROM (
        SELECT conversation_id FROM "UserToConversationId" INDEXED BY "idx_UserToConversationId_list"
        WHERE user_email = :user_email AND domain IN (SELECT name FROM domains) AND deleted_at IS NOT NULL
        ORDER BY deleted_at DESC LIMIT :most
    )
"""
_CONDITIONS = {
    "actor": "activities.actor_type = :actor",
    "after": "activities.created_at >= :after",
    "before": "activities.created_at < :before",
}


# Left alone, SQLite reads each row by another index. This one holds the titles, so rows are read of matches alone.
_BY_TITLE = '"idx_UserToConversationId_title"'
_BY_ID = '"idx_UserToConversationId_email_doc"'
_TITLED = """
    SELECT conversation_friendly_id, title, conversation_id, updated_at
    FROM "UserToConversationId" INDEXED BY {index}
    WHERE user_email = ? AND deleted_at IS NULL {conditions}
        AND expires_at IS NULL
    ORDER BY updated_at DESC, conversation_id DESC
"""
_SHOWN = """
    SELECT seq, message_id, conversation_id, sender, text, message_short_hash, messages.created_at,
        json_extract(config, '$.model'), ordinal, title, conversation_friendly_id,
        message_count = last_ordinal AND incomplete_since IS NULL
    FROM messages JOIN "UserToConversationId" AS conversations USING (conversation_id)
    WHERE seq IN (SELECT value FROM json_each(?)) AND messages.deleted_at IS NULL
"""


def listed(numbers: Iterable[int]) -> Select[tuple[int]]:
    """`numbers` as a subquery: one parameter, however many there are."""
    return select(func.json_each(_json(numbers)).table_valued("value").c.value)


def _json(numbers: Iterable[int]) -> str:
    return orjson.dumps(list(numbers)).decode()


def newest_of_each(connection: Connection, expressions: Sequence[str], *, most: int) -> list[Sequence[int]]:
    """`seq` of the newest messages that fit each expression, at most `most` each."""
    return [connection.exec_driver_sql(_SAID, (each, most)).scalars().all() for each in expressions]


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
    """See `Engine.candidates`."""
    hits = _hits(connection, expression, up_to=up_to, conditions=conditions)
    chosen = _chosen(connection, hits) if by_length else hits[:_READ]
    sql = _TEXTS.format(in_live_conversations="" if only_live else _IN_LIVE_CONVERSATIONS)
    rows = rows_of(connection, sql, {"chosen": _json(chosen), "user_email": user_email})
    return rows, bool(rows) and len(hits) > len(chosen)


def _hits(connection: Connection, expression: str, *, up_to: int, conditions: Mapping[str, str]) -> list[int]:
    """The newest messages that fit, newest first."""
    fulfilled = " AND ".join(_CONDITIONS[name] for name in conditions)
    hits = _FILTERED_HITS.format(hits=_NEWEST_HITS, conditions=fulfilled) if fulfilled else _NEWEST_HITS
    parameters: dict[str, Any] = {
        **conditions,
        "expression": expression,
        "up_to": up_to,
        "looked_at": _LOOKED_AT if fulfilled else _HITS,
    }
    if fulfilled:
        parameters["hits"] = _HITS
    ((found,),) = rows_of(connection, _TOLD.format(hits=hits), parameters)
    return orjson.loads(f"[{found or ''}]")  # type: ignore[no-any-return]


def _chosen(connection: Connection, hits: list[int]) -> list[int]:
    """The newest of the hits and, of all, the shortest: half as many as can be read of each."""
    half = _READ // 2
    if len(hits) <= half:
        return hits
    by_length = lengths_of(connection, hits).argsort(kind="stable")[:half]
    return list({*hits[:half], *(hits[place] for place in by_length.tolist())})


def shown(connection: Connection, seqs: Sequence[int]) -> Sequence[Sequence[Any]]:
    """See `Engine.shown`."""
    return rows_of(connection, _SHOWN, (_json(seqs),))


def older(connection: Connection, expression: str, *, before: int, most: int) -> Sequence[int]:
    """`seq` of the newest messages that fit `expression` and come before `before`, newest first; at most `most`."""
    return connection.exec_driver_sql(_OLDER, (expression, before, most)).scalars().all()


def says(said: ColumnElement[str], words: str) -> ColumnElement[bool]:
    """Whether `said` holds `words` as they are, case included."""
    return func.instr(said, words) > 0


def has_more_than_ascii(text: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether `text` has characters that SQL doesn't fold."""
    return func.length(cast(text, LargeBinary)) > func.length(text)


def left_out(connection: Connection, *, user_email: str) -> tuple[Sequence[str], bool]:
    """A person's temporary conversations, and those in the bin, the last 200 of each; and whether these are all."""
    found = [row[0] for row in rows_of(connection, _LEFT_OUT, {"user_email": user_email, "most": _BINS})]
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
    # A word has neither of LIKE's wildcards in it.
    holds = " AND ".join("title LIKE ?" for _ in fragments)
    sql = f" AND ({holds} OR length(CAST(title AS BLOB)) > length(title))" if fragments else ""
    parameters: tuple[str, ...] = (user_email, *(f"%{fragment}%" for fragment in fragments))
    if domain is not None:
        sql += " AND domain = ?"
        parameters = (*parameters, domain)
    if among is None:
        return connection.exec_driver_sql(_TITLED.format(index=_BY_TITLE, conditions=sql), parameters)
    sql += " AND conversation_id IN (SELECT value FROM json_each(?))"
    parameters = (*parameters, orjson.dumps(among).decode())
    return connection.exec_driver_sql(_TITLED.format(index=_BY_ID, conditions=sql), parameters)
