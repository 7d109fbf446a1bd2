"""What programs of others build on: searches, filters and rankings, used by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.truth_management_system.conftest import added, claim
from truth_management_system import (
    ClaimCRUD,
    FTSSearchStrategy,
    PKBConfig,
    PKBDatabase,
    SearchFilters,
    SearchResult,
    StructuredAPI,
)
from truth_management_system.search.base import apply_recency_confidence_rerank, merge_results_rrf


@pytest.fixture
def claims(db: PKBDatabase) -> ClaimCRUD:
    return ClaimCRUD(db)


class TestSearch:
    def test_a_word_finds_its_plural(self, db: PKBDatabase, claims: ClaimCRUD) -> None:
        stored = claims.add(claim())
        claims.add(claim("My favourite colour is blue", context_domain="personal"))
        found = FTSSearchStrategy(db).search("workout", k=5)
        assert [result.claim for result in found] == [stored]
        assert found[0].source == "fts"
        assert (found[0].is_contested, found[0].warnings) == (False, [])
        assert found[0].score > 0

    def test_filters_hold_for_every_result(self, db: PKBDatabase, claims: ClaimCRUD) -> None:
        claims.add(claim("I like running in the park"))
        claims.add(claim("Running a company", context_domain="work"))
        found = FTSSearchStrategy(db).search("running", k=10, filters=SearchFilters(context_domains=["work"]))
        assert [result.claim.context_domain for result in found] == ["work"]
        assert FTSSearchStrategy(db).search("no such word") == []

    def test_only_columns_that_are_searched_can_be_named(self, db: PKBDatabase, claims: ClaimCRUD) -> None:
        claims.add(claim())
        assert len(FTSSearchStrategy(db).search_by_column("statement", "workouts")) == 1
        with pytest.raises(ValueError, match="claim_id"):
            FTSSearchStrategy(db).search_by_column("claim_id", "x")

    def test_filters_become_conditions_with_parameters(self) -> None:
        assert SearchFilters().statuses == ["active", "contested"]
        filters = SearchFilters(context_domains=["health"], claim_types=["fact"], statuses=["active"])
        conditions, parameters = filters.to_sql_conditions()
        assert len(conditions) == 3
        assert parameters == ["active", "health", "fact"]
        assert sum(condition.count("?") for condition in conditions) == len(parameters)

    @pytest.mark.parametrize("names", [("context_domains",), ("tags",), ("context_domains", "claim_types", "tags")])
    def test_conditions_in_somebodys_own_statement_are_about_its_rows(
        self, db: PKBDatabase, claims: ClaimCRUD, names: tuple[str, ...]
    ) -> None:
        claims.add(claim("I run", context_domain="health", claim_type="fact"), tags=["gym"])
        claims.add(claim("I work", context_domain="work"), tags=["office"])
        (gym,) = (row["tag_id"] for row in db.fetchall("SELECT tag_id FROM tags WHERE name = 'gym'"))
        given: dict[str, Any] = {"context_domains": ["health"], "claim_types": ["fact"], "tags": [gym]}
        filters = SearchFilters(**{name: given[name] for name in names})
        conditions, parameters = filters.to_sql_conditions()
        rows = db.fetchall(f"SELECT statement FROM claims WHERE {' AND '.join(conditions)}", parameters)
        assert [row["statement"] for row in rows] == ["I run"]

    def test_contested_claims_are_left_out_on_request(self) -> None:
        assert SearchFilters().include_contested is True
        assert SearchFilters(include_contested=False).to_sql_conditions()[1] == ["active"]

    def test_rankings_are_merged_by_rank_and_weight(self) -> None:
        one, other = claim("One"), claim("Other")
        by_words = [
            SearchResult(claim=one, score=9.0, source="fts"),
            SearchResult(claim=other, score=8.0, source="fts"),
        ]
        by_meaning = [SearchResult(claim=other, score=0.9, source="embedding")]
        merged = merge_results_rrf([by_words, by_meaning], k=5)
        assert [result.claim for result in merged] == [other, one]
        assert [result.score for result in merged] == pytest.approx([1 / 61 + 1 / 60, 1 / 60])
        assert merged[0].metadata["sources"] == ["fts", "embedding"]
        weighted = merge_results_rrf([by_words, by_meaning], k=1, strategy_weights={"embedding": 0.0})
        assert [result.claim for result in weighted] == [one]

    def test_of_two_equal_results_the_newer_one_comes_first(self) -> None:
        old, new = claim("Old"), claim("New")
        old.updated_at = "2020-01-01T00:00:00.000000Z"
        results = [SearchResult(claim=one, score=1.0, source="hybrid") for one in (old, new)]
        assert [result.claim for result in apply_recency_confidence_rerank(results, PKBConfig())] == [new, old]

    def test_what_the_api_found_is_a_list_of_results(self, api: StructuredAPI) -> None:
        stored = added(api)
        found = api.search("workout", strategy="hybrid", k=5, filters={"claim_types": ["preference"]})
        assert [result.claim for result in found.data] == [stored]
        assert [result.claim for result in api.search_strategy.search("workout", k=5)] == [stored]
        note = api.add_note("We talked about the timeline", "Meeting").data
        assert [one for one, _ in api.search_notes("timeline", k=5).data] == [note]

    def test_completion_names_all_kinds(self, api: StructuredAPI) -> None:
        stored = added(api, tags=["fitness"], entities=[{"type": "person", "name": "Fiona"}])
        api.add_context("Fishing")
        suggested = api.autocomplete("fi", limit=5).data
        assert set(suggested) == {"memories", "contexts", "entities", "tags", "domains"}
        assert [one["friendly_id"] for one in suggested["tags"]] == ["fitness_tag"]
        assert [one["name"] for one in suggested["domains"]] == ["finance"]
        memory = api.autocomplete(stored.friendly_id).data["memories"][0]
        assert memory["claim_id"] == stored.claim_id
