"""Many claims at once: a model finds tags and entities before the change begins, and for a while only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from language_models import blocking
from language_models.testing import Prompt, Reply, ScriptedChatModel
from tests.truth_management_system.conftest import stored_knowledge_base
from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.analysis.model_questions import KnowledgeModels

pytestmark = pytest.mark.contract

CLAIMS = [{"statement": "Ann drinks tea"}, {"statement": "Ann drinks milk", "tags": ["mine"]}, {"colour": "red"}]


@pytest.fixture(autouse=True)
def _no_loop_is_left() -> Iterator[None]:
    yield
    blocking.close()


@pytest.fixture
def db(database_url: str | None, tmp_path: Path) -> Iterator[PKBDatabase]:
    with stored_knowledge_base(database_url, tmp_path) as database:
        yield database


def finding(db: PKBDatabase, *, timeout: float = 60.0) -> tuple[StructuredAPI, list[bool]]:
    """An API whose model finds one tag and one entity, and for each question whether others could write meanwhile."""
    others_could_write: list[bool] = []

    def reply(_: Prompt) -> Reply:
        with get_database(PKBConfig(db_path=db.config.path)) as other:
            StructuredAPI(other, user_email="ben").add_tag(f"tag {len(others_could_write)}")
        others_could_write.append(True)
        return Reply(
            json.dumps({"tags": ["drinks"], "entities": [{"name": "Ann", "type": "person", "role": "subject"}]})
        )

    models = KnowledgeModels(chat=ScriptedChatModel(replies=reply))
    config = PKBConfig(db_path=db.config.path, llm_timeout=timeout)
    return StructuredAPI(db, {}, config, "ann", models=models), others_could_write


def test_while_the_model_thinks_others_can_write(db: PKBDatabase) -> None:
    api, others_could_write = finding(db)
    result = api.add_claims_bulk(CLAIMS, auto_extract=True)
    first, second, third = result.data["results"]
    assert (first["success"], second["success"], third["success"]) == (True, True, False)
    tags = [[tag.name for tag in api.get_claim_tags_list(row["claim_id"]).data] for row in (first, second)]
    assert tags == [["drinks"], ["mine"]]
    assert [entity.name for entity, _ in api.get_claim_entities_list(second["claim_id"]).data] == ["Ann"]
    assert others_could_write == [True] * 3  # both of the first claim, what is missing of the second, none of the third


def test_a_model_is_asked_for_a_while_only(db: PKBDatabase) -> None:
    api, questions = finding(db, timeout=0.0)
    result = api.add_claims_bulk(CLAIMS, auto_extract=True)
    assert (result.data["added_count"], questions) == (2, [])
    assert "asked no more" in result.warnings[-1]
    assert result.metadata["audit_id"]
