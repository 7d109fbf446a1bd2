"""Finding notes by their words and by what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, bindparam, func, select

from language_models.circuit_breaker import begin, finish
from language_models.errors import ModelError
from language_models.ports import EmbeddingModel
from search.embedding import query_vector
from search.relevance import unrelated_for

from ..crud.filters import Conditions
from ..database import PKBDatabase, Prepared
from ..models import NOTE_COLUMNS, Note
from ..schema.operators import among
from ..schema.tables import note_embeddings, notes
from .fulltext import Searched, SearchedTable, best_matches
from .relevance import NEAR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_IN_DOMAIN = notes.c.context_domain == bindparam("domain")


def _in_sql(conditions: Conditions) -> list[ColumnElement[Any]]:
    return [_IN_DOMAIN for _ in conditions]


NOTES = SearchedTable(
    table=notes,
    rowid="note_rowid",
    number="note_rowid",
    body="body",
    columns=((("title",), 1.0), (("body",), 0.6)),
    in_sql=_in_sql,
)
_VECTORS = Prepared(
    select(note_embeddings.c.note_rowid, note_embeddings.c.vector)
    .join(notes, notes.c.note_rowid == note_embeddings.c.note_rowid)
    .where(
        notes.c.user_email == bindparam("user"),
        note_embeddings.c.model == bindparam("model"),
        func.length(note_embeddings.c.vector) == bindparam("length"),
        func.coalesce(notes.c.context_domain, "") == func.coalesce(bindparam("domain"), notes.c.context_domain, ""),
    )
)
_BY_ROWID = Prepared(
    select(notes.c.note_rowid, *(notes.c[name] for name in NOTE_COLUMNS)).where(
        among(notes.c.note_rowid, "rowids"), notes.c.user_email == bindparam("user")
    )
)
_FEWEST_RANKED = 50
_FUSION = 60
_LONGEST_QUERY = 2_000
_TOO_SLOW = "the embedding model did not answer in time."


@dataclass(frozen=True, slots=True)
class FoundNotes:
    """(note, score) pairs, best first. warnings: which part of the search could not be done, and why."""

    pairs: Sequence[tuple[Note, float]]
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSearch:
    """The notes of one user. within: seconds to wait for the model."""

    db: PKBDatabase
    user_email: str
    model: EmbeddingModel | None = None
    within: float = 2.0

    def find(self, query: str, k: int = 20, *, context_domain: str | None = None) -> FoundNotes:
        """At most `k` notes with words of `query` or near to it, put together by rank.

        Without a model by words alone, those with all words first; where it fails a warning says so.
        """
        wanted = max(_FEWEST_RANKED, k)
        by_words = {match.rowid: match.score for match in best_matches(self._searched(context_domain), query, wanted)}
        try:
            by_meaning = self._near(query, context_domain, wanted)
        except (ModelError, TimeoutError) as error:
            why = error.message if isinstance(error, ModelError) else _TOO_SLOW
            return FoundNotes(self._notes(by_words, k), [f"Search by meaning took no part: {why}"])
        return FoundNotes(self._notes(_fused([list(by_words), by_meaning]) if by_meaning else by_words, k))

    def _searched(self, context_domain: str | None) -> Searched:
        return Searched(
            db=self.db,
            table=NOTES,
            user_email=self.user_email,
            conditions=(("domain",),) if context_domain else (),
            values={"domain": context_domain} if context_domain else {},
        )

    def _near(self, query: str, context_domain: str | None, count: int) -> list[int]:
        """The notes whose vectors are nearest to the query's, nearest first, without those that are far away."""
        if self.model is None or not query.strip():
            return []
        embedded, farthest = finish(
            self.model, begin(self.model, _embedded, self.model, query[:_LONGEST_QUERY]), within=self.within
        )
        of_user = {"user": self.user_email, "model": self.model.name, "domain": context_domain}
        rows = self.db.rows(_VECTORS, length=2 * len(embedded), **of_user)
        vectors = b"".join(vector for _, vector in rows)
        return _nearest([rowid for rowid, _ in rows], vectors, embedded, farthest=farthest)[:count]

    def _notes(self, scores: Mapping[int, float], k: int) -> list[tuple[Note, float]]:
        best = list(scores)[:k]
        rows = self.db.rows(_BY_ROWID, user=self.user_email, rowids=best) if best else ()
        found = {row[0]: Note(*row[1:]) for row in rows}
        return [(found[rowid], scores[rowid]) for rowid in best if rowid in found]


def _embedded(model: EmbeddingModel, query: str) -> tuple[NDArray[np.float32], float]:
    """The vector of `query`, and the least similarity to it of a text that has to do with it."""
    embedded = query_vector(model, query)
    unrelated = unrelated_for(model)
    return embedded, unrelated.expected(embedded) + NEAR * unrelated.spread


def _nearest(rowids: Sequence[int], vectors: bytes, embedded: NDArray[np.float32], *, farthest: float) -> list[int]:
    import numpy as np

    if not rowids:
        return []
    matrix = np.frombuffer(vectors, dtype="<f2").reshape(len(rowids), len(embedded)).astype(np.float32)
    similarities = (matrix @ embedded).tolist()
    near = sorted(zip(similarities, rowids, strict=True), reverse=True)
    return [rowid for similarity, rowid in near if similarity >= farthest]


def _fused(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Reciprocal-rank fusion, best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, rowid in enumerate(ranking):
            scores[rowid] = scores.get(rowid, 0.0) + 1 / (_FUSION + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
