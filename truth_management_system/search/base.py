"""What all searches share: filters, results, and how rankings are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..constants import ClaimStatus
from ..models import Claim


@dataclass(slots=True, kw_only=True)
class SearchFilters:
    """Which claims are looked at; a list that is empty does not restrict.

    Attributes:
        statuses: Active and contested ones, unless told otherwise.
        context_domains, claim_types: Any of these, primary or further.
        tags, entities, contexts: Ids; claims that have any of each. Sub-tags and sub-contexts count.
        valid_at: ISO time at which the claim is valid.
        created_after, created_before, updated_after, updated_before: ISO times.
        pinned: Only pinned (True) or only others (False).
        include_contested: False leaves out what is contested.
    """

    statuses: list[str] = field(default_factory=ClaimStatus.default_search_statuses)
    context_domains: list[str] = field(default_factory=list)
    claim_types: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    valid_at: str | None = None
    created_after: str | None = None
    created_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    pinned: bool | None = None
    include_contested: bool = True

    def to_sql_conditions(self) -> tuple[list[str], list[Any]]:
        """Conditions over the table `claims`, to be joined by AND, and their parameters."""
        conditions: list[str] = []
        parameters: list[Any] = []
        for condition, values in self._parts():
            conditions.append(condition)
            parameters += values
        return conditions, parameters

    def _parts(self) -> list[tuple[str, Sequence[Any]]]:
        statuses = [status for status in self.statuses if self.include_contested or status != ClaimStatus.CONTESTED]
        parts: list[tuple[str, Sequence[Any]]] = []
        if self.statuses:
            parts.append((f"claims.status IN ({_marks(statuses)})", statuses))
        for values, pattern in (
            (self.context_domains, _DOMAINS),
            (self.claim_types, _TYPES),
            (self.tags, _TAGS),
            (self.entities, _ENTITIES),
            (self.contexts, _CONTEXTS),
        ):
            if values:
                parts.append((pattern.format(_marks(values)), values))
        parts += [(condition, [value]) for condition, value in self._times() if value is not None]
        if self.valid_at is not None:
            parts.append(("claims.valid_from <= ?", [self.valid_at]))
            parts.append(("(claims.valid_to IS NULL OR claims.valid_to >= ?)", [self.valid_at]))
        if self.pinned is not None:
            parts.append(("claims.pinned = ?", [int(self.pinned)]))
        return parts

    def _times(self) -> list[tuple[str, str | None]]:
        return [
            ("claims.created_at >= ?", self.created_after),
            ("claims.created_at < ?", self.created_before),
            ("claims.updated_at >= ?", self.updated_after),
            ("claims.updated_at < ?", self.updated_before),
        ]


_DOMAINS = (
    "EXISTS (SELECT 1 FROM claim_domains WHERE claim_domains.claim_rowid = claims.claim_rowid "
    "AND claim_domains.domain IN ({}))"
)
_TYPES = "EXISTS (SELECT 1 FROM json_each(claims.claim_types) WHERE json_each.value IN ({}))"
_TAGS = (
    "claims.claim_id IN (WITH RECURSIVE below(tag_id, depth) AS ("
    "SELECT tag_id, 0 FROM tags WHERE tag_id IN ({}) UNION "
    "SELECT tags.tag_id, depth + 1 FROM tags JOIN below ON tags.parent_tag_id = below.tag_id WHERE depth < 10) "
    "SELECT claim_tags.claim_id FROM claim_tags JOIN below ON claim_tags.tag_id = below.tag_id)"
)
_ENTITIES = "claims.claim_id IN (SELECT claim_id FROM claim_entities WHERE entity_id IN ({}))"
_CONTEXTS = (
    "claims.claim_id IN (WITH RECURSIVE below(context_id, depth) AS ("
    "SELECT context_id, 0 FROM contexts WHERE context_id IN ({}) UNION "
    "SELECT contexts.context_id, depth + 1 FROM contexts "
    "JOIN below ON contexts.parent_context_id = below.context_id WHERE depth < 10) "
    "SELECT context_claims.claim_id FROM context_claims JOIN below ON context_claims.context_id = below.context_id)"
)


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """A claim that was found.

    score: higher is better; comparable within one search only. source: the search that found it ("fts", "embedding",
    "hybrid", …). warnings: what a reader should know of it, for instance that it is contested.
    """

    claim: Claim
    score: float
    source: str
    is_contested: bool = False
    warnings: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


class SearchStrategy(Protocol):
    """One way to find claims."""

    name: str

    def search(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> list[SearchResult]:
        """At most `k` claims, best first."""
        ...


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)
