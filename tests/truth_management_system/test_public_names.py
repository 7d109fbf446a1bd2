"""What programs of others build on: the names under which they find the knowledge base."""

from __future__ import annotations

from importlib import import_module

import truth_management_system as pkb
from truth_management_system import (
    StructuredAPI,
)

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
