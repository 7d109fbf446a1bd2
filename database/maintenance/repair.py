"""Making anew what follows from the rest of the store, in slices that keep nobody from writing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from sqlalchemy import Connection

from database.engine.database import Database, Urgency
from database.search.indexing import reindex_messages

from .invariants import BROKEN_COUNTS, COUNTS, INDEX, LOST_THREADS, NO_RUNNING_ANSWER, REFERENCES, RUNNING, THREADS
from .verification import references_of

_AT_ONCE = 100
# Each says for itself what is right now: a server may have gone on since somebody looked.
_COUNT_ANEW = """
    UPDATE "UserToConversationId" AS conversation SET version = version + 1,
        message_count = (SELECT COUNT(*) FROM messages
            WHERE messages.conversation_id = conversation.conversation_id AND deleted_at IS NULL),
        last_ordinal = (SELECT COALESCE(MAX(ordinal), 0) FROM messages
            WHERE messages.conversation_id = conversation.conversation_id)
    WHERE conversation_id = ? AND incomplete_since IS NULL
"""
_WAIT_NO_LONGER = """
    UPDATE "UserToConversationId" AS conversation SET running_message_id = NULL, version = version + 1
    WHERE conversation_id = ? AND NOT EXISTS (SELECT 1 FROM messages
        WHERE messages.message_id = conversation.running_message_id AND messages.status = 'streaming')
"""
_THREAD_ANEW = """
    INSERT OR IGNORE INTO threads (thread_id, user_email, root_activity_id, title, created_at)
    SELECT thread_id, user_email, activity_id, '', created_at FROM activities
    WHERE thread_id = ? ORDER BY seq LIMIT 1
"""
_REPORTS = "SELECT seq, message_id, user_email, report FROM messages WHERE seq > ? ORDER BY seq LIMIT ?"
_KEPT = """
    SELECT message_id, position, user_email, ref, kind, status, target_conversation_id, target_message_id, target_id
    FROM message_references WHERE message_id IN (SELECT message_id FROM messages WHERE seq > ? AND seq <= ?)
    ORDER BY message_id, position
"""
_FORGET = "DELETE FROM message_references WHERE message_id = ?"
_REFER = """
    INSERT INTO message_references
    (message_id, position, user_email, ref, kind, status, target_conversation_id, target_message_id, target_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def repair_store(*, database: Database, rules: Collection[str]) -> Iterator[str]:
    """Make anew what `rules`, names out of findings that are derived, are about; a sentence for each."""
    for rule, (repair, done) in _REPAIRS.items():
        if rule in rules:
            yield f"{repair(database)} {done}"


def _each(broken: str, statement: str, database: Database) -> int:
    """Run `statement` for whatever the query `broken` names first; how many."""
    store = database
    with store.reading() as connection:
        named = [row[0] for row in connection.exec_driver_sql(broken)]
    for start in range(0, len(named), _AT_ONCE):
        values = [(name,) for name in named[start : start + _AT_ONCE]]
        store.write(partial(_run_each, statement=statement, values=values), urgency=Urgency.INDEX)
    return len(named)


def _run_each(connection: Connection, *, statement: str, values: list[tuple[str]]) -> None:
    connection.exec_driver_sql(statement, values)


def _references_anew(database: Database) -> int:
    store, mended, last = database, 0, -1
    while True:
        count, last = _reference_slice(store, last)
        if last < 0:
            return mended
        mended += count


def _reference_slice(store: Database, after: int) -> tuple[int, int]:
    """(how many messages got other references, the last message looked at; -1 where there was none)."""

    def job(connection: Connection) -> tuple[int, int]:
        rows = connection.exec_driver_sql(_REPORTS, (after, _AT_ONCE)).all()
        if not rows:
            return 0, -1
        kept: dict[str, list[tuple[object, ...]]] = {}
        for row in connection.exec_driver_sql(_KEPT, (after, rows[-1].seq)):
            kept.setdefault(row[0], []).append(tuple(row))
        wanted = {row.message_id: references_of(row.message_id, row.user_email, row.report) for row in rows}
        wrong = [message_id for message_id, made in wanted.items() if made != kept.get(message_id, [])]
        for message_id in wrong:
            connection.exec_driver_sql(_FORGET, (message_id,))
            if wanted[message_id]:
                connection.exec_driver_sql(_REFER, wanted[message_id])
        return len(wrong), rows[-1].seq

    return store.write(job, urgency=Urgency.INDEX)


def _index_anew(database: Database) -> int:
    return sum(indexed for indexed, _ in reindex_messages(database=database))


_REPAIRS: Mapping[str, tuple[Callable[[Database], int], str]] = {
    COUNTS: (partial(_each, BROKEN_COUNTS, _COUNT_ANEW), "conversations were counted anew."),
    RUNNING: (partial(_each, NO_RUNNING_ANSWER, _WAIT_NO_LONGER), "conversations wait no longer for an answer."),
    THREADS: (partial(_each, LOST_THREADS, _THREAD_ANEW), "threads were made anew from their first messages."),
    REFERENCES: (_references_anew, "messages got the references of their reports."),
    INDEX: (_index_anew, "messages were indexed anew."),
}
