"""Messages that are posted, outside of a turn: questions that no model answers, and answers from inboxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from database.activities.storing import StoredActivity
from database.changes import CONVERSATION, MESSAGE, record
from database.conversations.conversation import ConversationHead, touch
from database.conversations.titles import heuristic_title
from database.engine.text import storable
from database.messages.hashes import TakenHashes
from database.search.vectors import renew_vectors_of_title

from .leases import inserted_lease
from .turns import insert_messages, message_row, name_conversation


def store_posted_message(
    connection: Connection,
    head: ConversationHead,
    stored: StoredActivity,
    *,
    text: str,
    created_at: str,
    source_agent_id: str | None,
    source_agent_title: str | None,
    answer_config: Mapping[str, Any] | None = None,
) -> None:
    """Store the message of an activity behind all others. The first message of a conversation names it.

    source_agent_id, source_agent_title: of who posts it, if the person does not. answer_config: of an answer, who gives
    it; None for a question.
    """
    text = storable(text)
    # A first turn that is running names the conversation, and then gives all messages their hashes.
    is_first = head.friendly_id is None and head.running_message_id is None
    if is_first:
        head = name_conversation(connection, head, title=heuristic_title(text))
    short_hash = head.friendly_id and TakenHashes(connection, head.conversation_id).give(head.friendly_id, text)
    row = message_row(
        head,
        stored,
        ordinal=head.last_ordinal + 1,
        sender="user" if answer_config is None else "model",
        text=text,
        status="complete",
        config=dict(answer_config or {}),
        message_short_hash=short_hash,
        branch_id=head.branch_id,
        created_at=created_at,
        source_agent_id=source_agent_id,
        source_agent_title=source_agent_title,
        **inserted_lease(None),
    )
    insert_messages(connection, [row])
    counts = {"message_count": head.message_count + 1, "last_ordinal": head.last_ordinal + 1}
    touch(connection, head.conversation_id, title=head.title, **counts)
    where = {"user_email": head.user_email, "conversation_id": head.conversation_id}
    record(connection, MESSAGE, "created", ids=[stored.activity_id], fields={}, **where)
    if is_first:
        renew_vectors_of_title(connection, head.conversation_id)
        names = {"title": head.title, "conversation_friendly_id": head.friendly_id}
        record(
            connection, CONVERSATION, "changed", user_email=head.user_email, ids=[head.conversation_id], fields=names
        )
