"""Knowledge bases whose language model says what a script tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from language_models import blocking
from language_models.ports import Speed
from language_models.testing import Reply, ScriptedChatModel
from tests.truth_management_system.conftest import stored_knowledge_base
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system import PKBDatabase, StructuredAPI
from truth_management_system.analysis.model_questions import KnowledgeModels

ANN, BEN = "ann@example.org", "ben@example.org"
MakeApi = Callable[..., StructuredAPI]


def fact(statement: str, kind: str = "fact", domain: str = "personal") -> dict[str, Any]:
    return {"statement": statement, "type": kind, "domain": domain}


def facts(*told: dict[str, Any]) -> Reply:
    """What a model answers that found these facts."""
    return Reply(json.dumps({"facts": list(told)}))


SLOW = Speed(reading=60.0, writing=28.0)
"""Of a small model on an ordinary processor."""


def saying(*replies: Reply, **options: Any) -> ScriptedChatModel:
    return ScriptedChatModel(replies=replies, **{"speed": SLOW, **options})


@pytest.fixture(autouse=True)
def _no_loop_is_left() -> Iterator[None]:
    yield
    blocking.close()


@pytest.fixture
def db(database_url: str | None, tmp_path: Path) -> Iterator[PKBDatabase]:
    with stored_knowledge_base(database_url, tmp_path) as database:
        yield database


@pytest.fixture
def make_api(db: PKBDatabase) -> MakeApi:
    """make_api(model=None, vectors=None, user_email=ANN, **settings of the PKBConfig)."""

    def make(
        model: ScriptedChatModel | None = None,
        vectors: WordVectors | None = None,
        user_email: str = ANN,
        **settings: Any,
    ) -> StructuredAPI:
        config = replace(db.config, **settings)
        models = KnowledgeModels(chat=model, embedding=vectors)
        return StructuredAPI(db, {}, config, user_email, models=models)

    return make


@pytest.fixture
def api(make_api: MakeApi) -> StructuredAPI:
    """Without any model."""
    return make_api()
