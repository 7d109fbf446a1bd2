"""The short hashes of a conversation's messages: given once, never twice."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Select, Text, bindparam, select, type_coerce, update

from conversation_reference_utils import unique_message_short_hash

from .schema import messages

_PROBES = 8


class TakenHashes:
    """The hashes that messages of one conversation bear, deleted ones included, asked for one by one.

    A new text rarely collides, so each question is one look into the index. A text said for the tenth time collides again and again: then
    all hashes are read at once.
    """

    def __init__(self, connection: Connection, conversation_id: str) -> None:
        self._connection = connection
        self._conversation_id = conversation_id
        self._probes = 0
        self._all: frozenset[str] | None = None
        self._given: set[str] = set()

    def __contains__(self, short_hash: object) -> bool:
        if short_hash in self._given:
            return True
        if self._all is None and self._probes >= _PROBES:
            self._all = frozenset(self._connection.execute(self._query()).scalars())
        if self._all is not None:
            return short_hash in self._all
        self._probes += 1
        probe = self._query().where(messages.c.message_short_hash == short_hash)
        return self._connection.execute(probe).one_or_none() is not None

    def give(self, friendly_id: str, text: str) -> str:
        """A hash for `text` that nobody has; from now on it is taken."""
        short_hash = unique_message_short_hash(friendly_id, text, self)
        self._given.add(short_hash)
        return short_hash

    def _query(self) -> Select[str]:
        return select(type_coerce(messages.c.message_short_hash, Text)).where(
            messages.c.conversation_id == self._conversation_id, messages.c.message_short_hash.is_not(None)
        )


def hash_unhashed(
    connection: Connection, *, conversation_id: str, friendly_id: str, final_texts: Mapping[str, str]
) -> None:
    """Give every message of the conversation that has no hash one, oldest first, and store it.

    final_texts: message_id → text, for messages whose text is only now being stored.
    """
    unhashed = connection.execute(
        select(messages.c.message_id, messages.c.text)
        .where(messages.c.conversation_id == conversation_id, messages.c.message_short_hash.is_(None))
        .order_by(messages.c.seq)
    ).all()
    taken = TakenHashes(connection, conversation_id)
    given = [
        {"id": message_id, "hash": taken.give(friendly_id, final_texts.get(message_id, text))}
        for message_id, text in unhashed
    ]
    if given:
        connection.execute(
            update(messages)
            .where(messages.c.message_id == bindparam("id"))
            .values(message_short_hash=bindparam("hash")),
            given,
        )
