"""A conversation that is created again under its `client_id` is one conversation: a lost response doubles nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.endpoints.conftest import Person, refused

pytestmark = pytest.mark.contract

ID = "5c6d1f3a-0a3d-4c53-9d66-1f0a3b7d2e11"


def create(person: Person, kind: str = "create_conversation/assistant/", **body: Any) -> TestResponse:
    return person.post(f"/{kind}", json={"client_id": ID, **body})


def listed(person: Person) -> list[str]:
    return [one["conversation_id"] for one in person.get("/list_conversation_by_user/assistant").json]


def test_it_is_created_without_the_last_slash_too(ada: Person) -> None:
    made = create(ada, "create_conversation/assistant")
    assert made.status_code == 201
    assert create(ada).json["conversation_id"] == made.json["conversation_id"]


@pytest.mark.parametrize("place", ["default", "workspace"])
def test_created_again_it_is_the_same_conversation_as_it_is_now(place: str, ada: Person) -> None:
    kind = "create_conversation/assistant/"
    if place == "workspace":
        kind += ada.post("/create_workspace/assistant/Garden", json={}).json["workspace_id"]
    first = create(ada, kind)
    ada.put(f"/conversations/{first.json['conversation_id']}/title", json={"title": "Tomatoes"})
    again = create(ada, kind)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json["conversation_id"] == first.json["conversation_id"]
    assert again.json["title"] == "Tomatoes"
    assert listed(ada) == [first.json["conversation_id"]]


def test_a_temporary_one_is_created_once_as_well(ada: Person) -> None:
    kind = "create_temporary_conversation/assistant"
    assert create(ada, kind).json["conversation_id"] == create(ada, kind).json["conversation_id"]


def test_created_from_many_connections_at_once_it_is_one(ada: Person, app: Flask) -> None:
    answers: list[TestResponse] = []

    def try_it() -> None:
        client = app.test_client()
        client.set_cookie("anaphora_session", ada.client.get_cookie("anaphora_session").value)
        answers.append(create(Person(ada.email, client)))

    threads = [threading.Thread(target=try_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [201] * 6
    assert {answer.json["conversation_id"] for answer in answers} == set(listed(ada))
    assert len(listed(ada)) == 1


def test_ids_are_a_persons_own_and_without_one_each_request_creates_a_conversation(ada: Person, eve: Person) -> None:
    assert create(ada).json["conversation_id"] != create(eve).json["conversation_id"]
    assert ada.post("/create_conversation/assistant/").status_code == 201
    assert ada.post("/create_conversation/assistant/", json={"a_field_of_another_client": 1}).status_code == 201
    assert (len(listed(ada)), len(listed(eve))) == (3, 1)


def test_another_domain_or_a_deleted_conversation_is_refused(ada: Person) -> None:
    made = create(ada).json["conversation_id"]
    assert refused(create(ada, "create_conversation/search/")) == (409, "conflict")
    ada.delete(f"/delete_conversation/{made}")
    assert refused(create(ada)) == (409, "conflict")
    assert listed(ada) == []


def test_a_copy_is_made_once(ada: Person) -> None:
    source = create(ada).json["conversation_id"]
    other = ada.post("/create_conversation/assistant/").json["conversation_id"]
    first = ada.post(f"/clone_conversation/{source}", json={"client_id": "copy"})
    again = ada.post(f"/clone_conversation/{source}", json={"client_id": "copy"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json == first.json
    copies = [
        ada.post(f"/clone_conversation/{where}", json=body).json["conversation_id"]
        for where, body in [(other, {"client_id": "copy"}), (source, {"client_id": "second"}), (source, {})]
    ]
    assert len({source, other, first.json["conversation_id"], *copies}) == 6
    assert len(listed(ada)) == 6

    ada.delete(f"/delete_conversation/{first.json['conversation_id']}")
    assert refused(ada.post(f"/clone_conversation/{source}", json={"client_id": "copy"})) == (409, "conflict")


def test_an_id_that_is_no_text_or_too_long_is_refused(ada: Person) -> None:
    for wrong in ("", "x" * 65, "\x00", 7):
        assert refused(create(ada, client_id=wrong)) == (400, "bad_request")
