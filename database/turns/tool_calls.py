"""Tool calls as activities: what a model looked up, and in answer to which message."""

from __future__ import annotations

from sqlalchemy import Connection, select

from database.activities.storing import NewActivity, Place, insert_activities
from database.agents.inbox import deliver
from database.conversations.conversation import ConversationHead
from database.engine.clock import now_iso
from database.messages.parts import Parts
from database.schema import activities, messages

_KIND = "tool_call"
_RECIPE = "tools"
_TYPE = "tool_invocation"


def record_tool_calls(
    connection: Connection, head: ConversationHead, answer_id: str, *, model_name: str, parts: Parts
) -> None:
    """Store an activity for each tool call among the `parts` of an answer; answers without any cost nothing.

    It replies to the message that was answered, in its thread. Arguments and result are in the part, which is erased
    with the message.
    """
    calls = [part for part in parts if part["kind"] == _KIND]
    if not calls:
        return
    place = _place_below_question(connection, answer_id)
    born = [
        NewActivity(
            recipe=_RECIPE,
            type=_TYPE,
            actor_type="assistant",
            actor_id=model_name,
            actor_name=model_name,
            created_at=now_iso(),
            place=place,
            payload={
                "message_id": answer_id,
                "part_id": call["id"],
                "name": str(call.get("name", "")),
                "status": str(call.get("status", "")),
            },
        )
        for call in calls
    ]
    stored = insert_activities(connection, born, user_email=head.user_email, conversation_id=head.conversation_id)
    deliver(connection, [each.activity_id for each in stored], user_email=head.user_email)


def _place_below_question(connection: Connection, answer_id: str) -> Place:
    query = (
        select(messages.c.in_answer_to, activities.c.thread_id)
        .outerjoin(activities, activities.c.activity_id == messages.c.in_answer_to)
        .where(messages.c.message_id == answer_id)
    )
    question, thread_id = connection.execute(query).one()
    return Place(reply_to_id=question, thread_id=thread_id)


def ended_calls(parts: Parts, *, status: str) -> Parts:
    """`parts` with each call that was still running marked by `status`."""
    return [
        {**part, "status": status} if part["kind"] == _KIND and part.get("status") == "running" else part
        for part in parts
    ]
