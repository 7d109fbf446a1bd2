"""All searches of one user, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..config import PKBConfig
from ..crud.filters import SearchFilters
from ..database import PKBDatabase
from ..errors import InvalidKnowledgeError
from .base import Found, SearchStrategy
from .hybrid_search import HybridSearchStrategy, MeaningElseWords
from .model_search import MapReduceSearchStrategy, RewriteSearchStrategy
from .notes_search import FoundNotes, NoteSearch

if TYPE_CHECKING:
    from ..analysis.model_questions import KnowledgeModels


class ClaimSearch:
    """Searches of one user. The models are asked for when a search needs them, so they may come and go."""

    def __init__(
        self,
        db: PKBDatabase,
        user_email: str | None = None,
        *,
        config: PKBConfig | None = None,
        models: KnowledgeModels | None = None,
    ) -> None:
        self.db = db
        self.user_email = user_email
        self.config = config or db.config
        self.models = models
        self._strategies: dict[str, Callable[[], SearchStrategy]] = {
            "hybrid": self._hybrid,
            "fts": lambda: self._hybrid().by_words,
            "embedding": lambda: MeaningElseWords(self._hybrid()),
            "rewrite": lambda: self._aided(RewriteSearchStrategy),
            "mapreduce": lambda: self._aided(MapReduceSearchStrategy),
        }

    def strategy(self, name: str) -> SearchStrategy:
        """The search of this name. Raises InvalidKnowledgeError for one that is none."""
        if name not in self._strategies:
            raise InvalidKnowledgeError(f"{name!r} is no search; use one of {', '.join(self._strategies)}.")
        return self._strategies[name]()

    def search(
        self, query: str, k: int | None = None, filters: SearchFilters | None = None, *, strategy: str = "hybrid"
    ) -> Found:
        """At most `k` claims, best first, and warnings that say what could not take part.

        Raises InvalidKnowledgeError for an unknown strategy.
        """
        return self.strategy(strategy).find(query, self.config.default_k if k is None else k, filters)

    def search_notes(self, query: str, *, k: int | None = None, context_domain: str | None = None) -> FoundNotes:
        """At most `k` notes, best first, by words and by meaning."""
        search = NoteSearch(
            db=self.db,
            user_email=self.user_email or "",
            model=self.models.embedding if self.models and self.config.embedding_enabled else None,
            within=self.config.embedding_timeout,
        )
        return search.find(query, self.config.default_k if k is None else k, context_domain=context_domain)

    def _hybrid(self) -> HybridSearchStrategy:
        model = self.models.embedding if self.models else None
        return HybridSearchStrategy(self.db, self.user_email, config=self.config, model=model)

    def _aided(self, strategy: type[RewriteSearchStrategy] | type[MapReduceSearchStrategy]) -> SearchStrategy:
        model = self.models.chat if self.models else None
        return strategy(self._hybrid(), model=model, timeout=self.config.llm_timeout)
