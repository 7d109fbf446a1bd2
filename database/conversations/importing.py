"""Storing a conversation whose messages exist already, in one transaction, with the same rows that turns leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, insert, select

from database.activities import NewActivity, insert_activities
from database.engine.clock import now_iso
from database.engine.database import Database
from database.messages.hashes import TakenHashes
from database.references import reference_rows
from database.schema import conversations, message_references, messages, workspaces

from .friendly_ids import assign_friendly_id
from .repository import insert_conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMessage:
    """A message to store: a question, or the answer of `model`. report: see `database.references.store_report`."""

    text: str
    model: str | None = None
    report: Sequence[Mapping[str, Any]] = ()


def import_conversation(
    connection: Connection,
    imported: Sequence[ImportedMessage],
    *,
    user_email: str,
    domain: str,
    conversation_id: str,
    title: str,
    settings: Mapping[str, Any] | None = None,
) -> tuple[str, list[dict[str, Any]]]:
    """Store a conversation with these messages; its friendly id, and the rows of its messages in order."""
    created_at = now_iso()
    own = {"user_email": user_email, "conversation_id": conversation_id}
    values = {
        **own,
        "domain": domain,
        "title": title,
        "settings": dict(settings or {}),
        "created_at": created_at,
        "message_count": len(imported),
        "last_ordinal": len(imported),
    }
    insert_conversation(connection, values, workspace_id=None)
    friendly_id = assign_friendly_id(connection, **own, title=title, created_at=created_at)
    activities = [_activity(message.model, user_email=user_email, created_at=created_at) for message in imported]
    stored = insert_activities(connection, activities, **own)
    taken, rows = TakenHashes(connection, conversation_id), list[dict[str, Any]]()
    for message, activity in zip(imported, stored, strict=True):
        row = {
            **own,
            "seq": activity.seq,
            "message_id": activity.activity_id,
            "ordinal": len(rows) + 1,
            "sender": "model" if message.model else "user",
            "text": message.text,
            "message_short_hash": taken.give(friendly_id, message.text),
            "in_answer_to": rows[-1]["message_id"] if message.model and rows else None,
            "config": {"model": message.model} if message.model else {},
            "report": [dict(entry) for entry in message.report],
            "created_at": created_at,
        }
        rows.append(row)
    connection.execute(insert(messages), rows)
    references = [
        reference
        for row in rows
        for reference in reference_rows(row["report"], message_id=row["message_id"], user_email=user_email)
    ]
    if references:
        connection.execute(insert(message_references), references)
    return friendly_id, rows


StoreConversation = Callable[..., tuple[str, list[dict[str, Any]]]]
"""`import_conversation` within a transaction, for one user and one domain."""


def import_for_newcomer(
    *,
    database: Database,
    user_email: str,
    domain: str,
    conversation_id: str,
    write: Callable[[StoreConversation], object],
) -> str | None:
    """Let `write` store `conversation_id` for a user who never had a conversation; the id, also where it exists.

    None where the user has had other conversations, or has deleted this one. Concurrent callers get the same answer,
    and only one of them writes.
    """
    query = select(conversations.c.deleted_at).where(
        conversations.c.user_email == user_email, conversations.c.conversation_id == conversation_id
    )

    def job(connection: Connection) -> str | None:
        found = connection.execute(query).first()
        if found is not None:
            return conversation_id if found.deleted_at is None else None
        if _had_conversations(connection, user_email):
            return None
        write(partial(import_conversation, connection, user_email=user_email, domain=domain))
        return conversation_id

    return database.write(job)


def had_conversations(*, database: Database, user_email: str) -> bool:
    """Whether the user has, or ever had, a conversation."""
    with database.reading() as connection:
        return _had_conversations(connection, user_email)


def _had_conversations(connection: Connection, user_email: str) -> bool:
    # The first conversation creates its workspace, which stays when the conversation is erased.
    return any(
        connection.execute(select(table.c.user_email).where(table.c.user_email == user_email).limit(1)).first()
        for table in (conversations, workspaces)
    )


def _activity(model: str | None, *, user_email: str, created_at: str) -> NewActivity:
    name = model or user_email
    return NewActivity(
        recipe="general-discussion",
        type="chat_message",
        actor_type="assistant" if model else "user",
        actor_id=name,
        actor_name=name,
        created_at=created_at,
    )
