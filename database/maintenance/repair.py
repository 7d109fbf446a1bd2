"""Rebuilding derived data of the store, in slices that do not hold up other writers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

from sqlalchemy import Connection, Text, cast, delete, insert, select

from database.engine import sqlite
from database.engine.database import Database, Urgency
from database.schema import message_references, messages
from database.search.indexing import reindex_messages
from database.search.owned import refill_all

from .invariants import (
    BROKEN_COUNTS,
    COUNTS,
    DOCUMENT_AND_FILE_INDEX,
    INDEX,
    LOST_THREADS,
    NO_RUNNING_ANSWER,
    REFERENCES,
    RUNNING,
    THREADS,
    VECTORS,
    WRONG_VECTORS,
)
from .verification import references_of, wrong_references

_AT_ONCE = 100
# Each statement checks its condition again: a server may have changed the rows since they were found.
_COUNT_ANEW = """
    UPDATE "UserToConversationId" AS conversation SET version = version + 1,
        message_count = (SELECT COUNT(*) FROM messages
            WHERE messages.conversation_id = conversation.conversation_id
                AND deleted_at IS NULL AND other_branch IS NULL),
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
_FORGET_VECTOR = "DELETE FROM message_vectors WHERE vector_id = ?"


def repair_store(*, database: Database, rules: Collection[str]) -> Iterator[str]:
    """Rebuild the derived data that `rules` (names of findings) are about; a sentence for each rule."""
    for rule, (repair, done) in _REPAIRS.items():
        if rule in rules:
            yield f"{repair(database)} {done}"


def _each(broken: str, statement: str, database: Database) -> int:
    """Run `statement` for each row of the query `broken`; how many rows."""
    with database.reading() as connection:
        named = [row[0] for row in connection.exec_driver_sql(broken)]
    for start in range(0, len(named), _AT_ONCE):
        values = [(name,) for name in named[start : start + _AT_ONCE]]
        database.write(partial(_run_each, statement=statement, values=values), urgency=Urgency.INDEX)
    return len(named)


def _run_each(connection: Connection, *, statement: str, values: list[tuple[str]]) -> None:
    connection.exec_driver_sql(statement, values)


def _references_anew(database: Database) -> int:
    with closing(sqlite.connect_read_only(database.file)) as connection:
        wrong = list(wrong_references(connection))
    for start in range(0, len(wrong), _AT_ONCE):
        database.write(partial(_refer_anew, message_ids=wrong[start : start + _AT_ONCE]), urgency=Urgency.INDEX)
    return len(wrong)


def _refer_anew(connection: Connection, *, message_ids: Sequence[str]) -> None:
    """Replace the references of messages by those of their reports; a malformed report has none."""
    query = select(messages.c.message_id, messages.c.user_email, cast(messages.c.report, Text))
    for message_id, user_email, report in connection.execute(query.where(messages.c.message_id.in_(message_ids))):
        connection.execute(delete(message_references).where(message_references.c.message_id == message_id))
        rows = references_of(message_id, user_email, report)
        if rows:
            connection.execute(insert(message_references), rows)


def _index_anew(database: Database) -> int:
    return sum(indexed for indexed, _ in reindex_messages(database=database))


def _fill_anew(database: Database) -> int:
    return sum(refill_all(database=database))


_REPAIRS: Mapping[str, tuple[Callable[[Database], int], str]] = {
    COUNTS: (partial(_each, BROKEN_COUNTS, _COUNT_ANEW), "conversations were counted anew."),
    RUNNING: (partial(_each, NO_RUNNING_ANSWER, _WAIT_NO_LONGER), "conversations wait no longer for an answer."),
    THREADS: (partial(_each, LOST_THREADS, _THREAD_ANEW), "threads were made anew from their first messages."),
    REFERENCES: (_references_anew, "messages got the references of their reports."),
    VECTORS: (partial(_each, WRONG_VECTORS, _FORGET_VECTOR), "vectors of messages were thrown away."),
    INDEX: (_index_anew, "messages were indexed anew."),
    DOCUMENT_AND_FILE_INDEX: (_fill_anew, "documents and passages of files were indexed anew."),
}
