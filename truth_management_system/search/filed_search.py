"""Finding claims by what they mean and by what they are filed under.

"Which chore do I hate?" has no word of "Ironing shirts is what I put off", and little of its meaning, but is near to
its tag "laundry".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from ..crud.base import json_list
from ..database import Prepared
from ..schema.operators import among, in_order, unindexed
from ..schema.tables import claim_tags, claims, tag_embeddings
from .base import SearchResult
from .embedding_search import EmbeddingSearchStrategy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CONSIDERED = 200
_TAG_WEIGHT = 0.5
_TAGGED = in_order(claims, claim_tags, claim_tags.c.claim_id == claims.c.claim_id)
_TAG_VECTORS = Prepared(
    select(claim_tags.c.claim_id, tag_embeddings.c.vector)
    .select_from(in_order(_TAGGED, tag_embeddings, tag_embeddings.c.tag_id == claim_tags.c.tag_id))
    .where(
        among(claims.c.claim_id, "claim_ids"),
        unindexed(claims.c.user_email) == bindparam("user"),
        tag_embeddings.c.model == bindparam("model"),
    )
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
        given = {"user": self.user_email, "model": self.model.name, "claim_ids": json_list(claim_ids)}
        rows = self.db.rows(_TAG_VECTORS, **given)
        if not rows:
            return nearest
        vectors = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2").reshape(len(rows), -1)
        similarities = (vectors.astype(np.float32) @ embedded).tolist()
        for (claim_id, _), similarity in zip(rows, similarities, strict=True):
            nearest[claim_id] = max(similarity, nearest.get(claim_id, -1.0))
        return nearest
