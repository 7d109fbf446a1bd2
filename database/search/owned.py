"""Full-text indexes over texts of one person alone: documents, and passages of files; cut as messages are (`index`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from . import postgresql
from .index import owner_token, terms_of

OwnedText = tuple[int, str]
"""The number of a text, and the text."""


@dataclass(frozen=True, slots=True)
class OwnedTexts:
    """One index. table: what it is called in the store."""

    table: Literal["document_terms", "passage_terms"]

    def put(self, connection: Connection, user_email: str, texts: Sequence[OwnedText]) -> None:
        """Add texts of the person to the index."""
        rows = _rows(user_email, texts)
        if connection.dialect.name == "postgresql":
            postgresql.put_owned(connection, self.table, rows)
        elif rows:
            connection.exec_driver_sql(f"INSERT INTO {self.table} (rowid, owner, body) VALUES (?, ?, ?)", rows)  # noqa: S608

    def remove(self, connection: Connection, user_email: str, texts: Sequence[OwnedText]) -> None:
        """Take texts, as they were put, out of the index."""
        if connection.dialect.name == "postgresql":
            postgresql.remove_owned(connection, self.table, [number for number, _ in texts])
        elif texts:
            sql = f"INSERT INTO {self.table} ({self.table}, rowid, owner, body) VALUES ('delete', ?, ?, ?)"  # noqa: S608
            connection.exec_driver_sql(sql, _rows(user_email, texts))

    def newest(self, connection: Connection, expression: str, *, most: int) -> Sequence[int]:
        """The numbers of the newest texts that fit `expression` (`index.expression_for`), at most `most`.

        Those of people with an equal prefix are among them: compare the owner where rows are read.
        """
        if connection.dialect.name == "postgresql":
            return postgresql.newest_owned(connection, self.table, expression, most=most)
        sql = f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
        return connection.exec_driver_sql(sql, (expression, most)).scalars().all()


DOCUMENTS = OwnedTexts("document_terms")
"""Titles and texts of documents, by the id of the document."""

PASSAGES = OwnedTexts("passage_terms")
"""Texts of passages of files, by the id of the passage."""


def _rows(user_email: str, texts: Sequence[OwnedText]) -> list[tuple[int, str, str]]:
    owner = owner_token(user_email)
    return [(number, owner, terms_of(user_email, text)) for number, text in texts]
