"""Turns with more than one answer: one question, answered by several models or agents one after another."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from database.activities import NewActivity, Place, insert_activities
from database.changes import TURN, record
from database.conversations.conversation import access_head, touch
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.errors import ConflictError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.messages.message import live_in, row_with_id
from database.schema import messages

from .identity import FinishedTurn, finished_turn
from .leases import new_lease

_LATER = "Something was said after this question. A further answer can only be added to the last turn."


def add_answer(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    question_id: str,
    model_name: str = "",
    owner: str | None = None,
) -> FinishedTurn:
    """Begin a further answer to the question of the last turn, empty and with status "streaming".

    It is a message of its own, behind the answers before it. `finish_turn` ends it, and a crash is recovered, as for
    the first answer. owner: the process that answers, see `database.turns.leases`.
    Raises ConversationNotFoundError, MessageNotFoundError, InvalidChangeError (no question, or nothing of this
    conversation is kept), TurnInProgressError, ConflictError (something else was said since).
    """

    def add(connection: Connection) -> FinishedTurn:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        question = row_with_id(connection, conversation_id, question_id)
        if question is None or question.deleted_at is not None:
            raise MessageNotFoundError
        if question.sender != "user" or head.stateless:
            raise InvalidChangeError("Only a question that is kept gets further answers.")
        if head.running_message_id is not None:
            raise TurnInProgressError
        last = select(messages.c.message_id, messages.c.in_answer_to).where(live_in(conversation_id))
        newest = connection.execute(last.order_by(messages.c.ordinal.desc()).limit(1)).one()
        if question_id not in newest:
            raise ConflictError(_LATER)
        created_at = now_iso()
        place = Place(reply_to_id=question_id, thread_id=question.thread_id) if question.thread_id else Place()
        activity = NewActivity(
            recipe="general-discussion",
            type="chat_message",
            actor_type="assistant",
            actor_id=model_name,
            actor_name=model_name,
            created_at=created_at,
            place=place,
        )
        who = {"user_email": user_email, "conversation_id": conversation_id}
        (stored,) = insert_activities(connection, [activity], **who)
        row = {
            **who,
            "seq": stored.seq,
            "message_id": stored.activity_id,
            "ordinal": head.last_ordinal + 1,
            "sender": "model",
            "text": "",
            "status": "streaming",
            "in_answer_to": question_id,
            "config": {"model": model_name} if model_name else {},
            "report": [],
            "created_at": created_at,
            "branch_id": head.branch_id,
            **new_lease(owner),
        }
        connection.execute(insert(messages).values(row))
        counts = {"message_count": head.message_count + 1, "last_ordinal": head.last_ordinal + 1}
        touch(connection, conversation_id, running_message_id=stored.activity_id, **counts)
        begun = {"status": "streaming", "user_message_id": question_id}
        record(connection, TURN, "created", ids=[stored.activity_id], fields=begun, **who)
        return finished_turn(connection, access_head(connection, **who), stored.activity_id)

    return database.write(add, urgency=Urgency.ACCEPT)
