"""A knowledge base that is searched by meaning as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from chat.context.knowledge import EmbeddingUpkeep, KnowledgeAccess
from endpoints.http.scope import EXTENSION
from language_models.testing import Reply, ScriptedChatModel
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.interface.structured_api import KnowledgeModels


@pytest.fixture
def vectors(app: Flask) -> KnowledgeAccess:
    """The application's knowledge base, searched by meaning as well, and with a model that widens any question."""
    state = app.extensions[EXTENSION]
    state.knowledge.close()
    model = WordVectors({"workouts": "exercise"}, dimensions=512)
    chat = ScriptedChatModel(replies=lambda _prompt: Reply('{"queries": ["other balderdash"]}'))
    models = KnowledgeModels(chat=chat, embedding=model)
    access = KnowledgeAccess(state.database.folder, models=lambda: models, embedding_timeout=300.0)
    app.extensions[EXTENSION] = replace(state, knowledge=access)
    return access


def embed_all(vectors: KnowledgeAccess) -> None:
    """In as many portions as it takes."""
    upkeep = EmbeddingUpkeep(vectors)
    assert any(upkeep.embed_pending() == 0 for _ in range(1_000))
