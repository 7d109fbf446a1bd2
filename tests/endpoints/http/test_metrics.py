"""What Prometheus reads: figures of turns, requests, threads, jobs and the store, and who may read them."""

from __future__ import annotations

import json
import re

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from chat.processes.metrics import Metrics
from endpoints.http.scope import EXTENSION, SETTINGS, AppState
from endpoints.serving.work_queues import Work, pools
from settings import load_settings
from tests.endpoints.conftest import Person, refused
from tests.live_server import ROOT

DASHBOARD = ROOT / "deploy" / "grafana_dashboard.json"


def figures(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples of a text, by name and labels."""
    families = text_string_to_metric_families(text)
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def of(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str) -> float:
    return found[f"anaphora_{name}", frozenset(labels.items())]


def test_a_turn_is_counted_with_its_outcome_its_tokens_and_its_first_word(ada: Person) -> None:
    ada.say(ada.new_conversation(), "What is counted?")
    found = figures(ada.get("/metrics").text)
    assert of(found, "turns_total", outcome="complete") == 1
    assert of(found, "first_word_seconds_count") == 1
    assert of(found, "tokens_total", kind="completion") > 0
    assert of(found, "tokens_total", kind="prompt") > 0
    assert of(found, "requests_total", method="POST", route="/send_message/<conversation_id>", status="200") == 1
    assert of(found, "watchers") == 0
    assert of(found, "store_connections_busy") <= of(found, "store_connections")


def test_a_request_is_counted_by_the_method_of_its_route_and_an_invented_one_as_other(app: Flask, ada: Person) -> None:
    methods = sorted({method for rule in app.url_map.iter_rules() for method in rule.methods or ()})
    for method in (*methods, "BREW"):
        ada.request(method, "/nowhere")
    found = figures(ada.get("/metrics").text)
    assert "PATCH" in methods
    for method in (*methods, "other"):
        assert of(found, "requests_total", method=method, route="unknown", status="404") == 1


def test_what_is_refused_for_lack_of_room_is_counted_by_its_reason(app: Flask, ada: Person) -> None:
    conversation = ada.new_conversation()
    app.extensions[EXTENSION].turns._limits._most = 0
    answer = ada.post(f"/send_message/{conversation}", json={"messageText": "No room"})
    assert refused(answer) == (429, "too_many_turns")
    assert of(figures(ada.get("/metrics").text), "refusals_total", code="too_many_turns") == 1


def test_every_metric_of_the_dashboard_is_told(ada: Person) -> None:
    text = ada.get("/metrics").text
    told = {name for line in text.splitlines() if (name := re.match(r"# TYPE (\w+)", line))}
    names = {found[1] for found in told}
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    shown = {
        name for panel in panels for target in panel["targets"] for name in re.findall(r"anaphora_\w+", target["expr"])
    }
    assert {re.sub(r"_bucket$", "", name) for name in shown} <= names
    assert {name for name in names if name.startswith("anaphora_")} == {re.sub(r"_bucket$", "", name) for name in shown}


def test_addresses_that_the_operator_names_need_no_account(app: Flask, ada: Person) -> None:
    stranger = app.test_client()
    assert stranger.get("/metrics").status_code == 401
    state: AppState = app.extensions[EXTENSION]
    app.extensions[SETTINGS] = state.settings.model_copy(update={"metrics_from": ("10.0.0.0/8", "127.0.0.1")})
    assert stranger.get("/metrics").status_code == 200
    assert stranger.get("/metrics", environ_base={"REMOTE_ADDR": "192.0.2.1"}).status_code == 401
    assert stranger.get("/usage").status_code == 401


def test_each_of_several_processes_names_itself() -> None:
    metrics = Metrics(is_one_of_several=True)
    metrics.count("turns", outcome="complete")
    metrics.read("jobs", lambda: {("done",): 3})
    samples = [line for line in metrics.render().splitlines() if not line.startswith("#")]
    assert samples
    assert all(re.search(r'process="[^"]+:\d+"', line) for line in samples)


def test_a_metric_is_declared_before_it_is_counted() -> None:
    metrics = Metrics()
    with pytest.raises(KeyError):
        metrics.count("guesses")
    with pytest.raises(KeyError):
        metrics.read("guesses", dict)
    metrics.count("model_failures", job='a "quoted"\nname')
    assert 'anaphora_model_failures_total{job="a \\"quoted\\"\\nname"} 1.0' in metrics.render()


def test_work_beyond_the_threads_of_its_kind_waits() -> None:
    pool = pools(load_settings({}, env_file="/nowhere"))[Work.PASSWORD]
    pool._taken, pool._begun = 5, 3
    assert (pool.running, pool.waiting) == (2, 3)
    pool._begun = 1  # of one person, whose others wait for their turn
    assert (pool.running, pool.waiting) == (1, 4)
    pool.shutdown()
