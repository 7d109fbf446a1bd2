"""Claims over HTTP: added, listed, changed, pinned."""

from __future__ import annotations

from typing import Any

import pytest

from database.engine.clock import now_iso
from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses

pytestmark = pytest.mark.contract

NOWHERE = "00000000-0000-4000-8000-000000000000"


def listed(person: Person, **query: Any) -> responses.ClaimPage:
    """A page of claims."""
    return told(person.get("/pkb/claims", query_string=query), responses.ClaimPage)


def statements(person: Person, **query: Any) -> list[str]:
    """The statements of a page of claims, in order."""
    return [claim.statement for claim in listed(person, **query).claims]


def test_a_claim_keeps_everything_it_is_given(ada: Person) -> None:
    context = ada.post("/pkb/contexts", json={"name": "Health"}).json["context"]
    given = {
        "statement": "I prefer morning workouts",
        "claim_type": "preference",
        "claim_types": ["habit"],
        "context_domain": "health",
        "context_domains": ["life_ops"],
        "tags": ["Running", "Sports"],
        "entities": [{"name": "Anna", "type": "person", "role": "subject"}],
        "contexts": [context["context_id"]],
        "confidence": 0.9,
        "valid_from": "2026-01-01",
        "valid_to": "2027-01-01T00:00:00Z",
        "friendly_id": "my_mornings",
        "possible_questions": ["When do I train?"],
        "meta_json": {"color": "red"},
    }
    added = told(ada.post("/pkb/claims", json=given), responses.AddedClaim, status=201)
    claim = added.claim
    assert (claim.friendly_id, claim.claim_number, claim.status) == ("my_mornings", 1, "active")
    assert (claim.claim_types, claim.context_domains) == (["preference", "habit"], ["health", "life_ops"])
    assert (claim.valid_from, claim.valid_to, claim.confidence) == ("2026-01-01", "2027-01-01T00:00:00Z", 0.9)
    assert sorted(tag.name for tag in claim.tags) == ["Running", "Sports"]
    assert [(entity.name, entity.role) for entity in claim.entities] == [("Anna", "subject")]
    assert [filed.context_id for filed in claim.contexts] == [context["context_id"]]
    assert claim.possible_questions == ["When do I train?"]
    assert (claim.pinned, claim.is_contested, claim.superseded_by, claim.source_activity_id) == (
        False,
        False,
        None,
        None,
    )
    assert claim.created_at <= now_iso()
    assert added.audit_id is not None


def test_a_near_duplicate_is_named_when_it_is_added(ada: Person) -> None:
    first = ada.remember("I prefer morning workouts on weekdays")
    answer = ada.post("/pkb/claims", json={"statement": "I prefer morning workouts on weekdays"})
    (similar,) = told(answer, responses.AddedClaim, status=201).similar
    assert (similar.claim.claim_id, similar.kind) == (first.claim_id, "duplicate")


def test_a_claim_is_found_by_its_id_its_number_and_its_readable_id(ada: Person) -> None:
    claim = ada.remember("I prefer morning workouts")
    for name in (claim.claim_id, "1", "claim_1", claim.friendly_id, claim.friendly_id.upper(), f"@{claim.friendly_id}"):
        assert told(ada.get(f"/pkb/claims/{name}"), responses.OneClaim).claim == claim, name
    by_name = ada.get(f"/pkb/claims/by-friendly-id/{claim.friendly_id}")
    assert told(by_name, responses.OneClaim).claim == claim


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "statement"),
        ({"statement": ""}, "statement"),
        ({"statement": 5}, "statement"),
        ({"statement": "x" * 20_001}, "statement"),
        ({"statement": "a\x00b"}, "statement"),
        ({"statement": "x", "confidence": 1.5}, "confidence"),
        ({"statement": "x", "confidence": "high"}, "confidence"),
        ({"statement": "x", "tags": "running"}, "tags"),
        ({"statement": "x", "tags": [""]}, "tags"),
        ({"statement": "x", "tags": ["x"] * 51}, "tags"),
        ({"statement": "x", "entities": ["Anna"]}, "entities"),
        ({"statement": "x", "entities": [{"type": "person"}]}, "entities"),
        ({"statement": "x", "user_email": "eve@example.org"}, "user_email"),
        ({"statement": "x", "claim_number": 7}, "claim_number"),
    ],
)
def test_a_body_that_is_not_valid_is_refused_with_the_field(body: dict[str, Any], field: str, ada: Person) -> None:
    answer = ada.post("/pkb/claims", json=body)
    assert refused(answer) == (400, "bad_request")
    assert answer.json["details"][0]["loc"][0] == field
    assert listed(ada).total_count == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"statement": "   "},
        {"claim_type": "!!"},
        {"context_domain": "9 lives"},
        {"valid_from": "soon"},
        {"valid_to": "never"},
        {"friendly_id": "x"},
        {"friendly_id": "has space"},
        {"friendly_id": "conversation_mine"},
        {"friendly_id": "mine_tag"},
        {"entities": [{"name": "Anna", "type": "person", "role": "no role at all!"}]},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(fields: dict[str, Any], ada: Person) -> None:
    answer = ada.post("/pkb/claims", json={"statement": "Tea is good", **fields})
    assert refused(answer) == (400, "bad_request")
    assert answer.json["message"].endswith(".")
    assert listed(ada).total_count == 0


