"""The welcome: for people who come by the form, once, and never for accounts of programs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from flask import Flask

from endpoints.pages.models import Welcome
from settings import Settings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person, told

HOME, WELCOME = "/interface/", "/interface/?welcome=1"


def titles(person: Person) -> list[str]:
    return [each["title"] for each in person.get("/list_conversation_by_user/assistant").json]


def way_in(app: Flask, person: Person, **more: str) -> str:
    """Where the form sends somebody who logs in."""
    form = {"email": person.email, "password": PASSWORD, **more}
    return app.test_client().post("/login", data=form, headers=OWN_PAGE).headers["Location"]


def test_a_newcomer_gets_two_conversations_the_newer_of_which_is_the_welcome(ada: Person) -> None:
    conversation_id = told(ada.post("/welcome"), Welcome).conversation_id
    assert titles(ada) == ["Welcome to Anaphora", "A weekend in Lisbon"]
    details = ada.get(f"/get_conversation_details/{conversation_id}").json
    assert details["title"] == "Welcome to Anaphora"
    assert len(details["conversation_settings"]["suggestions"]) == 3


def test_it_is_made_once_however_often_and_by_how_many_it_is_asked_for(app: Flask, ada: Person) -> None:
    clients = [app.test_client() for _ in range(4)]
    for client in clients:
        client.post("/login", json={"email": ada.email, "password": PASSWORD})
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda client: client.post("/welcome", headers=OWN_PAGE).json["conversation_id"], clients)
        ids = {*answers, told(ada.post("/welcome"), Welcome).conversation_id}
    assert len(ids) == 1
    assert len(titles(ada)) == 2


def test_a_suggestion_sent_as_it_is_brings_one_reference_to_the_model(ada: Person) -> None:
    conversation_id = told(ada.post("/welcome"), Welcome).conversation_id or ""
    details = ada.get(f"/get_conversation_details/{conversation_id}").json
    events = ada.say(conversation_id, details["conversation_settings"]["suggestions"][0])
    report = next(event["references"] for event in events if "references" in event)
    assert [(entry["kind"], entry["status"], entry["title"]) for entry in report] == [
        ("message", "resolved", "A weekend in Lisbon")
    ]
    assert titles(ada)[0] == "Welcome to Anaphora"


def test_the_form_leads_to_the_welcome_until_there_was_a_conversation(app: Flask, ada: Person) -> None:
    assert way_in(app, ada) == WELCOME
    assert way_in(app, ada, next="/") == WELCOME
    assert way_in(app, ada, next="/settings") == "/settings"
    ada.post("/welcome")
    assert way_in(app, ada) == HOME


def test_an_account_of_a_program_gets_nothing_that_it_did_not_make(app: Flask, settings: Settings) -> None:
    client = app.test_client()
    made = client.post("/setup", json={"email": "robot@example.org", "password": PASSWORD})
    assert made.json["user_email"] == "robot@example.org"
    client.post("/login", json={"email": "robot@example.org", "password": PASSWORD})
    assert client.get("/list_conversation_by_user/assistant").json == []


def test_whoever_has_begun_by_themself_is_not_welcomed(app: Flask, ada: Person) -> None:
    own = ada.new_conversation()
    assert told(ada.post("/welcome"), Welcome).conversation_id is None
    ada.delete(f"/delete_conversation/{own}")
    assert told(ada.post("/welcome"), Welcome).conversation_id is None
    ada.delete(f"/bin/{own}")
    assert told(ada.post("/welcome"), Welcome).conversation_id is None
    assert titles(ada) == []
    assert way_in(app, ada) == HOME


def test_a_deleted_welcome_does_not_come_back(ada: Person) -> None:
    conversation_id = told(ada.post("/welcome"), Welcome).conversation_id
    ada.delete(f"/delete_conversation/{conversation_id}")
    assert told(ada.post("/welcome"), Welcome).conversation_id is None
    assert titles(ada) == ["A weekend in Lisbon"]
    ada.delete(f"/bin/{conversation_id}")
    assert told(ada.post("/welcome"), Welcome).conversation_id is None


def test_everybody_has_a_welcome_of_their_own(ada: Person, eve: Person) -> None:
    conversation_id = told(ada.post("/welcome"), Welcome).conversation_id
    assert told(eve.post("/welcome"), Welcome).conversation_id != conversation_id
    assert eve.get(f"/get_conversation_details/{conversation_id}").status_code == 404


def test_only_who_is_signed_in_is_welcomed(app: Flask, person: Callable[..., Person]) -> None:
    assert app.test_client().post("/welcome").status_code == 401
    reader = person("bob@example.org").post("/api_tokens", json={"name": "reader", "read_only": True}).json["token"]
    asked = app.test_client().post("/welcome", headers={"Authorization": f"Bearer {reader}"})
    assert asked.status_code == 403
