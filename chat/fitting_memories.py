"""Which of the memories that a search finds have to do with what was asked."""

from __future__ import annotations

from database.clock import now_iso
from truth_management_system import ActionResult, SearchResult, StructuredAPI

_NEAREST_STRANGER = 0.2


def fitting_memories(api: StructuredAPI, query: str, *, k: int) -> ActionResult:
    """What a model is given for a question: `.data` are the SearchResults that are valid now and have to do with it."""
    result: ActionResult = api.search(query, k=k, filters={"valid_at": now_iso()})
    if result.success:
        result.data = [found for found in result.data if is_near_enough(found)]
    return result


def is_near_enough(found: SearchResult) -> bool:
    """Whether a memory has to do with the question: it has words of it, or means something like it.

    Search by meaning always finds the nearest ones, however far away they are.
    """
    scores = found.metadata.get("scores") or {found.source: found.score}
    return set(scores) != {"embedding"} or scores["embedding"] >= _NEAREST_STRANGER
