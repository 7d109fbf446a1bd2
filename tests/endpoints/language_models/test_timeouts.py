"""How long models may take beside the answers: what the settings say, and no constants.

`ANAPHORA_BACKGROUND_TIMEOUT` is one setting for all work of the cheap model that no other setting limits.
"""

from __future__ import annotations

import logging

import pytest
from flask import Flask

from Conversation import Conversation
from endpoints.http.scope import EXTENSION
from language_models.testing import ScriptedChatModel
from settings import Settings
from tests.chat.conftest import wait_until
from tests.endpoints.conftest import Person, told
from tests.endpoints.pkb import responses

TEXT = "I prefer morning workouts. My sister is called Anna."
LATE = "did not answer within 0.05 seconds"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"background_timeout": 0.05, "title_timeout": 0.05, "embedding_patience": 0.5})


@pytest.fixture
def cheap_model() -> ScriptedChatModel:
    return ScriptedChatModel.hanging()


def test_it_limits_suggestions_for_a_memory(ada: Person) -> None:
    answer = ada.post("/pkb/analyze_statement", json={"statement": TEXT, "use_model": True})
    analysis = told(answer, responses.Analysis)
    assert analysis.by == "rules"
    assert LATE in str(analysis.warnings)


def test_it_limits_the_reading_of_a_text(ada: Person) -> None:
    plan = told(ada.post("/pkb/ingest_text", json={"text": TEXT, "use_model": True}), responses.Plan)
    assert {proposal.action for proposal in plan.proposals} == {"add"}
    assert LATE in str(plan.warnings)


def test_it_limits_the_sentence_about_a_document(app: Flask, ada: Person, caplog: pytest.LogCaptureFixture) -> None:
    vaults = app.extensions[EXTENSION].vaults
    vault = vaults.of(ada.email)
    vault.write("garden.md", "A long paragraph about the garden. " * 20)
    assert vault.summary("garden.md").endswith("…")
    with caplog.at_level(logging.INFO, logger="vault"):
        assert vaults.summaries.make_waiting() == 0
    assert LATE in caplog.text


def test_it_limits_the_running_summary(app: Flask, ada: Person) -> None:
    state = app.extensions[EXTENSION]
    conversation_id = ada.new_conversation()
    conversation = Conversation(ada.email, state.database, conversation_id)
    for number in range(5):
        conversation.persist_current_turn(f"mark {number}", "answer")
    ada.say(conversation_id, "go on")
    wait_until(
        lambda: 'anaphora_model_failures_total{job="summary"} 3.0' in state.services.metrics.render(), seconds=30
    )


def test_questions_and_searches_of_memories_wait_for_the_embedding_model_as_long_as_the_setting_says(
    app: Flask, ada: Person
) -> None:
    state = app.extensions[EXTENSION]
    assert state.services.embedding_patience == 0.5
    assert state.knowledge.for_user(ada.email).config.embedding_timeout == 0.5
