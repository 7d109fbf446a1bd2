"""Traces: who asks for them gets spans of requests, turns, requests to models and statements; nobody else pays."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import tracing
from tests.fakes import RecordingModel, saying
from tests.live_server import ROOT, LiveServer

SECRET_WORDS = ("marmalade", "ada@example.org")
SENDING = "POST /send_message/<conversation_id>"


@dataclass
class Collector:
    """What a collector of OpenTelemetry was sent."""

    port: int = 0
    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    @property
    def spans(self) -> list[Any]:
        """The spans so far."""
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span for each in requests for kind in each.resource_spans for one in kind.scope_spans for span in one.spans
        ]

    def named(self, name: str) -> Any:
        """The last span of this name, once it is here."""
        until = time.monotonic() + 60
        with self.came:
            while not (found := [each for each in self.spans if each.name == name]):
                assert self.came.wait(until - time.monotonic()), sorted({each.name for each in self.spans})
            return found[-1]

    def below(self, parent: Any) -> list[Any]:
        """The spans within a span."""
        return [each for each in self.spans if each.parent_span_id == parent.span_id]


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            with found.came:
                found.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                found.came.notify_all()
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def about(span: Any) -> dict[str, Any]:
    """What is told of a span."""
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_a_message_is_one_trace_from_the_request_to_the_model_and_the_store(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel, collector: Collector
) -> None:
    recording_model.scripts["main"] = saying("Of marmalade.")
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}", "OTEL_BSP_SCHEDULE_DELAY": "50"}
    server = start_server(**recording_model.environ, **asked)
    ada = server.sign_up(SECRET_WORDS[1])
    conversation = ada.create_conversation()
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    sent = ada.post(
        f"/send_message/{conversation}", {"messageText": "What is marmalade?"}, traceparent=f"00-{trace}-{parent}-01"
    )
    assert "Of marmalade." in sent.text
    turn, request, model = (collector.named(name) for name in ("turn", SENDING, "chat main"))
    assert {each.trace_id.hex() for each in (turn, request, model)} == {trace}
    assert request.parent_span_id.hex() == parent
    assert turn.parent_span_id == request.span_id
    assert model.parent_span_id == turn.span_id
    told = about(request)
    assert told["http.response.status_code"] == 200
    assert told["anaphora.request_id"] == sent.headers["x-request-id"]
    assert about(model)["gen_ai.request.model"] == "main"
    for whole in (request, turn):
        statements = [about(each) for each in collector.below(whole) if "db.query.text" in about(each)]
        assert statements
        assert {each["db.system.name"] for each in statements} <= {"sqlite", "postgresql"}
    assert not [word for word in SECRET_WORDS for body in collector.bodies if word.encode() in body]


def test_a_server_stops_although_its_collector_is_gone(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel
) -> None:
    server = start_server(**recording_model.environ, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    ada = server.sign_up()
    assert [event for event in ada.send(ada.create_conversation(), "Hello") if event.get("done")]
    assert server.stop() in (0, -signal.SIGTERM)


def test_that_a_collector_takes_no_traces_is_logged_once_until_it_takes_some_again(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tracing.begin(f"http://127.0.0.1:{collector.port}")
    try:
        for collector.status in (400, 400, 400, 200, 200, 400, 400):
            with tracing.span("again"):
                pass
            assert tracing._provider is not None
            tracing._provider.force_flush()
    finally:
        tracing.end()
    told = [each for each in caplog.records if "trace" in each.name]
    assert [each.levelno for each in told] == [logging.ERROR, logging.INFO, logging.ERROR]
    assert "takes traces again" in told[1].getMessage()


def test_of_an_error_a_trace_tells_its_type_and_none_of_its_words(collector: Collector) -> None:
    tracing.begin(f"http://127.0.0.1:{collector.port}")
    try:
        with pytest.raises(KeyError), tracing.span("outer"), tracing.call_span("inner"):
            raise KeyError(SECRET_WORDS[0])
    finally:
        tracing.end()
    assert [collector.named(name).status.message for name in ("outer", "inner")] == ["KeyError", "KeyError"]
    assert not [body for body in collector.bodies if SECRET_WORDS[0].encode() in body]
    assert not tracing.is_on()


def test_without_the_setting_nothing_of_opentelemetry_is_imported(tmp_path: Any) -> None:
    script = (
        "import sys, server, settings; app = server.create_app(settings.load_settings());"
        "app.test_client().get('/healthz'); print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