def test_a_readable_id_that_is_taken_is_a_conflict(ada: Person) -> None:
    ada.remember("Tea is good", friendly_id="tea")
    answer = ada.post("/pkb/claims", json={"statement": "Coffee is better", "friendly_id": "TEA"})
    assert refused(answer) == (409, "conflict")
    assert "taken" in answer.json["message"]


@pytest.mark.parametrize("name", [NOWHERE, "99", "claim_99", "nothing_here_0000", "#1", "%", "x" * 500])
def test_a_claim_that_is_not_there_is_not_found(name: str, ada: Person) -> None:
    address = f"/pkb/claims/{name.replace('#', '%23').replace('%', '%25', 0 if '#' in name else 1)}"
    for answer in (ada.get(address), ada.put(address, json={"statement": "x"}), ada.delete(address)):
        assert refused(answer) == (404, "claim_not_found")


def test_times_that_are_taken_away_restrict_no_more(ada: Person) -> None:
    claim = ada.remember("I take the tram", valid_from="2026-01-01", valid_to="2027-01-01")
    answer = ada.put(f"/pkb/claims/{claim.claim_id}", json={"valid_from": None, "valid_to": None})
    changed = told(answer, responses.ChangedClaim).claim
    assert (changed.valid_from, changed.valid_to) == ("1970-01-01T00:00:00.000000Z", None)


def test_a_change_of_a_statement_that_another_tab_changed_meanwhile_is_refused(ada: Person) -> None:
    claim = ada.remember("I prefer tea")
    path = f"/pkb/claims/{claim.claim_id}"
    first = {"statement": "I prefer green tea", "based_on": "I prefer tea"}
    for _ in range(2):  # the answer to the first time was lost
        assert told(ada.put(path, json=first), responses.ChangedClaim).claim.statement == "I prefer green tea"
    late = {"statement": "I prefer coffee", "confidence": 0.1, "based_on": "I prefer tea"}
    answer = ada.put(path, json=late)
    assert refused(answer) == (409, "conflict")
    assert answer.json["message"] == "The memory was changed meanwhile. Look at what it says now, then save again."
    kept = told(ada.get(path), responses.OneClaim).claim
    assert (kept.statement, kept.confidence) == ("I prefer green tea", claim.confidence)
    for change in ({"statement": "I prefer coffee", "based_on": kept.statement}, {"statement": "I prefer milk"}):
        assert told(ada.put(path, json=change), responses.ChangedClaim).claim.statement == change["statement"]


def test_a_change_touches_what_it_names_alone(ada: Person) -> None:
    claim = ada.remember("I prefer morning workouts", confidence=0.5, tags=["Running"])
    change = {"statement": "I prefer evening workouts", "context_domain": "health", "valid_to": "2027-01-01"}
    changed = told(ada.put(f"/pkb/claims/{claim.claim_id}", json=change), responses.ChangedClaim)
    assert changed.audit_id is not None
    assert changed.claim.updated_at > claim.updated_at
    expected = {**change, "context_domains": ["health"], "updated_at": changed.claim.updated_at}
    assert changed.claim == claim.model_copy(update=expected)


