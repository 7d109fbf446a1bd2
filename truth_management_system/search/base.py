"""What all searches share: results, and how rankings are put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from typing import Any, Protocol

from ..config import PKBConfig
from ..crud.filters import SearchFilters
from ..models import Claim

_SECONDS_A_DAY = 86_400
_RRF_CONSTANT = 60


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
    found = merged.get(result.claim.claim_id)
    if found is None:
        merged[result.claim.claim_id] = found = replace(result, score=0.0, source="hybrid", metadata={})
    found.score += score
    metadata = found.metadata
    metadata["ranks"] = metadata.get("ranks", {}) | {result.source: rank}
    metadata["sources"] = list(metadata["ranks"])
    metadata["scores"] = metadata.get("scores", {}) | {result.source: result.score}
    for name in ("z_score", "coverage"):
        if name in result.metadata:
            metadata[name] = max(result.metadata[name], metadata.get(name, result.metadata[name]))
    if result.warnings:
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
