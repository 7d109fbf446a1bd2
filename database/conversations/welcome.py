"""Conversations that are told as a whole, not lived through: rows like any other, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, insert, select

from database.activities import NewActivity, StoredActivity, insert_activities
from database.connection import open_store
from database.engine.clock import now_iso
from database.messages.hashes import TakenHashes
from database.references import reference_rows
from database.schema import conversations, message_references, messages, workspaces

from .conversation import touch
from .friendly_ids import assign_friendly_id
from .repository import insert_conversation

_RECIPE = "general-discussion"
_TYPE = "chat_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message to be told. Questions and answers take turns, beginning with a question.

    report: of a question's references, entries as `message_references.store_report` takes them.
    """

    text: str
    report: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldMessage:
    """A message that stands in the store: what a reference to it has to know. `index` is 1-based."""

    message_id: str
    index: int
    short_hash: str
    sender: str
    text: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldConversation:
    """A conversation that stands in the store."""

    conversation_id: str
    friendly_id: str
    title: str
    messages: tuple[ToldMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Teller:
    """Stores conversations of one user in one transaction; a later one can refer to those before it."""

    user_email: str
    domain: str
    narrator: str
    _connection: Connection = field(repr=False)

    def tell(
        self,
        said: Sequence[Said],
        *,
        conversation_id: str,
        title: str,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> ToldConversation:
        """Store a conversation of these messages, with the settings that clients shall find."""
        created_at = now_iso()
        values = {
            "conversation_id": conversation_id,
            "user_email": self.user_email,
            "domain": self.domain,
            "title": title,
            "settings": dict(settings),
            "created_at": created_at,
            "message_count": len(said),
            "last_ordinal": len(said),
        }
        insert_conversation(self._connection, values, workspace_id=None)
        friendly_id = assign_friendly_id(
            self._connection,
            user_email=self.user_email,
            conversation_id=conversation_id,
            title=title,
            created_at=created_at,
        )
        told = self._store(said, conversation_id=conversation_id, friendly_id=friendly_id, created_at=created_at)
        touch(self._connection, conversation_id)
        return ToldConversation(
            conversation_id=conversation_id, friendly_id=friendly_id, title=title, messages=tuple(told)
        )

    def _store(
        self, said: Sequence[Said], *, conversation_id: str, friendly_id: str, created_at: str
    ) -> list[ToldMessage]:
        born = [self._activity(ordinal, created_at) for ordinal in range(1, len(said) + 1)]
        stored = insert_activities(self._connection, born, user_email=self.user_email, conversation_id=conversation_id)
        taken = TakenHashes(self._connection, conversation_id)
        told = [
            ToldMessage(
                message_id=activity.activity_id,
                index=ordinal,
                short_hash=taken.give(friendly_id, one.text),
                sender=_sender(ordinal),
                text=one.text,
                created_at=created_at,
            )
            for ordinal, (one, activity) in enumerate(zip(said, stored, strict=True), 1)
        ]
        rows = [
            self._row(one, message, activity, told, conversation_id=conversation_id)
            for one, message, activity in zip(said, told, stored, strict=True)
        ]
        self._connection.execute(insert(messages), rows)
        self._refer(said, told)
        return told

    def _activity(self, ordinal: int, created_at: str) -> NewActivity:
        is_question = _sender(ordinal) == "user"
        name = self.user_email if is_question else self.narrator
        return NewActivity(
            recipe=_RECIPE,
            type=_TYPE,
            actor_type="user" if is_question else "assistant",
            actor_id=name,
            actor_name=name,
            created_at=created_at,
        )

    def _row(
        self,
        said: Said,
        message: ToldMessage,
        activity: StoredActivity,
        told: Sequence[ToldMessage],
        *,
        conversation_id: str,
    ) -> dict[str, Any]:
        is_question = message.sender == "user"
        return {
            "seq": activity.seq,
            "message_id": message.message_id,
            "user_email": self.user_email,
            "conversation_id": conversation_id,
            "ordinal": message.index,
            "sender": message.sender,
            "text": message.text,
            "status": "complete",
            "message_short_hash": message.short_hash,
            "in_answer_to": None if is_question else told[message.index - 2].message_id,
            "config": {} if is_question else {"model": self.narrator},
            "report": [dict(entry) for entry in said.report],
            "created_at": message.created_at,
        }

    def _refer(self, said: Sequence[Said], told: Sequence[ToldMessage]) -> None:
        rows = [
            row
            for one, message in zip(said, told, strict=True)
            for row in reference_rows(one.report, message_id=message.message_id, user_email=self.user_email)
        ]
        if rows:
            self._connection.execute(insert(message_references), rows)


def tell_newcomer(
    *,
    users_dir: str,
    user_email: str,
    domain: str,
    narrator: str,
    conversation_id: str,
    tell: Callable[[Teller], None],
) -> str | None:
    """Let `tell` store what somebody new finds, `conversation_id` among it; that id, also where it was told before.

    narrator: who gives the answers. None, and nothing is told, for whoever has begun by themself, and where the
    conversation was deleted since. Of several callers at once one tells, and all get the same.
    """
    query = select(conversations.c.deleted_at).where(
        conversations.c.user_email == user_email, conversations.c.conversation_id == conversation_id
    )

    def job(connection: Connection) -> str | None:
        found = connection.execute(query).first()
        if found is not None:
            return conversation_id if found.deleted_at is None else None
        if _has_begun(connection, user_email):
            return None
        tell(Teller(user_email=user_email, domain=domain, narrator=narrator, _connection=connection))
        return conversation_id

    return open_store(users_dir).write(job)


def has_begun(*, users_dir: str, user_email: str) -> bool:
    """Whether the user has, or ever had, a conversation."""
    with open_store(users_dir).reading() as connection:
        return _has_begun(connection, user_email)


def _has_begun(connection: Connection, user_email: str) -> bool:
    # A first conversation makes its workspace, which stays when the conversation is erased.
    own = (
        select(conversations.c.conversation_id).where(conversations.c.user_email == user_email).limit(1),
        select(workspaces.c.workspace_id).where(workspaces.c.user_email == user_email).limit(1),
    )
    return any(connection.execute(query).first() is not None for query in own)


def _sender(ordinal: int) -> str:
    return "user" if ordinal % 2 else "model"
