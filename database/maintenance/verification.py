"""Checking the invariants of the store of accounts and conversations, and rebuilding what is derived.

A check runs beside a server, and reads row by row, so that memory does not grow with the store; a repair writes in
slices that do not hold up other writers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, Text, cast, delete, select

from database.engine import sqlite
from database.engine.database import Database, Urgency
from database.engine.statements import insert_rows
from database.history.references import reference_rows
from database.schema import message_references, messages
from database.search.index import indexed_text, owner_token, terms_of
from database.search.indexing import reindex_messages
from database.search.owned import refill_all

from .findings import FileConnection, Finding, IndexSums, Occurrence, as_kept, examine, first_ones, guarded, look
from .invariants import (
    BROKEN_COUNTS,
    COUNTS,
    DOCUMENT_AND_FILE_INDEX,
    ERASED_TARGETS,
    INDEX,
    INDEXES,
    LOST_THREADS,
    NO_RUNNING_ANSWER,
    NOT_INDEXED,
    REFERENCES,
    RULES,
    RUNNING,
    TABLES,
    THREADS,
    VECTORS,
    WRONG_VECTORS,
    WRONGLY_INDEXED,
)

_AT_ONCE = 500
_REFERRING = """
    SELECT message_id, user_email, report FROM messages WHERE report <> '[]' OR EXISTS
        (SELECT 1 FROM message_references WHERE message_references.message_id = messages.message_id)
"""
_COLUMNS = tuple(column.name for column in message_references.c)
_KEPT_REFERENCES = """
    SELECT {columns} FROM message_references
    WHERE message_id IN (SELECT value FROM json_each(?)) ORDER BY message_id, position
""".format(columns=", ".join(_COLUMNS))  # noqa: S608 - names of our columns
_INDEXED = """
    SELECT seq, user_email, conversation_id, text FROM messages
    WHERE deleted_at IS NULL AND seq <= (SELECT indexed_seq FROM search_state WHERE name = 'message_terms')
"""
_WORDS = "SELECT doc, col, offset, CAST(term AS BLOB) FROM messages_words"
_OWNED = {
    "document_terms": "SELECT document_id, user_email, title || char(10) || text FROM documents",
    "passage_terms": "SELECT passage_id, user_email, text FROM file_passages",
}
"""Indexes of texts of one person, and the texts."""
_OWNED_WORDS = "SELECT doc, col, offset, CAST(term AS BLOB) FROM temp.owned_words"
_IS_FILLED_ANEW = "SELECT 1 FROM search_state WHERE name = ?"
_REPAIRED_AT_ONCE = 100
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


def verify_store(*, database: Database) -> Iterator[Finding]:
    """The findings in a store, as they are found. Changes nothing.

    Raises OnlyWithSQLiteError for a store on a database server.
    """
    return verify_file(database.file)


def verify_file(path: Path) -> Iterator[Finding]:
    """`verify_store` for a file that may be too damaged to be opened as a store."""
    return examine(path, _broken_rules)


def _broken_rules(connection: FileConnection) -> Iterator[Finding]:
    yield from look(connection, (TABLES, INDEXES, *RULES))
    yield from guarded(REFERENCES, lambda: first_ones(_wrong_references(connection)), derived=True)
    yield from guarded(REFERENCES, lambda: _erased_targets(connection), derived=False)
    yield from look(connection, (NOT_INDEXED, WRONGLY_INDEXED))
    yield from guarded(INDEX, lambda: _wrong_words(connection), derived=True)
    yield from guarded(DOCUMENT_AND_FILE_INDEX, lambda: _wrong_owned_words(connection), derived=True)


def wrong_references(connection: FileConnection) -> Iterator[str]:
    """The ids of messages whose rows in `message_references` are not those of their reports."""
    cursor = connection.execute(_REFERRING)
    while rows := cursor.fetchmany(_AT_ONCE):
        kept: dict[str, list[tuple[Any, ...]]] = {}
        ids = orjson.dumps([message_id for message_id, *_ in rows]).decode()
        for row in connection.execute(_KEPT_REFERENCES, [ids]):
            kept.setdefault(row[0], []).append(row)
        for message_id, user_email, report in rows:
            expected = references_of(message_id, user_email, report)
            if kept.get(message_id, []) != [tuple(row[name] for name in _COLUMNS) for row in expected]:
                yield message_id


def _wrong_references(connection: FileConnection) -> Iterator[Finding]:
    for message_id in wrong_references(connection):
        what = f"The references of message {message_id} are not those of its report."
        yield Finding(rule=REFERENCES, what=what, derived=True)


def _erased_targets(connection: FileConnection) -> Iterator[Finding]:
    (erased,) = connection.execute(ERASED_TARGETS).fetchone()
    if erased:
        what = f"{erased} references lead to messages that were deleted for good."
        yield Finding(rule=REFERENCES, what=what, fine=True)


def references_of(message_id: str, user_email: str, report: str) -> list[dict[str, Any]]:
    """The rows of `message_references` that follow from a message's report (JSON); none for a malformed report."""
    try:
        return reference_rows(orjson.loads(report), message_id=message_id, user_email=user_email)
    except (KeyError, TypeError, AttributeError, ValueError):
        return []


