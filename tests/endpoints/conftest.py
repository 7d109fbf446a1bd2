"""One application a test, over a store of its own, with people who are logged in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from flask import Flask, Response, request
from flask.testing import FlaskClient
from pydantic import TypeAdapter
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from database.accounts.sessions import create_session
from database.accounts.users import create_user
from database.connection import close_store
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.openapi import describe, path_of
from endpoints.http.scope import EXTENSION, SETTINGS
from endpoints.pkb import responses
from language_models.ports import ChatModel, EmbeddingModel
from language_models.roles import ModelRoles
from language_models.testing import Reply, ScriptedChatModel
from server import build_state, create_app
from settings import Settings, load_settings
from tests.stores import put_empty_knowledge_base, put_empty_store

PASSWORD = "correct horse battery"
OWN_PAGE = {"Origin": "http://localhost"}
ANSWER, SMALL_ANSWER = Reply("It is ", "forty-two."), Reply("Deep Thought Answers")


@dataclass
class Person:
    """Somebody with a browser: their requests carry their cookie, and say that they come from our own pages."""

    email: str
    client: FlaskClient

    def request(self, method: str, path: str, **more: Any) -> TestResponse:
        headers = {**OWN_PAGE, **more.pop("headers", {})}
        return self.client.open(path, method=method, headers=headers, **more)

    def get(self, path: str, **more: Any) -> TestResponse:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> TestResponse:
        return self.request("POST", path, **more)

    def put(self, path: str, **more: Any) -> TestResponse:
        return self.request("PUT", path, **more)

    def delete(self, path: str, **more: Any) -> TestResponse:
        return self.request("DELETE", path, **more)

    def new_conversation(self) -> str:
        """The id of a new, empty conversation."""
        return self.post("/create_conversation/assistant/").json["conversation_id"]

    def say(self, conversation_id: str, text: str, **more: Any) -> list[dict[str, Any]]:
        """Send a message; all events of its answer."""
        answer = self.post(f"/send_message/{conversation_id}", json={"messageText": text, **more})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        return events_of(answer)

    def remember(self, statement: str, **fields: Any) -> responses.ClaimItem:
        """A new memory."""
        answer = self.post("/pkb/claims", json={"statement": statement, **fields})
        return told(answer, responses.AddedClaim, status=HTTPStatus.CREATED).claim


Told = TypeVar("Told")


def told(answer: TestResponse, shape: type[Told], *, status: int = HTTPStatus.OK) -> Told:
    """What an answer says, held to the shape that the API's description promises."""
    assert answer.status_code == status, answer.get_data(as_text=True)
    return TypeAdapter(shape).validate_json(answer.get_data(), strict=True)


def refused(answer: TestResponse) -> tuple[int, str]:
    """Status and code of an error."""
    return answer.status_code, answer.json["code"]


def events_of(answer: TestResponse) -> list[dict[str, Any]]:
    """The events of a streamed answer, heartbeats left out."""
    events = [orjson.loads(line) for line in answer.get_data().splitlines()]
    return [event for event in events if not event.get("heartbeat")]


