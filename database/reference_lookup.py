"""Which conversations the friendly ids in a message name: one query, however many there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from .connection import open_store
from .schema import conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedConversation:
    """What a friendly id of this user stands for. `deleted`: it lies in the bin."""

    conversation_id: str
    title: str
    deleted: bool


def conversations_by_friendly_id(
    *, users_dir: str, user_email: str, friendly_ids: Collection[str]
) -> dict[str, NamedConversation]:
    """The conversations of this user that bear one of `friendly_ids`; ids that nobody bears are left out."""
    columns = conversations.c
    query = select(columns.conversation_friendly_id, columns.conversation_id, columns.title, columns.deleted_at).where(
        columns.user_email == user_email, columns.conversation_friendly_id.in_(list(friendly_ids))
    )
    with open_store(users_dir).reading() as connection:
        rows = connection.execute(query).all()
    return {
        friendly_id: NamedConversation(conversation_id=conversation_id, title=title, deleted=deleted_at is not None)
        for friendly_id, conversation_id, title, deleted_at in rows
    }
