"""A claim: one atomic memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from database.engine.clock import now_iso

from ..constants import ClaimStatus
from ..utils import EPOCH, generate_uuid
from .stored import Stored, columns_of

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
        given = {name: value for name, value in fields.items() if value is not None}
        return cls(
            claim_id=generate_uuid(),
            statement=statement,
            claim_type=claim_type,
            claim_types=_primary_first(claim_type, claim_types),
            context_domain=context_domain,
            context_domains=_primary_first(context_domain, context_domains),
            user_email=user_email or "",
            friendly_id=friendly_id or "",
            possible_questions=_json_array(possible_questions),
            **given,
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
        end = _time(self.valid_to) if self.valid_to else None
        begin = _time(self.valid_from)
        if end is not None and len(self.valid_to or "") == _DAY_LENGTH:
            end += timedelta(days=1)
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
