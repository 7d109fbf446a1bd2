"""Finding claims by what they mean and by what they are filed under."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, literal_column, select

from language_models.errors import ModelError
from language_models.ports import EmbeddingModel
from search.embedding import query_vector
from search.relevance import unrelated_for
from sentences import because, say

from ..crud.filters import Conditions, SearchFilters, in_sql
from ..database import PKBDatabase, Prepared
from ..models import CLAIM_COLUMNS, Claim
from ..schema.operators import among, in_order, unindexed
from ..schema.tables import claim_embeddings, claim_tags, claims, tag_embeddings
from .base import Found, SearchResult, SearchStrategy
from .fts_search import found_claim
from .vector_cache import VectorCache, VectorSet, vectors_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_LONGEST_QUERY = 2_000
_FEWEST_TRIED = 100
_MOST_TRIED = 2_000
_TRIED_AT_ONCE = 500


class EmbeddingSearchStrategy(SearchStrategy):
    """The claims of one user whose vectors are nearest to the query's."""

    name = "embedding"

    def __init__(
        self,
        db: PKBDatabase,
        user_email: str | None = None,
        *,
        model: EmbeddingModel | None,
        vectors: VectorCache | None = None,
    ) -> None:
        """`vectors`: the cache to use instead of the one that all searches of `db` share."""
        self.db = db
        self.user_email = user_email or ""
        self.model = model
        self._cache = vectors or vectors_of(db)

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims, nearest first; `score` is the cosine similarity.

        `metadata["z_score"]` says how far that lies above an unrelated text's (see `relevance`). Claims without a
        vector are not found. Without a model, or where it fails, nothing is, and a warning says why.
        """
        if not query.strip():
            return Found()
        if self.model is None:
            return Found(warnings=[say("meaning_without_model")])
        try:
            embedded = query_vector(self.model, query[:_LONGEST_QUERY])
            unrelated = unrelated_for(self.model)
        except ModelError as error:
            log.info("search by meaning was left out: %s", error)
            return Found(warnings=[because("meaning_left_out", error.message)])
        vectors = VectorSet(db=self.db, user_email=self.user_email, model=self.model.name, dimensions=len(embedded))
        seqs, similarities = self._cache.similarities(vectors, embedded)
        if not len(seqs):
            return Found(warnings=[say("meaning_not_prepared")] if self._has_claims() else [])
        best = _best_of(seqs, similarities, _Allowed(vectors, filters or SearchFilters()), self._considered(k))
        claims = _claims(vectors, [seq for seq, _ in best])
        found = [(claims[seq], similarity) for seq, similarity in best if seq in claims]
        expected, spread = unrelated.expected(embedded), unrelated.spread
        results = [
            found_claim(claim, score=score, source=self.name, z_score=(score - expected) / spread)
            for claim, score in found
        ]
        return Found(results=self._ranked(results, embedded)[:k])

    def _considered(self, k: int) -> int:
        """How many of the nearest are looked at for `k` results."""
        return k

    def _ranked(self, results: list[SearchResult], embedded: NDArray[np.float32]) -> list[SearchResult]:
        """The nearest in the order in which they are given; `embedded` is the query's vector."""
        del embedded
        return results

    def _has_claims(self) -> bool:
        return self.db.row(_ANY, user=self.user_email) is not None


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Which vectors stand for a claim's text as it is now, and for a claim that the filters let through."""

    vectors: VectorSet
    filters: SearchFilters

    def among(self, seqs: Sequence[int]) -> set[int]:
        return self._select(_allowed_among, seqs=seqs)

    def everywhere(self) -> set[int]:
        return self._select(_allowed_everywhere)

    def _select(self, statement: Callable[[Conditions], Prepared], **given: Any) -> set[int]:
        conditions, values = self.filters.conditions()
        of_user = {"user": self.vectors.user_email, "model": self.vectors.model}
        rows = self.vectors.db.rows(statement(conditions), **of_user, **values, **given)
        return {seq for (seq,) in rows}


def _best_of(
    seqs: NDArray[np.int64], similarities: NDArray[np.float32], allowed: _Allowed, k: int
) -> list[tuple[int, float]]:
    """The `k` nearest of those that are allowed. The nearest are looked up first; seldom it has to be all of them."""
    nearest = _nearest(seqs, similarities, max(_MOST_TRIED, k))
    best: list[tuple[int, float]] = []
    start, count = 0, min(max(_FEWEST_TRIED, 2 * k), _TRIED_AT_ONCE)
    while start < len(nearest) and len(best) < k:
        tried = nearest[start : start + count]
        passing = allowed.among([seq for seq, _ in tried])
        best += [one for one in tried if one[0] in passing]
        start, count = start + count, _TRIED_AT_ONCE
    if len(best) < k and len(nearest) < len(seqs):
        best = _nearest(*_only(seqs, similarities, allowed.everywhere()), k)
    return best[:k]


