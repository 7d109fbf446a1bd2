"""Search, completion, references and counts over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from chat.context.knowledge import KnowledgeAccess
from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses
from tests.endpoints.pkb.conftest import embed_all

pytestmark = pytest.mark.contract

NOUNS = ("fence", "chair", "kettle", "bicycle", "window", "lamp", "roof", "piano")
VERBS = ("repaired", "painted", "bought", "sold", "watered", "borrowed", "forgotten", "photographed")


def resolved(person: Person, reference: str) -> responses.ResolvedReference:
    """What a reference names."""
    return told(person.get(f"/pkb/resolve/{reference}"), responses.ResolvedReference)


def test_a_search_gives_the_best_first_and_says_what_took_no_part(ada: Person) -> None:
    ada.remember("I prefer morning workouts")
    ada.remember("Tea is good")
    found = told(ada.get("/pkb/search?q=workout"), responses.ClaimSearchResults)
    assert [result.claim.statement for result in found.results] == ["I prefer morning workouts"]
    assert found.results[0].source == "hybrid"
    assert found.results[0].score > 0
    assert any("embedding" in warning for warning in found.warnings)


@pytest.mark.parametrize("strategy", ["hybrid", "embedding", "rewrite"])
def test_a_list_leaves_out_what_only_happens_to_be_the_nearest(
    vectors: KnowledgeAccess, ada: Person, strategy: str
) -> None:
    # A drawn id has words of its own, which a short word may begin.
    named = {"Morning workouts": "the_first", "Tea is good": "the_second", "Bern is far": "the_third"}
    for statement, friendly_id in named.items():
        ada.remember(statement, friendly_id=friendly_id)
    embed_all(vectors)
    path = f"/pkb/claims?strategy={strategy}&query="
    listed = {
        query: [claim.statement for claim in told(ada.get(path + query), responses.ClaimPage).claims]
        for query in ("exercise", "tea", "gibberish")
    }
    assert listed == {"exercise": ["Morning workouts"], "tea": ["Tea is good"], "gibberish": []}


@pytest.mark.parametrize("strategy", ["hybrid", "fts", "embedding"])
def test_the_pages_of_a_search_are_one_ranking_cut_in_pieces(
    vectors: KnowledgeAccess, ada: Person, strategy: str
) -> None:
    fitting = [f"The {noun} was {verb} by a friend as noted below" for noun in NOUNS for verb in VERBS]
    in_part = [f"Unlike the {noun} somebody {verb} twelve years ago, noted" for noun in NOUNS for verb in VERBS]
    for statements in (fitting, in_part):
        drafts = [{"statement": statement} for statement in statements]
        assert ada.post("/pkb/claims/bulk", json={"claims": drafts}).json["failed_count"] == 0
    embed_all(vectors)

    def page(limit: int, offset: int) -> responses.ClaimPage:
        query = {"query": "noted below", "strategy": strategy, "limit": limit, "offset": offset}
        return told(ada.get("/pkb/claims", query_string=query), responses.ClaimPage)

    whole = page(200, 0)
    assert {claim.statement for claim in whole.claims} >= set(fitting)
    pages = [page(25, offset) for offset in range(0, whole.count + 25, 25)]
    assert [claim.claim_id for one in pages for claim in one.claims] == [claim.claim_id for claim in whole.claims]
    assert {one.total_count for one in [whole, *pages]} == {whole.count}
    assert pages[-1].count == 0


def test_a_search_that_finds_too_much_says_that_the_rest_is_not_shown(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endpoints.pkb.claims.MOST_FOUND", 20)
    ada.post("/pkb/claims/bulk", json={"claims": [{"statement": f"Tea number {n}"} for n in range(21)]})
    page = told(ada.get("/pkb/claims?query=tea&strategy=fts&limit=15&offset=15"), responses.ClaimPage)
    assert (page.count, page.total_count) == (5, 20)
    assert page.warnings == ["The best 20 are shown; narrow the search or filter."]
    assert told(ada.get("/pkb/claims?query=20&strategy=fts"), responses.ClaimPage).warnings == []


@pytest.mark.parametrize(
    ("path", "asked"),
    [("/pkb/claims", {}), ("/pkb/claims", {"query": "tea"}), ("/pkb/search", {"q": "tea"})],
)
def test_types_and_domains_are_found_as_they_are_written_and_unknown_ones_named(
    path: str, asked: dict[str, str], ada: Person
) -> None:
    ada.remember("Tea is good", claim_type="My Type", context_domain="My Own Dom")
    ada.remember("Tea is healthy", context_domain="health")

    def answered(**query: str) -> tuple[list[str], list[str]]:
        answer = ada.get(path, query_string={"strategy": "fts", **asked, **query})
        rows = answer.json.get("claims") or [row["claim"] for row in answer.json.get("results", [])]
        assert len(answer.json["warnings_said"]) == len(answer.json["warnings"])
        return [row["statement"] for row in rows], [said[0]["code"] for said in answer.json["warnings_said"]]

    for query in ({"claim_type": "My Type"}, {"context_domain": "My Own Dom"}, {"context_domain": "my-own dom"}):
        assert answered(**query) == (["Tea is good"], [])
    assert answered(context_domain="HEALTH") == (["Tea is healthy"], [])
    assert answered(context_domain="finance") == ([], [])
    assert answered(context_domain="nopedom") == ([], ["no_such_domain"])
    assert answered(claim_type="!?", context_domain="nope") == ([], ["no_such_type", "no_such_domain"])


def test_a_read_only_token_asks_what_changes_nothing(ada: Person, app: Flask) -> None:
    ada.remember("I prefer morning workouts")
    token = ada.post("/api_tokens", json={"name": "reader", "read_only": True}).json["token"]
    reader, headers = Person(ada.email, app.test_client()), {"Authorization": f"Bearer {token}"}
    before = [ada.get(path).json for path in ("/pkb/stats", "/pkb/audit")]
    asked = {"query": "When is my workout?"}
    given = reader.post("/pkb/relevant_context", json=asked, headers=headers).json
    assert [claim["statement"] for claim in given["claims"]] == ["I prefer morning workouts"]
    for use_model in (True, False):
        statement = {"statement": "I prefer workouts in the morning", "use_model": use_model}
        analysed = told(reader.post("/pkb/analyze_statement", json=statement, headers=headers), responses.Analysis)
        assert analysed.claim_type == "preference"
    for path, body in (("/pkb/ingest_text", {"text": "I like tea"}), ("/pkb/text", {"text": "forget tea"})):
        assert refused(reader.post(path, json=body, headers=headers)) == (403, "forbidden")
    assert [ada.get(path).json for path in ("/pkb/stats", "/pkb/audit")] == before


def test_a_contested_result_says_so(ada: Person) -> None:
    ids = [ada.remember(statement).claim_id for statement in ("Tea is good", "Tea is bad")]
    ada.post("/pkb/conflicts", json={"claim_ids": ids})
    results = told(ada.get("/pkb/search?q=tea"), responses.ClaimSearchResults).results
    assert [result.is_contested for result in results] == [True, True]
    assert all(result.warnings for result in results)


def test_a_search_finds_no_more_than_it_is_asked_for(ada: Person) -> None:
    ada.post("/pkb/claims/bulk", json={"claims": [{"statement": f"Tea number {n}"} for n in range(30)]})
    assert len(told(ada.get("/pkb/search?q=tea&k=7"), responses.ClaimSearchResults).results) == 7
    assert len(told(ada.get("/pkb/search?q=tea"), responses.ClaimSearchResults).results) == 20


@pytest.mark.parametrize("query", [{"k": 0}, {"k": 101}, {"strategy": "magic"}, {"status": "gone"}])
def test_a_search_that_is_not_valid_is_refused_with_the_field(query: dict[str, Any], ada: Person) -> None:
    answer = ada.get("/pkb/search", query_string={"q": "tea", **query})
    assert refused(answer) == (400, "bad_request")
    assert answer.json["details"][0]["loc"][0] in query


def test_what_can_be_referred_to_is_completed_by_id_and_by_words(ada: Person) -> None:
    claim = ada.remember("Morning workouts are best", friendly_id="morning_best", tags=["Morning"])
    context = ada.post("/pkb/contexts", json={"name": "Morning routine"}).json["context"]
    ada.post("/pkb/entities", json={"name": "Morning Star", "entity_type": "org"})
    ada.post("/pkb/domains", json={"name": "morning_things"})
    ada.remember("A thing", context_domain="morning_things")
    found = told(ada.get("/pkb/autocomplete?q=morn"), responses.Completions)
    assert found.memories[0] == {
        "friendly_id": "morning_best",
        "claim_id": claim.claim_id,
        "claim_number": 1,
        "statement": "Morning workouts are best",
        "claim_type": "fact",
    }
    names = ("friendly_id", "context_id", "name")
    assert found.contexts == [{**{name: context[name] for name in names}, "claim_count": 0}]
    assert [one["name"] for one in found.entities] == ["Morning Star"]
    assert [one["name"] for one in found.tags] == ["Morning"]
    assert [one["friendly_id"] for one in found.domains] == ["morning_things_domain"]
    by_word = told(ada.get("/pkb/autocomplete?q=workouts&limit=1"), responses.Completions)
    assert [one["claim_id"] for one in by_word.memories] == [claim.claim_id]
    assert refused(ada.get("/pkb/autocomplete?limit=51")) == (400, "bad_request")


def test_references_of_every_kind_are_resolved(ada: Person) -> None:
    claim = ada.remember("Anna runs", tags=["Running"], entities=[{"name": "Anna", "type": "person"}])
    context = ada.post("/pkb/contexts", json={"name": "Health Goals"}).json["context"]
    ada.put(f"/pkb/contexts/{context['context_id']}/claims/{claim.claim_id}")
    for reference, kind in (
        (claim.friendly_id, "claim"),
        (f"@{claim.friendly_id}", "claim"),
        ("claim_1", "claim"),
        ("%231", "claim"),
        (claim.claim_id, "claim"),
        ("health_goals_context", "context"),
        ("Health_Goals", "context"),
        ("anna_person_entity", "entity"),
        ("running_tag", "tag"),
        ("personal_domain", "domain"),
    ):
        found = resolved(ada, reference)
        assert (found.type, found.status) == (kind, "resolved"), reference
        assert [one.claim_id for one in found.claims] == [claim.claim_id], reference


def test_joined_groups_give_what_all_of_them_hold(ada: Person) -> None:
    both = ada.remember("Anna runs", tags=["Running"], context_domain="health")
    ada.remember("Anna sleeps", context_domain="health")
    found = resolved(ada, "@health_domain%26running_tag")
    assert [one.claim_id for one in found.claims] == [both.claim_id]
    assert (found.type, found.joins, found.total_count) == ("domain", ["domain", "tag"], 1)
    assert found.source_id == "health_domain&running_tag"
    assert resolved(ada, "running_tag").joins == []
    answer = ada.get("/pkb/resolve/health_domain%26nothing_tag")
    assert refused(answer) == (404, "reference_not_found")
    assert answer.json["details"] == {"missing": ["nothing_tag"]}


def test_a_list_is_restricted_to_joined_groups_among_other_filters(ada: Person) -> None:
    for number in range(3):
        ada.remember(f"Run {number}", tags=["Running", "Fun"], context_domain="health", claim_type="habit")
    ada.remember("Run alone", tags=["Running"], context_domain="health")
    ada.remember("Run a shop", tags=["Running", "Fun"], context_domain="work")

    def listed(**query: object) -> list[str]:
        given = {"group": "running_tag&fun_tag&health_domain", **query}
        page = told(ada.get("/pkb/claims", query_string=given), responses.ClaimPage)
        return [claim.statement for claim in page.claims]

    assert listed() == ["Run 2", "Run 1", "Run 0"]
    assert listed(limit=1, offset=1) == ["Run 1"]
    assert listed(claim_type="fact") == listed(group="health_domain&finance_domain") == []
    assert sorted(listed(query="run", strategy="fts")) == ["Run 0", "Run 1", "Run 2"]
    assert listed(query="shop", strategy="fts") == []
    assert listed(group="fun_tag") == ["Run a shop", "Run 2", "Run 1", "Run 0"]
    assert refused(ada.get("/pkb/claims?group=fun_tag%26no_tag")) == (404, "reference_not_found")


def test_a_group_with_nothing_in_it_is_empty(ada: Person) -> None:
    ada.post("/pkb/tags", json={"name": "Running"})
    assert resolved(ada, "running_tag").status == "empty"


def test_of_a_large_group_the_newest_are_given(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoints.pkb.claims.MOST_OF_A_GROUP", 2)
    claims = [ada.remember(f"Run {number}", tags=["Running"]) for number in range(3)]
    found = resolved(ada, "running_tag")
    assert [one.claim_id for one in found.claims] == [claims[2].claim_id, claims[1].claim_id]
    assert found.total_count == 3


def test_a_named_claim_says_what_became_of_it(ada: Person) -> None:
    old = ada.remember("I live in Rome")
    new = ada.remember("I live in Oslo", supersedes=old.claim_id)
    assert resolved(ada, old.friendly_id).notes == [f"superseded by @{new.friendly_id}"]
    ada.delete(f"/pkb/claims/{new.claim_id}")
    assert resolved(ada, new.friendly_id).notes == ["retracted"]


def test_a_reference_to_nothing_is_not_found(ada: Person) -> None:
    for reference in ("nothing_here_0000", "@", "claim_99", "a/b/c", "%2e%2e%2fetc"):
        assert refused(ada.get(f"/pkb/resolve/{reference}")) == (404, "reference_not_found"), reference


def test_a_name_that_two_things_bear_is_ambiguous_with_both(ada: Person) -> None:
    tops = [ada.post("/pkb/contexts", json={"name": name}).json["context"]["context_id"] for name in ("A1", "B1")]
    for top in tops:
        assert ada.post("/pkb/contexts", json={"name": "Notes", "parent_context_id": top}).status_code == 201
    answer = ada.get("/pkb/resolve/notes")
    assert refused(answer) == (409, "ambiguous")
    candidates = answer.json["details"]["candidates"]
    assert [(one["kind"], one["title"]) for one in candidates] == [("context", "Notes")] * 2
    assert {resolved(ada, one["ref"]).type for one in candidates} == {"context"}


def test_relevant_context_is_what_a_model_would_be_given(ada: Person) -> None:
    ada.remember("I prefer morning workouts", claim_type="preference", possible_questions=["When do I train?"])
    ada.remember("I prefer evening workouts", valid_to="2020-01-01")
    answer = ada.post("/pkb/relevant_context", json={"query": "When is my workout?", "k": 3})
    given = told(answer, responses.RelevantContext)
    body = "I prefer morning workouts (answers: When do I train?)"
    assert given.context == f'<pkb_item source="auto" type="preference">{body}</pkb_item>'
    assert [claim.statement for claim in given.claims] == ["I prefer morning workouts"]
    for body in ("", {}, {"query": ""}, {"query": "x", "k": 0}):
        assert refused(ada.post("/pkb/relevant_context", json=body)) == (400, "bad_request")


def test_counts_are_of_what_holds(ada: Person) -> None:
    ids = [ada.remember(f"Fact {number}", tags=["Running"]).claim_id for number in range(4)]
    ada.post("/pkb/entities", json={"name": "Anna", "entity_type": "person"})
    ada.post("/pkb/contexts", json={"name": "Health"})
    ada.put(f"/pkb/claims/{ids[0]}/pin")
    ada.post("/pkb/conflicts", json={"claim_ids": ids[:2]})
    ada.delete(f"/pkb/claims/{ids[3]}")
    counts = told(ada.get("/pkb/stats"), responses.Statistics)
    assert (counts.claims, counts.pinned, counts.contexts, counts.entities, counts.tags) == (3, 1, 1, 1, 1)
    assert counts.open_conflicts == 1
    assert counts.vectors == responses.VectorState(embedded=0, pending=0, model=None, state="none")
