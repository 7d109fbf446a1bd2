"""Full-text indexes over texts of one person alone: documents, and passages of files; cut as messages are (`index`).

Whoever stores such a text puts it into its index. An index that is filled anew has a row in `search_state` until that
is done, with the number that it has come to, so that whoever comes next goes on there.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    column,
    delete,
    exists,
    insert,
    select,
    update,
)
from sqlalchemy import table as table_named

from database.engine.database import Database, Urgency
from database.schema import documents, file_passages, search_state

from . import postgresql
from .index import owner_token, terms_of

OwnedText = tuple[int, str]
"""The number of a text, and the text."""

_SLICE_SECONDS, _MOST_AT_ONCE = 0.02, 20


@dataclass(frozen=True, slots=True)
class OwnedTexts:
    """One index, `table` in the store, over `columns` of the rows of `source`, which the index names by number."""

    table: Literal["document_terms", "passage_terms"]
    source: Table
    columns: tuple[str, ...]

    def put(self, connection: Connection, user_email: str, texts: Sequence[OwnedText]) -> None:
        """Add texts of the person to the index."""
        rows = _rows(user_email, texts)
        if connection.dialect.name == "postgresql":
            postgresql.put_owned(connection, self.table, rows)
        elif rows:
            sql = f"INSERT INTO {self.table} (rowid, owner, body) VALUES (?, ?, ?)"  # noqa: S608
            connection.exec_driver_sql(sql, rows)

    def remove(self, connection: Connection, user_email: str, texts: Sequence[OwnedText]) -> None:
        """Take texts, as they were put, out of the index; those that it does not hold yet are passed over."""
        if connection.dialect.name == "postgresql":
            postgresql.remove_owned(connection, self.table, [number for number, _ in texts])
        elif held := self._held(connection, [number for number, _ in texts]):
            sql = f"INSERT INTO {self.table} ({self.table}, rowid, owner, body) VALUES ('delete', ?, ?, ?)"  # noqa: S608
            connection.exec_driver_sql(sql, _rows(user_email, [text for text in texts if text[0] in held]))

    def newest(self, connection: Connection, expression: str, *, most: int) -> Sequence[int]:
        """The numbers of the newest texts that fit `expression` (`index.expression_for`), at most `most`.

        Those of people with an equal prefix are among them: compare the owner where rows are read.
        """
        if connection.dialect.name == "postgresql":
            return postgresql.newest_owned(connection, self.table, expression, most=most)
        sql = f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
        return connection.exec_driver_sql(sql, (expression, most)).scalars().all()

    def stored(self, condition: ColumnElement[bool]) -> Select[Any]:
        """`number`, `user_email` and `text` of the texts that fit a condition of `source`, in order."""
        first, *others = (self.source.c[name] for name in self.columns)
        text: ColumnElement[Any] = first
        for other in others:
            text = text.concat("\n").concat(other)
        columns = self.number.label("number"), self.source.c.user_email, text.label("text")
        return select(*columns).where(condition).order_by(self.number)

    @property
    def number(self) -> ColumnElement[int]:
        """The column of `source` by which the index names its texts."""
        (number,) = self.source.primary_key.columns
        return number

    def empty(self, connection: Connection) -> None:
        """Empty the index, damaged or not; `fill_pending` fills it again."""
        if connection.dialect.name == "postgresql":
            postgresql.empty_owned(connection, self.table)
        else:
            # FTS5 opens no index whose list of segments (row 10) is damaged: it gets an empty one first.
            connection.exec_driver_sql(
                f"INSERT OR REPLACE INTO {self.table}_data (id, block) VALUES (10, zeroblob(7))"  # noqa: S608
            )
            connection.exec_driver_sql(f"INSERT INTO {self.table} ({self.table}) VALUES ('delete-all')")  # noqa: S608
        connection.execute(delete(search_state).where(search_state.c.name == self.table))
        connection.execute(insert(search_state).values(name=self.table, indexed_seq=0))

    def fill_slice(self, connection: Connection) -> int | None:
        """Add some of the texts that the index lacks; how many, None where it lacks none."""
        deadline = time.perf_counter() + _SLICE_SECONDS
        mark = connection.execute(_MARK, {"name": self.table}).scalar()
        if mark is None:
            return None
        known = self._index_number(connection)
        # Bounded on both sides: else PostgreSQL reads all of the index for each slice.
        lacks = ~exists().where(known == self.number, known > mark)
        lacking = connection.execute(self.stored((self.number > mark) & lacks).limit(_MOST_AT_ONCE)).all()
        if not lacking:
            connection.execute(delete(search_state).where(search_state.c.name == self.table))
            return None
        added = 0
        while added < len(lacking) and (not added or time.perf_counter() < deadline):
            self.put(connection, lacking[added].user_email, [(lacking[added].number, lacking[added].text)])
            added += 1
        reached = lacking[added - 1].number
        connection.execute(update(search_state).where(search_state.c.name == self.table).values(indexed_seq=reached))
        return added

    def _held(self, connection: Connection, numbers: Collection[int]) -> set[int]:
        known = self._index_number(connection)
        return set(connection.execute(select(known).where(known.in_(numbers))).scalars()) if numbers else set()

    def _index_number(self, connection: Connection) -> ColumnElement[int]:
        """The column that has the numbers of the texts that the index holds."""
        if connection.dialect.name == "postgresql":
            return table_named(self.table, column("seq")).c.seq
        return table_named(f"{self.table}_docsize", column("id")).c.id


_MARK = select(search_state.c.indexed_seq).where(search_state.c.name == bindparam("name"))

DOCUMENTS = OwnedTexts("document_terms", documents, ("title", "text"))
"""Titles and texts of documents, by the id of the document."""

PASSAGES = OwnedTexts("passage_terms", file_passages, ("text",))
"""Texts of passages of files, by the id of the passage."""

INDEXES = DOCUMENTS, PASSAGES
_PENDING = select(search_state.c.name).where(search_state.c.name.in_([texts.table for texts in INDEXES]))


def refill(*, database: Database) -> Iterator[int]:
    """Fill both indexes anew, or go on where that was stopped; yields for each slice how many texts it added."""
    with database.reading() as connection:
        pending = set(connection.execute(_PENDING).scalars())
    for texts in INDEXES:
        if texts.table not in pending:
            database.write(texts.empty, urgency=Urgency.INDEX)
    yield from fill_pending(database=database)


def refill_all(*, database: Database) -> Iterator[int]:
    """The same from the beginning, wherever it was."""
    for texts in INDEXES:
        database.write(texts.empty, urgency=Urgency.INDEX)
    yield from fill_pending(database=database)


def fill_pending(*, database: Database) -> Iterator[int]:
    """Go on filling the indexes that are filled anew, in slices that hold the writer for about 20 ms."""
    with database.reading() as connection:
        pending = set(connection.execute(_PENDING).scalars())
    for texts in INDEXES:
        while texts.table in pending and (added := database.write(texts.fill_slice, urgency=Urgency.INDEX)):
            yield added


def _rows(user_email: str, texts: Sequence[OwnedText]) -> list[tuple[int, str, str]]:
    owner = owner_token(user_email)
    return [(number, owner, terms_of(user_email, text)) for number, text in texts]
