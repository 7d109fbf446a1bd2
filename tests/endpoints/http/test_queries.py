"""Query parameters that a route does not know are refused, so that a misspelled one is not taken for none."""

from __future__ import annotations

import re

from flask import Flask

from endpoints.http.openapi import routes
from tests.endpoints.conftest import Person

LINKED_FROM_ELSEWHERE = {"SignInStart", "ProviderAnswer", "SharedWindow"}
"""Whoever links there may add parameters of their own."""


def test_each_route_refuses_unknown_parameters_and_names_the_known_ones(app: Flask, ada: Person) -> None:
    open_ones, refusing = set(), 0
    for path, method, view in routes(app):
        model = getattr(view, "query_model", None)
        if model is None or hasattr(view, "body_model"):
            continue
        if model.model_config.get("extra") != "forbid":
            open_ones.add(model.__name__)
            continue
        address = re.sub(r"\{[^}]*\}|<[^>]*>", "7", path)
        answer = ada.client.open(address, method=method.upper(), query_string={"no_such_one": "1"})
        assert (answer.status_code, answer.json["code"]) == (400, "bad_request"), address
        known = [field.alias or name for name, field in model.model_fields.items()]
        assert answer.json["message"] == f"Unknown in the address: no_such_one. Known: {', '.join(known)}."
        assert answer.json["details"][0]["loc"] == ["no_such_one"]
        refusing += 1
    assert open_ones == LINKED_FROM_ELSEWHERE
    assert refusing > 30


def test_a_misspelled_filter_exports_nothing(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    answer = ada.get(f"/api/export?room={conversation_id}&limt=1")
    assert (answer.status_code, "limt" in answer.json["message"]) == (400, True)
    assert "limit" in answer.json["message"]
