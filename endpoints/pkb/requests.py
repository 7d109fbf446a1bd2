"""Request models of the knowledge base."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from endpoints.http.models import Body, Id, JsonObject, Query, Text

Strategy = Literal["hybrid", "fts", "embedding", "rewrite", "mapreduce"]
Status = Literal["active", "contested", "historical", "superseded", "retracted", "draft", "expired"]
Listed = Status | Literal["all"]
Statement = Annotated[Text, Field(min_length=1, max_length=20_000)]
Word = Annotated[Text, Field(min_length=1, max_length=200)]
Names = Annotated[list[Word], Field(max_length=50)]
Ids = Annotated[list[Id], Field(max_length=500)]
Questions = Annotated[list[Annotated[Text, Field(min_length=1, max_length=2_000)]], Field(max_length=20)]
Confidence = Annotated[float, Field(ge=0, le=1)]
Note = Annotated[Text, Field(max_length=10_000)]


class NamedEntity(Body):
    """An entity by its name; one that is not there yet is made."""

    name: Word
    type: Word = "other"
    role: Word = "mentioned"


class ClaimDraft(Body):
    """A new claim."""

    statement: Statement
    claim_type: Word = "fact"
    context_domain: Word = "personal"
    tags: Names | None = None
    entities: Annotated[list[NamedEntity], Field(max_length=50)] | None = None
    contexts: Names | None = None
    confidence: Confidence | None = None
    valid_from: Word | None = None
    valid_to: Word | None = None
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None
    possible_questions: Questions | None = None
    claim_types: Names | None = None
    context_domains: Names | None = None
    meta_json: JsonObject | None = None


class NewClaim(ClaimDraft):
    """A new claim, and what to do about it."""

    source_message_id: Id | None = None
    supersedes: Id | None = None
    auto_extract: bool = False


class NewClaims(Body):
    """Claims in bulk; each is checked by itself."""

    claims: Annotated[list[JsonObject], Field(min_length=1, max_length=100)]


class ClaimChange(Body):
    """What of a claim changes; what is left out stays.

    `based_on`: the statement as it was when the claim was edited; if it says something else by now, nothing changes.
    Without it, and among the other fields, the last change wins.
    """

    statement: Statement | None = None
    based_on: Text | None = None
    claim_type: Word | None = None
    claim_types: Names | None = None
    context_domain: Word | None = None
    context_domains: Names | None = None
    status: Status | None = None
    confidence: Confidence | None = None
    valid_from: Word | None = None
    valid_to: Annotated[Text, Field(max_length=200)] | None = None
    possible_questions: Questions | None = None
    meta_json: JsonObject | None = None


class ClaimsChange(Body):
    """One change to many claims."""

    claim_ids: Annotated[Ids, Field(min_length=1)]
    change: Literal["retract", "pin", "unpin", "add_tag", "add_to_context", "set_domain", "set_type"]
    value: Word | None = None


class Successor(Body):
    """The claim that takes another's place."""

    by: Id


class PinnedClaim(Body):
    """A claim to pin to a conversation, or to take off it."""

    claim_id: Id


class Page(Query):
    """A part of a list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class ClaimFilter(Page):
    """Which claims are listed. status: `active` (contested ones too), `all`, or one status."""

    query: Annotated[Text, Field(max_length=10_000)] = ""
    strategy: Strategy = "hybrid"
    claim_type: Word | None = None
    context_domain: Word | None = None
    status: Listed = "active"
    tag: Word | None = None
    entity: Word | None = None
    context: Word | None = None
    pinned: bool | None = None


class ClaimSearch(ClaimFilter):
    """A search."""

    model_config = ConfigDict(extra="ignore")
    q: Annotated[Text, Field(max_length=10_000)] = ""
    k: Annotated[int, Field(ge=1, le=100)] = 20


class Completion(Query):
    """What was typed."""

    q: Annotated[Text, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class GroupFilter(Page):
    """Which entities or tags are listed."""

    q: Annotated[Text, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=5_000)] = 200


class ContextDraft(Body):
    """A new context."""

    name: Word
    description: Note | None = None
    parent_context_id: Id | None = None
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class ContextChange(Body):
    """What of a context changes; `parent_context_id` null puts it at the top."""

    name: Word | None = None
    description: Note | None = None
    parent_context_id: Id | None = None


class EntityDraft(Body):
    """A new entity."""

    name: Word
    entity_type: Word = "other"
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class EntityChange(Body):
    """What of an entity changes."""

    name: Word | None = None
    entity_type: Word | None = None


class TagDraft(Body):
    """A new tag."""

    name: Word
    parent_tag_id: Id | None = None
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class TagChange(Body):
    """What of a tag changes; `parent_tag_id` null puts it at the top."""

    name: Word | None = None
    parent_tag_id: Id | None = None


class Role(Body):
    """The part an entity plays in a claim."""

    role: Word = "mentioned"


class Category(Body):
    """A type or domain of the person's own."""

    name: Word
    label: Word | None = None


class ConflictDraft(Body):
    """Claims that contradict each other."""

    claim_ids: Annotated[list[Id], Field(min_length=2, max_length=50)]
    notes: Note | None = None


class Decision(Body):
    """How a conflict ends; without a winner all stay."""

    winning_claim_id: Id | None = None
    notes: Note = ""


class StatementText(Body):
    """A statement to look at; without the model, suggestions are made by rules, at once."""

    statement: Statement
    use_model: bool = True


class TextToIngest(Body):
    """A text to make claims of."""

    text: Annotated[Text, Field(min_length=1)]
    default_claim_type: Word = "fact"
    default_domain: Word = "personal"
    use_model: bool = True


class ApprovedProposal(Body):
    """A proposal that was accepted, with what was changed in it."""

    index: int
    action: Literal["add", "update", "skip", "conflict"] | None = None
    statement: Statement | None = None
    claim_type: Word | None = None
    context_domain: Word | None = None
    tags: Names | None = None


class Approval(Body):
    """Which proposals of a plan are carried out: each by its index alone, or with what was changed in it."""

    plan_id: Id
    approved: Annotated[list[ApprovedProposal | int], Field(max_length=1_000)] | Literal["all"]


class TurnToRemember(Body):
    """A message out of whose turn something shall be remembered."""

    conversation_id: Id
    message_id: Id


class ContextQuestion(Body):
    """What memories are wanted for."""

    query: Annotated[Text, Field(min_length=1, max_length=10_000)]
    k: Annotated[int, Field(ge=1, le=100)] = 10


class Payload(Body):
    """What `export` gave."""

    payload: dict[str, Any]
    mode: Literal["merge"] = "merge"


class ExportFormat(Query):
    """How everything is written down."""

    format: Literal["json", "markdown"] = "json"


class HistoryPage(Query):
    """A part of the history, newest first; `before` is the `audit_seq` to go on from."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Annotated[int, Field(ge=1)] | None = None