def test_a_change_that_changes_nothing_has_nothing_to_undo(ada: Person) -> None:
    claim = ada.remember("Tea is good")
    for change in ({}, {"statement": "Tea is good"}):
        assert told(ada.put(f"/pkb/claims/{claim.claim_id}", json=change), responses.ChangedClaim).audit_id is None


@pytest.mark.parametrize(
    "change", [{"statement": None}, {"statement": ""}, {"status": "gone"}, {"status": "all"}, {"claim_id": "x"}]
)
def test_a_change_that_makes_no_sense_is_refused(change: dict[str, Any], ada: Person) -> None:
    claim = ada.remember("Tea is good")
    assert refused(ada.put(f"/pkb/claims/{claim.claim_id}", json=change)) == (400, "bad_request")
    assert told(ada.get(f"/pkb/claims/{claim.claim_id}"), responses.OneClaim).claim == claim


def test_a_retracted_claim_stays_and_can_be_named_but_is_listed_no_more(ada: Person) -> None:
    claim = ada.remember("Tea is good")
    retracted = told(ada.delete(f"/pkb/claims/{claim.claim_id}"), responses.ChangedClaim).claim
    assert retracted.status == "retracted"
    assert retracted.retracted_at is not None
    assert statements(ada) == []
    assert statements(ada, status="retracted") == statements(ada, status="all") == ["Tea is good"]
    assert told(ada.get("/pkb/claims/1"), responses.OneClaim).claim == retracted


def test_a_superseded_claim_names_the_last_of_its_successors(ada: Person) -> None:
    first, second = ada.remember("I live in Rome"), ada.remember("I live in Oslo")
    answer = ada.post(f"/pkb/claims/{first.claim_id}/supersede", json={"by": second.friendly_id})
    assert told(answer, responses.ChangedClaim).claim.superseded_by == second.friendly_id
    third = ada.remember("I live in Bern", supersedes=second.claim_id)
    oldest = told(ada.get(f"/pkb/claims/{first.claim_id}"), responses.OneClaim).claim
    assert (oldest.status, oldest.superseded_by) == ("superseded", third.friendly_id)
    assert statements(ada) == ["I live in Bern"]
    for by in (third, second):  # neither itself, nor one that was superseded itself
        refusal = ada.post(f"/pkb/claims/{third.claim_id}/supersede", json={"by": by.claim_id})
        assert refused(refusal) == (400, "bad_request")


def test_a_status_that_nothing_bears_out_is_refused(ada: Person) -> None:
    first, second, third = (ada.remember(f"Tea is {what}") for what in ("good", "bad", "tea"))
    address = f"/pkb/claims/{first.claim_id}"

    def become(status: str) -> str:
        return told(ada.put(address, json={"status": status}), responses.ChangedClaim).claim.status

    for status in ("contested", "superseded"):
        refusal = ada.put(address, json={"status": status, "statement": "Tea is cold"})
        assert refused(refusal) == (400, "bad_request")
        assert refusal.json["said"][0]["code"] == f"{status}_by_nothing"
    assert told(ada.get(address), responses.OneClaim).claim == first
    body = {"claim_ids": [first.claim_id, second.claim_id, third.claim_id]}
    opened = told(ada.post("/pkb/conflicts", json=body), responses.ChangedConflict, status=201).conflict
    assert refused(ada.put(address, json={"status": "active"})) == (400, "bad_request")
    assert [become(status) for status in ("contested", "draft", "contested", "retracted", "active")] == [
        "contested",
        "draft",
        "contested",
        "retracted",
        "contested",
    ]
    resolve = f"/pkb/conflicts/{opened.conflict_set_id}/resolve"
    assert ada.post(resolve, json={"winning_claim_id": second.claim_id}).status_code == 200
    assert [become(status) for status in ("historical", "superseded", "active")] == [
        "historical",
        "superseded",
        "active",
    ]


def test_pins_persist_and_are_listed(ada: Person) -> None:
    first, second = ada.remember("My time zone is IST"), ada.remember("Tea is good")
    assert told(ada.put(f"/pkb/claims/{first.friendly_id}/pin"), responses.ChangedClaim).claim.pinned
    assert [claim.claim_id for claim in told(ada.get("/pkb/pinned"), responses.Claims).claims] == [first.claim_id]
    assert statements(ada, pinned="true") == [first.statement]
    assert statements(ada, pinned="false") == [second.statement]
    assert told(ada.put(f"/pkb/claims/{first.claim_id}/pin"), responses.ChangedClaim).audit_id is None
    assert not told(ada.delete(f"/pkb/claims/{first.claim_id}/pin"), responses.ChangedClaim).claim.pinned
    assert ada.get("/pkb/pinned").json == {"claims": []}


