"""What a request says decides which threads it gets; no way of saying it gets it other ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from threading import current_thread
from typing import Any

import pytest
from flask import Flask

from endpoints.http.openapi import routes
from endpoints.serving.asgi_server import Bridge
from endpoints.serving.work_queues import Work, work_of
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person
from tests.endpoints.serving.test_bridge import JSON, Connection, cookie_of
from truth_management_system import StructuredAPI

_WITH_A_MODEL = {"rewrite", "mapreduce", "embedding"}
_STATEMENT = {"statement": "I like tea"}


@pytest.fixture
def cheap_model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=lambda _prompt: Reply('{"facts": []}'))


def sorted_views(app: Flask) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """The routes whose kind of work depends on the request's query."""
    for path, method, view in routes(app):
        if callable(getattr(view, "work", None)) and hasattr(view, "query_model"):
            yield path, method, view


def ask(app: Flask, person: Person, method: str, path: str, query: bytes, body: Any = None) -> Connection:
    content, headers = (b"", []) if body is None else (json.dumps(body).encode(), [JSON])
    connection = Connection(method, path, body=[content], headers=[*headers, cookie_of(person)])
    connection.scope["query_string"] = query
    asyncio.run(Bridge(app)(connection.scope, connection.receive, connection.send))
    return connection


def test_each_route_that_is_sorted_by_its_query_refuses_a_parameter_that_is_given_twice(
    app: Flask, ada: Person
) -> None:
    paths = set()
    for path, method, view in sorted_views(app):
        body = _STATEMENT if hasattr(view, "body_model") else None
        for name, field in view.query_model.model_fields.items():
            shown = field.alias or name
            query = f"{shown}=1&{shown}=2".encode()
            answer = ask(app, ada, method.upper(), path, query, body)
            said = json.loads(answer.body)
            assert (answer.status, said["code"]) == (400, "bad_request"), (path, shown)
            assert (said["message"], said["details"][0]["loc"]) == (
                f"Given more than once in the address: {shown}.",
                [shown],
            )
            assert work_of(view, query) is Work.SHORT
        paths.add(path)
    assert paths == {"/pkb/analyze_statement", "/pkb/claims", "/pkb/notes", "/pkb/search"}


def test_other_routes_refuse_a_parameter_that_is_given_twice_too(ada: Person) -> None:
    answer = ada.get("/list_conversation_by_user/assistant?limit=1&limit=2")
    assert (answer.status_code, answer.json["code"]) == (400, "bad_request")


QUERIES = [
    b"query=tea&query=&strategy=rewrite",
    b"query=tea&%71uery=&strategy=rewrite",
    b"strategy=rewrite&strategy=hybrid&query=tea",
    b"strategy=rewrite&strat%65gy=hybrid&query=tea",
    b"strategy=rewrite&query=tea&strategy=",
    b"query=tea;query=&strategy=rewrite",
    b"query=tea&strategy=rewrite;strategy=hybrid",
    b"strategy=re%77rite&query=%74ea",
    b"strategy=+rewrite&query=tea",
    b"strategy=rewrite&query=+tea",
    b"strategy=rewrite&query=%A0",
    b"strategy=rewrite&query=%C2%A0",
    b"strategy=rewrite&query=\xc2\xa0",
    b"strategy=rewrite&query=\xa0",
    b"strategy=rewrite&query=\xc3\x83\xc2\xa0",
    b"strategy=rewrite&query=%E3%80%80",
    b"strategy=rewrite&query=%1F",
    b"strategy=rewrite&query=%",
    b"strategy=Rewrite&query=tea",
    b"STRATEGY=rewrite&query=tea",
    b"strategy=rewrite&query=tea&Query=",
    b"strategy=rewrite&query=tea&=",
    b"strategy=rewrite&&query=tea",
    b"=&strategy=rewrite&query=tea",
    b"strategy=rewrite&query=tea&query",
    b"&query=tea&strategy=rewrite&",
    b"strategy=%EF%BD%92ewrite&query=tea",
    "ſtrategy=rewrite&query=tea".encode(),
    b"strategy=rewrite&query=tea#&query=",
    b"strategy=rewrite&q=tea&query=",
]


@pytest.mark.parametrize("path", ["/pkb/claims", "/pkb/search"])
def test_however_a_query_is_written_only_threads_for_models_wait_for_one(
    path: str, app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, search = list[tuple[str, str]](), StructuredAPI.search

    def noted(api: StructuredAPI, text: str, *, strategy: str = "hybrid", **more: Any) -> Any:
        began.append((strategy, current_thread().name))
        return search(api, text, strategy=strategy, **more)

    monkeypatch.setattr(StructuredAPI, "search", noted)
    statuses = {query: ask(app, ada, "GET", path, query).status for query in QUERIES}
    assert set(statuses.values()) == {200, 400}, statuses
    with_a_model = [thread for strategy, thread in began if strategy in _WITH_A_MODEL]
    assert len(with_a_model) >= 3
    assert {thread.rpartition("_")[0] for thread in with_a_model} == {"view-model"}


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        (b"use_model=true&use_model=false", {}, 400),
        (b"use_model=true&use%5Fmodel=false", {}, 400),
        (b"use_model=false", {}, 200),
        (b"use_model=0", {}, 200),
        (b"", {"use_model": False}, 200),
        (b"use_model=true", {}, 200),
    ],
)
def test_a_statement_is_analysed_by_a_model_only_in_threads_for_models(
    query: bytes,
    body: dict[str, Any],
    status: int,
    app: Flask,
    ada: Person,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, analyse = list[tuple[bool, str]](), StructuredAPI.analyze_statement

    def noted(api: StructuredAPI, statement: str, use_model: bool = True) -> Any:
        began.append((use_model, current_thread().name.rpartition("_")[0]))
        return analyse(api, statement, use_model)

    monkeypatch.setattr(StructuredAPI, "analyze_statement", noted)
    answer = ask(app, ada, "POST", "/pkb/analyze_statement", query, {**_STATEMENT, **body})
    assert (answer.status, len(began)) == (status, status == 200)
    assert all(thread == "view-model" for use_model, thread in began if use_model)
