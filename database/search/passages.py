"""Passages of the texts of files: stored after the upload, with words and vectors, and erased with the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, exists, func, insert, select, update

from database.engine.database import Database, Urgency
from database.engine.statements import insert_rows
from database.schema import attachments, file_passages, passage_vectors

from .owned import PASSAGES
from .vectors import FILES

_AT_ONCE = 200
_a, _p, _v = attachments.c, file_passages.c, passage_vectors.c


class Content(NamedTuple):
    """The content that a person's files of one SHA-256 share."""

    user_email: str
    sha256: str


class Passage(NamedTuple):
    """A part of a text. page: from 1; None of a format without pages. Lines are 1-based and inclusive."""

    page: int | None
    line_start: int
    line_end: int
    text: str


class StoredPassage(NamedTuple):
    """A stored passage."""

    passage_id: int
    sha256: str
    page: int | None
    line_start: int
    line_end: int
    text: str


class Progress(NamedTuple):
    """How many passages a person's files have, and of how many the vectors were made."""

    passages: int
    embedded: int


def next_waiting(*, database: Database) -> str | None:
    """The `attachment_id` of the file that has waited longest for its passages; None if none waits."""
    query = select(_a.attachment_id).where(_a.indexed == 0).order_by(_a.created_at).limit(1)
    with database.reading() as connection:
        found: str | None = connection.execute(query).scalar()
    return found


def count_of(content: Content, *, database: Database) -> int:
    """How many passages of a content are stored."""
    query = select(func.count()).select_from(file_passages).where(*_of(content))
    with database.reading() as connection:
        return int(connection.execute(query).scalar_one())


def add_passages(content: Content, passages: Sequence[Passage], *, first: int, database: Database) -> bool:
    """Store some passages, the first of them as number `first`.

    Returns False if the file is gone, or another process was faster. The transaction is short: pass a few hundred at
    most.
    """

    def job(connection: Connection) -> bool:
        is_there = select(exists().where(_a.user_email == content.user_email, _a.sha256 == content.sha256))
        stored = select(func.count()).select_from(file_passages).where(*_of(content))
        if not connection.execute(is_there).scalar() or connection.execute(stored).scalar() != first:
            return False
        rows = [
            {**content._asdict(), "number": number, **each._asdict()} for number, each in enumerate(passages, first)
        ]
        connection.execute(insert(file_passages), rows)
        added = select(_p.passage_id, _p.text).where(*_of(content), _p.number >= first)
        PASSAGES.put(connection, content.user_email, [(number, text) for number, text in connection.execute(added)])
        return True

    return not passages or database.write(job, urgency=Urgency.INDEX)


def finish(content: Content, *, database: Database) -> None:
    """Record that all passages of a content are stored, for each of its names."""
    these = (_a.user_email == content.user_email) & (_a.sha256 == content.sha256)
    done = update(attachments).where(these).values(indexed=1)
    database.write(lambda connection: connection.execute(done).rowcount, urgency=Urgency.INDEX)


def forget_unowned(connection: Connection, contents: Iterable[tuple[str, str]]) -> None:
    """Delete the passages of those contents, (user_email, sha256) each, that no file has any more."""
    for content in {Content(*each) for each in contents}:
        is_there = select(exists().where(_a.user_email == content.user_email, _a.sha256 == content.sha256))
        if not connection.execute(is_there).scalar():
            while _forget_some(connection, _PASSAGES.where(*_of(content))):
                pass


def erase_passages(*, database: Database, user_email: str) -> None:
    """Erase all passages of a person, slice by slice."""
    theirs = _PASSAGES.where(_p.user_email == user_email)
    while database.write(lambda connection: _forget_some(connection, theirs), urgency=Urgency.INDEX):
        pass


_PASSAGES = select(_p.passage_id, _p.user_email, _p.text)


def _forget_some(connection: Connection, which: Select[Any]) -> int:
    rows = connection.execute(which.limit(_AT_ONCE)).all()
    for user_email in {row.user_email for row in rows}:
        theirs = [(row.passage_id, row.text) for row in rows if row.user_email == user_email]
        PASSAGES.remove(connection, user_email, theirs)
    ids = [row.passage_id for row in rows]
    connection.execute(delete(passage_vectors).where(_v.passage_id.in_(ids)))
    connection.execute(delete(file_passages).where(_p.passage_id.in_(ids)))
    return len(rows)


def _of(content: Content) -> tuple[Any, Any]:
    return _p.user_email == content.user_email, _p.sha256 == content.sha256


def use_model(model: str, *, database: Database) -> None:
    """Delete the vectors of another model; a no-op for those of this one, and while there are no passages."""
    with database.reading() as connection:
        if FILES.is_current(connection, model) or connection.execute(select(_p.passage_id).limit(1)).first() is None:
            return

    def begin(connection: Connection) -> None:
        FILES.set(connection, model)
        connection.execute(delete(passage_vectors))
        connection.execute(update(file_passages).values(embedded=0))

    database.write(begin, urgency=Urgency.INDEX)


def waiting_for_vectors(*, database: Database, most: int) -> list[tuple[int, str, str]]:
    """(id, user_email, text) of passages without vectors, the oldest first."""
    query = select(_p.passage_id, _p.user_email, _p.text).where(_p.embedded == 0)
    with database.reading() as connection:
        return [
            (number, user, text) for number, user, text in connection.execute(query.order_by(_p.passage_id).limit(most))
        ]


def store_vectors(made: Mapping[int, Sequence[bytes]], *, database: Database) -> None:
    """Store the vectors of passages, by id; of those that are still there and have none."""

    def job(connection: Connection) -> None:
        query = select(_p.passage_id, _p.user_email).where(_p.passage_id.in_(made), _p.embedded == 0)
        owners = {row.passage_id: row.user_email for row in connection.execute(query)}
        rows = [
            {"passage_id": number, "user_email": owner, "codes": codes}
            for number, owner in owners.items()
            for codes in made[number]
        ]
        insert_rows(connection, passage_vectors, rows)
        connection.execute(update(file_passages).where(_p.passage_id.in_(owners)).values(embedded=1))

    database.write(job, urgency=Urgency.INDEX)


def codes_after(connection: Connection, user_email: str, after: int) -> Iterator[tuple[int, bytes]]:
    """(id, vector) of the person's vectors with a larger id than `after`, by id."""
    newer = select(_v.vector_id, _v.codes).where(_v.user_email == user_email, _v.vector_id > after)
    rows = connection.execute(newer.order_by(_v.vector_id).execution_options(yield_per=10_000))
    return ((vector_id, codes) for vector_id, codes in rows)


def vectors_with(
    connection: Connection, user_email: str, *, ids: Sequence[int] = (), passages: Sequence[int] = ()
) -> dict[int, tuple[int, bytes]]:
    """(passage, vector) of those of these vectors, and of all of these passages, that are the person's; by id."""
    query = select(_v.vector_id, _v.passage_id, _v.codes).where(
        _v.user_email == user_email, _v.vector_id.in_(ids) | _v.passage_id.in_(passages)
    )
    return {vector_id: (passage_id, codes) for vector_id, passage_id, codes in connection.execute(query)}


def progress_of(*, database: Database, user_email: str) -> Progress:
    """How far the vectors of a person's files are."""
    query = select(func.count(), func.coalesce(func.sum(_p.embedded), 0)).where(_p.user_email == user_email)
    with database.reading() as connection:
        return Progress(*map(int, connection.execute(query).one()))
