"""Accounts, pages, health: what surrounds the conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from chat.context.knowledge import close_knowledge, knowledge_in
from database.accounts.audit import list_acts
from database.accounts.passwords import LONGEST_PASSWORD
from database.accounts.users import create_user, rename_user
from database.connection import open_store
from database.conversations.repository import create_conversation
from database.engine.database import Urgency
from endpoints.http.scope import EXTENSION
from settings import Settings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person

pytestmark = pytest.mark.contract

FORMER_ID = "0f8d1e7c-5f0e-4a50-9d43-6f0a4b7e2c11"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_fresh_server_leads_to_the_first_account_and_then_into_the_interface(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/", headers=BROWSER).headers["Location"] == "/login?next=/"
    assert client.get("/login", headers=BROWSER).headers["Location"] == "/setup"
    assert client.get("/setup", headers=BROWSER).status_code == 200
    made = client.post("/setup", data={"email": "ada@example.org", "password": PASSWORD}, headers=OWN_PAGE)
    assert (made.status_code, made.headers["Location"]) == (303, "/interface/?welcome=1")
    page = client.get("/interface/", headers=BROWSER)
    assert page.status_code == 200
    assert 'id="bootstrap"' in page.get_data(as_text=True)
    assert client.get("/setup", headers=BROWSER).headers["Location"] == "/login"


@pytest.mark.parametrize("form", [{"email": "nonsense", "password": PASSWORD}, {"email": "a@b.c", "password": "short"}])
def test_a_form_that_is_not_valid_is_shown_again_with_what_is_wrong(form: dict[str, str], app: Flask) -> None:
    answer = app.test_client().post("/setup", data=form, headers={**OWN_PAGE, **BROWSER})
    assert answer.status_code == 400
    page = answer.get_data(as_text=True)
    assert 'role="alert"' in page
    assert form["email"] in page
    assert form["password"] not in page


def leave_a_conversation(settings: Settings) -> None:
    create_conversation(database=open_store(settings.users_dir), user_email="ada@example.org", domain="assistant")


def leave_a_memory(settings: Settings) -> None:
    knowledge = knowledge_in(settings.users_dir)
    knowledge.for_user("ada@example.org").add_claim("Whales sing at night", "fact", "work", auto_extract=False)
    close_knowledge(settings.users_dir)


def leave_a_document(settings: Settings) -> None:
    leave_file(Path(settings.users_dir) / "vaults" / FORMER_ID / "garden" / "whales.md")


def leave_a_file_of_a_message(settings: Settings) -> None:
    leave_file(Path(settings.users_dir) / "attachments" / FORMER_ID / ("a" * 64) / "original")


def leave_a_bundle(settings: Settings) -> None:
    leave_file(Path(settings.users_dir) / "bundles" / "ada@example.org_1" / "ada@example.org_1.index")


def leave_file(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("Whales sing at night.")


@pytest.mark.parametrize(
    "leave", [leave_a_conversation, leave_a_memory, leave_a_document, leave_a_file_of_a_message, leave_a_bundle]
)
def test_whoever_comes_first_gets_nothing_that_is_left_of_others_when_the_accounts_are_gone(
    app: Flask, settings: Settings, leave: Callable[[Settings], None]
) -> None:
    leave(settings)
    client, account = app.test_client(), {"email": "ada@example.org", "password": PASSWORD}
    page = client.get("/setup", headers=BROWSER)
    assert (page.status_code, page.mimetype) == (409, "text/html")
    text = page.get_data(as_text=True)
    for way_on in ("<code>flask --app server data restore</code>", "<code>flask --app server users create</code>"):
        assert way_on in text
    assert '<h1 class="panel-title">The accounts are missing</h1>' in text
    assert 'href="/setup"' in text
    assert "/interface/" not in text
    refused = client.post("/setup", json=account, headers=OWN_PAGE)
    assert (refused.status_code, refused.json["code"]) == (409, "store_incomplete")
    form = client.post("/setup", data=account, headers={**OWN_PAGE, **BROWSER})
    assert (form.status_code, form.mimetype) == (409, "text/html")
    created = app.test_cli_runner().invoke(
        args=["users", "create", "--email", "ada@example.org", "--admin", "--password-stdin"], input=f"{PASSWORD}\n"
    )
    assert created.exit_code == 0, created.output
    assert client.post("/login", json=account, headers=OWN_PAGE).status_code == 200
    assert client.get("/setup", headers=BROWSER).headers["Location"] == "/login"


def test_a_wrong_password_is_said_in_the_form(app: Flask, ada: Person) -> None:
    form = {"email": ada.email, "password": "wrong wrong", "next": "/account"}
    answer = app.test_client().post("/login", data=form, headers={**OWN_PAGE, **BROWSER})
    page = answer.get_data(as_text=True)
    assert answer.status_code == 401
    assert 'role="alert"' in page
    assert 'value="/account"' in page
    assert ada.email in page
    assert "wrong wrong" not in page


def test_whoever_may_have_a_password_of_some_length_may_sign_in_with_it(app: Flask, settings: Settings) -> None:
    longest = "x" * LONGEST_PASSWORD
    create_user(database=open_store(settings.users_dir), user_email="bob@example.org", password=longest)
    client, answers = app.test_client(), []
    for password in (longest, f"{longest}x"):
        answers.append(client.post("/login", json={"email": "bob@example.org", "password": password}).status_code)
    assert answers == [200, 400]


def test_signing_in_leads_on_to_the_page_that_was_asked_for(app: Flask, ada: Person) -> None:
    client = app.test_client()
    asked = client.get("/interface/some-id?message=m", headers=BROWSER)
    assert asked.headers["Location"] == "/login?next=/interface/some-id%3Fmessage%3Dm"
    form = {"email": ada.email, "password": PASSWORD, "next": "/interface/some-id?message=m"}
    assert client.post("/login", data=form, headers=OWN_PAGE).headers["Location"] == "/interface/some-id?message=m"


def test_what_a_person_says_of_themself_is_kept(ada: Person) -> None:
    for noun in ("detail", "preference"):
        assert ada.get(f"/get_user_{noun}").json == {}
        assert ada.post(f"/modify_user_{noun}", json={"text": "I like short answers.", "more": [1]}).status_code == 200
        assert ada.get(f"/get_user_{noun}").json == {"text": "I like short answers.", "more": [1]}


def test_calls_without_a_session_get_json_and_pages_get_the_way_in(app: Flask) -> None:
    client = app.test_client()
    call = client.get("/list_workspaces/assistant", headers=BROWSER)
    assert (call.status_code, call.json["code"]) == (401, "unauthorized")
    assert client.get("/settings", headers=BROWSER).status_code == 302
    assert client.get("/settings").status_code == 401


def test_the_account_page_of_old_leads_to_the_settings(ada: Person) -> None:
    assert ada.get("/account", headers=BROWSER).headers["Location"] == "/settings"
    page = ada.get("/settings", headers=BROWSER)
    assert page.status_code == 200
    assert ada.email in page.get_data(as_text=True)


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(ada: Person) -> None:
    page = ada.get("/nowhere", headers=BROWSER)
    assert page.status_code == 404
    assert page.mimetype == "text/html"
    call = ada.get("/nowhere")
    assert (call.status_code, call.json["code"]) == (404, "not_found")
    assert call.json["request_id"] in call.headers["X-Request-ID"]


def test_health_is_public_and_counters_are_not(app: Flask, ada: Person) -> None:
    stranger = app.test_client()
    assert stranger.get("/healthz").json == {"status": "ok"}
    ready = {"status": "ready", "store": "ok", "knowledge": "ok", "model": "ready", "broker": "none"}
    assert stranger.get("/readyz").json == ready
    assert stranger.get("/metrics").status_code == 401
    assert 'anaphora_requests_total{method="GET",route="/healthz",status="200"} 1' in ada.get("/metrics").text


def test_a_broken_store_is_not_ready(app: Flask, monkeypatch: Any) -> None:
    from database.engine.errors import StorageFailedError

    def broken(**_: Any) -> None:
        raise StorageFailedError("The disk is full.")

    monkeypatch.setattr("endpoints.operations.health.require_usable", broken)
    answer = app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["store"]) == (503, "failed")


@pytest.mark.parametrize(
    ("phase", "status", "said"),
    [
        ("waiting", 200, "ready"),
        ("fetching", 503, "not_ready"),
        ("loading", 503, "not_ready"),
        ("failed", 200, "degraded"),
        ("none", 200, "degraded"),
    ],
)
def test_a_server_is_ready_unless_its_model_is_on_its_way(
    app: Flask, monkeypatch: Any, phase: Any, status: int, said: str
) -> None:
    models = app.extensions[EXTENSION].models
    states = models.states()
    states["main"] = replace(states["main"], phase=phase)
    monkeypatch.setattr(type(models), "states", lambda _self: states)
    answer = app.test_client().get("/readyz")
    assert (answer.status_code, answer.json["status"], answer.json["model"]) == (status, said, phase)


def test_the_models_tell_their_state(ada: Person) -> None:
    states = ada.get("/models").json
    assert states["main"]["phase"] == "ready"
    assert {"main", "cheap"} <= set(states)


def test_accounts_and_tokens_are_made_on_the_command_line(app: Flask, settings: Settings) -> None:
    run = app.test_cli_runner().invoke
    made = run(args=["users", "create", "--email", "Bob@example.org", "--password-stdin"], input=f"{PASSWORD}\n")
    assert (made.exit_code, made.output) == (0, "bob@example.org has an account.\n")
    again = run(args=["users", "create", "--email", "bob@example.org", "--password-stdin"], input=f"{PASSWORD}\n")
    assert again.exit_code == 1
    weak = run(args=["users", "create", "--email", "eve@example.org", "--password-stdin"], input="short\n")
    assert weak.exit_code == 1
    assert "password" in weak.output
    assert "short\n" not in weak.output
    token = run(args=["users", "token", "--email", "bob@example.org", "--name", "script"]).output.strip()
    answer = app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"})
    assert answer.json["user_email"] == "bob@example.org"
    backfilled = run(args=["data", "backfill", "--email", "bob@example.org"])
    assert (backfilled.exit_code, backfilled.output[:2]) == (0, "0 ")
    assert run(args=["data", "backfill", "--email", "nobody@example.org"]).exit_code == 3


def test_what_people_call_themselves_forges_no_line_of_the_list_and_moves_no_cursor(app: Flask, ada: Person) -> None:
    database = app.extensions[EXTENSION].database
    rename_user(database=database, user_email=ada.email, name="x\nroot@example.org  administrator\x1b]0;title\x07")
    (line,) = app.test_cli_runner().invoke(args=["users", "list"]).output.splitlines()
    assert line.endswith("  x root@example.org administrator]0;title")


def test_the_command_line_lists_disables_and_enables_accounts(app: Flask, person: Callable[..., Person]) -> None:
    run = app.test_cli_runner().invoke
    grace, bob = person("grace@example.org", is_admin=True), person("bob@example.org")
    token = run(args=["users", "token", "--email", bob.email, "--name", "script"]).output.strip()
    assert bob.delete("/sessions").status_code == 200
    unseen = person("eve@example.org")
    unseen.post("/logout")
    assert app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    # That it was used is noted behind the answer.
    app.extensions[EXTENSION].database.submit(lambda _connection: None, urgency=Urgency.INDEX).result()
    disabled = run(args=["users", "disable", "--email", "Bob@example.org"])
    assert (disabled.exit_code, disabled.output) == (0, "bob@example.org is disabled.\n")
    assert app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    rows = [json.loads(line) for line in run(args=["users", "list", "--json"]).output.splitlines()]
    assert [(row["user_email"], row["is_admin"], row["disabled_at"] is None) for row in rows] == [
        ("bob@example.org", False, False),
        ("eve@example.org", False, True),
        ("grace@example.org", True, True),
    ]
    seen = {row["user_email"]: row["last_seen_at"] for row in rows}
    assert seen["bob@example.org"], "what uses a token is seen, too"
    assert seen["eve@example.org"] is None
    lines = run(args=["users", "list"]).output.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("bob@example.org  member  last seen ")
    assert "  disabled " in lines[0]
    assert lines[1].startswith("eve@example.org  member  never seen")
    assert lines[2].startswith("grace@example.org  administrator")
    assert run(args=["users", "enable", "--email", bob.email]).output == "bob@example.org is enabled.\n"
    assert app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    last = run(args=["users", "disable", "--email", grace.email])
    assert (last.exit_code, "only administrator" in last.output) == (1, True)
    assert run(args=["users", "disable", "--email", "nobody@example.org"]).exit_code == 3


def test_the_command_line_lists_and_revokes_the_tokens_of_an_account(
    app: Flask, ada: Person, person: Callable[..., Person]
) -> None:
    def run(*arguments: str) -> Any:
        return app.test_cli_runner().invoke(args=["users", "tokens", "--email", *arguments])

    bob = person("bob@example.org")
    made = [ada.post("/api_tokens", json={"name": name, "read_only": name == "b"}).json for name in ("a", "b", "c\nd")]
    kept = bob.post("/api_tokens", json={"name": "his"}).json
    lines = run("Ada@example.org").output.splitlines()
    assert [line.split("  ")[0] for line in lines] == [each["token_id"] for each in made]
    assert [line.split("  ")[1] for line in lines] == ["may write", "read-only", "may write"]
    assert lines[2].endswith("  c d")
    rows = [json.loads(line) for line in run(ada.email, "--json").output.splitlines()]
    assert [(row["name"], row["read_only"]) for row in rows] == [("a", False), ("b", True), ("c\nd", False)]
    assert all(each["token"] not in "".join(lines) for each in made)

    foreign = run(ada.email, "--revoke", kept["token_id"])
    assert (foreign.exit_code, kept["token_id"] in foreign.output) == (1, True)
    both = run(ada.email, "--revoke", made[0]["token_id"], "--revoke-all")
    assert (both.exit_code, "not both" in both.output) == (2, True)
    twice = ("--revoke", made[0]["token_id"]) * 2
    assert run(ada.email, *twice).output == "API tokens revoked: 1.\n"
    assert [each["name"] for each in ada.get("/api_tokens").json] == ["b", "c\nd"]
    assert run(ada.email, "--revoke-all").output == "API tokens revoked: 2.\n"
    assert ada.get("/api_tokens").json == []
    assert [each["name"] for each in bob.get("/api_tokens").json] == ["his"]
    assert run("nobody@example.org").exit_code == 3
    acts = list_acts(database=app.extensions[EXTENSION].database, limit=9, act="token_revoked")
    assert sorted((act["subject"], act["details"]["name"]) for act in acts) == [
        (ada.email, "a"),
        (ada.email, "b"),
        (ada.email, "c\nd"),
    ]


def test_where_one_of_several_tokens_or_sessions_is_unknown_the_error_names_those_before_it(
    app: Flask, ada: Person
) -> None:
    run = app.test_cli_runner().invoke
    token_id = ada.post("/api_tokens", json={"name": "a"}).json["token_id"]
    session = json.loads(run(args=["users", "sessions", "--email", ada.email, "--json"]).output)
    for command, option, own, done in (
        ("tokens", "--revoke", token_id, "API tokens revoked"),
        ("sessions", "--end", session["session_id"], "Sessions ended"),
    ):
        ended = run(args=["users", command, "--email", ada.email, option, own, option, "unknown"])
        assert ended.exit_code == 1
        assert ended.output.endswith(f"(unknown) {done} before that: {own}.\n")
        assert run(args=["users", command, "--email", ada.email, "--json"]).output == ""


def test_the_command_line_lists_and_ends_the_sessions_of_an_account(
    app: Flask, ada: Person, person: Callable[..., Person]
) -> None:
    def run(*arguments: str) -> Any:
        return app.test_cli_runner().invoke(args=["users", "sessions", "--email", *arguments])

    bob, credentials = person("bob@example.org"), {"email": ada.email, "password": PASSWORD}
    browser = {"User-Agent": "Browser\x1b[2J 1.0"}
    assert app.test_client().post("/login", json=credentials, headers=browser).status_code == 200
    rows = {row["user_agent"]: row for row in map(json.loads, run(ada.email, "--json").output.splitlines())}
    assert len(rows) == 2
    other = next(row for agent, row in rows.items() if agent.startswith("Browser"))
    assert {"session_id", "address", "created_at", "last_seen_at"} <= set(other)
    assert {"session_hash", "current"} & set(other) == set()
    listed = run("Ada@example.org").output
    assert (len(listed.splitlines()), "\x1b" in listed) == (2, False)

    assert run(ada.email, "--end", "unknown").exit_code == 1
    both = run(ada.email, "--end", other["session_id"], "--end-all")
    assert (both.exit_code, "not both" in both.output) == (2, True)
    assert run(ada.email, *("--end", other["session_id"]) * 2).output == "Sessions ended: 1.\n"
    assert ada.get("/get_user_info").status_code == 200
    assert run(ada.email, "--end-all").output == "Sessions ended: 1.\n"
    assert ada.get("/get_user_info").status_code == 401
    assert bob.get("/get_user_info").status_code == 200
    acts = list_acts(database=app.extensions[EXTENSION].database, limit=9, act="sessions_ended")
    assert [(act["subject"], act["door"]) for act in acts] == [(ada.email, "command line")] * 2