class TestListing:
    """Filters, alone and together; pages."""

    @pytest.fixture
    def known(self, ada: Person) -> Person:
        running = ada.post("/pkb/tags", json={"name": "Running"}).json["tag"]["tag_id"]
        marathon = {"name": "Marathon", "parent_tag_id": running}
        assert ada.post("/pkb/tags", json=marathon).status_code == 201
        contexts: dict[str, str] = {}
        for name, parent in (("Health", None), ("Knee", "Health")):
            body = {"name": name, "parent_context_id": contexts.get(parent or "")}
            contexts[name] = ada.post("/pkb/contexts", json=body).json["context"]["context_id"]
        anna = [{"name": "Anna", "type": "person"}]
        ada.remember("I run", tags=["Running"], context_domain="health", claim_type="habit")
        ada.remember("I ran a marathon", tags=["Marathon"], context_domain="health", contexts=[contexts["Health"]])
        ada.remember("My knee hurts", context_domain="health", contexts=[contexts["Knee"]], claim_type="observation")
        ada.remember("Anna runs", entities=anna, tags=["Running"], context_domains=["health"])
        return ada

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({}, ["Anna runs", "My knee hurts", "I ran a marathon", "I run"]),
            ({"tag": "running_tag"}, ["Anna runs", "I ran a marathon", "I run"]),
            ({"tag": "@marathon_tag"}, ["I ran a marathon"]),
            ({"tag": "marathon"}, ["I ran a marathon"]),
            ({"entity": "ANNA"}, ["Anna runs"]),
            ({"context": "health_context"}, ["My knee hurts", "I ran a marathon"]),
            ({"context": "knee_context"}, ["My knee hurts"]),
            ({"entity": "anna_person_entity"}, ["Anna runs"]),
            ({"claim_type": "habit"}, ["I run"]),
            ({"context_domain": "health"}, ["Anna runs", "My knee hurts", "I ran a marathon", "I run"]),
            ({"context_domain": "personal"}, ["Anna runs"]),
            (
                {"tag": "running_tag", "context_domain": "health", "claim_type": "fact"},
                ["Anna runs", "I ran a marathon"],
            ),
            ({"tag": "running_tag", "entity": "anna_person_entity"}, ["Anna runs"]),
            ({"tag": "running_tag", "context": "knee_context"}, []),
            ({"status": "retracted"}, []),
            ({"limit": 2}, ["Anna runs", "My knee hurts"]),
            ({"limit": 2, "offset": 2}, ["I ran a marathon", "I run"]),
            ({"offset": 100}, []),
        ],
    )
    def test_filters_hold_alone_and_together(self, query: dict[str, Any], expected: list[str], known: Person) -> None:
        page = listed(known, **query)
        assert [claim.statement for claim in page.claims] == expected
        assert page.count == len(expected)
        assert page.total_count == (4 if {"limit", "offset"} & set(query) else len(expected))

    def test_a_search_takes_the_same_filters_and_scores(self, known: Person) -> None:
        page = listed(known, query="marathon", tag="running_tag", strategy="fts")
        assert [claim.statement for claim in page.claims] == ["I ran a marathon"]
        assert page.claims[0].score is not None
        assert listed(known, query="marathon", context="knee_context", strategy="fts").claims == []

    @pytest.mark.parametrize(
        "query",
        [
            {"limit": 0},
            {"limit": 201},
            {"limit": "many"},
            {"offset": -1},
            {"status": "gone"},
            {"strategy": "magic"},
            {"pinned": "perhaps"},
        ],
    )
    def test_a_query_that_is_not_valid_is_refused_with_the_field(self, query: dict[str, Any], ada: Person) -> None:
        answer = ada.get("/pkb/claims", query_string=query)
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"][0] in query

    @pytest.mark.parametrize("noun", ["tag", "entity", "context"])
    def test_a_filter_by_a_group_that_is_not_there_is_not_found(self, noun: str, ada: Person) -> None:
        assert refused(ada.get("/pkb/claims", query_string={noun: "nowhere"})) == (404, f"{noun}_not_found")


