"""Which messages need vectors: `search.meaning` makes them behind the answers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, select

from database.messages.message import MessageRow
from database.schema import message_vectors, messages, unembedded_messages


def queue_vectors(connection: Connection, seqs: Sequence[int]) -> None:
    """Have vectors made of those messages that have none; they are new in the full-text index."""
    if seqs:
        has_vectors = exists().where(message_vectors.c.seq == messages.c.seq)
        _queue(connection, and_(messages.c.seq.in_(seqs), ~has_vectors))


def renew_vectors(connection: Connection, message: MessageRow, *, keep: bool) -> None:
    """Delete the vectors of a message whose text changes or goes, and of the one behind it, which was read with it.

    Both are queued again; the message itself only where it is kept.
    """
    m = messages.c
    behind = (
        select(m.seq)
        .where(m.conversation_id == message.conversation_id, m.ordinal > message.ordinal, m.deleted_at.is_(None))
        .order_by(m.ordinal)
        .limit(1)
    )
    seqs = [message.seq, *connection.execute(behind).scalars()]
    connection.execute(delete(message_vectors).where(message_vectors.c.seq.in_(seqs)))
    connection.execute(delete(unembedded_messages).where(unembedded_messages.c.seq.in_(seqs)))
    if queued := [{"seq": seq} for seq in seqs if keep or seq != message.seq]:
        connection.execute(insert(unembedded_messages), queued)


def queue_all_vectors(connection: Connection) -> None:
    """Have the vectors of all messages made anew, by another model."""
    connection.execute(delete(message_vectors))
    connection.execute(delete(unembedded_messages))
    _queue(connection, messages.c.deleted_at.is_(None))


def _queue(connection: Connection, which: ColumnElement[bool]) -> None:
    is_queued = exists().where(unembedded_messages.c.seq == messages.c.seq)
    wanted = select(messages.c.seq).where(which, ~is_queued)
    connection.execute(insert(unembedded_messages).from_select(["seq"], wanted))
