"""What all searches share: filters, results, and how rankings are put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from ..config import PKBConfig
from ..constants import ClaimStatus
from ..crud.claim_fields import utc_time
from ..models import Claim

_SECONDS_A_DAY = 86_400


@dataclass(slots=True, kw_only=True)
class SearchFilters:
    """Which claims are looked at; a list that is empty does not restrict.

    Attributes:
        statuses: Active and contested ones, unless told otherwise.
        context_domains, claim_types: Any of these, primary or further.
        tags, entities, contexts: Ids; claims that have any of each. Sub-tags and sub-contexts count.
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
    valid_at: str | None = None
    created_after: str | None = None
    created_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    pinned: bool | None = None
    include_contested: bool = True

    def to_sql_conditions(self) -> tuple[list[str], list[Any]]:
        """Conditions over the table `claims`, to be joined by AND, and their parameters.

        Raises InvalidKnowledgeError for a time that is none.
        """
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
        elif not self.include_contested:
            parts.append(("claims.status <> ?", [ClaimStatus.CONTESTED.value]))
        for values, pattern in (
            (self.context_domains, _DOMAINS),
            (self.claim_types, _TYPES),
            (self.tags, _TAGS),
            (self.entities, _ENTITIES),
            (self.contexts, _CONTEXTS),
        ):
            if values:
                parts.append((pattern.format(_marks(values)), values))
        times = [(condition, value) for condition, value in self._times() if value is not None]
        parts += [(condition, [utc_time(value, "a filter")]) for condition, value in times]
        if self.pinned is not None:
            parts.append(("claims.pinned = ?", [int(self.pinned)]))
        return parts

    def _times(self) -> list[tuple[str, str | None]]:
        return [
            ("claims.created_at >= ?", self.created_after),
            ("claims.created_at < ?", self.created_before),
            ("claims.updated_at >= ?", self.updated_after),
            ("claims.updated_at < ?", self.updated_before),
            (_VALID_FROM, self.valid_at),
            (_VALID_TO, self.valid_at),
        ]


# Compared as times: they are stored as they were given, as days too, and in any zone.
_VALID_FROM = "COALESCE(julianday(claims.valid_from) <= julianday(?), TRUE)"
_VALID_TO = "COALESCE(julianday(claims.valid_to) + (length(claims.valid_to) = 10) >= julianday(?), TRUE)"
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


@dataclass(slots=True, kw_only=True)
class Found(Sequence[SearchResult]):
    """What a search came to: its results, best first. warnings: which part of it could not be done, and why."""

    results: list[SearchResult] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SearchResult]:
        return iter(self.results)

    def __getitem__(self, index: Any) -> Any:
        return self.results[index]


class SearchStrategy(Protocol):
    """One way to find claims of one user."""

    name: str

    def find(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> Found:
        """At most `k` claims, best first, and what could not be done."""
        ...

    def search(self, query: str, k: int = 20, filters: SearchFilters | None = None) -> list[SearchResult]:
        """At most `k` claims, best first."""
        return self.find(query, k, filters).results


def merge_results_rrf(
    result_lists: Sequence[Sequence[SearchResult]],
    k: int = 20,
    weights: Sequence[float] | None = None,
    rrf_constant: int = 60,
    *,
    strategy_weights: Mapping[str, float] | None = None,
) -> list[SearchResult]:
    """Reciprocal-rank fusion: the best `k` claims of several rankings, each claim once.

    A claim scores the sum of weight / (rrf_constant + rank) over the lists that it is in; the first of a list has rank
    0. `weights` has one for each list, `strategy_weights` one for each `source`, 1 without; both count.
    `metadata["sources"]` says which searches found it, `metadata["ranks"]` and `metadata["scores"]` at which rank and
    with which score; of `metadata["z_score"]` and `["coverage"]` the highest is kept. Equal scores keep the order of
    the lists. Raises ValueError for a number of weights that is not that of the lists.
    """
    by_source = strategy_weights or {}
    merged: dict[str, SearchResult] = {}
    for results, weight in zip(result_lists, weights or [1.0] * len(result_lists), strict=True):
        firsts: dict[str, SearchResult] = {}
        for result in results:
            firsts.setdefault(result.claim.claim_id, result)
        for rank, result in enumerate(firsts.values()):
            score = weight * by_source.get(result.source, 1.0) / (rrf_constant + rank)
            _add_rank(merged, result, rank=rank, score=score)
    return sorted(merged.values(), key=lambda result: -result.score)[:k]


def _add_rank(merged: dict[str, SearchResult], result: SearchResult, *, rank: int, score: float) -> None:
    found = merged.setdefault(result.claim.claim_id, replace(result, score=0.0, source="hybrid", metadata={}))
    found.score += score
    found.metadata["ranks"] = found.metadata.get("ranks", {}) | {result.source: rank}
    found.metadata["sources"] = list(found.metadata["ranks"])
    found.metadata["scores"] = found.metadata.get("scores", {}) | {result.source: result.score}
    for name in {"z_score", "coverage"} & result.metadata.keys():
        found.metadata[name] = max(result.metadata[name], found.metadata.get(name, result.metadata[name]))
    found.warnings = list(dict.fromkeys([*found.warnings, *result.warnings]))


def apply_recency_confidence_rerank(
    results: Sequence[SearchResult], config: PKBConfig | None = None, *, now: datetime | None = None
) -> list[SearchResult]:
    """The results in the order that their age and confidence change a little; what was given stays as it is.

    The weights and the half-life are those of `config`. A claim without a confidence counts like a certain one: nobody
    doubted it. `metadata["score_before_rerank"]` keeps the score that came in.
    """
    config, now = config or PKBConfig(), now or datetime.now(UTC)
    reranked = [_reranked(result, config, now) for result in results]
    return sorted(reranked, key=lambda result: -result.score)


def _reranked(result: SearchResult, config: PKBConfig, now: datetime) -> SearchResult:
    recency, confidence = config.recency_weight, config.confidence_weight
    freshness = 0.5 ** (_age_in_days(result.claim, now) / config.recency_half_life_days)
    certainty = 1.0 if result.claim.confidence is None else result.claim.confidence
    factor = 1 - recency - confidence + recency * freshness + confidence * certainty
    metadata = result.metadata | {"score_before_rerank": result.score}
    return replace(result, score=result.score * factor, metadata=metadata)


def _age_in_days(claim: Claim, now: datetime) -> float:
    try:
        changed = datetime.fromisoformat(claim.updated_at)
    except ValueError:
        return 0.0
    changed = changed if changed.tzinfo else changed.replace(tzinfo=UTC)
    return max(0.0, (now - changed).total_seconds() / _SECONDS_A_DAY)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)
