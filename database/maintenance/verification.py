"""Checking the invariants of the store of accounts and conversations, beside a running server.

All checks read one snapshot of the store, so that concurrent changes cause no findings, and read row by row, so that
memory does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from database.engine.database import Database
from database.history.references import reference_rows
from database.schema import message_references
from database.search.index import indexed_text, owner_token, terms_of

from .findings import FileConnection, Finding, IndexSums, Occurrence, as_kept, examine, first_ones, guarded, look
from .invariants import (
    DOCUMENT_AND_FILE_INDEX,
    ERASED_TARGETS,
    INDEX,
    INDEXES,
    NOT_INDEXED,
    REFERENCES,
    RULES,
    TABLES,
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
