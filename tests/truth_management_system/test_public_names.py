"""What programs of others build on: the names under which they find the knowledge base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import truth_management_system as pkb
from language_models.testing import Reply, ScriptedChatModel
from truth_management_system import (
    ConversationDistiller,
    LLMHelpers,
    PKBConfig,
    StructuredAPI,
    TextOrchestrator,
    get_database,
)
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.interface.structured_api import KnowledgeModels

ROOT_NAMES = """
    PKBConfig get_database get_memory_database StructuredAPI ActionResult TextOrchestrator TextIngestionDistiller
    ConversationDistiller LLMHelpers Claim Note Entity Tag Context ClaimType ClaimStatus ContextDomain EntityType
    EntityRole SearchFilters SearchResult FTSSearchStrategy HybridSearchStrategy ClaimCRUD NoteCRUD EntityCRUD TagCRUD
    ContextCRUD ConflictCRUD generate_uuid now_iso
"""
MODULE_NAMES = {
    "config": "PKBConfig",
    "database": "PKBDatabase get_database get_memory_database",
    "models": "CLAIM_COLUMNS CONTEXT_COLUMNS Claim Note Entity Tag Context",
    "schema": "SCHEMA_VERSION",
    "constants": "ClaimType ClaimStatus ContextDomain EntityType EntityRole",
    "utils": "generate_friendly_id _extract_meaningful_words generate_uuid now_iso",
    "search.base": "SearchFilters SearchResult SearchStrategy merge_results_rrf apply_recency_confidence_rerank",
    "crud.links": "LINK_SUPERSEDES link_claims unlink_claims get_outgoing_links get_incoming_links "
    "get_supersession_head link_claim_tag link_claim_entity get_claim_tags get_claim_entities",
    "search.consolidation": "cluster_near_duplicate_claims cluster_entity_variants entity_name_similarity",
    "portability": "export_data import_data",
    "interface.structured_api": "StructuredAPI ActionResult",
}
API_NAMES = """
    claims notes entities tags conflicts contexts type_catalog domain_catalog search_strategy llm for_user
    add_claim edit_claim delete_claim get_claim add_claims_bulk get_claims_by_ids
    add_note edit_note delete_note get_note
    search search_notes add_entity add_tag pin_claim get_pinned_claims create_conflict_set resolve_conflict_set
    get_open_conflicts get_claim_by_friendly_id resolve_claim_identifier resolve_reference autocomplete add_context
    edit_context delete_context get_context resolve_context add_claim_to_context remove_claim_from_context
    link_entity_to_claim unlink_entity_from_claim link_tag_to_claim unlink_tag_from_claim get_claim_entities_list
    get_claim_tags_list export_data import_data
