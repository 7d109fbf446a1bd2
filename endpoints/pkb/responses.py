"""Response models of the knowledge base."""

from __future__ import annotations

from typing import Any, Literal

from endpoints.http.models import Shape


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


class Changed(Shape):
    """What was done; `audit_id` undoes it, null where nothing had to be changed."""

    audit_id: str | None


class SimilarClaim(Shape):
    """A claim much like another."""

    claim: ClaimItem
    similarity: float | None
    kind: Literal["duplicate", "contradiction", "related"]


class AddedClaim(Changed):
    """A claim just added, and those much like it."""

    claim: ClaimItem
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


class ContextItem(Shape):
    """A context."""

    context_id: str
    friendly_id: str
    name: str
    description: str | None
    parent_context_id: str | None
    created_at: str
    updated_at: str
    claim_count: int
    child_count: int


class EntityItem(Shape):
    """An entity."""

    entity_id: str
    friendly_id: str
    name: str
    entity_type: str
    claim_count: int


class EntityWithRole(EntityItem):
    """An entity and its part in a claim."""

    role: str


class TagItem(Shape):
    """A tag."""

    tag_id: str
    friendly_id: str
    name: str
    parent_tag_id: str | None
    claim_count: int


class CategoryItem(Shape):
    """A type or domain, and how many claims have it."""

    name: str
    label: str
    count: int


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


class ConflictItem(Shape):
    """Claims that contradict each other."""

    conflict_set_id: str
    status: str
    resolution_notes: str | None
    created_at: str
    members: list[ClaimItem]


class HistoryItem(Shape):
    """One change."""

    audit_seq: int
    audit_id: str
    action: str
    object_type: str
    object_id: str | None
    title: str
    detail: dict[str, Any]
    created_at: str
    undone_by: str | None
    can_undo: bool


class Imported(Changed):
    """How many rows of each table came in, and how many were there already."""

    counts: dict[str, int]
    skipped: Any
