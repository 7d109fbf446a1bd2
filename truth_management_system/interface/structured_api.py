"""The one public door of the knowledge base for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from search.relevance import unrelated_for
from truth_management_system.models import ActionResult

from ..analysis.model_questions import KnowledgeModels
from ..crud.base import required_text
from ..crud.claim_fields import LONGEST_STATEMENT
from ..crud.filters import SearchFilters, search_filters
from ..database.audit_log import history, last_change, mark_delivered, undelivered, undo
from ..database.verification import reindex_knowledge, repair_knowledge, verify_knowledge
from ..errors import (
    AmbiguousReferenceError,
    ClaimNotFoundError,
    InvalidKnowledgeError,
    KnowledgeBusyError,
    KnowledgeError,
    KnowledgeNotFoundError,
    KnowledgeUnavailableError,
    ReferenceNotFoundError,
)
from ..portability.exporting import export_data, knowledge_tables
from ..portability.first_implementation import read_first_knowledge_base
from ..portability.importing import import_data, own_ids
from ..portability.markdown import export_markdown
from ..resolution.autocomplete import autocomplete, ids_around
from ..search.relevance import is_near, is_relevant
from ..search.similar import find_similar
from ..search.vectors import EmbeddingIndexer
from ..utils import generate_friendly_id
from .bulk_actions import BulkActions, TidyingActions
from .descriptions import Descriptions
from .erasure import (
    changes_before,
    changes_of,
    erase_claims,
    erase_user,
    forget_former_texts,
    merge_search_indexes,
    retracted_before,
)
from .group_actions import ConflictActions, ContextActions, LabelActions, NoteActions
from .parts import ApiParts, Outcome, outcome

__all__ = [
    "MOST_FOUND",
    "ActionResult",
    "ClaimNotFoundError",
    "EmbeddingIndexer",
    "InvalidKnowledgeError",
    "KnowledgeBusyError",
    "KnowledgeError",
    "KnowledgeModels",
    "KnowledgeNotFoundError",
    "KnowledgeUnavailableError",
    "StructuredAPI",
    "changes_before",
    "changes_of",
    "erase_claims",
    "erase_user",
    "forget_former_texts",
    "import_data",
    "is_near",
    "is_relevant",
    "knowledge_tables",
    "last_change",
    "mark_delivered",
    "merge_search_indexes",
    "read_first_knowledge_base",
    "reindex_knowledge",
    "repair_knowledge",
    "retracted_before",
    "undelivered",
    "unrelated_for",
    "verify_knowledge",
]

MOST_FOUND = 1_000
"""More claims than that no search ranks."""

_MOST_RESULTS = 200


class _Finding(ApiParts):
    """Search, references, completion."""

    @outcome("search", "claim")
    def search(
        self,
        query: str,
        strategy: str = "hybrid",
        k: int | None = None,
        filters: SearchFilters | Mapping[str, Any] | None = None,
        include_contested: bool | None = None,
    ) -> Outcome:
        """`.data`: SearchResults, best first, `k` at most and never more than 1,000.

        strategy: "hybrid", "fts", "embedding", "rewrite", "mapreduce". `.warnings` say which search could not take
        part.
        """
        wanted = search_filters(filters)
        if include_contested is None:
            include_contested = self.config.include_contested_by_default
        wanted.include_contested = wanted.include_contested and include_contested
        found = self.search_strategy.search(
            _text(query), strategy=_text(strategy), k=_count(k, self.config.default_k, most=MOST_FOUND), filters=wanted
        )
        return Outcome(found.results, warnings=found.warnings)

    @outcome("search", "note")
    def search_notes(self, query: str, k: int = 20, context_domain: str | None = None) -> Outcome:
        """`.data`: (Note, score) pairs, best first; `.warnings` say which search could not take part."""
        found = self.search_strategy.search_notes(_text(query), k=_count(k, k), context_domain=context_domain)
        return Outcome(list(found.pairs), warnings=found.warnings)

    def resolve_reference(self, reference_id: str, limit: int | None = None) -> ActionResult:
        """What a reference names: `.data` is `{type, claims, total_count, source_id, source_name, notes}`.

        limit: of a group, only so many claims, those that were changed last. A name that several things bear: type
        "ambiguous", with their `candidates`. Several groups joined by "&": see `Resolved`; `missing` in the `details`
        of an error are those that are not there.
        """
        resolved: ActionResult = self._resolve_reference(reference_id, limit)
        if resolved.metadata.get("error_code") == AmbiguousReferenceError.code:
            candidates = resolved.metadata["details"]["candidates"]
            named = {"type": "ambiguous", "source_id": None, "source_name": None}
            resolved.data = {**named, "claims": [], "total_count": 0, "notes": [], "candidates": candidates}
        return resolved

    @outcome("resolve", "reference")
    def _resolve_reference(self, reference_id: str, limit: int | None) -> Outcome:
        try:
            found = self.references.resolve(str(reference_id), limit=limit)
        except ReferenceNotFoundError as error:
            named = ", ".join(error.details.get("missing", ())) or reference_id
            error.message = f"No memory or context found with ID: {named}"
            raise
        return Outcome(found.as_dict(), found.source_id)

    @outcome("autocomplete", "reference")
    def autocomplete(self, prefix: str, limit: int = 10) -> Outcome:
        """`.data`: `{memories, contexts, entities, tags, domains}`, what begins with `prefix` first, then by words."""
        return Outcome(autocomplete(self.db, self.owner, _text(prefix), limit=_count(limit, limit)))

    @outcome("read", "reference")
    def ids_around(self, typed: str, limit: int = 100) -> Outcome:
        """`.data`: `{kind, friendly_id, title}` of the ids that come before and behind `typed`, `limit` each way."""
        return Outcome(ids_around(self.db, self.owner, _text(typed), limit=_count(limit, limit)))


class _Keeping(ApiParts):
    """Export, import, history."""

    @outcome("export", "knowledge")
    def export_data(self) -> Outcome:
        """`.data`: everything, as one JSON object."""
        return Outcome(export_data(self.db, self.owner))

    @outcome("export", "knowledge")
    def export_markdown(self) -> Outcome:
        """`.data`: everything, as Markdown."""
        return Outcome(export_markdown(self.db, self.owner))

    @outcome("import", "knowledge")
    def import_data(self, payload: Mapping[str, Any], mode: str = "merge") -> Outcome:
        """Take in what `export_data` gave; twice adds nothing. `.data`: how many rows of each table came in.

        `.metadata["new_ids"]`: of claims, contexts, entities and tags that have another id here than there, that id by
        the former; `["renamed"]`: `[{kind, former, friendly_id, leads}]` of things that have another readable id here,
        and whether the former one leads to them; `.warnings` name those where it doesn't.
        """
        imported = import_data(self.db, self.owner, payload, mode=mode)
        told = {name: imported[name] for name in ("skipped", "new_ids")}
        renamed = [each._asdict() for each in imported["renamed"]]
        return Outcome(imported["counts"], warnings=imported["warnings"], metadata={**told, "renamed": renamed})

    @outcome("read", "knowledge")
    def own_ids(self, ids: Collection[str]) -> Outcome:
        """`.data`: those of these ids that claims, contexts, entities or tags of this user have."""
        return Outcome(own_ids(self.db, self.owner, ids))

    @outcome("list", "audit")
    def get_audit_log(self, action: str | None = None, limit: int = 100, before: int | None = None) -> Outcome:
        """`.data`: `{"entries": [...], "count": n}`, newest first; `before` is the `audit_seq` to go on from."""
        if before is not None and not isinstance(before, int):
            raise InvalidKnowledgeError(f"{before!r} is no number of an entry.")
        entries = history(self.db, user_email=self.owner, action=action, before=before, limit=_count(limit, limit))
        return Outcome({"entries": entries, "count": len(entries)})

    @outcome("undo", "audit")
    def undo(self, audit_id: str) -> Outcome:
        """Undo one change; `.data`: the id of the entry that records this, which can be undone as well."""
        return Outcome(undo(self.db, user_email=self.owner, audit_id=audit_id), audit_id)


class _Overview(ApiParts):
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


class StructuredAPI(
    TidyingActions,
    BulkActions,
    NoteActions,
    LabelActions,
    ContextActions,
    ConflictActions,
    _Overview,
    _Finding,
    _Keeping,
    Descriptions,
):
    """Everything that one user can do with a knowledge base.

    Every action gives an ActionResult: bad input, missing things and a store that can't be reached are errors in it,
    never exceptions.
    """


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise InvalidKnowledgeError(f"{value!r} is no text.")
    return value


def _count(wanted: int | None, otherwise: int, *, most: int = _MOST_RESULTS) -> int:
    wanted = otherwise if wanted is None else wanted
    if not isinstance(wanted, int):
        raise InvalidKnowledgeError(f"{wanted!r} is no number of results.")
    return max(1, min(wanted, most))