"""


def test_the_package_itself_offers_what_scripts_import() -> None:
    assert [name for name in ROOT_NAMES.split() if not hasattr(pkb, name)] == []
    assert sorted(set(ROOT_NAMES.split()) - set(pkb.__all__)) == []


def test_the_modules_offer_what_scripts_import() -> None:
    offered = {module: import_module(f"truth_management_system.{module}") for module in MODULE_NAMES}
    wanted = [(module, name) for module, names in MODULE_NAMES.items() for name in names.split()]
    assert [f"{module}.{name}" for module, name in wanted if not hasattr(offered[module], name)] == []


def test_the_api_offers_what_scripts_call(api: StructuredAPI) -> None:
    assert [name for name in API_NAMES.split() if not hasattr(api, name)] == []


class TestCallsOfTheFirstImplementation:
    """As programs wrote them, with no model reachable."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> PKBConfig:
        return PKBConfig(
            db_path=str(tmp_path / "kb.sqlite"),
            fts_enabled=True,
            embedding_enabled=False,
            llm_model="openai/gpt-4o-mini",
            llm_temperature=0.0,
            log_llm_calls=False,
        )

    @pytest.fixture
    def api(self, config: PKBConfig) -> Iterator[StructuredAPI]:
        db = get_database(config)
        yield StructuredAPI(db, {}, config)
        db.close()

    @pytest.mark.parametrize("statement", ["I love hiking in the mountains", "It is", "I", "…", "我喜欢茶"])
    def test_tags_are_never_missing(self, statement: str, config: PKBConfig) -> None:
        llm = LLMHelpers({}, config)
        assert llm.generate_tags(statement, "personal", [])

    def test_existing_tags_that_fit_come_first(self, config: PKBConfig) -> None:
        llm = LLMHelpers({}, config)
        tags = llm.generate_tags("I love hiking in the mountains", "personal", ["Mountain", "cooking", "hiking"])
        assert tags[:2] == ["mountain", "hiking"]
        assert "cooking" not in tags

    def test_a_new_claim_is_compared_with_those_that_are_known(self, api: StructuredAPI) -> None:
        added = api.add_claim("I live in Lisbon", "fact", "personal", auto_extract=False)
        known = [added.data]
        found = api.llm.check_similarity(new_claim="I live in Porto", existing_claims=known, threshold=0.1)
        assert [(one["claim_id"], one["relation"]) for one in found] == [(added.object_id, "contradiction")]
        assert api.llm.check_similarity("The sky is blue", known, 0.85) == []

    def test_free_text_adds_finds_and_deletes(self, api: StructuredAPI) -> None:
        orchestrator = TextOrchestrator(api, {}, api.config)
        for statement in ("I like tea", "Anna likes tea", "Tea is grown in Assam"):
            assert orchestrator.process(f"remember that {statement}").action_result.success
        found = orchestrator.process("find tea")
        assert (found.action_taken, found.raw_intent["action"]) == ("found 3 claims", "search")
        assert (found["action_taken"], found["clarifying_questions"]) == ("found 3 claims", [])
        claim_id = found.action_result.data[0].claim.claim_id
        deleted = orchestrator.execute_confirmed_action("delete", claim_id)
        assert (deleted.action_taken, deleted.action_result.success) == ("deleted 1 claim", True)
        assert orchestrator.process("find tea").action_taken == "found 2 claims"
        with pytest.raises(KeyError):
            found["no such thing"]

    @pytest.mark.parametrize(
        ("answer", "added"),
        [("all", ["I prefer tea", "I live in Lisbon", "I work at Siemens"]), ("none", []), ("1,3", [0, 2])],
    )
    def test_a_turn_becomes_a_plan_that_the_person_answers(
        self, api: StructuredAPI, answer: str, added: list[Any]
    ) -> None:
        distiller = ConversationDistiller(api, {}, api.config)
        plan = distiller.extract_and_propose(
            conversation_summary="",
            user_message="I prefer tea. I live in Lisbon. I work at Siemens.",
            assistant_message="Good to know.",
        )
        assert plan.requires_user_confirmation
        assert len(plan.candidates) == len(plan.proposed_actions) == 3
        assert plan.user_prompt.startswith("1. I prefer tea")
        result = distiller.execute_plan(plan, answer)
        wanted = [plan.candidates[one].statement if isinstance(one, int) else one for one in added]
        assert [claim.statement.rstrip(".") for claim in api.claims.list(order_by="claim_number")] == [
            statement.rstrip(".") for statement in wanted
        ]
        assert (result["executed"], len(result.execution_results)) == (bool(added), len(added))

    def test_indices_may_be_approved_instead_and_nonsense_is_refused(self, api: StructuredAPI) -> None:
        distiller = ConversationDistiller(api, {}, api.config)
        plan = distiller.extract_and_propose("", "I prefer tea. I live in Lisbon.", "")
        with pytest.raises(InvalidKnowledgeError, match="no answer"):
            distiller.execute_plan(plan, "perhaps")
        assert not distiller.execute_plan(plan, None)["executed"]  # no answer approves nothing
        assert distiller.execute_plan(plan, "all", approved_indices=[1]).executed
        assert [claim.statement for claim in api.claims.list()] == ["I live in Lisbon."]

    def test_what_is_left_out_is_nothing_and_what_is_no_action_is_refused(self, api: StructuredAPI) -> None:
        distiller = ConversationDistiller(api, {}, api.config)
        assert distiller.extract_and_propose(None, None, None).candidates == []  # type: ignore[arg-type]
        assert LLMHelpers({}, api.config).generate_tags("I run daily", "health", None)
        refused = TextOrchestrator(api, {}, api.config).execute_confirmed_action({"action": "delete"}, "claim_1")  # type: ignore[arg-type]
        assert not refused.action_result.success
        assert "confirmed" in refused.action_result.errors[0]

    def test_nothing_to_remember_asks_nothing(self, api: StructuredAPI) -> None:
        plan = ConversationDistiller(api, {}, api.config).extract_and_propose("", "What time is it?", "Noon.")
        assert (plan.candidates, plan.user_prompt, plan.requires_user_confirmation) == ([], "", False)

    def test_calls_to_a_model_are_logged_on_request_alone(
        self, config: PKBConfig, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        models = KnowledgeModels(chat=ScriptedChatModel(replies=lambda _: Reply('{"tags": ["tea"]}')))
        for is_logged in (False, True):
            LLMHelpers({}, replace(config, log_llm_calls=is_logged), models=models).generate_tags("I like tea")
            assert ("I like tea" in caplog.text) is is_logged
