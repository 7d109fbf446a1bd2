"""The doors to single messages that are to be changed."""

from __future__ import annotations

from sqlalchemy import Connection

from .conversation_head import access_head
from .errors import ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError
from .message_rows import MessageRow, rows_where
from .schema import messages


def access_message(connection: Connection, *, user_email: str, message_id: str) -> MessageRow:
    """A live message of this user, wherever it is. Raises MessageNotFoundError."""
    condition = (
        (messages.c.message_id == message_id) & (messages.c.user_email == user_email) & messages.c.deleted_at.is_(None)
    )
    found = rows_where(connection, condition)
    if not found:
        raise MessageNotFoundError
    try:
        access_head(connection, user_email=user_email, conversation_id=found[0].conversation_id)
    except ConversationNotFoundError as error:
        raise MessageNotFoundError from error
    return found[0]


def access_settled(
    connection: Connection, *, user_email: str, conversation_id: str, message_id: str, index: int | None
) -> MessageRow:
    """A live message of this conversation that is not being written.

    index: where the caller saw it, 1-based; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError.
    """
    access_head(connection, user_email=user_email, conversation_id=conversation_id)
    found = rows_where(
        connection,
        (messages.c.message_id == message_id)
        & (messages.c.conversation_id == conversation_id)
        & messages.c.deleted_at.is_(None),
    )
    if not found:
        raise MessageNotFoundError
    if index is not None and found[0].index != index:
        raise StaleIndexError(f"The message is not number {index} any more. Reload the conversation, then try again.")
    if found[0].status == "streaming":
        raise TurnInProgressError
    return found[0]
