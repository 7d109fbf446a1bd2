"""What no honest client sends."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from chat.context.conversations import MAX_REFERENCES
from tests.endpoints.conftest import Person

pytestmark = pytest.mark.shares_processes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"messageText": 5}',
        b'{"messageText": null}',
        b'{"messageText": ["a"]}',
        b'{"messageText": "a\\u0000b"}',
        b'{"messageText": "\\ud800"}',
        b'{"messageText": "\xff"}',
        b'{"messageText": " \\n\\t "}',
        b'{"messageText": "hi", "referenced_friendly_ids": "x"}',
        b'{"messageText": "hi", "referenced_friendly_ids": [1]}',
        b'{"messageText": "hi", "reply_to": "\\u0000"}',
        b'{"messageText": "hi", "model": "nonsense"}',
        b'{"messageText": "hi", "checkboxes": {"a": "\\u0000"}}',
        b"[" * 100_000,
        b'{"messageText": "hi", "checkboxes": ' + b'{"a":' * 500 + b"1" + b"}" * 501,
    ],
)
def test_a_malformed_message_is_a_bad_request_and_is_not_stored(body: bytes, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    answer = ada.post(f"/send_message/{conversation_id}", data=body, content_type="application/json")
    assert (answer.status_code, answer.json["code"]) == (400, "bad_request"), answer.get_data(as_text=True)
    assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_field_errors_name_the_field_and_do_not_echo_it(ada: Person) -> None:
    answer = ada.put("/password", json={"current_password": "secret-one", "new_password": "short"})
    assert answer.status_code == 400
    assert answer.json["details"][0]["loc"] == ["new_password"]
    assert "secret-one" not in answer.get_data(as_text=True)
    assert "short" not in answer.json["details"][0].values()


def test_a_message_may_have_200000_characters_and_no_more(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "x" * 200_000)
    for too_long in ("x" * 200_001, " " * 200_001):
        answer = ada.post(f"/send_message/{conversation_id}", json={"messageText": too_long})
        assert (answer.status_code, answer.json["code"]) == (413, "too_large")


def test_a_huge_body_is_refused(ada: Person) -> None:
    answer = ada.post("/create_workspace/assistant/W", data=b"x" * 5_000_000, content_type="application/json")
    assert (answer.status_code, answer.json["code"]) == (413, "too_large")


def test_a_body_of_nothing_but_brackets_is_refused_unread(ada: Person) -> None:
    body = b'{"payload": {"data": {"claims": [' + b"{}," * 1_000_001 + b"{}]}}}"
    answer = ada.post("/pkb/import", data=body, content_type="application/json")
    assert (answer.status_code, answer.json["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/list_conversation_by_user/assistant?limit=0", 400),
        ("GET", "/list_conversation_by_user/assistant?limit=abc", 400),
        ("GET", "/list_conversation_by_user/assistant?cursor=garbage", 400),
        ("GET", "/list_conversation_by_user/%3Cscript%3E", 400),
        ("GET", "/get_conversation_details/a%00b", 400),
        ("GET", "/get_conversation_details/" + "x" * 3_000, 400),
        ("GET", "/get_conversation_details/%ff%fe", 404),
        ("GET", "/get_conversation_details/' OR 1=1 --", 404),
        ("GET", "/references/resolve", 400),
        ("GET", "/references/resolve?ref=%40", 400),
        ("GET", "/references/resolve?ref=" + "x" * 500, 400),
        ("GET", "/conversations/autocomplete?q=%25_%25&limit=5", 200),
        ("GET", "/conversations/autocomplete?limit=100000", 400),
        ("GET", "/references/suggest?q=%25_%25%27&limit=5", 200),
        ("GET", "/references/suggest?limit=100000", 400),
        ("GET", "/search?q=%22' OR body : * NEAR( -", 200),
        ("GET", "/search?q=a&cursor=1%27--", 400),
        ("GET", "/search?q=a&kind=conversation&cursor=%D9%A1", 400),
        ("GET", "/search?q=a&before=%00", 400),
        ("GET", "/search?q=a%00b", 400),
        ("GET", "/search?q=%ff%fe&conversation=' OR 1=1 --", 200),
        ("DELETE", "/delete_message_from_conversation/x/y/" + "9" * 1_900, 404),
        ("GET", "/stream/x?after=-1", 400),
        ("GET", f"/stream/x?after={2**70}", 400),
        ("GET", f"/list_messages_by_conversation/x?before={2**70}", 400),
        ("PUT", f"/variant/x/{2**70}", 404),
        ("PUT", f"/branch/x/{2**70}", 404),
        ("GET", "/static/v/../../server.py", 404),
        ("GET", "/static/v/%2e%2e/%2e%2e/server.py", 404),
        ("GET", "/static/v//etc/passwd", 404),
        ("TRACE", "/get_user_info", 405),
        ("PATCH", "/get_user_info", 405),
    ],
)
def test_a_hostile_address_gets_a_plain_answer(method: str, path: str, status: int, ada: Person) -> None:
    answer = ada.request(method, path)
    assert answer.status_code == status, answer.get_data(as_text=True)


def test_numbers_that_no_store_can_hold_are_refused_also_for_what_is_ones_own(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is it?")
    answer_id = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[-1]["message_id"]
    assert ada.get(f"/stream/{answer_id}?after={2**70}").status_code == 400
    assert ada.put(f"/variant/{answer_id}/{2**70}").status_code == 404


@pytest.mark.in_process("a view is broken on purpose")
def test_an_error_tells_nothing_of_the_inside(app: Flask, ada: Person, monkeypatch: Any) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("the key is hunter2 in /srv/secret")

    monkeypatch.setattr("database.accounts.users.get_user", broken)
    answer = ada.get("/get_user_info")
    assert (answer.status_code, answer.json["code"]) == (500, "internal_error")
    assert "hunter2" not in answer.get_data(as_text=True)
    assert "Traceback" not in answer.get_data(as_text=True)
    assert answer.json["request_id"] == answer.headers["X-Request-ID"]


def test_10000_references_in_one_message_are_answered(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    events = ada.say(conversation_id, " ".join(f"@conv_x{n}_msg_1" for n in range(10_000)))
    assert events[-1]["done"] is True
    *followed, rest = events[0]["references"]
    assert [entry["status"] for entry in followed] == ["not_found"] * MAX_REFERENCES
    assert (rest["count"], rest["status"]) == (10_000 - MAX_REFERENCES, "unavailable")
    assert "".join(event["text"] for event in events) == "It is forty-two."
