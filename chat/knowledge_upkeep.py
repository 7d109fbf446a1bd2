"""What a server does for memories beside answering: tells what changed, and computes vectors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict

from database.knowledge_activities import store_changes
from truth_management_system.interface.structured_api import EmbeddingIndexer, mark_delivered, undelivered

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


def embed_pending(*, knowledge: KnowledgeAccess) -> int:
    """Compute vectors for memories that have none, for about half a second; how many."""
    model = knowledge.embedding()
    if model is None or model.state().phase not in _USABLE:
        return 0
    return EmbeddingIndexer(knowledge.database(), model).index_pending(budget_seconds=_EMBED_SECONDS)
