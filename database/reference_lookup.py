"""Which conversations the friendly ids in a message name: one query, however many there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from .connection import open_store
from .schema import conversations

_c = conversations.c
_NAMED = select(_c.conversation_friendly_id, _c.conversation_id, _c.title, _c.deleted_at).where(
    _c.user_email == bindparam("user_email"),
    _c.conversation_friendly_id.in_(bindparam("friendly_ids", expanding=True)),
)


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
    named = {"user_email": user_email, "friendly_ids": list(friendly_ids)}
    with open_store(users_dir).reading() as connection:
        rows = connection.execute(_NAMED, named).all()
    return {
        friendly_id: NamedConversation(conversation_id=conversation_id, title=title, deleted=deleted_at is not None)
        for friendly_id, conversation_id, title, deleted_at in rows
    }
