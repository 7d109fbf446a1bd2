"""Headers of answers: what a client has already is not sent again, and the page's version is named."""

from __future__ import annotations

import gzip
import json

import pytest
from flask import Flask

from endpoints.http.assets import static_version
from tests.endpoints.conftest import Person, account


@pytest.fixture
def ada(app: Flask) -> Person:
    return account(app, "ada@example.org")


def test_lists_and_messages_are_not_sent_again_while_nothing_has_changed(ada: Person) -> None:
    one = ada.new_conversation()
    ada.say(one, "What is it?")
    lists = (
        "/list_conversation_by_user/assistant",
        "/list_workspaces/assistant",
        f"/list_messages_by_conversation/{one}",
        f"/get_conversation_details/{one}",
        "/pkb/claims",
    )
    tags = {path: ada.get(path).headers["ETag"] for path in lists}
    for path, tag in tags.items():
        again = ada.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
        assert again.headers["Cache-Control"] == "no-store"
    ada.say(one, "And now?")
    changed = ada.get(lists[2], headers={"If-None-Match": tags[lists[2]]})
    assert (changed.status_code, len(changed.json)) == (200, 4)


def test_what_is_made_or_refused_has_no_tag(ada: Person) -> None:
    made = ada.post("/create_conversation/assistant/", json={})
    missing = ada.get("/get_conversation_details/nobody")
    assert (made.status_code, missing.status_code) == (201, 404)
    assert not any("ETag" in answer.headers for answer in (made, missing))


def test_every_answer_names_the_version_of_the_page(app: Flask, ada: Person) -> None:
    with app.app_context():
        version = static_version()
    for path in ("/interface/", "/list_workspaces/assistant", "/nowhere", "/healthz"):
        assert ada.get(path).headers["X-Anaphora-Version"] == version


def test_long_lists_and_pages_are_compressed_for_clients_that_take_it(ada: Person) -> None:
    for _ in range(20):
        ada.new_conversation()
    path = "/list_conversation_by_user/assistant"
    plain = ada.get(path)
    packed = ada.get(path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert json.loads(gzip.decompress(packed.data)) == plain.json
    assert len(packed.data) < len(plain.data) / 2
    assert packed.headers["ETag"] == plain.headers["ETag"]
    tag = {"If-None-Match": plain.headers["ETag"], "Accept-Encoding": "gzip"}
    again = ada.get(path, headers=tag)
    assert (again.status_code, again.data) == (304, b"")
    assert "Content-Encoding" not in ada.get(path, headers={"Accept-Encoding": "gzip;q=0"}).headers
    assert "Content-Encoding" not in ada.get("/healthz", headers={"Accept-Encoding": "gzip"}).headers
    assert ada.get("/interface/", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"] == "gzip"
