"""Ephemeral turns: questions and answers of stateless conversations, erased when the turn ends.

While such a turn runs it has rows like any other, so that a reloaded page finds it; the configuration of its messages
marks it. Afterwards its conversation is as it was before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select, update

from database.conversations.conversation import ConversationHead, update_keeping_time
from database.conversations.deletion import remove_messages
from database.schema import messages

from .identity import FinishedTurn, finished_turn

_m = messages.c


def erase_turn(
    connection: Connection, head: ConversationHead, response_message_id: str, *, status: str
) -> FinishedTurn:
    """Delete an ended ephemeral turn with all rows that depend on it; returns its identifiers.

    The conversation's date and place in lists are those from before the turn.
    """
    turn = finished_turn(connection, head, response_message_id)
    condition = _m.message_id.in_([turn.user_message_id, turn.response_message_id])
    rows = connection.execute(select(_m.seq, _m.message_id, _m.ordinal, _m.deleted_at).where(condition)).all()
    remove_messages(connection, {row.seq: row.message_id for row in rows})
    _close_gaps(connection, head, [row.ordinal for row in rows])
    update_keeping_time(
        connection,
        head.conversation_id,
        message_count=head.message_count - sum(row.deleted_at is None for row in rows),
        last_ordinal=head.last_ordinal - len(rows),
        running_message_id=None if head.running_message_id == response_message_id else head.running_message_id,
    )
    return replace(turn, status=status, kept=False)


def _close_gaps(connection: Connection, head: ConversationHead, gaps: Sequence[int]) -> None:
    """Renumber the messages behind the erased turn: usually none, unless messages were moved meanwhile."""
    here = _m.conversation_id == head.conversation_id
    for last, gap in zip(range(head.last_ordinal, 0, -1), sorted(gaps, reverse=True), strict=False):
        if gap < last:
            # Ordinals are unique at every moment, so everything steps aside first.
            connection.execute(update(messages).where(here, _m.ordinal > gap).values(ordinal=1 - _m.ordinal))
            connection.execute(update(messages).where(here, _m.ordinal < 0).values(ordinal=-_m.ordinal))
