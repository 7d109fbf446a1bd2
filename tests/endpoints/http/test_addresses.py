"""The address that is built of a route leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from flask import Flask
from werkzeug.routing import Rule

from endpoints.serving.bodies import max_body_bytes
from tests.endpoints.conftest import PASSWORD, Person

SAMPLES = {"BoundedInteger": 7, "PathConverter": "a folder/a file", "UnicodeConverter": "a name & more"}


def test_each_address_that_is_built_leads_to_its_route(app: Flask) -> None:
    adapter = app.url_map.bind("localhost")

    def values_for(rule: Rule) -> dict[str, object]:
        return {name: SAMPLES[type(rule._converters[name]).__name__] for name in rule.arguments}

    def led_to(rule: Rule) -> tuple[str, Mapping[str, object]]:
        method = min((rule.methods or set()) - {"HEAD", "OPTIONS"})
        address = adapter.build(rule.endpoint, values_for(rule), method=method)
        return adapter.match(unquote(address), method=method)

    rules = [rule for rule in app.url_map.iter_rules() if not rule.defaults]
    assert len(rules) > 200
    for rule in rules:
        found, values = led_to(rule)
        assert (found, values) == (rule.endpoint, values_for(rule))


ONE_SPELLING = {
    "accounts.revoke_other_sessions": "its address with a slash is that of a session without an id",
    "pages.interface": "a page has one address",
    "shared_chats.shared_chat": "so has this one, and it asks for more beside it",
}


def test_each_address_leads_to_the_same_with_a_slash_behind_it_and_without(app: Flask) -> None:
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        if rule.rule == "/" or rule.endpoint in ONE_SPELLING or "<path:" in rule.rule:
            continue  # the part of a path may itself end with a slash
        values = {name: SAMPLES[type(rule._converters[name]).__name__] for name in rule.arguments}
        method = min((rule.methods or set()) - {"HEAD", "OPTIONS"})
        address = unquote(adapter.build(rule.endpoint, values, method=method)).removesuffix("/")
        assert adapter.match(address, method=method) == adapter.match(f"{address}/", method=method), address
        assert max_body_bytes(address) == max_body_bytes(f"{address}/")


def test_a_body_arrives_at_either_spelling(ada: Person) -> None:
    for path in ("/create_conversation/assistant", "/create_conversation/assistant/"):
        made = ada.post(path, json={"client_id": "c4a760a8-dbcf-5254-a0d9-6a4474bd1b62"})
        assert (made.status_code, made.mimetype) == (201, "application/json")
    assert len(ada.get("/list_conversation_by_user/assistant/").json) == 1
    assert ada.put("/get_user_info/", json={"name": "Ada Lovelace"}).json["name"] == "Ada Lovelace"


def test_a_session_id_that_was_left_empty_logs_nobody_out(ada: Person) -> None:
    other = ada.client.application.test_client()
    other.post("/login", json={"email": ada.email, "password": PASSWORD})
    assert ada.delete("/sessions/").status_code == 405
    assert other.get("/get_user_info").status_code == 200


def test_what_is_no_part_of_an_address_becomes_its_query(app: Flask) -> None:
    with app.test_request_context():
        assert app.url_for("search.search", q="tea & cake") == "/search?q=tea+%26+cake"
