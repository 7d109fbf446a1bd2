"""Vectors of claims, tags and notes: made in the background in batches, one for each and model, as 16-bit floats.

A row of `claim_embeddings` stands for the text that its claim has now: a trigger deletes it when the text changes. Its
`embedding_seq` grows and is never used twice, so it names one vector for ever.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Table, bindparam, delete, func, literal_column, select
from sqlalchemy.dialects.postgresql import insert

from language_models.ports import EmbeddingModel
from search.embedding import Embedder

from ..crud.base import HOLDING, one_of
from ..database import PKBDatabase, Prepared
from ..schema.operators import in_order
from ..schema.tables import claim_embeddings, claims, note_embeddings, notes, tag_embeddings, tags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST_TEXT = 8_000
# They are long: each takes as much as ten claims.
_MOST_NOTES = 8
_DELETED_AT_ONCE = 500


class EmbeddingIndexer:
    """Gives claims their vectors of one model."""

    def __init__(self, db: PKBDatabase, model: EmbeddingModel) -> None:
        self.db = db
        self.model = model
        self._embedder = Embedder(model)
        self._served_last = ""

    def index_pending(self, user_email: str | None = None, batch: int = 64, budget_seconds: float | None = None) -> int:
        """Embed tags, notes and claims that have no vector yet, the newest claims first; how many of all it were.

        Tags, notes and each person's claims take turns. A text that the model refuses is passed over until it changes;
        this indexer does not try it again. user_email: whose; None: everybody's. budget_seconds: begin no further batch
        after so long. Other processes may do the same meanwhile. Raises the errors of `language_models.errors` where
        the model can embed nothing at all; what was embedded before stays.
        """
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        sources = self._sources(user_email, batch)
        waiting = deque(sources)
        if self._served_last in sources:
            waiting.rotate(-1 - list(sources).index(self._served_last))
        indexed = 0
        while waiting:
            name = self._served_last = waiting.popleft()
            count = next(sources[name], None)
            if count is None:
                continue
            waiting.append(name)
            indexed += count
            if indexed and deadline is not None and time.monotonic() >= deadline:
                break
        return indexed

    def _sources(self, user_email: str | None, batch: int) -> dict[str, Iterator[int]]:
        """What may have something to embed, by name: each embeds a batch and yields how many texts it were."""
        owners = [user_email] if user_email is not None else self._people_with_pending_claims()
        return {
            "tags": self._tags(user_email, batch),
            "notes": self._notes(user_email, min(batch, _MOST_NOTES)),
            **{owner: self._claims(owner, batch) for owner in owners},
        }

    def _people_with_pending_claims(self) -> list[str]:
        embedded = {row[0]: row[1] for row in self.db.rows(_EMBEDDED_BY_USER, model=self.model.name)}
        return [email for email, count in self.db.rows(_CLAIMS_BY_USER) if count > embedded.get(email, 0)]

    def delete_former(self) -> int:
        """Delete the vectors of other models, in short transactions; how many.

        For when this one has none left to make: those of a former model are of no use any more.
        """
        return sum(deleted for source in (_CLAIMS, _TAGS, _NOTES) for deleted in self._former(source))

    def _former(self, source: _Source) -> Iterator[int]:
        while rows := self.db.run(source.delete_former, model=self.model.name):
            yield len(rows)

    def pending_count(self, user_email: str | None = None) -> int:
        """How many claims have no vector yet: the user's, or everybody's for None."""
        row = self.db.row(_counting(claims, user_email is None), user=user_email)
        return int(row[0] if row else 0) - self.embedded_count(user_email)

    def embedded_count(self, user_email: str | None = None) -> int:
        """How many claims have a vector: the user's, or everybody's for None."""
        statement = _counting(claim_embeddings, user_email is None)
        row = self.db.row(statement, user=user_email, model=self.model.name)
        return int(row[0]) if row else 0

    def _claims(self, user_email: str, batch: int) -> Iterator[int]:
        pending, before = self.pending_count(user_email), 2**62
        given = {"user": user_email, "model": self.model.name}
        while pending > 0 and (
            rows := self.db.rows(_CLAIMS.pending(False), after=before, limit=min(batch, pending), **given)
        ):
            pending -= len(rows)
            before = rows[-1][0]
            texts = [embedded_text(statement, questions) for _, statement, questions in rows]
            yield self._index(rows, texts, _CLAIMS)

    def _tags(self, user_email: str | None, batch: int) -> Iterator[int]:
        after = ""
        given = {"user": user_email, "model": self.model.name, "limit": batch}
        while rows := self.db.rows(_TAGS.pending(user_email is None), after=after, **given):
            after = rows[-1][0]
            yield self._index(rows, [name for _, name in rows], _TAGS)

    def _notes(self, user_email: str | None, batch: int) -> Iterator[int]:
        after = -1
        given = {"user": user_email, "model": self.model.name, "limit": batch}
        while rows := self.db.rows(_NOTES.pending(user_email is None), after=after, **given):
            after = rows[-1][0]
            texts = ["\n".join(filter(None, [title, body]))[:_LONGEST_TEXT] for _, title, body in rows]
            yield self._index(rows, texts, _NOTES)

    def _index(self, rows: Sequence[Sequence[Any]], texts: Sequence[str], source: _Source) -> int:
        """Embed the texts of `rows` and store the vectors; how many."""
        embedded = zip(rows, self._embedder.embed(texts), strict=True)
        values = [
            {
                "model": self.model.name,
                "vector": vector.astype("<f2").tobytes(),
                **dict(zip(source.compared, row, strict=True)),
            }
            for row, vector in embedded
            if vector is not None
        ]
        if values:
            self.db.run_each(source.insert, values)
        return len(values)


def embedded_text(statement: str, possible_questions: str | None) -> str:
    """What is embedded of a claim: what it says, and the questions that it answers."""
    questions = json.loads(possible_questions or "[]")
    return "\n".join([statement, *questions])[:_LONGEST_TEXT]


def newest_vectors(
    db: PKBDatabase, user_email: str, model: str, *, limit: int
) -> list[tuple[str, NDArray[np.float32]]]:
    """(claim_id, vector) of the user's claims that hold, those embedded last by `model` first; all of one length."""
    import numpy as np

    rows = db.rows(_NEWEST_VECTORS, user=user_email, model=model, limit=limit)
    return [
        (claim_id, np.frombuffer(vector, dtype="<f2").astype(np.float32))
        for claim_id, vector in rows
        if len(vector) == len(rows[0][1])
    ]


