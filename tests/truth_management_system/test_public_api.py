"""What programs of others build on: the actions of the API, as they are called and what they give."""

from __future__ import annotations

from pathlib import Path

import pytest

import truth_management_system as pkb
from tests.truth_management_system.conftest import WORKOUTS, added
from truth_management_system import (
    ActionResult,
    ContextCRUD,
    LLMHelpers,
    PKBConfig,
    StructuredAPI,
    get_database,
)


class TestWithoutAModel:
    def test_helpers_answer_with_nothing_or_by_rules_and_say_so(self) -> None:
        helpers = LLMHelpers({}, PKBConfig())
        assert isinstance(helpers.generate_tags(WORKOUTS), list)
        assert isinstance(helpers.extract_entities(WORKOUTS), list)
        assert not any(helpers.extract_spo(WORKOUTS).values())
        assert helpers.classify_claim_type("I decided to learn Python") in set(pkb.ClaimType)
        assert helpers.check_similarity(WORKOUTS, []) == []
        assert helpers.take_warnings()

    def test_a_claim_is_added_all_the_same(self, api: StructuredAPI) -> None:
        result = api.add_claim(WORKOUTS, "preference", "health")
        assert result.success
        assert result.warnings

    def test_texts_and_turns_still_become_plans(self, api: StructuredAPI) -> None:
        distiller = pkb.TextIngestionDistiller(api, {}, api.config)
        plan = distiller.ingest_and_propose(text="I am allergic to peanuts. I live in Lisbon.")
        assert [proposal.action for proposal in plan.proposals] == ["add", "add"]
        assert distiller.execute_plan(plan, [{"index": 0}]).added_count == 1
        turn = pkb.ConversationDistiller(api, {}, api.config).extract_and_propose(
            conversation_summary="", user_message="remember this: I prefer tea", assistant_message="Noted."
        )
        assert [proposal.action for proposal in turn.proposals] == ["add"]

    def test_free_text_is_understood(self, api: StructuredAPI) -> None:
        result = pkb.TextOrchestrator(api, {}).process("remember that I am allergic to shellfish")
        assert result.action_result.success
        assert "shellfish" in api.claims.list()[0].statement


