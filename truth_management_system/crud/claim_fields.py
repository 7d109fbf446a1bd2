"""What a claim may hold: each column's check, for new claims and for changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from database.engine.clock import iso
from sentences import say

from ..constants import ClaimStatus
from ..errors import InvalidKnowledgeError
from ..models import Claim, validity
from ..utils import EPOCH
from .base import json_object, known_fields, listed, optional_text, required_text

LONGEST_STATEMENT = 20_000
_LONGEST_NOTE = 2_000
_LONGEST_SOURCE = 200
_MOST_VALUES = 20
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_PRIMARIES = (("claim_type", "claim_types"), ("context_domain", "context_domains"))


def checked_claim(claim: Claim) -> dict[str, Any]:
    """The row of a new claim. Raises InvalidKnowledgeError."""
    row = claim.to_dict()
    checked = row | {column: check(row[column]) for column, check in _CHECKS.items()}
    checked["source_activity_id"] = optional_text(row["source_activity_id"], "source", longest=_LONGEST_SOURCE)
    return checked | {many: _with_primary(checked[one], json.loads(checked[many])) for one, many in _PRIMARIES}


def checked_changes(before: Claim, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that `changes` changes, as stored; a new primary type or domain takes the old one's place.

    A pinned claim stays so where further data that come say nothing of it.
    Raises InvalidKnowledgeError for a column that can't be changed or a value that makes no sense.
    """
    known_fields(changes, _CHECKS)
    checked = {column: _CHECKS[column](value) for column, value in changes.items()}
    for one, many in _PRIMARIES:
        if one in checked or many in checked:
            checked |= _primary(before, checked, one, many)
    if checked.get("meta_json", before.meta_json) != before.meta_json and before.pinned:
        meta = {"pinned": True} | json.loads(checked["meta_json"] or "{}")
        checked["meta_json"] = json.dumps(meta, ensure_ascii=False)
    return checked


def check_validity(valid_from: str, valid_to: str | None) -> None:
    """Raise InvalidKnowledgeError where a claim would end before it begins. Imports keep such ones as they are."""
    begin, end = validity(valid_from, valid_to)
    if begin is not None and end is not None and end < begin:
        raise InvalidKnowledgeError(say("ends_before_it_begins", begin=valid_from, end=str(valid_to)))


def category_name(value: Any, what: str) -> str:
    """A type or domain as stored: lowercase, spaces as underscores. Raises InvalidKnowledgeError."""
    name = "_".join(str(value).strip().lower().replace("-", " ").split())
    if not isinstance(value, str) or not _NAME.fullmatch(name):
        raise InvalidKnowledgeError(say("category_malformed", value=repr(value), what=what))
    return name


def iso_time(value: Any, what: str) -> str:
    """An ISO 8601 time or date, as it was given. Raises InvalidKnowledgeError."""
    try:
        datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError as error:
        raise InvalidKnowledgeError(say("time_malformed", value=repr(value), what=what)) from error
    return str(value)


def utc_time(value: Any, what: str) -> str:
    """A time as we store our own, so that they sort as text; one without a zone is UTC.

    Raises InvalidKnowledgeError.
    """
    moment = datetime.fromisoformat(iso_time(value, what).replace("Z", "+00:00"))
    try:
        return iso(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except OverflowError as error:
        raise InvalidKnowledgeError(say("time_not_storable", value=repr(value))) from error


def _primary(before: Claim, checked: Mapping[str, Any], one: str, many: str) -> dict[str, str]:
    values: list[str] = json.loads(checked.get(many) or getattr(before, many))
    primary = checked.get(one) or (values[0] if many in checked and values else getattr(before, one))
    others = [value for value in values if value not in {primary, getattr(before, one)} or many in checked]
    return {one: primary, many: _with_primary(primary, others)}


def _with_primary(primary: str, others: Sequence[str]) -> str:
    return json.dumps(list(dict.fromkeys([primary, *others])), ensure_ascii=False)


def _names(what: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        return json.dumps([category_name(one, what) for one in _values(value, f"{what}s")], ensure_ascii=False)

    return check


def _values(value: Any, what: str) -> Sequence[Any]:
    try:
        values = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise InvalidKnowledgeError(f"The {what} are no list.") from error
    values = listed(values, what)
    if len(values) > _MOST_VALUES:
        raise InvalidKnowledgeError(say("too_many_values", count=len(values), what=what, most=_MOST_VALUES))
    return values


def _questions(value: Any) -> str | None:
    if value is None or value == "":
        return None
    texts = [required_text(one, "question", longest=_LONGEST_NOTE) for one in _values(value, "possible questions")]
    return json.dumps(texts, ensure_ascii=False) if texts else None


def _status(value: Any) -> str:
    try:
        return ClaimStatus(value).value
    except ValueError as error:
        raise InvalidKnowledgeError(f"{value!r} is no status; use one of {', '.join(ClaimStatus)}.") from error


def _confidence(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidKnowledgeError(say("confidence_malformed", value=repr(value)))
    return float(value)


def _note(what: str) -> Callable[[Any], str | None]:
    return lambda value: optional_text(value, what, longest=_LONGEST_NOTE)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "statement": lambda value: required_text(value, "statement", longest=LONGEST_STATEMENT),
    "claim_type": lambda value: category_name(value, "type"),
    "claim_types": _names("type"),
    "context_domain": lambda value: category_name(value, "domain"),
    "context_domains": _names("domain"),
    "status": _status,
    "confidence": _confidence,
    "valid_from": lambda value: EPOCH if value in (None, "") else iso_time(value, "the beginning"),
    "valid_to": lambda value: None if value in (None, "") else iso_time(value, "the end"),
    "meta_json": lambda value: json_object(value, "further data"),
    "possible_questions": _questions,
    "subject_text": _note("subject"),
    "predicate": _note("predicate"),
    "object_text": _note("object"),
}
