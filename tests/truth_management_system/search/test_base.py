"""Putting rankings together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from truth_management_system.config import PKBConfig
from truth_management_system.models import Claim
from truth_management_system.search.base import (
    SearchResult,
    apply_recency_confidence_rerank,
    merge_results_rrf,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def result(name: str, score: float = 1.0, source: str = "fts", **fields: object) -> SearchResult:
    claim = Claim.create(name, "fact", "personal", **fields)
    claim.claim_id = name
    return SearchResult(claim=claim, score=score, source=source)


def named(results: list[SearchResult]) -> list[str]:
    return [each.claim.claim_id for each in results]


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat().replace("+00:00", "Z")


def test_what_two_searches_find_comes_before_what_one_finds():
    words = [result("a"), result("b")]
    meaning = [result("c", source="embedding"), result("b", source="embedding")]
    assert named(merge_results_rrf([words, meaning])) == ["b", "a", "c"]


def test_a_claim_scores_the_sum_of_its_weighted_reciprocal_ranks():
    words, meaning = [result("a"), result("b")], [result("b", source="embedding")]
    (first, second) = merge_results_rrf([words, meaning], weights=[1.0, 2.0])
    assert first.claim.claim_id == "b"
    assert first.score == pytest.approx(1 / 61 + 2 / 60)
    assert second.score == pytest.approx(1 / 60)


def test_a_search_can_weigh_more_than_another_wherever_its_findings_are():
    lists = [[result("a")], [result("b", source="embedding")]]
    assert named(merge_results_rrf(lists, strategy_weights={"embedding": 1.5})) == ["b", "a"]


def test_the_constant_decides_how_much_the_first_ranks_weigh():
    (first,) = merge_results_rrf([[result("a")]], rrf_constant=10)
    assert first.score == pytest.approx(0.1)


def test_each_claim_comes_once_and_says_how_it_was_found():
    words = [result("a", 7.0), result("a", 5.0)]
    (merged,) = merge_results_rrf([words, [result("x", source="embedding"), result("a", 0.8, "embedding")]])[:1]
    assert merged.source == "hybrid"
    assert merged.metadata["ranks"] == {"fts": 0, "embedding": 1}
    assert merged.metadata["sources"] == ["fts", "embedding"]
    assert merged.metadata["scores"] == {"fts": 7.0, "embedding": 0.8}


def test_of_what_two_searches_say_of_a_claim_the_most_is_kept():
    first, second = result("a"), result("a", source="embedding")
    first.metadata, second.metadata = {"coverage": 0.9, "z_score": 1.0}, {"coverage": 0.5, "z_score": 2.0}
    (merged,) = merge_results_rrf([[first], [second]])
    assert (merged.metadata["coverage"], merged.metadata["z_score"]) == (0.9, 2.0)


def test_what_was_merged_stays_as_it_was():
    given = result("a", 7.0)
    merge_results_rrf([[given], [given]])
    assert (given.score, given.source, given.metadata) == (7.0, "fts", {})


def test_no_more_than_asked_for_come_back():
    assert named(merge_results_rrf([[result("a"), result("b"), result("c")]], k=2)) == ["a", "b"]


def test_each_list_needs_its_weight():
    with pytest.raises(ValueError, match="argument"):
        merge_results_rrf([[result("a")], [result("b")]], weights=[1.0])


def test_nothing_merged_is_nothing():
    assert merge_results_rrf([]) == []
    assert merge_results_rrf([[], []]) == []


def test_of_equal_claims_the_newer_one_comes_first():
    old, new = result("old", updated_at=days_ago(700)), result("new", updated_at=days_ago(1))
    assert named(apply_recency_confidence_rerank([old, new], now=NOW)) == ["new", "old"]


def test_of_equal_claims_the_surer_one_comes_first():
    unsure = result("unsure", confidence=0.2, updated_at=days_ago(1))
    sure = result("sure", confidence=0.9, updated_at=days_ago(1))
    assert named(apply_recency_confidence_rerank([unsure, sure], now=NOW)) == ["sure", "unsure"]


def test_a_claim_that_nobody_doubted_counts_as_sure():
    silent, sure = result("silent", updated_at=days_ago(3)), result("sure", confidence=1.0, updated_at=days_ago(3))
    first, second = apply_recency_confidence_rerank([silent, sure], now=NOW)
    assert first.score == second.score


def test_age_and_confidence_do_not_outweigh_what_fits_far_better():
    old = result("old", 1.0, confidence=0.1, updated_at=days_ago(3_000))
    new = result("new", 0.5, updated_at=days_ago(0))
    assert named(apply_recency_confidence_rerank([new, old], now=NOW)) == ["old", "new"]


def test_after_the_half_life_half_of_the_share_of_recency_is_lost():
    config = PKBConfig(recency_weight=0.4, recency_half_life_days=10, confidence_weight=0.0)
    (reranked,) = apply_recency_confidence_rerank([result("a", updated_at=days_ago(10))], config, now=NOW)
    assert reranked.score == pytest.approx(0.8)
    assert reranked.metadata["score_before_rerank"] == 1.0


@pytest.mark.parametrize("time", ["", "yesterday", "2026-06-01", "2999-01-01T00:00:00Z"])
def test_a_claim_whose_time_is_strange_counts_as_new(time: str):
    (reranked,) = apply_recency_confidence_rerank([result("a", updated_at=time)], now=NOW)
    assert reranked.score == pytest.approx(1.0)


def test_reranking_leaves_what_it_was_given_alone():
    given = result("a", updated_at=days_ago(400))
    apply_recency_confidence_rerank([given], now=NOW)
    assert (given.score, given.metadata) == (1.0, {})
