"""Chunks of documents with their vectors, made behind: which documents wait for them, and what is stored of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, select, update

from database.engine.database import Database, Urgency
from database.engine.statements import insert_rows
from database.schema import document_chunks, documents
from database.search.vectors import DOCUMENTS

_d, _k = documents.c, document_chunks.c


class WaitingDocument(NamedTuple):
    """A document without chunks of its present text."""

    document_id: int
    user_email: str
    path: str
    version: str
    text: str


class StoredChunk(NamedTuple):
    """A chunk. codes: its vector; None where the model refused its text. Lines are 1-based and inclusive."""

    chunk_id: int
    document_id: int
    line_start: int
    line_end: int
    codes: bytes | None


def waiting_documents(*, database: Database, most: int) -> list[WaitingDocument]:
    """Documents that wait for chunks, at most `most`."""
    query = select(_d.document_id, _d.user_email, _d.path, _d.version, _d.text).where(_d.chunked == 0)
    with database.reading() as connection:
        return [WaitingDocument(*row) for row in connection.execute(query.order_by(_d.document_id).limit(most))]


def use_model(model: str, *, database: Database) -> None:
    """Delete the vectors of another model; a no-op for those of this one, and while there are no documents."""
    with database.reading() as connection:
        is_current = DOCUMENTS.is_current(connection, model)
        if is_current or connection.execute(select(_d.document_id).limit(1)).first() is None:
            return

    def begin(connection: Connection) -> None:
        DOCUMENTS.set(connection, model)
        connection.execute(delete(document_chunks))
        connection.execute(update(documents).values(chunked=0))

    database.write(begin, urgency=Urgency.INDEX)


def store_chunks(
    *, database: Database, document: WaitingDocument, chunks: Sequence[tuple[int, int, bytes | None]]
) -> None:
    """Store the chunks of a document, (first line, last line, vector) each, unless it has changed meanwhile."""
    same = (_d.document_id == document.document_id) & (_d.version == document.version)

    def store(connection: Connection) -> None:
        if connection.execute(update(documents).where(same).values(chunked=1)).rowcount == 0:
            return
        connection.execute(delete(document_chunks).where(_k.document_id == document.document_id))
        common = {"document_id": document.document_id, "user_email": document.user_email}
        rows = [{**common, "line_start": first, "line_end": last, "codes": codes} for first, last, codes in chunks]
        insert_rows(connection, document_chunks, rows)

    database.write(store, urgency=Urgency.INDEX)


def codes_after(connection: Connection, user_email: str, after: int) -> Iterator[tuple[int, bytes]]:
    """(id, vector) of the person's chunks with a larger id than `after`, by id."""
    newer = select(_k.chunk_id, _k.codes).where(_k.user_email == user_email, _k.chunk_id > after, _k.codes.is_not(None))
    rows = connection.execute(newer.order_by(_k.chunk_id).execution_options(yield_per=10_000))
    return ((chunk_id, codes) for chunk_id, codes in rows)


def chunks_with_ids(connection: Connection, user_email: str, ids: Sequence[int]) -> list[StoredChunk]:
    """Those of these chunks that are the person's."""
    return _chunks(connection, _CHUNKS.where(_k.chunk_id.in_(ids), _k.user_email == user_email))


def chunks_of(connection: Connection, user_email: str, document_ids: Sequence[int]) -> list[StoredChunk]:
    """All chunks of these documents of the person."""
    return _chunks(connection, _CHUNKS.where(_k.document_id.in_(document_ids), _k.user_email == user_email))


def texts(connection: Connection, user_email: str, document_ids: Sequence[int]) -> dict[int, tuple[str, str, str]]:
    """Path, title and text of these documents of the person, by id."""
    query = select(_d.document_id, _d.path, _d.title, _d.text)
    rows = connection.execute(query.where(_d.document_id.in_(document_ids), _d.user_email == user_email))
    return {number: (path, title, text) for number, path, title, text in rows}


_CHUNKS = select(_k.chunk_id, _k.document_id, _k.line_start, _k.line_end, _k.codes)


def _chunks(connection: Connection, query: Select[Any]) -> list[StoredChunk]:
    return [StoredChunk._make(row) for row in connection.execute(query)]
