"""What the knowledge base holds, as its callers see it, and what an action came to. JSON columns stay text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from database.engine.clock import now_iso

from .constants import ClaimStatus, ConflictStatus
from .utils import EPOCH, generate_uuid


@dataclass(slots=True)
class Stored:
    """What all models can: become a row, and come from one. Their fields are the stored columns, in order."""

    _columns: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The stored columns."""
        return {column: getattr(self, column) for column in self._columns}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Out of a row that has at least the stored columns."""
        return cls(**{column: row[column] for column in cls._columns if column in row})


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields that are not None: the others keep their defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def columns_of(model: type[Stored], *, computed: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The stored columns of `model`: its fields but those that are `computed`."""
    model._columns = tuple(one.name for one in fields(model) if one.name not in computed)
    return model._columns


_DAY_LENGTH = len("2026-02-08")


@dataclass(slots=True)
class Claim(Stored):
    """One atomic memory.

    Attributes:
        claim_id: UUID.
        user_email: Whose it is; "" where there are no users.
        claim_number: Counts the user's claims from 1; 0 until it is stored.
        friendly_id: Readable id; "" until it is stored, unless the user chose one.
        claim_type: The first of `claim_types`, a JSON array of text. `context_domain` likewise.
        statement: What it says.
        subject_text, predicate, object_text: The same taken apart, where that was done.
        confidence: 0 to 1, or None.
        valid_from, valid_to: ISO 8601, UTC; no end: None.
        meta_json: Further data, a JSON object; `pinned` in it pins the claim everywhere.
        possible_questions: JSON array of the questions that it answers.
        source_activity_id: The message that it was learned from.
    """

    claim_id: str
    user_email: str = ""
    claim_number: int = 0
    friendly_id: str = ""
    claim_type: str = ""
    claim_types: str = "[]"
    statement: str = ""
    subject_text: str | None = None
    predicate: str | None = None
    object_text: str | None = None
    context_domain: str = ""
    context_domains: str = "[]"
    status: str = ClaimStatus.ACTIVE.value
    confidence: float | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)
    valid_from: str = EPOCH
    valid_to: str | None = None
    meta_json: str | None = None
    retracted_at: str | None = None
    possible_questions: str | None = None
    source_activity_id: str | None = None

    @classmethod
    def create(
        cls,
        statement: str,
        claim_type: str,
        context_domain: str,
        *,
        claim_id: str | None = None,
        user_email: str | None = None,
        friendly_id: str | None = None,
        claim_types: Sequence[str] | str | None = None,
        context_domains: Sequence[str] | str | None = None,
        possible_questions: Sequence[str] | str | None = None,
        **fields: Any,
    ) -> Claim:
        """A new claim, not stored yet. Lists may be JSON text; what makes no sense is refused when it is stored.

        Further `fields` are columns; those that are None keep their defaults.
        """
        return cls(
            claim_id=claim_id or generate_uuid(),
            statement=statement,
            claim_type=claim_type,
            claim_types=_primary_first(claim_type, claim_types),
            context_domain=context_domain,
            context_domains=_primary_first(context_domain, context_domains),
            user_email=user_email or "",
            friendly_id=friendly_id or "",
            possible_questions=_json_array(possible_questions),
            **_given(fields),
        )

    @property
    def all_types(self) -> list[str]:
        """Every type, the primary one first."""
        return list(json.loads(self.claim_types))

    @property
    def all_domains(self) -> list[str]:
        """Every domain, the primary one first."""
        return list(json.loads(self.context_domains))

    @property
    def questions(self) -> list[str]:
        """The questions that it answers."""
        return list(json.loads(self.possible_questions or "[]"))

    @property
    def meta(self) -> dict[str, Any]:
        """`meta_json`, read."""
        return dict(json.loads(self.meta_json or "{}"))

    @property
    def pinned(self) -> bool:
        """Whether it goes into every conversation."""
        return bool(self.meta.get("pinned"))

    @property
    def is_contested(self) -> bool:
        """Whether another claim contradicts it, undecided."""
        return self.status == ClaimStatus.CONTESTED

    @property
    def is_retracted(self) -> bool:
        """Whether it was deleted."""
        return self.status == ClaimStatus.RETRACTED

    def is_valid_at(self, moment: datetime) -> bool:
        """Whether it is valid at an aware time; a `valid_to` without a time of day is the end of that day."""
        begin, end = validity(self.valid_from, self.valid_to)
        return (begin is None or begin <= moment) and (end is None or moment <= end)

    def rendered(self) -> str:
        """As models read it: the statement, and the first question that it answers."""
        questions = self.questions
        return f"{self.statement} (answers: {questions[0]})" if questions else self.statement


