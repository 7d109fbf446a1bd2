"""Getting knowledge in over HTTP: suggestions, proposals, their approval."""

from __future__ import annotations

import json
from typing import Any

import pytest

from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses

NOWHERE = "00000000-0000-4000-8000-000000000000"
TEXT = "I prefer morning workouts. My sister is called Anna. I decided to learn Italian."


def proposed(person: Person, text: str = TEXT, **fields: Any) -> responses.Plan:
    """A plan made of a text, without a model."""
    return told(person.post("/pkb/ingest_text", json={"text": text, "use_model": False, **fields}), responses.Plan)


def executed(person: Person, plan: responses.Plan, approved: Any = "all") -> responses.Executed:
    """What became of a plan."""
    answer = person.post("/pkb/execute_ingest", json={"plan_id": plan.plan_id, "approved": approved})
    return told(answer, responses.Executed)


def statements(person: Person) -> set[str]:
    """All active statements."""
    return {claim["statement"] for claim in person.get("/pkb/claims").json["claims"]}


class TestAnalysing:
    """Suggestions while something is written."""

    def test_without_a_model_rules_suggest(self, ada: Person) -> None:
        known = ada.remember("I prefer morning workouts")
        answer = ada.post("/pkb/analyze_statement", json={"statement": "I prefer morning workouts"})
        analysis = told(answer, responses.Analysis)
        assert (analysis.claim_type, analysis.context_domain, analysis.by) == ("preference", "health", "rules")
        assert analysis.friendly_id.startswith("prefer_morning_workouts_")
        assert [similar.claim.claim_id for similar in analysis.similar] == [known.claim_id]
        assert ada.get("/pkb/stats").json["claims"] == 1

    @pytest.mark.parametrize("body", [{}, {"statement": ""}, {"statement": "x" * 20_001}, {"statement": None}])
    def test_there_has_to_be_a_statement(self, body: dict[str, Any], ada: Person) -> None:
        answer = ada.post("/pkb/analyze_statement", json=body)
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"] == ["statement"]


class TestIngesting:
    """A text becomes a plan, what is approved of it becomes claims."""

    def test_nothing_is_stored_before_it_is_approved(self, ada: Person) -> None:
        plan = proposed(ada)
        assert [proposal.index for proposal in plan.proposals] == list(range(len(plan.proposals)))
        assert {proposal.action for proposal in plan.proposals} == {"add"}
        assert any("sister" in proposal.statement for proposal in plan.proposals)
        assert plan.summary == f"{len(plan.proposals)} to add."
        assert statements(ada) == set()

    def test_all_of_a_plan_is_one_change_and_happens_once(self, ada: Person) -> None:
        plan = proposed(ada)
        done = executed(ada, plan)
        assert (done.added_count, done.failed_count) == (len(plan.proposals), 0)
        assert statements(ada) == {proposal.statement for proposal in plan.proposals}
        again = ada.post("/pkb/execute_ingest", json={"plan_id": plan.plan_id, "approved": "all"})
        assert refused(again) == (409, "conflict")
        told(ada.post(f"/pkb/undo/{done.audit_id}"), responses.Undone)
        assert statements(ada) == set()

    def test_what_is_approved_can_be_changed_and_the_rest_stays_out(self, ada: Person) -> None:
        plan = proposed(ada)
        approved = [
            {"index": 0, "statement": "I prefer evening workouts", "claim_type": "habit", "tags": ["Running"]},
            {"index": 999},
        ]
        done = executed(ada, plan, approved)
        assert (done.added_count, done.failed_count) == (1, 1)
        (claim,) = told(ada.get("/pkb/claims"), responses.ClaimPage).claims
        assert (claim.statement, claim.claim_type) == ("I prefer evening workouts", "habit")
        assert [tag.name for tag in claim.tags] == ["Running"]
        assert done.results[1]["error"].endswith(".")

    @pytest.mark.parametrize("path", ["/pkb/execute_ingest", "/pkb/execute_updates"])
    def test_what_is_approved_can_be_named_by_its_index_alone(self, path: str, ada: Person) -> None:
        plan = proposed(ada)
        body = {"plan_id": plan.plan_id, "approved": [0, {"index": 1, "statement": "My sister is Anna"}, 999]}
        done = told(ada.post(path, json=body), responses.Executed)
        assert [result["success"] for result in done.results] == [True, True, False]
        assert statements(ada) == {plan.proposals[0].statement, "My sister is Anna"}

    def test_what_is_known_is_proposed_to_be_skipped(self, ada: Person) -> None:
        executed(ada, proposed(ada))
        before = statements(ada)
        plan = proposed(ada)
        assert {proposal.action for proposal in plan.proposals} == {"skip"}
        assert all(proposal.existing is not None for proposal in plan.proposals)
        assert (executed(ada, plan).added_count, statements(ada)) == (0, before)

    def test_defaults_are_taken_where_the_words_say_nothing(self, ada: Person) -> None:
        plan = proposed(ada, "Blue is nice.", default_claim_type="observation", default_domain="learning")
        assert {(one.claim_type, one.context_domain) for one in plan.proposals} == {("observation", "learning")}

    def test_50_kb_are_read_and_no_more(self, ada: Person) -> None:
        fits = "é" * 100 + "\n"
        told(ada.post("/pkb/ingest_text", json={"text": fits, "use_model": False}), responses.Plan)
        for text in ("x" * (50 * 1024 + 1), "é" * (25 * 1024 + 1)):
            answer = ada.post("/pkb/ingest_text", json={"text": text, "use_model": False})
            assert refused(answer) == (413, "too_large")

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "text"),
            ({"text": ""}, "text"),
            ({"text": "a\x00b"}, "text"),
            ({"text": "x", "use_model": "no"}, "use_model"),
            ({"text": "x", "default_claim_type": ""}, "default_claim_type"),
        ],
    )
    def test_a_text_that_is_not_valid_is_refused_with_the_field(
        self, body: dict[str, Any], field: str, ada: Person
    ) -> None:
        answer = ada.post("/pkb/ingest_text", json=body)
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"] == [field]

    @pytest.mark.parametrize("path", ["/pkb/execute_ingest", "/pkb/execute_updates"])
    def test_a_plan_that_is_not_there_is_not_found(self, path: str, ada: Person) -> None:
        answer = ada.post(path, json={"plan_id": NOWHERE, "approved": "all"})
        assert refused(answer) == (404, "plan_not_found")

    @pytest.mark.parametrize(
        "approved", [None, "some", {}, [True], ["0"], [{"index": "0"}], [{"index": 0, "action": "burn"}], [{}]]
    )
    def test_an_approval_that_is_not_valid_is_refused_and_leaves_the_plan(self, approved: Any, ada: Person) -> None:
        plan = proposed(ada)
        answer = ada.post("/pkb/execute_ingest", json={"plan_id": plan.plan_id, "approved": approved})
        assert refused(answer) == (400, "bad_request")
        assert executed(ada, plan).added_count == len(plan.proposals)