def settings_in(folder: Path, *, database_url: str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a server on loopback whose data folder is `folder`. environ: those besides."""
    own = {"ANAPHORA_DATA_DIR": str(folder), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    own["DATABASE_URL"] = database_url or ""
    return load_settings({**own, **(environ or {})}, env_file=folder / "no.env")


def models_of(
    settings: Settings, *, main: ChatModel, cheap: ChatModel, embedding: EmbeddingModel | None = None
) -> ModelRoles:
    """These models alone."""
    overrides: dict[str, ChatModel | EmbeddingModel] = {"main": main, "cheap": cheap}
    if embedding is not None:
        overrides["embedding"] = embedding
    return ModelRoles(
        main="none",
        cheap="none",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=settings.model_dir,
        overrides=overrides,
    )


@contextmanager
def running_app(
    settings: Settings,
    *,
    main: ScriptedChatModel,
    cheap: ScriptedChatModel,
    embedding: EmbeddingModel | None = None,
    own_routes: bool = False,
) -> Iterator[Flask]:
    """The application over real parts; the models alone are scripted. own_routes: the test adds further routes."""
    models = models_of(settings, main=main, cheap=cheap, embedding=embedding)
    if settings.database_url is None:
        put_empty_store(settings.users_dir)
        put_empty_knowledge_base(settings.users_dir)
    application = with_own_routes(settings, models) if own_routes else with_shared_routes(settings, models)
    undescribed = watch_answers(application)
    yield application
    assert undescribed == [], "answers that the API's description does not promise"
    application.extensions[EXTENSION].knowledge.close()
    close_store(settings.users_dir)


def with_own_routes(settings: Settings, models: ModelRoles) -> Flask:
    """A new application."""
    return create_app(settings, models=models, serves=False)


_routed: list[Flask] = []


def with_shared_routes(settings: Settings, models: ModelRoles) -> Flask:
    """The first application of this test run, answering for a state of its own.

    Compiling the patterns of all routes takes ten times as long as everything else that `create_app` does.
    """
    if not _routed:
        _routed.append(create_app(settings, models=models, serves=False))
    application = copy.copy(_routed[0])
    for name, value in vars(application).items():
        if isinstance(value, dict):
            setattr(application, name, copy.copy(value))
    for functions in (application.before_request_funcs, application.after_request_funcs):
        functions.update({scope: list(each) for scope, each in functions.items()})
    application.extensions[SETTINGS] = settings
    application.extensions[EXTENSION] = build_state(settings, models=models)
    return application


def account(app: Flask, email: str, *, is_admin: bool = False) -> Person:
    """Somebody with a new account who has logged in."""
    database = app.extensions[EXTENSION].database
    create_user(database=database, user_email=email, password=PASSWORD, is_admin=is_admin)
    client = app.test_client()
    client.set_cookie(SESSION_COOKIE, create_session(database=database, user_email=email))
    return Person(email, client)


@pytest.fixture
def settings(tmp_path: Path, database_url: str | None) -> Settings:
    """The settings of a server on loopback with its own data folder."""
    return settings_in(tmp_path, database_url=database_url)


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """The model that answers."""
    return ScriptedChatModel(replies=lambda _prompt: ANSWER)


@pytest.fixture
def cheap_model() -> ScriptedChatModel:
    """The model for small jobs; whoever asks it for JSON is given nonsense."""
    return ScriptedChatModel(replies=lambda _prompt: SMALL_ANSWER)


@pytest.fixture
def app(settings: Settings, main_model: ScriptedChatModel, cheap_model: ScriptedChatModel) -> Iterator[Flask]:
    """The application over real parts; the models alone are scripted."""
    with running_app(settings, main=main_model, cheap=cheap_model) as application:
        yield application


_promised: dict[tuple[str, str], frozenset[str]] = {}


def promised_statuses(app: Flask) -> dict[tuple[str, str], frozenset[str]]:
    """Statuses that the OpenAPI description names, by path and method; the same for all applications of a test run."""
    if not _promised:
        for path, operations in describe(app, version="0")["paths"].items():
            _promised.update({(path, method): frozenset(each["responses"]) for method, each in operations.items()})
    return _promised


def is_described(app: Flask, rule: Rule | None, method: str, status: str) -> bool:
    """Whether the OpenAPI description of `app` names the status for this operation.

    A view that a test has added has no description. 304 is the client's own doing, and 500 a defect, which tests of
    defects provoke.
    """
    named = None if rule is None else promised_statuses(app).get((path_of(rule.rule), method.lower()))
    return named is None or status in {*named, "304", "500"}


def watch_answers(app: Flask) -> list[str]:
    """Answers of `app` from now on whose status its OpenAPI description doesn't name for the operation."""
    promised_statuses(app)
    undescribed: list[str] = []

    def check(answer: Response) -> Response:
        status = str(answer.status_code)
        if not is_described(app, request.url_rule, request.method, status):
            undescribed.append(f"{request.method} {request.url_rule}: {status} {answer.get_data(as_text=True)[:200]}")
        return answer

    app.after_request(check)
    return undescribed


@pytest.fixture
def person(app: Flask) -> Callable[..., Person]:
    """Makes an account and logs in: person("ada@example.org")."""
    return partial(account, app)


@pytest.fixture
def ada(person: Callable[[str], Person]) -> Person:
    """A person."""
    return person("ada@example.org")


@pytest.fixture
def eve(person: Callable[[str], Person]) -> Person:
    """Another person, curious about the first one's things."""
    return person("eve@example.org")
