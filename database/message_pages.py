"""A conversation's messages page by page, with what belongs to them, for whoever writes all of them down.

Never more than a page is in memory, and no page holds the store longer than it takes to read it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select

from .connection import open_store
from .conversation_head import access_head
from .message_rows import MessageRow, rows_behind
from .schema import activities, message_edits, message_variants
from .unkept_turns import is_unkept

_MESSAGES_AT_ONCE = 500
_OF_AN_EDIT = ("text", "replaced_at")
_OF_A_VARIANT = ("number", "text", "status", "config", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage:
    """Messages in order.

    short_ids: of what they reply to, by its id; what was deleted is not among them. edits: earlier texts, oldest first,
    `{text, replaced_at}` each, and variants: all there are of an answer, `{number, text, status, config, created_at}`
    each, by message id, where there are any.
    """

    messages: Sequence[MessageRow]
    short_ids: dict[str, str]
    edits: dict[str, list[dict[str, Any]]]
    variants: dict[str, list[dict[str, Any]]]


def message_pages(*, users_dir: str, user_email: str, conversation_id: str) -> Iterator[MessagePage]:
    """All live messages that are kept. Raises ConversationNotFoundError, also when it is deleted meanwhile."""
    store, ordinal, index = open_store(users_dir), 0, 0
    while True:
        with store.reading() as connection:
            access_head(connection, user_email=user_email, conversation_id=conversation_id)
            rows = rows_behind(connection, conversation_id, ordinal=ordinal, index=index, limit=_MESSAGES_AT_ONCE)
            page = _page(connection, [row for row in rows if not is_unkept(row.config)])
        if page.messages:
            yield page
        if len(rows) < _MESSAGES_AT_ONCE:
            return
        ordinal, index = rows[-1].ordinal, rows[-1].index


def _page(connection: Connection, rows: Sequence[MessageRow]) -> MessagePage:
    return MessagePage(
        messages=rows,
        short_ids=_short_ids(connection, {row.reply_to_id for row in rows if row.reply_to_id}),
        edits=_belonging(
            connection, message_edits, [row.message_id for row in rows if row.edited_at is not None], _OF_AN_EDIT
        ),
        variants=_belonging(
            connection, message_variants, [row.message_id for row in rows if row.variants], _OF_A_VARIANT
        ),
    )


def _short_ids(connection: Connection, ids: set[str]) -> dict[str, str]:
    if not ids:
        return {}
    query = select(activities.c.activity_id, activities.c.short_id).where(
        activities.c.activity_id.in_(ids), activities.c.deleted_at.is_(None)
    )
    return {row.activity_id: row.short_id for row in connection.execute(query)}


def _belonging(
    connection: Connection, table: Table, message_ids: Sequence[str], columns: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    if message_ids:
        query = select(table.c.message_id, *(table.c[name] for name in columns))
        ordered = query.where(table.c.message_id.in_(message_ids)).order_by(*table.primary_key.columns)
        for message_id, *values in connection.execute(ordered):
            found[message_id].append(dict(zip(columns, values, strict=True)))
    return dict(found)
