"""What the log says, and what it never says."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection

import tracing
from chat.context.conversations import ConversationReferences
from endpoints.http.scope import EXTENSION
from endpoints.operations.logs import JsonLines, TextLines
from language_models.errors import ModelFailedError
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person


def record(message: str, **extra: Any) -> logging.LogRecord:
    return logging.getLogger("anaphora").makeRecord("anaphora", logging.INFO, "", 0, message, (), None, extra=extra)


def test_a_line_carries_what_the_record_does() -> None:
    refused = record("conflict", request_id="8a7f", method="POST", route="/users", status=409)
    assert (
        TextLines()
        .format(refused)
        .endswith(" INFO anaphora: conflict request_id=8a7f method=POST route=/users status=409")
    )
    line = json.loads(JsonLines().format(refused))
    del line["time"]
    assert line == {
        "level": "INFO",
        "logger": "anaphora",
        "message": "conflict",
        "request_id": "8a7f",
        "method": "POST",
        "route": "/users",
        "status": 409,
    }


def test_a_message_can_not_pass_for_two() -> None:
    assert len(TextLines().format(record("model says: no\r\n2030-01-01 INFO all is well")).splitlines()) == 1


def test_a_traceback_stands_below_its_line() -> None:
    failed = record("internal_error", request_id="8a7f")
    try:
        raise ValueError("broken")
    except ValueError:
        failed.exc_info = sys.exc_info()
    first, *rest = TextLines().format(failed).splitlines()
    assert first.endswith("internal_error request_id=8a7f")
    assert rest[-1] == "ValueError: broken"
    assert "ValueError: broken" in json.loads(JsonLines().format(failed))["traceback"]


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("GET", "/get_user_info", {}, ("unauthorized", 401, "/get_user_info", "INFO")),
        ("GET", "/shared/secret/", {}, ("not_found", 404, "unknown", "INFO")),
        ("POST", "/login", {"json": {"email": "secret", "password": 7}}, ("bad_request", 400, "/login", "INFO")),
        ("POST", "/login", {"data": {"email": "secret", "password": "secret"}}, ("refused", 401, "/login", "INFO")),
        ("PUT", "/login?next=secret", {}, ("method_not_allowed", 405, "unknown", "INFO")),
        (
            "POST",
            "/login?next=secret",
            {"json": {}, "headers": {"Origin": "http://secret.example"}},
            ("forbidden", 403, "/login", "WARNING"),
        ),
    ],
)
def test_every_refusal_is_one_line_under_the_id_of_its_answer(
    method: str, path: str, sent: Any, expected: Any, app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    answer = app.test_client().open(path, method=method, **sent)
    [line] = [vars(line) for line in caplog.records if line.name == "anaphora.requests"]
    assert (line["msg"], line["status"], line["route"], line["levelname"]) == expected
    assert line["request_id"] == answer.headers["X-Request-ID"]
    assert "secret" not in caplog.text + str(line)


def test_what_succeeds_makes_no_line(ada: Person, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert ada.get("/get_user_info").status_code == 200
    assert [line for line in caplog.records if line.name == "anaphora.requests"] == []


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """Never answers."""
    return ScriptedChatModel(replies=lambda _prompt: Reply(error=ModelFailedError("It is out of order.")))


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What turns and the store write into the log, as text."""
    written: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(TextLines().format(record))

    handler = Handler()
    loggers = [logging.getLogger(name) for name in ("chat", "database")]
    for logger in loggers:
        logger.addHandler(handler)
    yield written
    for logger in loggers:
        logger.removeHandler(handler)


def test_what_is_logged_of_a_turn_has_the_id_of_the_request_that_began_it(ada: Person, lines: list[str]) -> None:
    for text in ("What is it?", "And now?"):
        conversation = ada.new_conversation()
        answer = ada.post(f"/send_message/{conversation}", json={"messageText": text})
        assert "out of order" in answer.text
        [line] = [each for each in lines if "no answer" in each]
        assert line.endswith(f" request_id={answer.headers['X-Request-ID']}")
        lines.clear()


def test_so_has_what_other_threads_log_of_it(ada: Person, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    named = ada.new_conversation()
    ada.say(named, "The door is red.")
    friendly_id = ada.get(f"/get_conversation_details/{named}").json["conversation_friendly_id"]

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("A bug.")

    monkeypatch.setattr(ConversationReferences, "_load", broken)
    lines.clear()
    question = f"What says @conversation_{friendly_id}_message_1?"
    answer = ada.post(f"/send_message/{ada.new_conversation()}", json={"messageText": question})
    assert answer.status_code == 200
    [line] = [each for each in lines if "can't be read" in each]
    assert f" request_id={answer.headers['X-Request-ID']}" in line.splitlines()[0]


@pytest.mark.parametrize("in_thread", ["request", "writer"])
def test_so_has_what_the_store_logs_of_any_request(
    ada: Person, app: Flask, lines: list[str], monkeypatch: pytest.MonkeyPatch, in_thread: str
) -> None:
    database = app.extensions[EXTENSION].database
    conversation = ada.new_conversation()

    def broken(connection: Connection, *_: Any) -> None:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    monkeypatch.setattr("database.conversations.repository._update", broken)
    if in_thread == "writer":
        monkeypatch.setattr(database, "_begin_writing_here", lambda _urgency: False)
    lines.clear()
    answer = ada.put(f"/conversations/{conversation}/title", json={"title": "Doors"})
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE, answer.text
    assert [line for line in lines if f"request_id={answer.headers['X-Request-ID']}" not in line.splitlines()[0]] == []
    assert lines


def test_what_follows_a_request_in_its_thread_has_no_id_of_it(ada: Person) -> None:
    ada.get("/get_user_info")
    assert tracing.began_by.get() is None
