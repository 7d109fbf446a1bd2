"""What people mark messages with: hidden from models, pinned to the top."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Connection, func, literal, select, update

from .clock import now_iso
from .connection import open_store
from .conversation_head import access_head, touch
from .message_access import access_message, access_settled
from .message_rows import answering_model
from .running_summary import forget_summary
from .schema import messages

_PREVIEW = 200


def show_or_hide_message(
    *,
    users_dir: str,
    user_email: str,
    conversation_id: str,
    message_id: str,
    index: int | None,
    show_hide: Literal["show", "hide"],
) -> None:
    """Hide a message from models, or show it to them again. References to it lead to it either way.

    index: where the caller saw the message, 1-based; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError (the message is still
    being written).
    """

    def mark(connection: Connection) -> None:
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        connection.execute(update(messages).where(messages.c.seq == message.seq).values(show_hide=show_hide))
        if show_hide != message.show_hide:
            forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id)

    open_store(users_dir).write(mark)


def pin_message(*, users_dir: str, user_email: str, message_id: str, pinned: bool) -> None:
    """Pin a message, or take its pin away; one that is pinned stays as it is. Raises MessageNotFoundError."""

    def pin(connection: Connection) -> None:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        if (message.pinned_at is not None) == pinned:
            return
        pinned_at = now_iso() if pinned else None
        connection.execute(update(messages).where(messages.c.seq == message.seq).values(pinned_at=pinned_at))
        touch(connection, message.conversation_id)

    open_store(users_dir).write(pin)


def pinned_messages(*, users_dir: str, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The pinned live messages of a conversation in order.

    Each: `{message_id, message_index, message_short_hash, sender, model, preview, pinned_at}`; `model` is the name of
    the one that answered.
    Raises ConversationNotFoundError.
    """
    earlier = messages.alias("earlier")
    index = (
        select(func.count())
        .where(
            earlier.c.conversation_id == messages.c.conversation_id,
            earlier.c.deleted_at.is_(None),
            earlier.c.ordinal <= messages.c.ordinal,
        )
        .correlate(messages)
        .scalar_subquery()
    )
    pinned = select(messages.c.seq).where(
        messages.c.conversation_id == conversation_id, messages.c.pinned_at.is_not(None)
    )
    query = (
        select(
            messages.c.message_id,
            index.label("message_index"),
            messages.c.message_short_hash,
            messages.c.sender,
            answering_model().label("model"),
            func.substr(messages.c.text, literal(1), literal(2 * _PREVIEW)).label("preview"),
            messages.c.pinned_at,
        )
        # By their numbers, which `idx_messages_pinned` holds: in order, all messages would be read.
        .where(messages.c.seq.in_(pinned), messages.c.deleted_at.is_(None))
        .order_by(messages.c.ordinal)
    )
    with open_store(users_dir).reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        rows = connection.execute(query).all()
    return [
        {str(name): value for name, value in row._mapping.items()}
        | {"preview": " ".join(row.preview.split())[:_PREVIEW]}
        for row in rows
    ]
