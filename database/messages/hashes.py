"""The short hashes of a conversation's messages: given once, never twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, bindparam, func, select, update

from conversation_reference_utils import unique_message_short_hash
from database.engine.statements import Prepared, Row
from database.schema import messages

_PROBES = 4
_IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_PROBE = Prepared(
    select(messages.c.seq).where(_IN_CONVERSATION, messages.c.message_short_hash == bindparam("short_hash"))
)
# As one value: ten thousand rows would take ten times as long.
_ALL = select(func.aggregate_strings(messages.c.message_short_hash, " ")).where(_IN_CONVERSATION)
_UNHASHED = Prepared(
    select(messages.c.message_id, messages.c.text)
    .where(_IN_CONVERSATION, messages.c.message_short_hash.is_(None))
    .order_by(messages.c.seq)
)
_HASH = Prepared(select(messages.c.message_short_hash).where(messages.c.message_id == bindparam("id")))
_GIVE = Prepared(
    update(messages).where(messages.c.message_id == bindparam("id")).values(message_short_hash=bindparam("short_hash"))
)


class TakenHashes:
    """The hashes that messages of one conversation bear, deleted ones included, asked for one by one.

    A new text rarely collides, so each question is one look into the index. A text said for the tenth time collides
    again and again: then all hashes are read at once.
    """

    def __init__(
        self, connection: Connection, conversation_id: str, *, free: Collection[str] = (), expected: str | None = None
    ) -> None:
        """free: hashes that are known to be borne by no message. expected: one that is asked for at once."""
        self._connection = connection
        self._free = free
        self._conversation_id = conversation_id
        self._probes = 0
        self._all: frozenset[str] | None = None
        self._given: set[str] = set()
        self._expected: dict[str, Callable[[], list[Row]]] = {}
        if expected is not None:
            self._expected[expected] = self._asked(expected)

    def __contains__(self, short_hash: object) -> bool:
        if short_hash in self._given:
            return True
        if short_hash in self._free:
            return False
        if self._all is None and self._probes >= _PROBES:
            joined = self._connection.execute(_ALL, {"conversation": self._conversation_id}).scalar()
            self._all = frozenset((joined or "").split())
        if self._all is not None:
            return short_hash in self._all
        self._probes += 1
        asked = self._expected.pop(str(short_hash), None) or self._asked(str(short_hash))
        return bool(asked())

    def _asked(self, short_hash: str) -> Callable[[], list[Row]]:
        return _PROBE.asked(self._connection, conversation=self._conversation_id, short_hash=short_hash)

    def give(self, friendly_id: str, text: str) -> str:
        """A hash for `text` that nobody has; from now on it is taken."""
        short_hash = unique_message_short_hash(friendly_id, text, self)
        self._given.add(short_hash)
        return short_hash


def hash_unhashed(connection: Connection, *, conversation_id: str, friendly_id: str) -> None:
    """Give every message of the conversation that has no hash one, oldest first, and store it."""
    unhashed = _UNHASHED.rows(connection, conversation=conversation_id)
    give_hashes(connection, unhashed, conversation_id=conversation_id, friendly_id=friendly_id)


def hash_all_unhashed(connection: Connection, friendly_ids: Mapping[str, str]) -> None:
    """`hash_unhashed` for conversations, friendly ids by their ids, with three statements for all."""
    m = messages.c
    query = (
        select(m.conversation_id, m.message_id, m.text)
        .where(m.conversation_id.in_(friendly_ids), m.message_short_hash.is_(None))
        .order_by(m.conversation_id, m.seq)
    )
    unhashed = connection.execute(query).all()
    first = {unique_message_short_hash(friendly_ids[row.conversation_id], row.text, ()) for row in unhashed}
    bearing = select(m.conversation_id, m.message_short_hash).where(
        m.conversation_id.in_(friendly_ids), m.message_short_hash.in_(first)
    )
    borne = {(row[0], row[1]) for row in connection.execute(bearing)}
    given = []
    for conversation_id, rows in groupby(unhashed, key=itemgetter(0)):
        free = {each for each in first if (conversation_id, each) not in borne}
        taken = TakenHashes(connection, conversation_id, free=free)
        for _, message_id, text in rows:
            given.append({"id": message_id, "short_hash": taken.give(friendly_ids[conversation_id], text)})
    if given:
        _GIVE.run_each(connection, given)


def give_hashes(
    connection: Connection, unhashed: Iterable[tuple[str, str]], *, conversation_id: str, friendly_id: str
) -> dict[str, str]:
    """Give messages, (message_id, text) in order, that have no hash one, and store it; the hashes by message_id.

    A message that got one meanwhile keeps that.
    """
    taken = TakenHashes(connection, conversation_id)
    hashes: dict[str, str] = {}
    given = []
    for message_id, text in unhashed:
        born = _HASH.row(connection, id=message_id)
        if born is not None and born[0] is None:
            hashes[message_id] = taken.give(friendly_id, text)
            given.append({"id": message_id, "short_hash": hashes[message_id]})
        elif born is not None:
            hashes[message_id] = born[0]
    if given:
        _GIVE.run_each(connection, given)
    return hashes
