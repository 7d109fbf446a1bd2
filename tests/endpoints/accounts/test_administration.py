"""What an administrator does with accounts, and what everybody may know of the server's limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from database.accounts.sessions import create_session
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from endpoints.operations.models import Limits
from language_models.testing import Hold, Reply, ScriptedChatModel
from settings import SETTINGS_TABLE, Settings
from tests.endpoints.conftest import PASSWORD, Person, events_of, refused, told

pytestmark = pytest.mark.contract


@pytest.fixture
def hold() -> Hold:
    """At this the model waits after its first words."""
    return Hold()


@pytest.fixture
def main_model(hold: Hold) -> ScriptedChatModel:
    """Says a word, and waits."""
    return ScriptedChatModel(replies=lambda _prompt: Reply("First ", hold, "and last."))


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


def test_an_administrator_sees_all_accounts_and_when_they_were_used(grace: Person, ada: Person) -> None:
    ada.put("/get_user_info", json={"name": "Ada"})
    accounts = {each["user_email"]: each for each in grace.get("/users").json}
    assert list(accounts) == [grace.email, ada.email]
    assert (accounts[ada.email]["name"], accounts[ada.email]["is_admin"]) == ("Ada", False)
    assert accounts[grace.email]["is_admin"]
    assert accounts[ada.email]["last_seen_at"]
    assert accounts[ada.email]["disabled_at"] is None


def test_a_disabled_account_is_out_at_once_and_in_again_when_enabled(app: Flask, grace: Person, ada: Person) -> None:
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    credentials = {"email": ada.email, "password": PASSWORD}
    assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    since = grace.get("/users").json[1]["disabled_at"]
    assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    assert grace.get("/users").json[1]["disabled_at"] == since
    assert ada.get("/get_user_info").status_code == 401
    program = {"Authorization": f"Bearer {token}"}
    assert app.test_client().get("/get_user_info", headers=program).status_code == 401
    assert app.test_client().post("/login", json=credentials).status_code == 401
    # As a login begins it that was under way when the account was disabled.
    late = app.test_client()
    database = app.extensions[EXTENSION].database
    late.set_cookie(SESSION_COOKIE, create_session(database=database, user_email=ada.email))

    assert grace.put(f"/users/{ada.email}", json={"disabled": False}).status_code == 200
    assert ada.get("/get_user_info").status_code == 401
    assert late.get("/get_user_info").status_code == 401
    assert app.test_client().get("/get_user_info", headers=program).status_code == 200
    assert app.test_client().post("/login", json=credentials).status_code == 200


def test_what_is_being_written_for_an_account_stops_when_it_is_disabled(grace: Person, ada: Person, hold: Hold) -> None:
    conversation_id = ada.new_conversation()
    running = ada.post(f"/send_message/{conversation_id}", json={"messageText": "Go on"}, buffered=False)
    assert hold.wait_until_reached()
    assert grace.put(f"/users/{ada.email.upper()}", json={"disabled": True}).status_code == 200
    assert events_of(running)[-1]["answer_status"] == "cancelled"
    grace.put(f"/users/{ada.email}", json={"disabled": False})
    ada.client.post("/login", json={"email": ada.email, "password": PASSWORD})
    answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[1]
    assert (answer["text"], answer["status"]) == ("First ", "cancelled")


def test_nobody_shuts_themself_out(grace: Person) -> None:
    assert refused(grace.put(f"/users/{grace.email.upper()}", json={"disabled": True})) == (400, "bad_request")
    assert grace.put("/users/nobody@example.org", json={"disabled": True}).status_code == 404
    assert grace.get("/get_user_info").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/users", None),
        ("POST", "/users", {"email": "bob@example.org", "password": PASSWORD}),
        ("PUT", "/users/eve@example.org", {"disabled": True}),
    ],
)
def test_only_an_administrator_does_that(method: str, path: str, body: object, app: Flask, ada: Person) -> None:
    assert refused(ada.request(method, path, json=body)) == (403, "forbidden")
    assert app.test_client().open(path, method=method, json=body).status_code == 401


def test_a_person_changes_their_own_name(ada: Person, eve: Person) -> None:
    assert ada.put("/get_user_info", json={"name": "  Ada <b>Lovelace</b> "}).json["name"] == "Ada <b>Lovelace</b>"
    assert ada.get("/get_user_info").json["name"] == "Ada <b>Lovelace</b>"
    assert eve.get("/get_user_info").json["name"] == ""
    assert ada.put("/get_user_info", json={"name": "x" * 201}).status_code == 400
    assert ada.put("/get_user_info", json={"name": ""}).json["name"] == ""


def test_everybody_knows_the_limits_and_nobody_the_secrets(app: Flask, ada: Person, settings: Settings) -> None:
    assert app.test_client().get("/limits").status_code == 401
    answer = ada.get("/limits")
    limits = told(answer, Limits)
    told_of = {row.setting: row.value for row in limits.settings}
    assert told_of["ANAPHORA_REFERENCE_CAP"] == settings.reference_cap
    assert told_of["ANAPHORA_DISTILL_BUDGET"] is None
    assert limits.message_characters == 200_000
    assert limits.context_window > 0
    assert not limits.read_only
    assert set(told_of) < {row.name for row in SETTINGS_TABLE}
    for secret in (settings.secret_key, str(settings.data_dir), "API_KEY", "SECRET"):
        assert secret not in answer.get_data(as_text=True)