def _wrong_words(connection: FileConnection) -> Iterator[Finding]:
    held, expected = IndexSums(), IndexSums()
    expected.add(_expected(connection.execute(_INDEXED)))
    held.add(connection.execute(_WORDS))
    differences = held.differences(expected)
    if differences:
        what = f"The full-text index holds other words than the messages say, in {differences} of its parts."
        yield Finding(rule=INDEX, what=what, derived=True)


def _wrong_owned_words(connection: FileConnection) -> Iterator[Finding]:
    for index, texts in _OWNED.items():
        if connection.execute(_IS_FILLED_ANEW, (index,)).fetchone() is not None:
            what = f"The full-text index {index} is being filled; a server, or `data reindex --documents`, goes on."
            yield Finding(rule=DOCUMENT_AND_FILE_INDEX, what=what, fine=True)
            continue
        held, expected = IndexSums(), IndexSums()
        connection.execute(f"CREATE VIRTUAL TABLE temp.owned_words USING fts5vocab(main, {index}, instance)")
        held.add(connection.execute(_OWNED_WORDS))
        connection.execute("DROP TABLE temp.owned_words")
        for number, user_email, text in connection.execute(texts):
            terms = enumerate(terms_of(user_email, text).split())
            expected.add([(number, "owner", 0, owner_token(user_email).encode())])
            expected.add((number, "body", place, as_kept(term)) for place, term in terms)
        differences = held.differences(expected)
        if differences:
            what = f"The full-text index {index} holds other words than its texts say, in {differences} of its parts."
            yield Finding(rule=DOCUMENT_AND_FILE_INDEX, what=what, derived=True)


def _expected(rows: Iterable[Any]) -> Iterator[Occurrence]:
    for seq, user_email, conversation_id, text in rows:
        row = indexed_text(seq=seq, user_email=user_email, conversation_id=conversation_id, text=text)
        yield seq, "owner", 0, row.owner.encode()
        yield seq, "conversation", 0, row.conversation.encode()
        for place, word in enumerate(row.body.split()):
            yield seq, "body", place, as_kept(word)


def repair_store(*, database: Database, rules: Collection[str]) -> Iterator[str]:
    """Rebuild the derived data that `rules` (names of findings) are about; a sentence for each rule."""
    for rule, (repair, done) in _REPAIRS.items():
        if rule in rules:
            yield f"{repair(database)} {done}"


def _each(broken: str, statement: str, database: Database) -> int:
    """Run `statement` for each row of the query `broken`; how many rows."""
    with database.reading() as connection:
        named = [row[0] for row in connection.exec_driver_sql(broken)]
    for start in range(0, len(named), _REPAIRED_AT_ONCE):
        values = [(name,) for name in named[start : start + _REPAIRED_AT_ONCE]]
        database.write(partial(_run_each, statement=statement, values=values), urgency=Urgency.INDEX)
    return len(named)


def _run_each(connection: Connection, *, statement: str, values: list[tuple[str]]) -> None:
    connection.exec_driver_sql(statement, values)


def _references_anew(database: Database) -> int:
    with closing(sqlite.connect_read_only(database.file)) as connection:
        wrong = list(wrong_references(connection))
    for start in range(0, len(wrong), _REPAIRED_AT_ONCE):
        database.write(
            partial(_refer_anew, message_ids=wrong[start : start + _REPAIRED_AT_ONCE]), urgency=Urgency.INDEX
        )
    return len(wrong)


def _refer_anew(connection: Connection, *, message_ids: Sequence[str]) -> None:
    """Replace the references of messages by those of their reports; a malformed report has none."""
    query = select(messages.c.message_id, messages.c.user_email, cast(messages.c.report, Text))
    for message_id, user_email, report in connection.execute(query.where(messages.c.message_id.in_(message_ids))):
        connection.execute(delete(message_references).where(message_references.c.message_id == message_id))
        rows = references_of(message_id, user_email, report)
        insert_rows(connection, message_references, rows)


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
