"""Ephemeral turns: questions and answers of stateless conversations, erased when the turn ends.

While such a turn runs it has rows like any other, so that a reloaded page finds it; the configuration of its messages
marks it. Afterwards its conversation is as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Select, select, union_all, update

from database.conversations.conversation import ConversationHead, update_keeping_time
from database.conversations.deletion import remove_messages
from database.schema import messages

from .identity import FinishedTurn, finished_turn

MARK = {"kept": False}
"""What the configuration of both messages of such a turn holds beside the rest."""

_m = messages.c


def is_unkept(config: Mapping[str, Any]) -> bool:
    """Whether a message with this configuration belongs to an ephemeral turn."""
    return config.get("kept") is False


def unkept_in(conversation_id: str) -> Select[Any]:
    """The ids of a conversation's messages that will be erased when their turn ends."""
    running = (
        select(_m.message_id, _m.in_answer_to)
        .where(
            _m.status == "streaming", _m.conversation_id == conversation_id, _m.config["kept"].as_boolean().is_(False)
        )
        .subquery()
    )
    both = union_all(select(running.c.message_id), select(running.c.in_answer_to))
    return select(both.subquery().c.message_id)


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
