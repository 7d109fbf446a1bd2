"""Request models of the knowledge base."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from endpoints.http.models import Body, ClientId, Id, JsonObject, Query, Text

Strategy = Literal["hybrid", "fts", "embedding", "rewrite", "mapreduce"]
Status = Literal["active", "contested", "historical", "superseded", "retracted", "draft", "expired"]
Listed = Literal[Status, "all"]
Statement = Annotated[Text, Field(min_length=1, max_length=20_000)]
Word = Annotated[Text, Field(min_length=1, max_length=200)]
Names = Annotated[list[Word], Field(max_length=50)]
Ids = Annotated[list[Id], Field(max_length=500)]
Questions = Annotated[list[Annotated[Text, Field(min_length=1, max_length=2_000)]], Field(max_length=20)]
Confidence = Annotated[float, Field(ge=0, le=1)]
Note = Annotated[Text, Field(max_length=10_000)]
NoteBody = Annotated[Text, Field(min_length=1, max_length=200_000)]
NoteTitle = Annotated[Text, Field(max_length=500)]


class NamedEntity(Body):
    """An entity by its name; a missing one is created."""

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
    """A new claim, with options. `contradicts`: a claim that says otherwise; the conflict of both is recorded.

    `client_id`: the same again, with the same statement, answers with the claim that was added under it.
    """

    source_message_id: Id | None = None
    supersedes: Id | None = None
    contradicts: Id | None = None
    auto_extract: bool = False
    client_id: ClientId | None = None


class NewClaims(Body):
    """Claims in bulk; each is checked by itself.

    `client_id`: the same again answers with what became of the claims that were added under it.
    """

    claims: Annotated[list[JsonObject], Field(min_length=1, max_length=100)]
    client_id: ClientId | None = None


class ClaimChange(Body):
    """The fields of a claim to change; others stay.

    `based_on`: the statement when editing began; if it has changed since, the change is refused. Without it, and for
    the other fields, the last change wins.
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
    """The claim that supersedes another."""

    by: Id


class PinnedClaim(Body):
    """A claim to pin to a conversation, or to unpin."""

    claim_id: Id


class Page(Query):
    """A page of a list."""

    limit: Annotated[int, Field(ge=1, le=200, description="How many items at most.")] = 50
    offset: Annotated[int, Field(ge=0, le=10_000_000, description="How many items to skip.")] = 0


class ClaimFilter(Page):
    """A filter of claims."""

    query: Annotated[
        Text, Field(max_length=10_000, description="What to find among the memories; else they are listed.")
    ] = ""
    strategy: Annotated[
        Strategy,
        Field(
            description="How `query` is searched: words (`fts`), meaning (`embedding`), both (`hybrid`), or by a model."
        ),
    ] = "hybrid"
    claim_type: Annotated[Word | None, Field(description="Only memories of this type, such as `preference`.")] = None
    context_domain: Annotated[Word | None, Field(description="Only memories of this domain, such as `health`.")] = None
    status: Annotated[
        Listed,
        Field(description="Only memories with this status; `active` has contested ones too, `all` has every one."),
    ] = "active"
    tag: Annotated[
        Word | None,
        Field(description="Only memories with this tag: its id, readable id or name, which several may have."),
    ] = None
    entity: Annotated[
        Word | None,
        Field(description="Only memories about this entity: its id, readable id or name, which several may have."),
    ] = None
    context: Annotated[
        Word | None,
        Field(description="Only memories in this context: its id, readable id or name, which several may have."),
    ] = None
    group: Annotated[
        Annotated[Text, Field(max_length=600)] | None,
        Field(description="Only the newest 2,000 of a group, named by its reference, or of several with `&` between."),
    ] = None
    pinned: Annotated[bool | None, Field(description="Only pinned memories, or only others.")] = None


class ClaimSearch(ClaimFilter):
    """A search."""

    q: Annotated[Text, Field(max_length=10_000, description="What to find.")] = ""
    k: Annotated[int, Field(ge=1, le=100, description="How many memories at most.")] = 20


class Completion(Query):
    """The text to complete."""

    q: Annotated[Text, Field(max_length=200, description="The text to complete.")] = ""
    limit: Annotated[int, Field(ge=1, le=50, description="How many suggestions at most.")] = 10


class GroupFilter(Page):
    """A filter of entities or tags."""

    q: Annotated[Text, Field(max_length=200, description="Only those with this in their names.")] = ""
    limit: Annotated[int, Field(ge=1, le=5_000, description="How many at most.")] = 200


class ContextDraft(Body):
    """A new context."""

    name: Word
    description: Note | None = None
    parent_context_id: Id | None = None
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class ContextChange(Body):
    """The fields of a context to change; `parent_context_id` null puts it at the top."""

    name: Word | None = None
    description: Note | None = None
    parent_context_id: Id | None = None


