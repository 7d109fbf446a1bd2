"""Finding claims by words and by meaning at once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future

from language_models.circuit_breaker import begin, finish
from language_models.ports import EmbeddingModel
from sentences import say

from ..config import PKBConfig
from ..crud.filters import SearchFilters
from ..database import PKBDatabase
from .base import Found, SearchResult, SearchStrategy, apply_recency_confidence_rerank, merge_results_rrf, rerank_reach
from .embedding_search import EmbeddingSearchStrategy, FiledSearchStrategy
from .fts_search import FTSSearchStrategy

log = logging.getLogger(__name__)
_FEWEST_MERGED = 50
# What lies farther away has little to do with the query; all that full text finds shall have its place.
_MOST_BY_MEANING = 200
# A claim with few of the words is found by chance as often as not: behind all that search by meaning finds.
_STRONG_COVERAGE = 0.5
_WEAK_WEIGHT = 0.01


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
        self._by_meaning_and_tags = FiledSearchStrategy(db, user_email, model=model)

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims. `metadata["ranks"]` and `["scores"]` of each say how which search found it.

        What full text finds counts where it holds at least half of what the query says, rare words saying more. Search
        by meaning gives the nearest 200 at most.
        """
        wanted = max(_FEWEST_MERGED, k)
        by_words, by_meaning = self._both(query, wanted, filters, read=rerank_reach(k, self.config))
        merged = _merged(by_words.results, by_meaning.results, wanted)
        results = apply_recency_confidence_rerank(merged, self.config)[:k]
        return Found(results=results, warnings=[*by_words.warnings, *by_meaning.warnings])

    def _both(self, query: str, k: int, filters: SearchFilters | None, *, read: int | None) -> tuple[Found, Found]:
        """read: how many of the first that words find are wanted, where words alone are searched."""
        nearest = min(k, _MOST_BY_MEANING)
        if not self.config.embedding_enabled:
            return self.by_words.find_first(query, k, filters, read=read), Found()
        if not self.config.fts_enabled:
            return Found(), self._by_meaning_and_tags.find(query, nearest, filters)
        # A knowledge base in memory has one connection, which the caller may be holding.
        model = self.by_meaning.model
        if model is None:
            by_words = self.by_words.find_first(query, k, filters, read=read)
            return by_words, self._by_meaning_and_tags.find(query, nearest, filters)
        if self.db.config.in_memory:
            return self.by_words.find(query, k, filters), self._by_meaning_and_tags.find(query, nearest, filters)
        by_meaning = begin(model, self._by_meaning_and_tags.find, query, nearest, filters)
        return self.by_words.find(query, k, filters), self._finished(model, by_meaning)

    def _finished(self, model: EmbeddingModel, by_meaning: Future[Found]) -> Found:
        """What search by meaning found; where it takes too long or fails, full text has to do."""
        try:
            return finish(model, by_meaning, within=self.config.embedding_timeout)
        except TimeoutError:
            return Found(warnings=[say("meaning_late")])
        except Exception:
            log.exception("search by meaning failed")
            return Found(warnings=[say("meaning_failed")])


class MeaningElseWords(SearchStrategy):
    """By meaning alone; where that can't take part, by words, and a warning says so."""

    name = "embedding"

    def __init__(self, both: HybridSearchStrategy) -> None:
        self._both = both

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims, best first."""
        by_meaning = self._both.by_meaning.find(query, k, filters)
        if by_meaning.results or not by_meaning.warnings:
            return by_meaning
        by_words = self._both.by_words.find(query, k, filters)
        return Found(results=by_words.results, warnings=[*by_meaning.warnings, *by_words.warnings])


def _merged(by_words: Sequence[SearchResult], by_meaning: Sequence[SearchResult], k: int) -> list[SearchResult]:
    if not by_meaning:
        return merge_results_rrf([by_words], k)
    strong = [result for result in by_words if result.metadata["coverage"] >= _STRONG_COVERAGE]
    weak = [result for result in by_words if result.metadata["coverage"] < _STRONG_COVERAGE]
    return merge_results_rrf([strong, by_meaning, weak], k, [1.0, 1.0, _WEAK_WEIGHT])
