"""The address that is built of a route leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from flask import Flask
from werkzeug.routing import Rule

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


def test_what_is_no_part_of_an_address_becomes_its_query(app: Flask) -> None:
    with app.test_request_context():
        assert app.url_for("search.search", q="tea & cake") == "/search?q=tea+%26+cake"