class EntityDraft(Body):
    """A new entity."""

    name: Word
    entity_type: Word = "other"
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class EntityChange(Body):
    """The fields of an entity to change."""

    name: Word | None = None
    entity_type: Word | None = None


class TagDraft(Body):
    """A new tag."""

    name: Word
    parent_tag_id: Id | None = None
    friendly_id: Annotated[Text, Field(max_length=200)] | None = None


class TagChange(Body):
    """The fields of a tag to change; `parent_tag_id` null puts it at the top."""

    name: Word | None = None
    parent_tag_id: Id | None = None


class Role(Body):
    """The role of an entity in a claim."""

    role: Word = "mentioned"


class Category(Body):
    """A custom type or domain."""

    name: Word
    label: Word | None = None


class NoteFilter(Page):
    """A filter of notes."""

    q: Annotated[Text, Field(max_length=2_000, description="What to find among the notes; else they are listed.")] = ""


class NoteDraft(Body):
    """A new note."""

    body: NoteBody
    title: NoteTitle | None = None
    context_domain: Word | None = None


class NoteChange(Body):
    """The fields of a note to change; `title` and `context_domain` null take them away."""

    body: NoteBody | None = None
    title: NoteTitle | None = None
    context_domain: Word | None = None


class EntityKind(Query):
    """The type of the entities to compare; without it those of each type."""

    entity_type: Annotated[
        Word | None, Field(description="The type of the entities to compare; else those of each type.")
    ] = None


class ClaimsToConsolidate(Body):
    """Claims that say the same. `keep_id`: the one that stays; without it the surest, of equals the newest."""

    claim_ids: Annotated[list[Id], Field(min_length=2, max_length=50)]
    keep_id: Id | None = None


class MergeTarget(Body):
    """The entity or tag that another becomes part of."""

    into: Id


class ConflictDraft(Body):
    """Claims that contradict each other."""

    claim_ids: Annotated[list[Id], Field(min_length=2, max_length=50)]
    notes: Note | None = None


class Decision(Body):
    """The resolution of a conflict; without a winner all claims stay."""

    winning_claim_id: Id | None = None
    notes: Note = ""


class AnalysisMode(Query):
    """Who makes the suggestions: a model, or rules."""

    use_model: Annotated[bool, Field(description="Have a model make the suggestions; else rules do.")] = True


class StatementText(Body):
    """A statement to analyse; without the model, suggestions are made by rules, at once."""

    statement: Statement
    use_model: bool = True


class TextInWords(Body):
    """What a person says in words; without the model, rules read it, at once."""

    text: Statement
    use_model: bool = True


class ConfirmedAction(Body):
    """What a person confirmed. `claim_id`: an id, a number or a readable id."""

    action: Literal["delete", "forget", "pin", "unpin"]
    claim_id: Id


class TextToIngest(Body):
    """A text to propose claims from."""

    text: Annotated[Text, Field(min_length=1)]
    default_claim_type: Word = "fact"
    default_domain: Word = "personal"
    use_model: bool = True


class ApprovedProposal(Body):
    """An accepted proposal, with changes."""

    index: int
    action: Literal["add", "update", "skip", "conflict"] | None = None
    statement: Statement | None = None
    claim_type: Word | None = None
    context_domain: Word | None = None
    tags: Names | None = None


class Approval(Body):
    """The approved proposals of a plan: each by its index, or with changes."""

    plan_id: Id
    approved: Annotated[list[ApprovedProposal | int], Field(max_length=1_000)] | Literal["all"]


class TurnToRemember(Body):
    """The message of a turn to propose claims from; without the model, rules propose them, at once."""

    conversation_id: Id
    message_id: Id
    use_model: bool = True


class ContextQuestion(Body):
    """The question that memories are wanted for."""

    query: Annotated[Text, Field(min_length=1, max_length=10_000)]
    k: Annotated[int, Field(ge=1, le=100)] = 10


class Payload(Body):
    """An export of a knowledge base."""

    payload: dict[str, Any]
    mode: Literal["merge"] = "merge"


class ExportFormat(Query):
    """The format of an export."""

    format: Annotated[Literal["json", "markdown"], Field(description="As what the memories are written down.")] = "json"


class HistoryPage(Query):
    """A page of the history, newest first."""

    limit: Annotated[int, Field(ge=1, le=200, description="How many changes at most, the newest first.")] = 50
    before: Annotated[
        Annotated[int, Field(ge=1)] | None, Field(description="Only changes with a smaller `audit_seq`.")
    ] = None
