"""Filters as a caller spells them out, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..crud.base import listed
from ..errors import InvalidKnowledgeError
from .base import SearchFilters

_ONE_OF_MANY = {
    "status": "statuses",
    "context_domain": "context_domains",
    "claim_type": "claim_types",
    "tag": "tags",
    "entity": "entities",
    "context": "contexts",
}
_LISTS = frozenset(_ONE_OF_MANY.values())
_SWITCHES = frozenset({"pinned", "include_contested"})
_FILTERS = frozenset(one.name for one in fields(SearchFilters))


def search_filters(given: SearchFilters | Mapping[str, Any] | None) -> SearchFilters:
    """The filters that `{"status": "active", "claim_types": ["fact"], …}` spells out; a copy of real ones.

    Raises InvalidKnowledgeError for a name that is no filter and for a value that is no list where one is needed.
    """
    if isinstance(given, SearchFilters):
        return replace(given)
    if not isinstance(given, Mapping | None):
        raise InvalidKnowledgeError("The filters are no object.")
    wanted: dict[str, Any] = {}
    for name, value in (given or {}).items():
        column = _ONE_OF_MANY.get(name, name)
        if column not in _FILTERS:
            raise InvalidKnowledgeError(f"{name!r} is no filter; use one of {', '.join(sorted(_FILTERS))}.")
        if column in _LISTS:
            wanted[column] = [value] if isinstance(value, str) else list(listed(value, column))
        elif value is not None:
            wanted[column] = _single(column, value)
    return SearchFilters(**wanted)


def _single(name: str, value: Any) -> Any:
    if isinstance(value, bool if name in _SWITCHES else str):
        return value
    raise InvalidKnowledgeError(f"The filter {name!r} takes {'true or false' if name in _SWITCHES else 'a time'}.")
