"""Summaries of documents that a model made, by the version of the text."""

from __future__ import annotations

from functools import partial

from sqlalchemy import Connection, delete, exists, insert, select, tuple_

from database.engine.database import Database, Urgency
from database.schema import document_summaries, documents, is_open

_AT_ONCE = 500
_c = document_summaries.c
_KEY = tuple_(_c.user_email, _c.version)


def summary(*, database: Database, user_email: str, version: str, max_length: int) -> str | None:
    """What was made of this text, of this length at most; None where nothing was."""
    query = select(_c.summary).where(_c.user_email == user_email, _c.version == version, _c.max_length == max_length)
    with database.reading() as connection:
        found: str | None = connection.execute(query).scalar()
    return found


def keep_summary(*, database: Database, user_email: str, version: str, max_length: int, summary: str) -> None:
    """Keep a summary, unless another process has kept one, or the account was closed."""
    values = {"user_email": user_email, "version": version, "max_length": max_length, "summary": summary}
    same = (_c.user_email == user_email) & (_c.version == version) & (_c.max_length == max_length)

    def job(connection: Connection) -> None:
        is_wanted = is_open(user_email) & ~exists().where(same)
        if connection.execute(select(is_wanted)).scalar():
            connection.execute(insert(document_summaries).values(values))

    database.write(job, urgency=Urgency.INDEX)


def purge_summaries(*, database: Database) -> int:
    """Delete the summaries of texts that no document has any more; how many texts."""
    current = select(documents.c.user_email, documents.c.version)
    with database.reading() as connection:
        unused = connection.execute(select(_c.user_email, _c.version).where(_KEY.not_in(current)).distinct()).all()
    for start in range(0, len(unused), _AT_ONCE):
        some = [tuple(row) for row in unused[start : start + _AT_ONCE]]
        database.write(partial(_delete, keys=some), urgency=Urgency.INDEX)
    return len(unused)


def _delete(connection: Connection, *, keys: list[tuple[str, ...]]) -> None:
    connection.execute(delete(document_summaries).where(_KEY.in_(keys)))