def _primary_first(primary: str, further: Sequence[str] | str | None) -> str:
    if further is not None and not isinstance(further, list | tuple):
        return str(further)
    values = [str(primary), *map(str, further or ())]
    return json.dumps(list(dict.fromkeys(values)), ensure_ascii=False)


def validity(valid_from: str, valid_to: str | None) -> tuple[datetime | None, datetime | None]:
    """From when until when a claim is valid; None: no such bound."""
    begin, end = _time(valid_from), _time(valid_to) if valid_to else None
    if end is not None and len(valid_to or "") == _DAY_LENGTH:
        end += timedelta(days=1) - timedelta.resolution
    return begin, end


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _json_array(values: Sequence[str] | str | None) -> str | None:
    if isinstance(values, list | tuple):
        return json.dumps(values, ensure_ascii=False)
    return None if values is None else str(values)


CLAIM_COLUMNS = columns_of(Claim)


@dataclass(slots=True)
class Entity(Stored):
    """A person, place, organisation or other thing that claims are about."""

    entity_id: str
    user_email: str = ""
    friendly_id: str = ""
    entity_type: str = ""
    name: str = ""
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(cls, name: str, entity_type: str, **fields: Any) -> Entity:
        """A new entity, not stored yet. fields: user_email, friendly_id, meta_json."""
        return cls(generate_uuid(), name=name, entity_type=entity_type, **_given(fields))


@dataclass(slots=True)
class Tag(Stored):
    """A label; labels form a tree."""

    tag_id: str
    user_email: str = ""
    friendly_id: str = ""
    name: str = ""
    parent_tag_id: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(cls, name: str, parent_tag_id: str | None = None, **fields: Any) -> Tag:
        """A new tag, not stored yet. fields: user_email, friendly_id, meta_json."""
        return cls(generate_uuid(), name=name, parent_tag_id=parent_tag_id, **_given(fields))


@dataclass(slots=True)
class Context(Stored):
    """A group of claims; groups form a tree."""

    context_id: str
    user_email: str = ""
    friendly_id: str = ""
    name: str = ""
    description: str | None = None
    parent_context_id: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(
        cls, name: str, description: str | None = None, parent_context_id: str | None = None, **fields: Any
    ) -> Context:
        """A new context, not stored yet. fields: user_email, friendly_id, meta_json."""
        return cls(
            generate_uuid(), name=name, description=description, parent_context_id=parent_context_id, **_given(fields)
        )


ENTITY_COLUMNS = columns_of(Entity)
TAG_COLUMNS = columns_of(Tag)
CONTEXT_COLUMNS = columns_of(Context)


@dataclass(slots=True)
class Note(Stored):
    """Longer text."""

    note_id: str
    user_email: str = ""
    title: str | None = None
    body: str = ""
    context_domain: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(cls, body: str, title: str | None = None, *, user_email: str | None = None, **fields: Any) -> Note:
        """A new note, not stored yet."""
        return cls(note_id=generate_uuid(), body=body, title=title, user_email=user_email or "", **fields)


NOTE_COLUMNS = columns_of(Note)


@dataclass(slots=True)
class ConflictSet(Stored):
    """Claims that contradict each other."""

    conflict_set_id: str
    user_email: str = ""
    status: str = ConflictStatus.OPEN.value
    resolution_notes: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)
    member_claim_ids: list[str] = field(default_factory=list)


CONFLICT_SET_COLUMNS = columns_of(ConflictSet, computed=frozenset({"member_claim_ids"}))


class ReadByName:
    """Attributes that can be read as items, too: `result["success"]` is `result.success`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None


@dataclass(slots=True)
class ActionResult:
    """The outcome of one action; errors are sentences for a person.

    action: "add", "edit", "search", "resolve", … object_type: "claim", "note", "reference", … object_id: of what was
    touched. data: what the action gives. warnings: what went less well than it could have. metadata: further data, such
    as `audit_id` of a change and `error_code` of a failure.
    """

    success: bool
    action: str
    object_type: str
    object_id: str | None = None
    data: Any = None
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
