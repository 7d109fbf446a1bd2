"""What a server does for memories beside answering: tells what changed, and computes vectors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict

from database.knowledge_activities import store_changes
from language_models.ports import EmbeddingModel
from truth_management_system import PKBDatabase
from truth_management_system.interface.structured_api import (
    EmbeddingIndexer,
    last_change,
    mark_delivered,
    undelivered,
    unrelated_for,
)

from .knowledge_access import KnowledgeAccess

_EMBED_SECONDS = 0.5
_USABLE = frozenset({"waiting", "ready"})


def tell_changes(*, users_dir: str, knowledge: KnowledgeAccess) -> int:
    """Make activities of the changes that are none yet; how many. What was told already is not told twice."""
    database = knowledge.database()
    changes = undelivered(database)
    by_user: dict[str, list[dict[str, object]]] = defaultdict(list)
    for change in changes:
        by_user[change.user_email].append({**asdict(change), "id": change.audit_id})
    for user_email, theirs in by_user.items():
        store_changes(users_dir=users_dir, user_email=user_email, changes=theirs)
    mark_delivered(database, [change.audit_id for change in changes])
    return len(changes)


class EmbeddingUpkeep:
    """Computes vectors of memories behind all else, and looks for some to compute only where something was changed."""

    def __init__(self, knowledge: KnowledgeAccess) -> None:
        self._knowledge = knowledge
        self._finished_at: tuple[PKBDatabase, str, int] | None = None
        self._indexer: EmbeddingIndexer | None = None

    def embed_pending(self) -> int:
        """Compute what is missing, for about half a second; how many vectors.

        A model that is loaded when it is first needed is loaded and measured here, so that nobody's question waits for
        that. Raises the errors of `language_models.errors`, KnowledgeUnavailableError.
        """
        model = self._knowledge.embedding()
        if model is None or model.state().phase not in _USABLE:
            return 0
        database = self._knowledge.database()
        # Noted before the look: what is changed meanwhile is looked for the next time.
        state = (database, model.name, last_change(database))
        if state == self._finished_at:
            return 0
        indexer = self._indexer_of(database, model)
        indexed = indexer.index_pending(budget_seconds=_EMBED_SECONDS)
        if indexed or indexer.embedded_count():
            unrelated_for(model)
        if indexed == 0:
            self._finished_at = state
        return indexed

    def _indexer_of(self, database: PKBDatabase, model: EmbeddingModel) -> EmbeddingIndexer:
        """The same one each time: it remembers which texts the model refuses, and whose turn it is."""
        indexer = self._indexer
        if indexer is None or indexer.db is not database or indexer.model is not model:
            indexer = self._indexer = EmbeddingIndexer(database, model)
        return indexer
