"""Which conversations the friendly ids in a message name: one query, however many there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from sqlalchemy import Text, bindparam, select

from .connection import open_store
from .prepared import Prepared
from .schema import conversations

_c = conversations.c


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
    if not friendly_ids:
        return {}
    wanted = list(friendly_ids)
    # A statement for 1, 2, 4, 8, … of them: the last one fills what is left.
    wanted += wanted[-1:] * ((1 << (len(wanted) - 1).bit_length()) - len(wanted))
    named = {f"wanted_{number}": friendly_id for number, friendly_id in enumerate(wanted)}
    with open_store(users_dir).reading() as connection:
        rows = _bearing(len(wanted)).rows(connection, user_email=user_email, **named)
    return {
        friendly_id: NamedConversation(conversation_id=conversation_id, title=title, deleted=deleted_at is not None)
        for friendly_id, conversation_id, title, deleted_at in rows
    }


@cache
def _bearing(count: int) -> Prepared:
    wanted = [bindparam(f"wanted_{number}", type_=Text) for number in range(count)]
    return Prepared(
        select(_c.conversation_friendly_id, _c.conversation_id, _c.title, _c.deleted_at).where(
            _c.user_email == bindparam("user_email"), _c.conversation_friendly_id.in_(wanted)
        )
    )
