"""How much there is, suggestions for what is about to be added, and the person's own types and domains."""

from __future__ import annotations

from typing import Any

from ..crud.base import required_text
from ..crud.claim_fields import LONGEST_STATEMENT
from ..crud.filters import SearchFilters
from ..search.similar import find_similar
from ..search.vectors import EmbeddingIndexer
from ..utils import generate_friendly_id
from .parts import ApiParts, Outcome, outcome


class OverviewActions(ApiParts):
    """Counts, suggestions, catalogs."""

    @outcome("get", "statistics")
    def statistics(self) -> Outcome:
        """`.data`: how many claims, pinned ones, contexts, entities, tags, open conflicts, and vectors there are."""
        return Outcome(
            {
                "claims": self.claims.count(SearchFilters()),
                "pinned": self.claims.count(SearchFilters(pinned=True)),
                "contexts": self.contexts.count(),
                "entities": self.entities.count(),
                "tags": self.tags.count(),
                "open_conflicts": self.conflicts.count_open(),
                "vectors": self._vectors(),
            }
        )

    def _vectors(self) -> dict[str, Any]:
        model = self.llm.models.embedding
        if model is None:
            return {"embedded": 0, "pending": 0, "model": None, "state": "none"}
        indexer = EmbeddingIndexer(self.db, model)
        return {
            "embedded": indexer.embedded_count(self.owner),
            "pending": indexer.pending_count(self.owner),
            "model": model.name,
            "state": model.state().phase,
        }

    @outcome("analyze", "claim")
    def analyze_statement(self, statement: str, use_model: bool = True) -> Outcome:
        """Suggestions for a statement; without the model they are there at once.

        `.data`: claim_type, context_domain, tags, entities, possible_questions, friendly_id, similar, warnings, and
        `by`, which is "model" or "rules".
        """
        statement = required_text(statement, "statement", longest=LONGEST_STATEMENT)
        types = [category.name for category in self.type_catalog.list()]
        domains = [category.name for category in self.domain_catalog.list()]
        suggest = self.llm.analyze_statement if use_model else self.llm.by_rules
        analysis = suggest(statement, types=types, domains=domains)
        return Outcome(
            {
                "claim_type": analysis.claim_type,
                "context_domain": analysis.context_domain,
                "tags": list(analysis.tags),
                "entities": [dict(entity) for entity in analysis.entities],
                "possible_questions": list(analysis.possible_questions),
                "friendly_id": generate_friendly_id(statement),
                "similar": find_similar(statement, search=self.search_strategy, llm=self.llm),
                "warnings": self.llm.take_warnings(),
                "by": analysis.by,
            }
        )

    @outcome("add", "type")
    def add_type(self, name: str, label: str | None = None) -> Outcome:
        """Add a type of the user's own; `.data` is its catalog entry."""
        return Outcome(self.type_catalog.add(name, label))

    @outcome("add", "domain")
    def add_domain(self, name: str, label: str | None = None) -> Outcome:
        """Add a domain of the user's own; `.data` is its catalog entry."""
        return Outcome(self.domain_catalog.add(name, label))
