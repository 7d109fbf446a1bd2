"""A memory that is added again under its `client_id` is one memory: a lost response doubles nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person, refused

pytestmark = pytest.mark.contract

ID = "5c6d1f3a-0a3d-4c53-9d66-1f0a3b7d2e11"
STATEMENT = "I water the tomatoes every morning."


def add(person: Person, statement: str = STATEMENT, **more: Any) -> TestResponse:
    return person.post("/pkb/claims", json={"statement": statement, "client_id": ID, **more})


def statements(person: Person) -> list[str]:
    return [claim["statement"] for claim in person.get("/pkb/claims").json["claims"]]


def test_added_again_it_is_the_same_memory_with_the_same_undo(ada: Person) -> None:
    first = add(ada, friendly_id="watering_habit", tags=["garden"])
    again = add(ada, friendly_id="watering_habit", tags=["garden"])
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json == first.json
    assert again.json["similar"] == []  # not even the memory itself
    assert statements(ada) == [STATEMENT]
    assert ada.post(f"/pkb/undo/{again.json['audit_id']}").status_code == 200
    assert statements(ada) == []


def test_after_an_edit_it_is_still_known_by_what_it_said(ada: Person) -> None:
    claim = add(ada).json["claim"]
    ada.put(f"/pkb/claims/{claim['claim_id']}", json={"statement": "I water the tomatoes every evening."})
    assert add(ada).json["claim"]["statement"] == "I water the tomatoes every evening."
    assert len(statements(ada)) == 1


def test_what_it_replaced_is_replaced_once(ada: Person) -> None:
    old = ada.post("/pkb/claims", json={"statement": "I water the tomatoes weekly."}).json["claim"]["claim_id"]
    first = add(ada, supersedes=old)
    assert add(ada, supersedes=old).json["claim"] == first.json["claim"]
    assert statements(ada) == [STATEMENT]


def test_added_from_many_connections_at_once_it_is_one(
    ada: Person, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = app.extensions[EXTENSION].knowledge.database()
    monkeypatch.setattr(database, "config", replace(database.config, write_timeout=300.0))
    answers: list[TestResponse] = []

    def try_it() -> None:
        client = app.test_client()
        client.set_cookie("anaphora_session", ada.client.get_cookie("anaphora_session").value)
        answers.append(add(Person(ada.email, client)))

    threads = [threading.Thread(target=try_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [201] * 6
    assert len({answer.json["claim"]["claim_id"] for answer in answers}) == 1
    assert statements(ada) == [STATEMENT]


def test_another_statement_or_an_undone_addition_is_refused(ada: Person) -> None:
    first = add(ada)
    assert refused(add(ada, "I water the roses.")) == (409, "conflict")
    ada.post(f"/pkb/undo/{first.json['audit_id']}")
    assert refused(add(ada)) == (409, "conflict")
    assert statements(ada) == []


def test_ids_are_a_persons_own(ada: Person, eve: Person) -> None:
    assert add(ada).json["claim"]["claim_id"] != add(eve).json["claim"]["claim_id"]
    assert add(eve, statement=STATEMENT).status_code == 201
    assert (statements(ada), statements(eve)) == ([STATEMENT], [STATEMENT])


def test_an_id_that_is_no_text_or_too_long_is_refused(ada: Person) -> None:
    for wrong in ("", "x" * 65, "\x00", 7):
        assert refused(add(ada, client_id=wrong)) == (400, "bad_request")
