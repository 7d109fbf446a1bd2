"""Summaries of documents that a model made, by the version of the text."""

from __future__ import annotations

from sqlalchemy import Connection, exists, insert, select

from database.engine.database import Database, Urgency
from database.schema import document_summaries, is_open

_c = document_summaries.c


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
