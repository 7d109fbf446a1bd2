"""Finding claims by what they mean and by what they are filed under.

"Which chore do I hate?" has no word of "Ironing shirts is what I put off", and little of its meaning, but is near to
its tag "laundry".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..crud.base import MOST_AT_ONCE, marks
from .base import SearchResult
from .embedding_search import EmbeddingSearchStrategy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CONSIDERED = 200
_TAG_WEIGHT = 0.5


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
        for start in range(0, len(claim_ids), MOST_AT_ONCE):
            some = claim_ids[start : start + MOST_AT_ONCE]
            sql = (
                "SELECT claim_tags.claim_id, tag_embeddings.vector FROM claim_tags "
                "JOIN tag_embeddings ON tag_embeddings.tag_id = claim_tags.tag_id AND tag_embeddings.model = ? "
                f"WHERE claim_tags.claim_id IN ({marks(some)})"
            )
            rows = self.db.select(sql, [self.model.name, *some])
            if rows:
                vectors = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2").reshape(len(rows), -1)
                for (claim_id, _), similarity in zip(
                    rows, (vectors.astype(np.float32) @ embedded).tolist(), strict=True
                ):
                    nearest[claim_id] = max(similarity, nearest.get(claim_id, -1.0))
        return nearest