class TestMany:
    """Many at once."""

    def test_each_claim_of_a_bulk_stands_for_itself_and_all_are_one_change(self, ada: Person) -> None:
        drafts = [{"statement": "Tea is good"}, {"statement": ""}, {"color": "red"}, {"statement": "Milk too"}]
        added = told(ada.post("/pkb/claims/bulk", json={"claims": drafts}), responses.BulkAdded)
        empty, unknown = (result for result in added.results if not result.success)
        assert [part["code"] for part in empty.said or []] == ["text_missing"]
        assert (empty.code, unknown.code) == ("bad_request", "bad_request")
        assert (added.added_count, added.failed_count) == (2, 2)
        assert [result.success for result in added.results] == [True, False, False, True]
        assert all((result.error or "").endswith(".") for result in added.results if not result.success)
        told(ada.post(f"/pkb/undo/{added.audit_id}"), responses.Undone)
        assert listed(ada, status="all").total_count == 0

    def test_a_bulk_that_is_sent_again_under_its_client_id_adds_nothing(self, ada: Person) -> None:
        body = {"claims": [{"statement": "One"}, {"statement": ""}, {"statement": "Two"}], "client_id": "three"}
        first, again = (told(ada.post("/pkb/claims/bulk", json=body), responses.BulkAdded) for _ in range(2))
        assert (again.added_count, again.failed_count, again.audit_id) == (2, 1, first.audit_id)
        assert [result.claim_id for result in again.results] == [result.claim_id for result in first.results]
        assert ada.get("/pkb/claims").json["total_count"] == 2
        ada.post(f"/pkb/undo/{first.audit_id}")
        assert refused(ada.post("/pkb/claims/bulk", json=body)) == (409, "conflict")

    @pytest.mark.parametrize("claims", [[], [{"statement": "x"}] * 101, ["x"], None])
    def test_a_bulk_has_from_one_to_a_hundred_claims(self, claims: Any, ada: Person) -> None:
        answer = ada.post("/pkb/claims/bulk", json={"claims": claims})
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"][0] == "claims"

    def test_a_hundred_are_added_at_once(self, ada: Person) -> None:
        drafts = [{"statement": f"Fact {number}"} for number in range(100)]
        added = told(ada.post("/pkb/claims/bulk", json={"claims": drafts}), responses.BulkAdded)
        assert added.added_count == listed(ada, limit=200).count == 100

    @pytest.mark.parametrize(
        ("change", "value", "query"),
        [
            ("retract", None, {"status": "retracted"}),
            ("pin", None, {"pinned": "true"}),
            ("add_tag", "Running", {"tag": "running_tag"}),
            ("set_domain", "health", {"context_domain": "health"}),
            ("set_type", "habit", {"claim_type": "habit"}),
        ],
    )
    def test_a_change_to_many_is_undone_at_once(
        self, change: str, value: str | None, query: dict[str, Any], ada: Person
    ) -> None:
        ids = [ada.remember(f"Fact {number}").claim_id for number in range(3)]
        body = {"claim_ids": [*ids, NOWHERE], "change": change, "value": value}
        changed = told(ada.post("/pkb/claims/bulk_change", json=body), responses.BulkChanged)
        assert [result.success for result in changed.results] == [True, True, True, False]
        assert listed(ada, **query).total_count == 3
        told(ada.post(f"/pkb/undo/{changed.audit_id}"), responses.Undone)
        # A tag that was made for it has gone as well.
        assert ada.get("/pkb/claims", query_string=query).json.get("total_count", 0) == 0

    def test_many_are_filed_in_a_context(self, ada: Person) -> None:
        context_id = ada.post("/pkb/contexts", json={"name": "Health"}).json["context"]["context_id"]
        ids = [ada.remember(f"Fact {number}").claim_id for number in range(3)]
        body = {"claim_ids": ids, "change": "add_to_context", "value": context_id}
        assert told(ada.post("/pkb/claims/bulk_change", json=body), responses.BulkChanged).audit_id is not None
        assert listed(ada, context=context_id).total_count == 3

    @pytest.mark.parametrize(
        "body",
        [
            {"claim_ids": [], "change": "retract"},
            {"claim_ids": ["x"] * 501, "change": "retract"},
            {"claim_ids": ["x"], "change": "burn"},
            {"claim_ids": ["x"]},
        ],
    )
    def test_a_change_to_many_that_is_not_valid_is_refused(self, body: dict[str, Any], ada: Person) -> None:
        assert refused(ada.post("/pkb/claims/bulk_change", json=body)) == (400, "bad_request")


