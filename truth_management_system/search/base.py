"""What all searches share: filters, results, and how rankings are put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from math import ceil
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Table, and_, bindparam, exists, literal, literal_column, select

from ..config import PKBConfig
from ..constants import ClaimStatus
from ..crud.base import listed, one_of
from ..crud.claim_fields import utc_time
from ..errors import InvalidKnowledgeError
from ..models import Claim
from ..schema import sqlite
from ..schema.operators import among, has_begun, has_not_ended, holds_any
from ..schema.tables import claim_domains, claim_entities, claim_tags, claims, context_claims, contexts, tags

_SECONDS_A_DAY = 86_400
_RRF_CONSTANT = 60


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
        return {
            "context_domains": self.context_domains,
            "claim_types": self.claim_types,
            "tags": self.tags,
            "entities": self.entities,
            "contexts": self.contexts,
        }

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
_STATEMENTS: dict[str, ColumnElement[Any]] = {
    "uncontested": claims.c.status != literal(_CONTESTED),
    "pinned": claims.c.pinned == literal_column("1"),
    "unpinned": claims.c.pinned == literal_column("0"),
    "context_domains": exists(literal_column("1")).where(
        claim_domains.c.claim_rowid == claims.c.claim_rowid, among(claim_domains.c.domain, "context_domains")
    ),
    "claim_types": holds_any(claims.c.claim_types, "claim_types"),
    "tags": _filed_below(tags, claim_tags, "tag_id", "parent_tag_id", "tags"),
    "entities": claims.c.claim_id.in_(
        select(claim_entities.c.claim_id).where(among(claim_entities.c.entity_id, "entities"))
    ),
    "contexts": _filed_below(contexts, context_claims, "context_id", "parent_context_id", "contexts"),
    "created_after": claims.c.created_at >= bindparam("created_after"),
    "created_before": claims.c.created_at < bindparam("created_before"),
    "updated_after": claims.c.updated_at >= bindparam("updated_after"),
    "updated_before": claims.c.updated_at < bindparam("updated_before"),
    # Compared as times: they are stored as they were given, as days too, and in any zone.
    "valid_at": and_(
        has_begun(claims.c.valid_from, bindparam("valid_at")), has_not_ended(claims.c.valid_to, bindparam("valid_at"))
    ),
}


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
    rrf_constant: int = _RRF_CONSTANT,
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


def rerank_reach(k: int, config: PKBConfig) -> int | None:
    """How many results of one ranking may be among the first `k` once age and confidence have changed their scores.

    None: any of them. A score falls by the two weights at most, and those of ranks are apart by a known factor.
    """
    least = 1 - config.recency_weight - config.confidence_weight
    return ceil((_RRF_CONSTANT + k - 1) / least) - _RRF_CONSTANT + 1 if least > 0 else None


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
