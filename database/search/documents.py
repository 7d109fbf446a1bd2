"""The full-text index over documents: their titles and texts, cut and folded as messages are (`index`)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from . import postgresql
from .index import owner_token, words

_PUT = "INSERT INTO documents_fts (rowid, owner, body) VALUES (?, ?, ?)"
_REMOVE = "INSERT INTO documents_fts (documents_fts, rowid, owner, body) VALUES ('delete', ?, ?, ?)"
_NEWEST = "SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? ORDER BY rowid DESC LIMIT ?"

IndexedDocument = tuple[int, str, str]
"""The id of a document, its title and its text."""


def put(connection: Connection, user_email: str, documents: Sequence[IndexedDocument]) -> None:
    """Add the person's documents to the index."""
    rows = _rows(user_email, documents)
    if connection.dialect.name == "postgresql":
        postgresql.put_documents(connection, rows)
    elif rows:
        connection.exec_driver_sql(_PUT, rows)


def remove(connection: Connection, user_email: str, documents: Sequence[IndexedDocument]) -> None:
    """Take documents, as they were put, out of the index."""
    if connection.dialect.name == "postgresql":
        postgresql.remove_documents(connection, [number for number, _, _ in documents])
    elif documents:
        connection.exec_driver_sql(_REMOVE, _rows(user_email, documents))


def newest(connection: Connection, expression: str, *, most: int) -> Sequence[int]:
    """Ids of the newest documents that fit `expression` (`index.expression_for`), at most `most`."""
    if connection.dialect.name == "postgresql":
        return postgresql.newest_documents(connection, expression, most=most)
    return connection.exec_driver_sql(_NEWEST, (expression, most)).scalars().all()


def _rows(user_email: str, documents: Sequence[IndexedDocument]) -> list[tuple[int, str, str]]:
    owner = owner_token(user_email)
    return [(number, owner, " ".join(words(f"{title}\n{text}"))) for number, title, text in documents]
