"""The API's description says what the API does."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest
from flask import Flask
from pydantic import BaseModel, TypeAdapter

from endpoints.http.errors import ERROR_TABLE, status_of_code
from endpoints.http.openapi import describe, error_codes, routes
from tests.attack.knowledge_probes import things_of
from tests.endpoints.conftest import Person


def test_every_route_is_described_with_a_sentence_and_an_answer(app: Flask) -> None:
    document = describe(app, version="0")
    for path, method, view in routes(app):
        assert (inspect.getdoc(view) or "").endswith("."), f"{method} {path} says nothing of itself"
        assert hasattr(view, "answer_media"), f"{method} {path} does not say what it answers"
    assert sum(len(operations) for operations in document["paths"].values()) == len(list(routes(app)))


def test_every_query_parameter_is_described_in_a_sentence(app: Flask) -> None:
    described = [
        (path, method, parameter["name"], parameter["description"])
        for path, operations in describe(app, version="0")["paths"].items()
        for method, operation in operations.items()
        for parameter in operation["parameters"]
        if parameter["in"] == "query"
    ]
    assert len(described) > 100
    assert [each for each in described if not re.fullmatch(r"[A-Z`\[].{5,199}\.", each[3])] == []


def test_every_schema_that_is_referred_to_is_there(app: Flask) -> None:
    document = app.test_client().get("/openapi.json").json
    assert document["openapi"] == "3.1.0"
    text = json.dumps(document)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= set(document["components"]["schemas"])


def test_error_codes_are_words_and_each_error_stands_before_its_base(app: Flask) -> None:
    for position, row in enumerate(ERROR_TABLE):
        assert row.code.format(noun="thing", code="own_code").replace("_", "").isalpha()
        earlier = [other.error for other in ERROR_TABLE[:position]]
        assert not any(issubclass(row.error, error) for error in earlier), f"{row.error} is never reached"


def test_each_operation_names_its_own_answers(app: Flask) -> None:
    for path, operations in describe(app, version="0")["paths"].items():
        for method, operation in operations.items():
            assert "default" not in operation["responses"], (method, path)
            assert {"400", "503"} <= set(operation["responses"]), (method, path)
            if operation["security"]:
                assert "401" in operation["responses"], (method, path)
            if operation["parameters"]:
                assert "414" in operation["responses"], (method, path)
            if "requestBody" in operation:
                assert {"413", "415"} <= set(operation["responses"]), (method, path)


def test_a_body_that_a_view_needs_is_described_as_required_and_one_that_may_be_left_out_is_not(
    app: Flask, ada: Person
) -> None:
    paths = describe(app, version="0")["paths"]
    for path, required in (("/pkb/claims", True), ("/create_conversation/{domain}/", False)):
        assert paths[path]["post"]["requestBody"]["required"] is required
        assert (ada.post(path.replace("{domain}", "assistant")).status_code == 400) is required


def test_the_export_is_described_with_the_media_type_of_each_format(app: Flask, ada: Person) -> None:
    success = describe(app, version="0")["paths"]["/export_conversation/{conversation_id}"]["get"]["responses"]["200"]
    path = f"/export_conversation/{ada.new_conversation()}"
    made = {ada.get(path, query_string={"format": each}).mimetype for each in ("markdown", "html", "json", "bundle")}
    assert {media.partition(";")[0] for media in success["content"]} == made


def test_a_message_that_replies_to_nothing_is_refused_with_a_code_that_is_described(app: Flask, ada: Person) -> None:
    path = "/send_message/{conversation_id}"
    refused = ada.post(f"/send_message/{ada.new_conversation()}", json={"messageText": "And?", "reply_to": "nothing"})
    described = describe(app, version="0")["paths"][path]["post"]["responses"][str(refused.status_code)]["description"]
    assert f"`{refused.json['code']}`" in described


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"messageText": "Hello", "options": {"temperature": 9}}, "options.temperature: Input should be less than or"),
        ({"messageText": "Hello", "client_message_id": ""}, "client_message_id: must not be empty."),
        ({"messageText": "Hello", "files": [""]}, "files.0: must not be empty."),
        ({"messageText": "Hello", "files": ["x" * 401]}, "files.0: String should have at most 400 characters."),
        ({"messageText": "Hello", "files": ["x"] * 1_000}, "files: List should have at most "),
        ([], "The request is not valid. The body has to be a JSON object."),
        ("Hello", "The request is not valid. The body has to be a JSON object."),
    ],
)
def test_the_message_of_an_invalid_body_says_what_is_wrong_with_it(body: Any, message: str, ada: Person) -> None:
    refused = ada.post(f"/send_message/{ada.new_conversation()}", json=body)
    assert refused.status_code == 400
    assert message in refused.json["message"]


@pytest.mark.parametrize(
    ("method", "path", "sent", "message"),
    [
        ("POST", "/pkb/claims", {"json": {"statement": ""}}, "Not valid: statement. statement: must not be empty."),
        ("GET", "/pkb/claims?status=foo", {}, "Not valid: status. status: Input should be 'active',"),
        (
            "POST",
            "/attachments",
            {"data": b"x", "content_type": "text/plain"},
            "application/octet-stream or multipart/",
        ),
        ("POST", "/login", {"data": b"x", "content_type": "text/plain"}, "application/json or application/x-www-form"),
    ],
)
def test_a_refusal_reads_as_a_sentence_about_what_was_sent(
    method: str, path: str, sent: dict[str, Any], message: str, ada: Person
) -> None:
    refused = ada.request(method, path, **sent)
    assert refused.status_code in (400, 415)
    assert message in refused.json["message"]


def test_no_reason_begins_with_the_words_of_the_library(ada: Person) -> None:
    refused = ada.put(f"/conversations/{ada.new_conversation()}/title", json={"title": " "})
    assert [each["msg"] for each in refused.json["details"]] == ["must not be empty"]
    assert refused.json["message"] == "Not valid: title. title: must not be empty."
    assert refused.json["said"] == [{"code": "fields_not_valid", "values": {"fields": "title"}}]


def test_our_pages_are_told_which_field_is_not_valid_without_the_words_for_programs(ada: Person) -> None:
    path, of_page = f"/conversations/{ada.new_conversation()}/title", {"X-Anaphora-User": ada.email}
    assert ada.put(path, json={"title": " "}, headers=of_page).json["message"] == "Not valid: title."


def test_every_code_that_a_view_names_is_in_the_table_of_errors(app: Flask) -> None:
    for path, method, view in routes(app):
        for code in error_codes(path, method, view):
            assert 400 <= status_of_code(code) <= 599, code


def test_no_two_models_of_the_api_share_a_name() -> None:
    def below(model: type[BaseModel]) -> list[type[BaseModel]]:
        return [model, *(found for child in model.__subclasses__() for found in below(child))]

    named: dict[str, set[str]] = {}
    for model in below(BaseModel):
        if model.__module__.startswith("endpoints"):
            named.setdefault(model.__name__, set()).add(model.__module__)
    assert {name: modules for name, modules in named.items() if len(modules) > 1} == {}


@pytest.mark.parametrize(
    ("path", "method", "shape"), [("/search", "get", "SearchResults"), ("/pkb/search", "get", "ClaimSearchResults")]
)
def test_the_two_searches_have_answers_of_their_own(path: str, method: str, shape: str, app: Flask) -> None:
    content = describe(app, version="0")["paths"][path][method]["responses"]["200"]["content"]
    assert content["application/json"]["schema"] == {"$ref": f"#/components/schemas/{shape}"}


@pytest.mark.parametrize("with_things", [False, True])
def test_answers_have_the_shapes_that_are_described(with_things: bool, app: Flask, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ids: dict[str, Any] = {}
    known: dict[str, str] = {}
    if with_things:
        for event in ada.say(conversation_id, "Hello @nobody_1234"):
            ids = event.get("message_ids", ids)
        ada.post("/api_tokens", json={"name": "script"})
        known = things_of(ada)
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    workspace_id = ada.get("/list_workspaces/assistant").json[0]["workspace_id"]
    values = {
        "conversation_id": conversation_id,
        "domain": "assistant",
        "workspace_id": workspace_id,
        "friendly_id": friendly_id or "none",
        "message_id": ids.get("response_message_id", "none"),
        **{name: known.get(name, "none") for name in ("claim_id", "context_id")},
        "path:reference": known.get("reference", "none"),
    }
    checked = 0
    for path, method, view in routes(app):
        if method != "GET" or view.answer_shape is None or "<identifier>" in path:
            continue
        address = path
        for name, value in values.items():
            address = address.replace(f"<{name}>", value)
        answer = ada.get(address, query_string={"ref": "@x"} if "resolve" in path else None)
        if answer.status_code == 200:
            TypeAdapter(view.answer_shape).validate_json(answer.get_data(), strict=True)
            checked += 1
    assert checked >= (38 if with_things else 28)
