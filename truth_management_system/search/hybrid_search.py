"""Finding claims by words and by meaning at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

from language_models.ports import EmbeddingModel

from ..config import PKBConfig
from ..database import PKBDatabase
from .base import Found, SearchFilters, SearchStrategy, apply_recency_confidence_rerank, merge_results_rrf
from .embedding_search import EmbeddingSearchStrategy
from .fts_search import FTSSearchStrategy

_FEWEST_MERGED = 50
_THREADS = 4
_WEIGHTS = (1.0, 1.0)


class HybridSearchStrategy(SearchStrategy):
    """Full text and embedding side by side, put together by rank, then by age and confidence a little."""

    name = "hybrid"

    def __init__(
        self,
        db: PKBDatabase,
        user_email: str | None = None,
        *,
        config: PKBConfig | None = None,
        model: EmbeddingModel | None = None,
    ) -> None:
        """Without a `model`, full text alone is searched, and a warning says so."""
        self.db = db
        self.config = config or db.config
        self.by_words = FTSSearchStrategy(db, user_email)
        self.by_meaning = EmbeddingSearchStrategy(db, user_email, model=model)

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims. `metadata["ranks"]` of each says at which rank which search found it."""
        wanted = max(_FEWEST_MERGED, k)
        by_words, by_meaning = self._both(query, wanted, filters)
        merged = merge_results_rrf([by_words.results, by_meaning.results], wanted, _WEIGHTS)
        results = apply_recency_confidence_rerank(merged, self.config)[:k]
        return Found(results=results, warnings=[*by_words.warnings, *by_meaning.warnings])

    def _both(self, query: str, k: int, filters: SearchFilters | None) -> tuple[Found, Found]:
        if not self.config.embedding_enabled:
            return self.by_words.find(query, k, filters), Found()
        if not self.config.fts_enabled:
            return Found(), self.by_meaning.find(query, k, filters)
        # A knowledge base in memory has one connection, which the caller may be holding.
        if self.config.in_memory or self.by_meaning.model is None:
            return self.by_words.find(query, k, filters), self.by_meaning.find(query, k, filters)
        by_meaning = _pool().submit(self.by_meaning.find, query, k, filters)
        return self.by_words.find(query, k, filters), by_meaning.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="knowledge-search")