def _nearest(seqs: NDArray[np.int64], similarities: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    """The `count` nearest, nearest first."""
    import numpy as np

    if count < len(seqs):
        some = np.argpartition(similarities, -count)[-count:]
        seqs, similarities = seqs[some], similarities[some]
    order = np.argsort(-similarities, kind="stable")
    return list(zip(seqs[order].tolist(), similarities[order].tolist(), strict=True))


def _only(
    seqs: NDArray[np.int64], similarities: NDArray[np.float32], passing: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    import numpy as np

    among = np.isin(seqs, np.fromiter(passing, dtype=np.int64, count=len(passing)))
    return seqs[among], similarities[among]


def _claims(vectors: VectorSet, seqs: Sequence[int]) -> dict[int, Claim]:
    rows = vectors.db.rows(_CLAIMS, user=vectors.user_email, seqs=seqs)
    return {row[0]: Claim(*row[1:]) for row in rows}


# The vectors that are named leave fewer rows than all claims of the user.
_FROM_VECTORS = in_order(claim_embeddings, claims, claims.c.claim_rowid == claim_embeddings.c.claim_rowid)
_NAMED = (among(claim_embeddings.c.embedding_seq, "seqs"), unindexed(claims.c.user_email) == bindparam("user"))
_CLAIMS = Prepared(
    select(claim_embeddings.c.embedding_seq, *(claims.c[name] for name in CLAIM_COLUMNS))
    .select_from(_FROM_VECTORS)
    .where(*_NAMED)
)
_ANY = Prepared(select(literal_column("1")).where(claims.c.user_email == bindparam("user")).limit(1))


@cache
def _allowed_among(conditions: Conditions) -> Prepared:
    of_model = claim_embeddings.c.model == bindparam("model")
    query = select(claim_embeddings.c.embedding_seq).select_from(_FROM_VECTORS)
    return Prepared(query.where(*_NAMED, of_model, *in_sql(conditions)))


@cache
def _allowed_everywhere(conditions: Conditions) -> Prepared:
    joined = claims.join(claim_embeddings, claim_embeddings.c.claim_rowid == claims.c.claim_rowid)
    of_user = (claims.c.user_email == bindparam("user"), claim_embeddings.c.model == bindparam("model"))
    query = select(claim_embeddings.c.embedding_seq).select_from(joined)
    return Prepared(query.where(*of_user, *in_sql(conditions)))


_CONSIDERED = 200
_TAG_WEIGHT = 0.5
# The claims are the user's already, and a claim's tags are its owner's: joining either again costs as much as the rest.
_TAG_VECTORS = Prepared(
    select(claim_tags.c.claim_id, tag_embeddings.c.vector)
    .select_from(in_order(claim_tags, tag_embeddings, tag_embeddings.c.tag_id == claim_tags.c.tag_id))
    .where(among(claim_tags.c.claim_id, "claim_ids"), tag_embeddings.c.model == bindparam("model"))
)


class FiledSearchStrategy(EmbeddingSearchStrategy):
    """The nearest claims, those first whose tags are near to the query as well.

    `score` is the cosine similarity of the claim, by which alone searches can be compared; the order is by it and half
    of the similarity of the nearest tag. `metadata["filed"]` has the latter.
    """

    def _considered(self, k: int) -> int:
        return max(_CONSIDERED, k)

    def _ranked(self, results: list[SearchResult], embedded: NDArray[np.float32]) -> list[SearchResult]:
        filed = self._nearest_tags([result.claim.claim_id for result in results], embedded)
        ranked = sorted(
            results, key=lambda result: -result.score - _TAG_WEIGHT * max(0.0, filed.get(result.claim.claim_id, 0.0))
        )
        return [
            replace(result, metadata=result.metadata | {"filed": filed[result.claim.claim_id]})
            if result.claim.claim_id in filed
            else result
            for result in ranked
        ]

    def _nearest_tags(self, claim_ids: Sequence[str], embedded: NDArray[np.float32]) -> dict[str, float]:
        """For each claim that has tags with vectors, the cosine similarity of the nearest of them."""
        import numpy as np

        assert self.model is not None
        nearest: dict[str, float] = {}
        rows = self.db.rows(_TAG_VECTORS, model=self.model.name, claim_ids=claim_ids)
        if not rows:
            return nearest
        vectors = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2").reshape(len(rows), -1)
        similarities = (vectors.astype(np.float32) @ embedded).tolist()
        for (claim_id, _), similarity in zip(rows, similarities, strict=True):
            nearest[claim_id] = max(similarity, nearest.get(claim_id, -1.0))
        return nearest
