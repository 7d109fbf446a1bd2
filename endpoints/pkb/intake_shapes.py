"""What answers about knowledge that comes in look like."""

from __future__ import annotations

from typing import Any, Literal

from ..shapes import Shape
from .shapes import Changed, ClaimItem, SimilarClaim


class SuggestedEntity(Shape):
    """An entity that a statement seems to be about."""

    name: str
    type: str
    role: str


class Analysis(Shape):
    """Suggestions for a statement; `by` tells who made them."""

    claim_type: str
    context_domain: str
    tags: list[str]
    entities: list[SuggestedEntity]
    possible_questions: list[str]
    friendly_id: str
    similar: list[SimilarClaim]
    warnings: list[str]
    by: Literal["model", "rules"]


class Proposal(Shape):
    """What could be done about one statement."""

    index: int
    action: Literal["add", "update", "skip", "conflict"]
    statement: str
    claim_type: str
    context_domain: str
    tags: list[str]
    existing: ClaimItem | None
    similarity: float | None
    reason: str


class Plan(Shape):
    """Proposals to approve."""

    plan_id: str
    proposals: list[Proposal]
    summary: str
    expires_at: str
    warnings: list[str]


class Executed(Changed):
    """What became of the approved proposals."""

    results: list[dict[str, Any]]
    added_count: int
    updated_count: int
    conflict_count: int
    failed_count: int
