"""Turns with more than one answer: one question, answered by several models or agents one after another."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from database.activities.storing import insert_activities
from database.changes import TURN, record
from database.conversations.conversation import ConversationHead, access_head, touch
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import ConflictError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.engine.text import storable
from database.messages.message import MessageRow, live_in, row_with_id
from database.schema import messages
from sentences import say

from .identity import AgentIdentity, EndedAnswer, FinishedTurn, config_of_answer, finished_turn
from .turns import answer_activity, answer_row, finish_in, insert_messages


def add_answer(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    question_id: str,
    model_name: str = "",
    owner: str | None = None,
    agent: AgentIdentity | None = None,
) -> FinishedTurn:
    """Begin a further answer to the question of the last turn, empty and with status "streaming".

    It is a message of its own, behind the answers before it. `finish_turn` ends it, and a crash is recovered, as for
    the first answer. owner: the process that answers, see `database.turns.leases`. agent: who
    answers, if no model alone does.
    Raises ConversationNotFoundError, MessageNotFoundError, InvalidChangeError (no question, or nothing of this
    conversation is kept), TurnInProgressError, ConflictError (something else was said since).
    """

    def add(connection: Connection) -> FinishedTurn:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return _begin(connection, head, question_id, model_name=model_name, owner=owner, agent=agent)

    return database.write(add, urgency=Urgency.ACCEPT)


def finish_and_add_answer(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    response_message_id: str,
    question_id: str,
    next_model_name: str,
    owner: str | None = None,
    next_agent: AgentIdentity | None = None,
    text: str,
    title: str | None = None,
    **ended: Any,
) -> FinishedTurn:
    """End an answer and begin a further one to its question, in one transaction: no other turn comes between.

    text, title, ended (`status`, `config`, `parts`, `documents`): of the answer that ends, as for `finish_turn`.
    Returns the turn with the further answer. Raises what `add_answer` raises, and ConflictError where another process
    has closed the answer; then the first answer has not ended.
    """

    def go_on(connection: Connection) -> FinishedTurn:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        if head.running_message_id != response_message_id:
            raise ConflictError("The answer has been closed by another process.")
        answer = EndedAnswer(text=storable(text), **ended)
        finish_in(connection, head, response_message_id, answer, title=title, owner=owner)
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return _begin(connection, head, question_id, model_name=next_model_name, owner=owner, agent=next_agent)

    return database.write(go_on, urgency=Urgency.ACCEPT)


def _begin(
    connection: Connection,
    head: ConversationHead,
    question_id: str,
    *,
    model_name: str,
    owner: str | None,
    agent: AgentIdentity | None,
) -> FinishedTurn:
    question = _last_question(connection, head, question_id)
    created_at = now_iso()
    activity = answer_activity(
        model_name, agent=agent, question=question_id, thread_id=question.thread_id, created_at=created_at
    )
    who = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    (stored,) = insert_activities(connection, [activity], **who)
    row = answer_row(
        head,
        stored,
        question_id=question_id,
        ordinal=1,
        config=config_of_answer(model_name, agent),
        owner=owner,
        branch_id=head.branch_id,
        created_at=created_at,
    )
    insert_messages(connection, [row])
    counts = {"message_count": head.message_count + 1, "last_ordinal": head.last_ordinal + 1}
    touch(connection, head.conversation_id, running_message_id=stored.activity_id, **counts)
    begun = {"status": "streaming", "user_message_id": question_id}
    record(connection, TURN, "created", ids=[stored.activity_id], fields=begun, **who)
    return finished_turn(connection, access_head(connection, **who), stored.activity_id)


def _last_question(connection: Connection, head: ConversationHead, question_id: str) -> MessageRow:
    """The question, if a further answer can be added to it."""
    question = row_with_id(connection, head.conversation_id, question_id)
    if question is None or question.deleted_at is not None:
        raise MessageNotFoundError
    if question.sender != "user" or head.stateless:
        raise InvalidChangeError(say("further_answers_kept_only"))
    if head.running_message_id is not None:
        raise TurnInProgressError
    last = select(messages.c.message_id, messages.c.in_answer_to).where(live_in(head.conversation_id))
    newest = connection.execute(last.order_by(messages.c.ordinal.desc()).limit(1)).one()
    if question_id not in newest:
        raise ConflictError(say("said_later"))
    return question
