"""Response models of the knowledge base."""

from __future__ import annotations

from typing import Any, Literal

from endpoints.http.models import Shape, Warned


class TagOfClaim(Shape):
    """A tag of a claim."""

    tag_id: str
    name: str
    friendly_id: str


class EntityOfClaim(Shape):
    """An entity that a claim is about."""

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

    `superseded_by` is the readable id of its final successor. `source` is the message that
    `source_activity_id` names, null if that message no longer exists.
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
    """A claim in a list; `score` if a search found it."""

    score: float | None = None


class ClaimPage(Warned):
    """A page of claims."""

    claims: list[ListedClaim]
    count: int
    total_count: int


class Changed(Shape):
    """A change; `audit_id` undoes it, null if nothing had to change."""

    audit_id: str | None


class SimilarClaim(Shape):
    """A claim similar to another."""

    claim: ClaimItem
    similarity: float | None
    kind: Literal["duplicate", "contradiction", "related"]


class AddedClaim(Changed, Warned):
    """A new claim, and similar ones."""

    claim: ClaimItem
    similar: list[SimilarClaim]


class ClaimResult(Shape):
    """The outcome for one of many."""

    index: int
    success: bool
    claim_id: str | None = None
    friendly_id: str | None = None
    error: str | None = None
    code: str | None = None
    said: list[dict[str, Any]] | None = None


class BulkAdded(Changed):
    """The outcome for each."""

    results: list[ClaimResult]
    added_count: int
    failed_count: int


class ChangeResult(Shape):
    """The outcome for one claim."""

    claim_id: str
    success: bool
    error: str | None = None
    code: str | None = None
    said: list[dict[str, Any]] | None = None


class SearchResult(Warned):
    """A found claim."""

    claim: ClaimItem
    score: float
    source: str
    is_contested: bool


class ClaimSearchResults(Warned):
    """Found claims, best first."""

    results: list[SearchResult]


class Completions(Shape):
    """Completions of a reference, by kind."""

    memories: list[dict[str, Any]]
    contexts: list[dict[str, Any]]
    entities: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    domains: list[dict[str, Any]]


class ResolvedReference(Shape):
    """The claims of a reference. total_count: their number, also if not all are returned.

    `joins`: the types of the groups that `&` joins, the first of which is `type`; `source_id` is then a reference to
    them.
    """

    type: Literal["claim", "context", "entity", "tag", "domain"]
    total_count: int
    source_id: str
    source_name: str
    status: Literal["resolved", "empty"]
    notes: list[str]
    joins: list[str]
    claims: list[ClaimItem]


class VectorState(Shape):
    """The progress of computing vectors."""

    embedded: int
    pending: int
    model: str | None
    state: str


class Statistics(Shape):
    """Counts of the knowledge base."""

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
    """An entity and its role in a claim."""

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


class Analysis(Warned):
    """Suggestions for a statement; `by` says what made them.

    `expected_seconds`: how long a model would take, by its measured speed; null where that is not known.
    """

    claim_type: str
    context_domain: str
    tags: list[str]
    entities: list[SuggestedEntity]
    possible_questions: list[str]
    friendly_id: str
    similar: list[SimilarClaim]
    by: Literal["model", "rules"]
    expected_seconds: float | None


class Proposal(Shape):
    """A proposed action for a statement."""

    index: int
    action: Literal["add", "update", "skip", "conflict"]
    statement: str
    claim_type: str
    context_domain: str
    tags: list[str]
    existing: ClaimItem | None
    similarity: float | None
    reason: str


class Plan(Warned):
    """Proposals to approve.

    `expected_seconds`: how long a model takes for a short text, by its measured speed; null where that is not known.
    """

    plan_id: str
    proposals: list[Proposal]
    summary: str
    expires_at: str
    expected_seconds: float | None


class Executed(Changed):
    """The outcomes of the approved proposals."""

    results: list[dict[str, Any]]
    added_count: int
    updated_count: int
    conflict_count: int
    failed_count: int


class TextIntent(Shape):
    """What a text asks for, and who understood it so.

    action: `add_claim`, `search`, `delete_claim` (nothing is deleted before it is confirmed), `list_conflicts`,
    `clarify`, or what was confirmed.
    """

    action: str
    subject: str
    by: Literal["rules", "model", "person"]


class TextOutcome(Changed, Warned):
    """What a text led to: in words, and the claims that were added, found, or may be forgotten."""

    action_taken: str
    intent: TextIntent
    clarifying_questions: list[str]
    claims: list[ClaimItem]


class NoteItem(Shape):
    """A note."""

    note_id: str
    title: str | None
    body: str
    context_domain: str | None
    created_at: str
    updated_at: str


class NotePage(Warned):
    """A page of notes."""

    notes: list[NoteItem]
    total_count: int


class Alike(Shape):
    """Things that may be one. `max_similarity`: of the two that are most alike, 0 to 1."""

    suggested_keep_id: str
    max_similarity: float


class AlikeClaims(Alike):
    """Claims that may say the same."""

    claims: list[ClaimItem]


class AlikeEntities(Alike):
    """Entities whose names may mean one."""

    entities: list[EntityItem]


class AlikeTags(Alike):
    """Tags whose names may mean one."""

    tags: list[TagItem]


class DuplicateClaims(Warned):
    """Groups of claims that may say the same; `warnings` say why none could be compared."""

    duplicates: list[AlikeClaims]


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


class RenamedThing(Shape):
    """A thing that has another readable id here than in the export; `leads`: whether `former` is an alias of it."""

    kind: str
    former: str
    friendly_id: str
    leads: bool


class Imported(Changed, Warned):
    """How many rows of each table were imported, and how many existed already.

    `warnings` name readable ids that lead nowhere now.
    """

    counts: dict[str, int]
    skipped: Any
    renamed: list[RenamedThing]
