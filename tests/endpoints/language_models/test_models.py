"""The models: which there are, how they are, and having one fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from flask import Flask

from database.connection import close_store
from endpoints.http.scope import EXTENSION
from endpoints.language_models import models as language_model_models
from language_models.roles import ModelRoles
from language_models.testing import ScriptedChatModel
from server import create_app
from settings import Settings
from tests.endpoints.conftest import Person, refused, told


@pytest.fixture
def app(settings: Settings, main_model: ScriptedChatModel, tmp_path: Path) -> Iterator[Flask]:
    """An application whose model for small jobs is a file, and that a broken one; no model is downloaded."""
    poem = tmp_path / "poem.gguf"
    poem.write_text("Roses are red")
    models = ModelRoles(
        main="none",
        cheap=f"embedded:{poem}",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=tmp_path / "models",
        overrides={"main": main_model},
    )
    application = create_app(settings, models=models, serves=False)
    yield application
    application.extensions[EXTENSION].knowledge.close()
    asyncio.run(models.aclose())
    close_store(settings.users_dir)


def test_what_can_be_chosen_stands_beside_the_models_by_role(ada: Person, person: Callable[..., Person]) -> None:
    models = told(person("root@example.org", is_admin=True).get("/models"), language_model_models.Models)
    assert models.main.phase == "ready"
    assert models.embedding is not None
    assert [each.code for each in models.embedding.said] == ["no_embedding_model"]
    first = models.choices[0]
    assert (first.id, first.role, first.name) == ("main", "main", models.main.name)
    embedded = {"embedded:qwen2.5-coder-1.5b-instruct", "embedded:qwen2.5-coder-0.5b-instruct"}
    assert embedded <= {choice.id for choice in models.choices}
    # Others choose among those that are downloaded.
    offered = told(ada.get("/models"), language_model_models.Models).choices
    assert not embedded & {choice.id for choice in offered}


def test_only_what_is_embedded_and_known_can_be_fetched(ada: Person) -> None:
    for name in ("main", "embedded:enormous", "openai:gpt-4o", "embedded:/etc/passwd.gguf", "nonsense"):
        answer = ada.post(f"/models/{name}/fetch")
        assert (answer.status_code, answer.json["code"]) == (HTTPStatus.BAD_REQUEST, "bad_request")


def test_nobody_has_a_model_fetched_who_has_not_signed_in(ada: Person) -> None:
    stranger = Person(email="", client=ada.client.application.test_client())
    assert stranger.post("/models/embedded:small/fetch").status_code == HTTPStatus.UNAUTHORIZED


def test_loading_goes_on_behind_the_answer_and_the_models_tell_how_it_went(ada: Person) -> None:
    answer = told(ada.post("/models/cheap/fetch"), language_model_models.Begun, status=HTTPStatus.ACCEPTED)
    assert answer.status == "ok"
    state = cheap_state(ada)
    while state.phase == "loading":
        state = cheap_state(ada)
    assert state.phase == "failed"
    assert "poem.gguf can't be loaded" in state.detail


def cheap_state(person: Person) -> language_model_models.ChoiceState:
    choices = told(person.get("/models"), language_model_models.Models).choices
    return next(choice.state for choice in choices if choice.id == "cheap")


def test_a_model_that_the_operator_does_not_allow_is_refused_and_nothing_is_stored(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    message = {"messageText": "Hello", "model": "openai:o1-pro"}
    assert refused(ada.post(f"/send_message/{conversation_id}", json=message)) == (403, "model_not_allowed")
    assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_a_conversation_whose_choice_is_not_allowed_is_answered_by_the_main_model(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    settings = {"model_overrides": {"main": "openai:o1-pro"}}
    assert ada.put(f"/get_conversation_settings/{conversation_id}", json=settings).status_code == HTTPStatus.OK
    events = ada.say(conversation_id, "Hello")
    assert "".join(event["text"] for event in events) == "It is forty-two."
    assert any("openai:o1-pro" in event.get("notice", "") for event in events)
