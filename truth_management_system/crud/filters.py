"""Which claims are read: the filters of searches and lists, and their conditions in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Table, and_, bindparam, exists, literal, literal_column, select

from ..constants import ClaimStatus
from ..errors import InvalidKnowledgeError
from ..schema import sqlite
from ..schema.operators import among, has_begun, has_not_ended, holds_any
from ..schema.tables import claim_domains, claim_entities, claim_tags, claims, context_claims, contexts, tags
from .base import listed, one_of
from .claim_fields import utc_time


@dataclass(slots=True, kw_only=True)
class SearchFilters:
    """Which claims are looked at; a list that is empty does not restrict.

    Attributes:
        statuses: Active and contested ones, unless told otherwise.
        context_domains, claim_types: Any of these, primary or further.
        tags, entities, contexts: Ids; claims that have any of each. Sub-tags and sub-contexts count.
        claim_ids: These claims alone.
        valid_at: ISO time at which the claim is valid; a `valid_to` without a time of day is the end of that day.
        created_after, created_before, updated_after, updated_before: ISO times. A time without a zone is UTC.
        pinned: Only pinned (True) or only others (False).
        include_contested: False leaves out what is contested.
    """

    statuses: list[str] = field(default_factory=ClaimStatus.default_search_statuses)
    context_domains: list[str] = field(default_factory=list)
    claim_types: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    claim_ids: list[str] = field(default_factory=list)
    valid_at: str | None = None
    created_after: str | None = None
    created_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    pinned: bool | None = None
    include_contested: bool = True

    def conditions(self) -> tuple[Conditions, dict[str, Any]]:
        """Which conditions hold for the claims that are found (see `in_sql`), and their parameters.

        Raises InvalidKnowledgeError for a time that is none.
        """
        fixed: list[tuple[str, ...]] = []
        if self.statuses:
            fixed.append(
                ("statuses", *(each for each in self.statuses if self.include_contested or each != _CONTESTED))
            )
        elif not self.include_contested:
            fixed.append(("uncontested",))
        if self.pinned is not None:
            fixed.append(("pinned" if self.pinned else "unpinned",))
        values: dict[str, Any] = {name: wanted for name, wanted in self._lists().items() if wanted}
        values |= {name: utc_time(time, "a filter") for name, time in self._times().items() if time is not None}
        return (*fixed, *((name,) for name in values)), values

    def to_sql_conditions(self) -> tuple[list[str], list[Any]]:
        """Conditions over the table `claims` as text for SQLite, to be joined by AND, and their parameters.

        Raises InvalidKnowledgeError for a time that is none.
        """
        conditions, values = self.conditions()
        values |= self._lists()
        texts: list[str] = []
        parameters: list[Any] = []
        for condition in in_sql(conditions):
            text, given = sqlite.as_text(condition, values)
            texts.append(text)
            parameters += given
        return texts, parameters

    def _lists(self) -> dict[str, list[str]]:
        return {name: getattr(self, name) for name in _OF_SEVERAL}

    def _times(self) -> dict[str, str | None]:
        return {
            "created_after": self.created_after,
            "created_before": self.created_before,
            "updated_after": self.updated_after,
            "updated_before": self.updated_before,
            "valid_at": self.valid_at,
        }


Conditions = tuple[tuple[str, ...], ...]
"""Conditions by name, each with the values that are part of the statement: the same tuple is the same statement."""


def in_sql(conditions: Conditions) -> list[ColumnElement[Any]]:
    """Conditions over the table `claims`, whose parameters are called as the fields of SearchFilters."""
    return [
        _STATEMENTS[name] if name in _STATEMENTS else one_of(claims.c.status, values) for name, *values in conditions
    ]


def _filed_below(groups: Table, ties: Table, key: str, parent: str, name: str) -> ColumnElement[bool]:
    """Whether a claim is filed under one of the groups of the list `name`, or up to ten levels below."""
    top = select(groups.c[key], literal_column("0").label("depth")).where(among(groups.c[key], name))
    below = top.cte(f"{name}_below", recursive=True)
    next_level = select(groups.c[key], below.c.depth + literal_column("1")).where(
        groups.c[parent] == below.c[key], below.c.depth < literal_column("10")
    )
    below = below.union(next_level)
    return claims.c.claim_id.in_(select(ties.c.claim_id).join(below, ties.c[key] == below.c[key]))


_CONTESTED = ClaimStatus.CONTESTED.value
# By its name, so that a condition that stands alone, as text, is about the row of the statement it comes into.
_THIS_ROW = literal_column("claims.claim_rowid", BigInteger)
_STATEMENTS: dict[str, ColumnElement[Any]] = {
    "uncontested": claims.c.status != literal(_CONTESTED),
    "pinned": claims.c.pinned == literal_column("1"),
    "unpinned": claims.c.pinned == literal_column("0"),
    "context_domains": exists(literal_column("1")).where(
        claim_domains.c.claim_rowid == _THIS_ROW, among(claim_domains.c.domain, "context_domains")
    ),
    "claim_types": holds_any(claims.c.claim_types, "claim_types"),
    "tags": _filed_below(tags, claim_tags, "tag_id", "parent_tag_id", "tags"),
    "entities": claims.c.claim_id.in_(
        select(claim_entities.c.claim_id).where(among(claim_entities.c.entity_id, "entities"))
    ),
    "contexts": _filed_below(contexts, context_claims, "context_id", "parent_context_id", "contexts"),
    "claim_ids": among(claims.c.claim_id, "claim_ids"),
    "created_after": claims.c.created_at >= bindparam("created_after"),
    "created_before": claims.c.created_at < bindparam("created_before"),
    "updated_after": claims.c.updated_at >= bindparam("updated_after"),
    "updated_before": claims.c.updated_at < bindparam("updated_before"),
    # Compared as times: they are stored as they were given, as days too, and in any zone.
    "valid_at": and_(
        has_begun(claims.c.valid_from, bindparam("valid_at")), has_not_ended(claims.c.valid_to, bindparam("valid_at"))
    ),
}


_ONE_OF_MANY = {
    "status": "statuses",
    "context_domain": "context_domains",
    "claim_type": "claim_types",
    "tag": "tags",
    "entity": "entities",
    "context": "contexts",
    "claim_id": "claim_ids",
}
_LISTS = frozenset(_ONE_OF_MANY.values())
_OF_SEVERAL = tuple(name for name in _ONE_OF_MANY.values() if name != "statuses")
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
