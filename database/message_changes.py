"""Changing messages that exist: their text, their place, their being there.

Their identifiers stay as they were born.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, func, select, update

from . import fulltext_index
from .clock import now_iso
from .connection import open_store
from .conversation_head import access_head, touch
from .errors import MessageNotFoundError, StaleTextError
from .message_access import access_settled
from .message_edits import keep_text
from .message_rows import MessageRow, live_in, row_with_id, rows_where
from .running_summary import forget_summary
from .schema import activities, messages
from .stored_text import storable
from .variants import store_edit


def edit_message(
    *,
    users_dir: str,
    user_email: str,
    conversation_id: str,
    message_id: str,
    index: int | None,
    text: str,
    based_on: str | None = None,
) -> MessageRow:
    """Replace a message's text and keep the old one in its history. The short hash stays. The same text is no change.

    index: where the caller saw the message, 1-based; None: don't check.
    based_on: what the caller saw there; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, StaleTextError, TurnInProgressError (the
    message is still being written).
    """

    def edit(connection: Connection) -> MessageRow:
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        replaced_at, new_text = now_iso(), storable(text)
        if new_text == message.text:
            # Sent again, since the answer to the first time was lost.
            return message
        if based_on is not None and storable(based_on) != message.text:
            raise StaleTextError
        keep_text(connection, message_id=message_id, text=message.text, replaced_at=replaced_at)
        store_edit(connection, message, text=new_text)
        fulltext_index.reindex(connection, message, text=new_text)
        connection.execute(
            update(messages).where(messages.c.seq == message.seq).values(text=new_text, edited_at=replaced_at)
        )
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id)
        return rows_where(connection, messages.c.seq == message.seq)[0]

    return open_store(users_dir).write(edit)


def delete_message(
    *, users_dir: str, user_email: str, conversation_id: str, message_id: str, index: int | None
) -> None:
    """Take a message out of the conversation; the indexes of those behind it shift. Its row stays, marked as deleted.

    Raises as `edit_message`.
    """

    def remove(connection: Connection) -> None:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        deleted_at = now_iso()
        fulltext_index.reindex(connection, message, text=None)
        for table in (messages, activities):
            connection.execute(update(table).where(table.c.seq == message.seq).values(deleted_at=deleted_at))
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id, message_count=head.message_count - 1)

    open_store(users_dir).write(remove)


def restore_message(*, users_dir: str, user_email: str, conversation_id: str, message_id: str) -> None:
    """Bring a deleted message back to its old place; the indexes of those behind it shift. Its hash was kept.

    A live one stays as it is. Raises ConversationNotFoundError, MessageNotFoundError.
    """

    def restore(connection: Connection) -> None:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        message = row_with_id(connection, conversation_id, message_id)
        if message is None:
            raise MessageNotFoundError
        if message.deleted_at is None:
            return
        for table in (messages, activities):
            connection.execute(update(table).where(table.c.seq == message.seq).values(deleted_at=None))
        fulltext_index.readmit(connection, message)
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id, message_count=head.message_count + 1)

    open_store(users_dir).write(restore)


def move_messages(
    *,
    users_dir: str,
    user_email: str,
    conversation_id: str,
    message_ids: Sequence[str],
    direction: Literal["up", "down"],
) -> None:
    """Move messages by one place among the live ones, towards the beginning ("up") or the end ("down").

    Neighbours move as a block. What stands at the edge stays there, and what follows it closely stays behind it.
    Raises ConversationNotFoundError, MessageNotFoundError (one of them is not there).
    """
    chosen = set(message_ids)

    def move(connection: Connection) -> None:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        stretch = _stretch(connection, conversation_id, chosen)
        order = _moved([message_id for message_id, _ in stretch], chosen, up=direction == "up")
        places: list[dict[str, Any]] = [
            {"id": message_id, "ordinal": ordinal}
            for message_id, (old_id, ordinal) in zip(order, stretch, strict=True)
            if message_id != old_id
        ]
        if places:
            _place(connection, places)
            forget_summary(connection, conversation_id, ordinal=min(place["ordinal"] for place in places))
            touch(connection, conversation_id)

    if chosen:
        open_store(users_dir).write(move)


def _stretch(connection: Connection, conversation_id: str, chosen: set[str]) -> list[tuple[str, int]]:
    """(message_id, ordinal) of the live messages from the first chosen to the last, with a neighbour on either side."""
    first, last, found = connection.execute(
        select(func.min(messages.c.ordinal), func.max(messages.c.ordinal), func.count()).where(
            live_in(conversation_id), messages.c.message_id.in_(chosen)
        )
    ).one()
    if found != len(chosen):
        raise MessageNotFoundError
    before = select(func.max(messages.c.ordinal)).where(live_in(conversation_id), messages.c.ordinal < first)
    behind = select(func.min(messages.c.ordinal)).where(live_in(conversation_id), messages.c.ordinal > last)
    query = (
        select(messages.c.message_id, messages.c.ordinal)
        .where(
            live_in(conversation_id),
            messages.c.ordinal >= func.coalesce(before.scalar_subquery(), first),
            messages.c.ordinal <= func.coalesce(behind.scalar_subquery(), last),
        )
        .order_by(messages.c.ordinal)
    )
    return [(message_id, ordinal) for message_id, ordinal in connection.execute(query)]


def _moved(order: Sequence[str], chosen: set[str], *, up: bool) -> list[str]:
    result = list(order) if up else list(order)[::-1]
    for place in range(1, len(result)):
        if result[place] in chosen and result[place - 1] not in chosen:
            result[place - 1], result[place] = result[place], result[place - 1]
    return result if up else result[::-1]


def _place(connection: Connection, places: list[dict[str, Any]]) -> None:
    # Ordinals are unique at every moment, so everything steps aside first.
    at_place = update(messages).where(messages.c.message_id == bindparam("id"))
    connection.execute(at_place.values(ordinal=-bindparam("ordinal")), places)
    connection.execute(at_place.values(ordinal=bindparam("ordinal")), places)