class TestConversationPins:
    """Memories that go with one conversation."""

    def test_a_memory_is_pinned_to_one_conversation_and_taken_off_it(self, ada: Person) -> None:
        one, other = ada.new_conversation(), ada.new_conversation()
        claims = [ada.remember(f"Fact {number}") for number in range(2)]
        for claim in claims:
            answer = ada.put(f"/pkb/conversation/{one}/pin", json={"claim_id": claim.friendly_id})
        ids = [claim.claim_id for claim in claims]
        assert told(answer, responses.ClaimIds).claim_ids == ids
        pinned = told(ada.get(f"/pkb/conversation/{one}/pinned"), responses.Claims).claims
        assert [claim.claim_id for claim in pinned] == ids
        assert ada.get(f"/pkb/conversation/{other}/pinned").json == {"claims": []}
        left = ada.delete(f"/pkb/conversation/{one}/pin", json={"claim_id": claims[0].friendly_id})
        assert told(left, responses.ClaimIds).claim_ids == ids[1:]

    def test_a_memory_that_is_not_there_can_not_be_pinned(self, ada: Person) -> None:
        answer = ada.put(f"/pkb/conversation/{ada.new_conversation()}/pin", json={"claim_id": NOWHERE})
        assert refused(answer) == (404, "claim_not_found")

    def test_a_conversation_that_is_not_there_has_no_pins(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        address = f"/pkb/conversation/{ada.email}_nowhere"
        body = {"claim_id": claim.claim_id}
        for answer in (
            ada.put(f"{address}/pin", json=body),
            ada.delete(f"{address}/pin", json=body),
            ada.get(f"{address}/pinned"),
        ):
            assert refused(answer) == (404, "conversation_not_found")

    def test_a_conversation_takes_200_pins_and_no_more(self, ada: Person) -> None:
        drafts = [[{"statement": f"Fact {batch} {number}"} for number in range(100)] for batch in range(2)]
        for claims in drafts:
            assert ada.post("/pkb/claims/bulk", json={"claims": claims}).status_code == 200
        conversation_id = ada.new_conversation()
        for number in range(1, 201):
            assert (
                ada.put(f"/pkb/conversation/{conversation_id}/pin", json={"claim_id": f"{number}"}).status_code == 200
            )
        again = ada.put(f"/pkb/conversation/{conversation_id}/pin", json={"claim_id": "200"})
        assert len(told(again, responses.ClaimIds).claim_ids) == 200
        one_more = ada.remember("One more").claim_id
        answer = ada.put(f"/pkb/conversation/{conversation_id}/pin", json={"claim_id": one_more})
        assert refused(answer) == (400, "bad_request")


def test_a_claim_says_which_message_it_was_learned_from(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ids = [event["message_ids"] for event in ada.say(conversation_id, "I moved to Bern") if "message_ids" in event][-1]
    claim = ada.remember("I live in Bern", source_message_id=ids["user_message_id"])
    assert claim.source_activity_id == ids["user_message_id"]
    source = responses.SourceOfClaim(message_id=ids["user_message_id"], conversation_id=conversation_id)
    assert claim.source == source
    assert [one.source for one in listed(ada).claims] == [source]
    ada.delete(f"/delete_message_from_conversation/{conversation_id}/{source.message_id}/1")
    assert told(ada.get("/pkb/claims/1"), responses.OneClaim).claim.source is None
    answer = ada.post("/pkb/claims", json={"statement": "x", "source_message_id": NOWHERE})
    assert refused(answer) == (404, "message_not_found")


def test_a_claim_says_nothing_of_a_message_that_is_another_persons(ada: Person, eve: Person) -> None:
    ids = next(event["message_ids"] for event in ada.say(ada.new_conversation(), "Hi") if "message_ids" in event)
    ada.remember("I said hello", source_message_id=ids["user_message_id"])
    payload = ada.get("/pkb/export").json
    eve.post("/pkb/import", json={"payload": payload})
    (claim,) = listed(eve).claims
    assert (claim.source_activity_id, claim.source) == (ids["user_message_id"], None)
