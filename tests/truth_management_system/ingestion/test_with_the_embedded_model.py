"""The small embedded model for real: a text becomes facts of the shape that was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from language_models import blocking
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, model_file
from settings import load_settings
from truth_management_system import (
    ClaimType,
    ContextDomain,
    PKBConfig,
    PKBDatabase,
    StructuredAPI,
    TextIngestionDistiller,
)
from truth_management_system.analysis.comparing import content_words
from truth_management_system.analysis.model_questions import KnowledgeModels

pytestmark = [pytest.mark.embedded, pytest.mark.proof]

TEXT = """Anna is my sister and lives in Porto.
I am allergic to peanuts.
We decided to use PostgreSQL for the Anaphora project.
My dentist is Dr. Novak.
I prefer tea over coffee in the morning.
"""


@pytest.fixture
def model() -> Iterator[EmbeddedChatModel]:
    runtime = EmbeddedRuntime(model_file("small", folder=load_settings().model_dir))
    runtime.start()
    yield EmbeddedChatModel(runtime)
    blocking.close()
    runtime.close()


def test_a_text_is_read_into_facts_of_the_right_shape(model: EmbeddedChatModel, db: PKBDatabase) -> None:
    config = PKBConfig(db_path=db.config.db_path, llm_timeout=300.0)
    api = StructuredAPI(db, {}, config, models=KnowledgeModels(chat=model))
    distiller = TextIngestionDistiller(api)
    plan = distiller.ingest_and_propose(TEXT)
    assert plan.warnings == []
    assert plan.proposals
    for candidate in plan.candidates:
        assert candidate.claim_type in set(ClaimType)
        assert candidate.context_domain in set(ContextDomain)
        assert content_words(candidate.statement) & content_words(TEXT)
    result = distiller.execute_plan(plan, "all")
    assert result.added_count == len(plan.proposals)