class _Source:
    """What is embedded: the `columns` of a table, whose vectors are in `vectors`, one for each row and model.

    key: names a row in both tables. newest_first: whether rows with a greater key come first.
    """

    def __init__(self, table: Table, vectors: Table, key: str, *columns: str, newest_first: bool = False) -> None:
        self._table, self._vectors, self._key = table, vectors, key
        self._newest_first = newest_first
        self.compared = (key, *columns)
        # The text is compared, since it may have changed while the model was at work.
        unchanged = (self._same(table.c[name], bindparam(name)) for name in self.compared)
        owner = [table.c.user_email] if "user_email" in vectors.c else []
        stored = select(table.c[key], *owner, bindparam("model"), bindparam("vector", type_=vectors.c.vector.type))
        names = [key, *(column.name for column in owner), "model", "vector"]
        self.insert = Prepared(insert(vectors).from_select(names, stored.where(*unchanged)).on_conflict_do_nothing())

        other = vectors.c.model != bindparam("model")
        some = select(vectors.c[key]).where(other).limit(literal_column(str(_DELETED_AT_ONCE)))
        self.delete_former = Prepared(delete(vectors).where(other, vectors.c[key].in_(some)).returning(vectors.c[key]))

    @cache  # noqa: B019 - there are three of them, for ever
    def pending(self, of_everybody: bool) -> Prepared:
        """The next `:limit` rows behind the key `:after` that have no vector of `:model`."""
        key, owner = self._table.c[self._key], self._table.c.user_email
        embedded = (self._vectors.c[self._key] == key) & (self._vectors.c.model == bindparam("model"))
        has_vector = select(literal_column("1")).where(embedded).exists()
        later = key < bindparam("after") if self._newest_first else key > bindparam("after")
        query = select(*(self._table.c[name] for name in self.compared)).where(later, ~has_vector)
        if not of_everybody:
            query = query.where(owner == bindparam("user"))
        return Prepared(query.order_by(key.desc() if self._newest_first else key).limit(bindparam("limit")))

    @staticmethod
    def _same(column: ColumnElement[Any], value: ColumnElement[Any]) -> ColumnElement[bool]:
        return column.is_not_distinct_from(value)


_CLAIMS = _Source(claims, claim_embeddings, "claim_rowid", "statement", "possible_questions", newest_first=True)
_TAGS = _Source(tags, tag_embeddings, "tag_id", "name")
_NOTES = _Source(notes, note_embeddings, "note_rowid", "title", "body")
_NEWEST_VECTORS = Prepared(
    select(claims.c.claim_id, claim_embeddings.c.vector)
    .select_from(in_order(claim_embeddings, claims, claims.c.claim_rowid == claim_embeddings.c.claim_rowid))
    .where(
        claim_embeddings.c.user_email == bindparam("user"),
        claim_embeddings.c.model == bindparam("model"),
        one_of(claims.c.status, HOLDING),
    )
    .order_by(claim_embeddings.c.embedding_seq.desc())
    .limit(bindparam("limit"))
)
_CLAIMS_BY_USER = Prepared(select(claims.c.user_email, func.count()).group_by(claims.c.user_email))
_EMBEDDED_BY_USER = Prepared(
    select(claim_embeddings.c.user_email, func.count())
    .where(claim_embeddings.c.model == bindparam("model"))
    .group_by(claim_embeddings.c.user_email)
)


@cache
def _counting(table: Table, of_everybody: bool) -> Prepared:
    """How many rows of claims, or of vectors of `:model`, there are: `:user`'s, or everybody's."""
    query = select(func.count()).select_from(table)
    if not of_everybody:
        query = query.where(table.c.user_email == bindparam("user"))
    return Prepared(query.where(table.c.model == bindparam("model")) if "model" in table.c else query)
