"""What answers of the knowledge base look like."""

from __future__ import annotations

from typing import Any, Literal

from ..shapes import Shape


class TagOfClaim(Shape):
    """A tag, as a claim has it."""

    tag_id: str
    name: str
    friendly_id: str


class EntityOfClaim(Shape):
    """An entity, as a claim is about it."""

    entity_id: str
    name: str
    entity_type: str
    role: str
    friendly_id: str


class ContextOfClaim(Shape):
    """A context that a claim is filed in."""

    context_id: str
    name: str
    friendly_id: str


class SourceOfClaim(Shape):
    """The message that a claim was learned from."""

    message_id: str
    conversation_id: str


class ClaimItem(Shape):
    """A claim.

    `superseded_by` is the readable id of the one that took its place in the end. `source` is the message that
    `source_activity_id` names, null where that is no message that can be opened now.
    """

    claim_id: str
    claim_number: int
    friendly_id: str
    claim_type: str
    claim_types: list[str]
    statement: str
    context_domain: str
    context_domains: list[str]
    status: str
    confidence: float | None
    valid_from: str
    valid_to: str | None
    created_at: str
    updated_at: str
    retracted_at: str | None
    source_activity_id: str | None
    source: SourceOfClaim | None
    possible_questions: list[str]
    pinned: bool
    is_contested: bool
    superseded_by: str | None
    tags: list[TagOfClaim]
    entities: list[EntityOfClaim]
    contexts: list[ContextOfClaim]


class ListedClaim(ClaimItem):
    """A claim in a list; `score` where a search found it."""

    score: float | None = None


class ClaimPage(Shape):
    """A part of the claims."""

    claims: list[ListedClaim]
    count: int
    total_count: int
    warnings: list[str]


class Claims(Shape):
    """Claims."""

    claims: list[ClaimItem]


class OneClaim(Shape):
    """One claim."""

    claim: ClaimItem


class Changed(Shape):
    """What was done; `audit_id` undoes it, null where nothing had to be changed."""

    audit_id: str | None


class ChangedClaim(Changed):
    """A claim as it is now."""

    claim: ClaimItem


class SimilarClaim(Shape):
    """A claim much like another."""

    claim: ClaimItem
    similarity: float | None
    kind: Literal["duplicate", "contradiction", "related"]


class AddedClaim(ChangedClaim):
    """A claim just added, and those much like it."""

    similar: list[SimilarClaim]
    warnings: list[str]


class ClaimResult(Shape):
    """What became of one of many."""

    index: int
    success: bool
    claim_id: str | None = None
    friendly_id: str | None = None
    error: str | None = None


class BulkAdded(Changed):
    """What became of each."""

    results: list[ClaimResult]
    added_count: int
    failed_count: int


class ChangeResult(Shape):
    """What became of one claim."""

    claim_id: str
    success: bool
    error: str | None = None


class BulkChanged(Changed):
    """What became of each."""

    results: list[ChangeResult]


class ClaimIds(Shape):
    """Ids of claims."""

    claim_ids: list[str]


class SearchResult(Shape):
    """A claim that was found."""

    claim: ClaimItem
    score: float
    source: str
    is_contested: bool
    warnings: list[str]


class ClaimSearchResults(Shape):
    """What was found, best first."""

    results: list[SearchResult]
    warnings: list[str]


class Completions(Shape):
    """What can be referred to."""

    memories: list[dict[str, Any]]
    contexts: list[dict[str, Any]]
    entities: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    domains: list[dict[str, Any]]


class ResolvedReference(Shape):
    """What a reference names. total_count: how many claims there are, also where not all are given."""

    type: Literal["claim", "context", "entity", "tag", "domain"]
    total_count: int
    source_id: str
    source_name: str
    status: Literal["resolved", "empty"]
    notes: list[str]
    claims: list[ClaimItem]


class RelevantContext(Shape):
    """Memories as a model would be given them."""

    context: str
    claims: list[ClaimItem]


class VectorState(Shape):
    """How far claims can be found by meaning."""

    embedded: int
    pending: int
    model: str | None
    state: str


class Statistics(Shape):
    """How much there is."""

    claims: int
    pinned: int
    contexts: int
    entities: int
    tags: int
    open_conflicts: int
    vectors: VectorState