class TestTheApi:
    def test_an_outcome_has_nothing_in_it_unless_told(self) -> None:
        result = ActionResult(True, "add", "claim")
        assert (result.object_id, result.data) == (None, None)
        assert (result.warnings, result.errors, result.metadata) == ([], [], {})
        assert ActionResult(False, "add", "claim", errors=["No."]).errors == ["No."]

    def test_claims_by_position(self, api: StructuredAPI) -> None:
        first = api.add_claim("I like tea", "preference", "personal", ["drinks"], [{"name": "Tea"}], False)
        assert (first.action, first.object_type, first.object_id) == ("add", "claim", first.data.claim_id)
        assert api.get_claim(first.object_id).data == first.data
        assert api.edit_claim(first.object_id, statement="I love tea").data.statement == "I love tea"
        assert api.delete_claim(first.object_id).data.status == "retracted"
        assert api.get_claims_by_ids([first.object_id, "missing"]).data[1] is None

    def test_all_that_a_claim_may_be_given(self, api: StructuredAPI) -> None:
        stored = added(
            api,
            confidence=0.9,
            valid_from="2026-01-01T00:00:00Z",
            valid_to="2026-12-31T00:00:00Z",
            meta_json='{"source": "chat"}',
            friendly_id="morning_sport",
            possible_questions=["When do I train?"],
        )
        assert (stored.confidence, stored.valid_to) == (0.9, "2026-12-31T00:00:00Z")
        assert (stored.meta, stored.friendly_id) == ({"source": "chat"}, "morning_sport")
        assert stored.rendered() == f"{WORKOUTS} (answers: When do I train?)"

    def test_many_at_once_have_a_result_each(self, api: StructuredAPI) -> None:
        given = [{"statement": "I like tea", "claim_type": "preference"}, {"statement": ""}]
        data = api.add_claims_bulk(given, auto_extract=False, stop_on_error=False).data
        assert (data["added_count"], data["failed_count"]) == (1, 1)
        assert data["results"][0]["claim_id"] == api.claims.list()[0].claim_id
        assert data["results"][1]["error"]

    def test_notes(self, api: StructuredAPI) -> None:
        note = api.add_note("A long text", "Its title", "work", '{"source": "chat"}')
        assert api.edit_note(note.object_id, body="Another text").data.body == "Another text"
        assert api.get_note(note.object_id).data.context_domain == "work"
        assert api.delete_note(note.object_id).success
        assert not api.get_note(note.object_id).success

    def test_labels(self, api: StructuredAPI) -> None:
        stored = added(api)
        entity, tag = api.add_entity("Gym", "place").data, api.add_tag("fitness").data
        assert api.link_entity_to_claim(stored.claim_id, entity.entity_id, "subject").success
        assert api.link_tag_to_claim(stored.claim_id, tag.tag_id).success
        assert api.get_claim_entities_list(stored.claim_id).data == [(entity, "subject")]
        assert api.get_claim_tags_list(stored.claim_id).data == [tag]
        assert api.unlink_entity_from_claim(stored.claim_id, entity.entity_id).success
        assert api.unlink_tag_from_claim(stored.claim_id, tag.tag_id).success
        assert api.get_claim_entities_list(stored.claim_id).data == api.get_claim_tags_list(stored.claim_id).data == []

    def test_contexts(self, api: StructuredAPI) -> None:
        stored = added(api)
        context = api.add_context("Sport", description="What I do", claim_ids=[stored.claim_id]).data
        assert api.remove_claim_from_context(context.context_id, stored.claim_id).success
        assert api.resolve_context(context.context_id).data == []
        assert api.add_claim_to_context(context.context_id, stored.claim_id).success
        assert api.edit_context(context.context_id, name="Sports").data.name == "Sports"
        assert api.delete_context(context.context_id).success
        assert api.get_claim(stored.claim_id).data.status == "active"

    def test_contexts_hold_the_claims_of_all_below_them(self, api: StructuredAPI) -> None:
        parent = api.add_context("Health Goals").data
        child = api.add_context("Running", parent_context_id=parent.context_id).data
        stored = added(api, contexts=[child.context_id])
        assert isinstance(api.contexts, ContextCRUD)
        assert api.contexts.get_children(parent.context_id) == [child]
        assert api.contexts.get_by_friendly_id("health_goals_context") == parent
        assert api.contexts.search_friendly_ids("health") == [parent]
        assert api.contexts.resolve_claims(parent.context_id) == api.resolve_context(parent.context_id).data == [stored]

    def test_pins(self, api: StructuredAPI) -> None:
        stored = added(api)
        assert api.pin_claim(stored.claim_id).data.pinned
        assert [one.claim_id for one in api.get_pinned_claims().data] == [stored.claim_id]
        assert not api.pin_claim(stored.claim_id, pin=False).data.pinned
        assert api.get_pinned_claims().data == []

    def test_conflicts(self, api: StructuredAPI) -> None:
        ids = [added(api, statement).claim_id for statement in ("I like X", "I hate X")]
        conflict = api.create_conflict_set(ids, notes="Which?").data
        assert [one.conflict_set_id for one in api.get_open_conflicts().data] == [conflict.conflict_set_id]
        resolved = api.resolve_conflict_set(conflict.conflict_set_id, "The second", winning_claim_id=ids[1])
        assert resolved.data.status == "resolved"
        assert api.get_open_conflicts().data == []

    @pytest.mark.parametrize("written", ["1", "#1", "claim_1", "@claim_1", "{id}", "@{id}", "{uuid}", "@{upper}"])
    def test_a_claim_has_many_names(self, api: StructuredAPI, written: str) -> None:
        stored = added(api)
        name = written.format(id=stored.friendly_id, uuid=stored.claim_id, upper=stored.friendly_id.upper())
        assert api.resolve_claim_identifier(name) == stored

    def test_a_number_is_a_name_as_well(self, api: StructuredAPI) -> None:
        stored = added(api)
        assert api.resolve_claim_identifier(1) == stored
        assert api.resolve_claim_identifier("2") is api.resolve_claim_identifier("") is None
        assert api.get_claim_by_friendly_id(f"@{stored.friendly_id}").data == stored

    def test_a_reference_resolves_to_a_kind_and_its_claims(self, api: StructuredAPI) -> None:
        stored = added(api, tags=["fitness"])
        resolved = api.resolve_reference("@fitness_tag")
        assert (resolved.action, resolved.object_type) == ("resolve", "reference")
        assert resolved.data["type"] == "tag"
        assert resolved.data["claims"] == [stored]
        assert resolved.data["source_name"] == "fitness"
        assert api.resolve_reference("nothing").errors == ["No memory or context found with ID: nothing"]

    def test_users_see_their_own_alone(self, api: StructuredAPI) -> None:
        ann, ben = api.for_user("ann@example.org"), api.for_user("ben@example.org")
        stored = added(ann)
        assert stored.user_email == "ann@example.org"
        assert not ben.get_claim(stored.claim_id).success
        assert ben.search("workouts").data == api.search("workouts").data == []
        assert added(ben).claim_number == 1

    def test_what_was_exported_comes_in_once(self, api: StructuredAPI, tmp_path: Path) -> None:
        old = added(api, "I live in Porto", tags=["home"])
        added(api, "I live in Lisbon", supersedes=old.claim_id)
        exported = api.export_data().data
        with get_database(PKBConfig(db_path=tmp_path / "other.sqlite")) as other_db:
            other = StructuredAPI(other_db, {}, other_db.config, user_email="ann@example.org")
            assert other.import_data(exported).data["claims"] == 2
            assert other.import_data(exported, mode="merge").data["claims"] == 0
            assert other.claims.count() == 2
            assert other.resolve_reference("home_tag").success