class TestRemembering:
    """A turn of a conversation becomes a plan whose claims link back to it."""

    @pytest.fixture
    def turn(self, ada: Person) -> dict[str, str]:
        conversation_id = ada.new_conversation()
        text = "Remember this: my sister is called Anna and I prefer morning workouts."
        ids = [event["message_ids"] for event in ada.say(conversation_id, text) if "message_ids" in event][-1]
        return {"conversation_id": conversation_id, **ids}

    @pytest.mark.parametrize("which", ["user_message_id", "response_message_id"])
    def test_what_is_accepted_links_back_to_the_message(self, which: str, turn: dict[str, str], ada: Person) -> None:
        body = {"conversation_id": turn["conversation_id"], "message_id": turn[which]}
        plan = told(ada.post("/pkb/propose_updates", json=body), responses.Plan)
        assert any("Anna" in proposal.statement for proposal in plan.proposals)
        answer = ada.post("/pkb/execute_updates", json={"plan_id": plan.plan_id, "approved": "all"})
        assert told(answer, responses.Executed).added_count == len(plan.proposals)
        claims = told(ada.get("/pkb/claims"), responses.ClaimPage).claims
        assert {claim.source_activity_id for claim in claims} == {turn[which]}

    def test_rules_propose_without_asking_a_model(
        self, turn: dict[str, str], ada: Person, cheap_model: ScriptedChatModel
    ) -> None:
        body = {"conversation_id": turn["conversation_id"], "message_id": turn["user_message_id"], "use_model": False}
        asked = len(cheap_model.prompts)
        plan = told(ada.post("/pkb/propose_updates", json=body), responses.Plan)
        assert len(cheap_model.prompts) == asked
        assert any("Anna" in proposal.statement for proposal in plan.proposals)
        assert plan.warnings == []

    def test_a_message_of_another_conversation_is_not_found(self, turn: dict[str, str], ada: Person) -> None:
        body = {"conversation_id": ada.new_conversation(), "message_id": turn["user_message_id"]}
        assert refused(ada.post("/pkb/propose_updates", json=body)) == (404, "message_not_found")
        body = {"conversation_id": turn["conversation_id"], "message_id": NOWHERE}
        assert refused(ada.post("/pkb/propose_updates", json=body)) == (404, "message_not_found")
        body = {"conversation_id": f"{ada.email}_nowhere", "message_id": turn["user_message_id"]}
        assert refused(ada.post("/pkb/propose_updates", json=body)) == (404, "conversation_not_found")

    def test_a_deleted_message_is_not_found(self, turn: dict[str, str], ada: Person) -> None:
        where = f"{turn['conversation_id']}/{turn['user_message_id']}"
        assert ada.delete(f"/delete_message_from_conversation/{where}/1").status_code == 200
        body = {"conversation_id": turn["conversation_id"], "message_id": turn["user_message_id"]}
        assert refused(ada.post("/pkb/propose_updates", json=body)) == (404, "message_not_found")


class TestWithAModel:
    """What a model finds is proposed; one that talks nonsense costs nothing."""

    FACT = "I married Anna in 2019."

    @pytest.fixture
    def cheap_model(self) -> ScriptedChatModel:
        facts = [{"statement": self.FACT, "type": "fact", "domain": "relationships"}]
        return ScriptedChatModel(replies=lambda _prompt: Reply(json.dumps({"facts": facts})))

    def test_what_a_model_finds_is_proposed(self, ada: Person) -> None:
        answer = ada.post("/pkb/ingest_text", json={"text": f"{self.FACT} It was a fine day."})
        plan = told(answer, responses.Plan)
        assert [(one.statement, one.context_domain) for one in plan.proposals] == [(self.FACT, "relationships")]

    def test_a_person_can_do_without(self, ada: Person, cheap_model: ScriptedChatModel) -> None:
        proposed(ada)
        assert cheap_model.calls == []


def test_a_model_that_talks_nonsense_costs_no_proposal(ada: Person, cheap_model: ScriptedChatModel) -> None:
    plan = told(ada.post("/pkb/ingest_text", json={"text": TEXT}), responses.Plan)
    assert any("sister" in proposal.statement for proposal in plan.proposals)
    assert plan.warnings
    analysis = told(ada.post("/pkb/analyze_statement", json={"statement": "I like tea"}), responses.Analysis)
    assert analysis.by == "rules"
    assert analysis.warnings
    assert cheap_model.calls
