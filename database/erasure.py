"""Taking conversations out of the store for good: what has lain in the bin for long, and clones never finished.

A long conversation goes in slices, so that nobody waits for the writer. From the first slice on it can't be restored,
and a start goes on where a crash stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select, update

from .clock import iso_in, now_iso
from .connection import open_store
from .fulltext_index import forget
from .schema import activities, conversations, messages, stream_events, threads
from .store import Store, Urgency

_MESSAGES_AT_ONCE = 100

_c = conversations.c


def purge_bin(*, users_dir: str, older_than_days: float = 30) -> int:
    """Erase the conversations that have been in the bin for `older_than_days`; how many."""
    store = open_store(users_dir)
    doomed = select(_c.conversation_id).where(
        _c.deleted_at.is_not(None), _c.deleted_at < iso_in(days=-older_than_days), _c.incomplete_since.is_(None)
    )

    def condemn(connection: Connection) -> Sequence[str]:
        found = connection.execute(doomed).scalars().all()
        connection.execute(
            update(conversations).where(_c.conversation_id.in_(found)).values(incomplete_since=now_iso())
        )
        return found

    found = store.write(condemn, urgency=Urgency.INDEX)
    for conversation_id in found:
        _erase(store, conversation_id)
    return len(found)


def erase_incomplete(*, users_dir: str) -> int:
    """Erase what a crash left half made or half erased; how many conversations. For the start of a server."""
    store = open_store(users_dir)
    with store.reading() as connection:
        query = select(_c.conversation_id).where(_c.deleted_at.is_not(None), _c.incomplete_since.is_not(None))
        found = connection.execute(query).scalars().all()
    for conversation_id in found:
        _erase(store, conversation_id)
    return len(found)


def _erase(store: Store, conversation_id: str) -> None:
    while store.write(lambda connection: _erase_messages(connection, conversation_id), urgency=Urgency.INDEX):
        pass
    store.write(lambda connection: _erase_rest(connection, conversation_id), urgency=Urgency.INDEX)


def _erase_messages(connection: Connection, conversation_id: str) -> int:
    """One slice; how many messages it was. Edits and references of a message go with it."""
    query = select(messages.c.seq, messages.c.message_id).where(messages.c.conversation_id == conversation_id)
    found = connection.execute(query.limit(_MESSAGES_AT_ONCE)).all()
    if found:
        numbers = [row.seq for row in found]
        ids = [row.message_id for row in found]
        forget(connection, numbers)
        connection.execute(delete(stream_events).where(stream_events.c.message_id.in_(ids)))
        connection.execute(delete(threads).where(threads.c.root_activity_id.in_(ids)))
        connection.execute(delete(messages).where(messages.c.seq.in_(numbers)))
        connection.execute(delete(activities).where(activities.c.seq.in_(numbers)))
    return len(found)


def _erase_rest(connection: Connection, conversation_id: str) -> None:
    connection.execute(delete(activities).where(activities.c.conversation_id == conversation_id))
    connection.execute(delete(conversations).where(_c.conversation_id == conversation_id))
