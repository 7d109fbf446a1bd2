"""A personal knowledge base: memories as atomic claims, found by reference, by search and by pin.

```python
from truth_management_system import PKBConfig, StructuredAPI, get_database

api = StructuredAPI(get_database(PKBConfig(db_path="memories.sqlite")))
api.add_claim("I prefer morning workouts", "preference", "health", auto_extract=False)
```
"""

from __future__ import annotations

from database.engine.clock import now_iso
from truth_management_system.analysis.model_questions import LLMHelpers
from truth_management_system.crud.filters import SearchFilters
from truth_management_system.database import PKBDatabase, get_database, get_memory_database
from truth_management_system.search.base import SearchResult

from .config import PKBConfig
from .constants import ClaimStatus, ClaimType, ContextDomain, EntityRole, EntityType
from .crud.claims import ClaimCRUD
from .crud.conflicts import ConflictCRUD
from .crud.contexts import ContextCRUD
from .crud.entities import EntityCRUD
from .crud.notes import NoteCRUD
from .crud.tags import TagCRUD
from .ingestion.conversation_distiller import ConversationDistiller
from .ingestion.text_ingestion import TextIngestionDistiller
from .ingestion.text_orchestrator import TextOrchestrator
from .interface.structured_api import StructuredAPI
from .models import ActionResult, Claim, ConflictSet, Context, Entity, Note, Tag
from .search.fts_search import FTSSearchStrategy
from .search.hybrid_search import HybridSearchStrategy
from .utils import generate_uuid

__all__ = [
    "ActionResult",
    "Claim",
    "ClaimCRUD",
    "ClaimStatus",
    "ClaimType",
    "ConflictCRUD",
    "ConflictSet",
    "Context",
    "ContextCRUD",
    "ContextDomain",
    "ConversationDistiller",
    "Entity",
    "EntityCRUD",
    "EntityRole",
    "EntityType",
    "FTSSearchStrategy",
    "HybridSearchStrategy",
    "LLMHelpers",
    "Note",
    "NoteCRUD",
    "PKBConfig",
    "PKBDatabase",
    "SearchFilters",
    "SearchResult",
    "StructuredAPI",
    "Tag",
    "TagCRUD",
    "TextIngestionDistiller",
    "TextOrchestrator",
    "generate_uuid",
    "get_database",
    "get_memory_database",
    "now_iso",
]
