"""The memories that go with a message without being named: what a search finds that has to do with it."""

from __future__ import annotations

from database.clock import now_iso
from truth_management_system import ActionResult, StructuredAPI
from truth_management_system.interface.structured_api import is_relevant

_CONSIDERED = 50
"""Memories that are ranked for any message; the irrelevant ones among the best must not take a place."""


def relevant_memories(api: StructuredAPI, query: str, *, k: int) -> ActionResult:
    """At most `k` memories that are valid now and relevant to `query`: `.data` are their SearchResults, best first."""
    result: ActionResult = api.search(query, k=max(k, _CONSIDERED), filters={"valid_at": now_iso()})
    if result.success:
        result.data = [found for found in result.data if is_relevant(found, query)][:k]
    return result
