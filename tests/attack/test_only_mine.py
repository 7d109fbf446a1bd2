"""Every route that takes an id answers a second account byte for byte as if the thing did not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask

from database.accounts.audit import COMMAND_LINE
from database.accounts.invitations import create_invitation
from database.accounts.sessions import list_sessions
from database.connection import open_store
from database.engine.database import Database
from endpoints.http.openapi import routes
from endpoints.http.scope import SETTINGS
from language_models.testing import ScriptedChatModel
from settings import Settings
from tests.attack import knowledge_probes
from tests.attack.two_processes import app_at_two_processes
from tests.endpoints.conftest import Person, account, running_app, settings_in
from tests.scaled import is_scaled

MISSING = {
    "attachment_id": "00000000-0000-4000-8000-000000000010",
    "conversation_id": "ada@example.org_" + "z" * 36,
    "message_id": "00000000-0000-4000-8000-000000000000",
    "workspace_id": "00000000-0000-4000-8000-000000000001",
    "friendly_id": "nothing_here_0000",
    "identifier": "zzzzzz",
    "session_id": "00000000-0000-4000-8000-000000000002",
    "token_id": "00000000-0000-4000-8000-000000000003",
    "proposal_id": "00000000-0000-4000-8000-000000000009",
    "preset_id": "00000000-0000-4000-8000-000000000004",
    "prompt_id": "00000000-0000-4000-8000-000000000005",
    "agent_id": "00000000-0000-4000-8000-000000000006",
    "thread_id": "00000000-0000-4000-8000-000000000007",
    "activity_reference": "00000000-0000-4000-8000-000000000008",
    "server_name": "nothing-here",
    "user_email": "nobody@example.org",
    "import_id": "00000000-0000-4000-8000-00000000000b",
    "job_id": "00000000-0000-4000-8000-00000000000c",
    "invitation_id": "00000000-0000-4000-8000-00000000000d",
}
FIXED = {"domain": "assistant", "index": "1", "name": "Papers", "version": "v", "flag": "red", "number": "1"}


@dataclass(frozen=True)
class Probe:
    """How to ask a route for a thing: the body to send, and the status that a missing thing gets."""

    body: Any = None
    status: int = 404


PROBES = {
    ("POST", "/create_conversation/<domain>/<workspace_id>"): Probe(),
    ("GET", "/get_conversation_details/<conversation_id>"): Probe(),
    ("GET", "/get_conversation_settings/<conversation_id>"): Probe(),
    ("PUT", "/get_conversation_settings/<conversation_id>"): Probe({"tone": "dry"}),
    ("PATCH", "/conversations/<conversation_id>/settings"): Probe({"temperature": 1}),
    ("PUT", "/conversations/<conversation_id>/title"): Probe({"title": "Mine now"}),
    ("POST", "/clone_conversation/<conversation_id>"): Probe(),
    ("DELETE", "/delete_conversation/<conversation_id>"): Probe(),
    ("POST", "/restore_conversation/<conversation_id>"): Probe(),
    ("POST", "/set_flag/<conversation_id>/<flag>"): Probe(),
    ("POST", "/archive_conversation/<conversation_id>"): Probe(),
    ("PUT", "/conversations/<conversation_id>/pin"): Probe(),
    ("DELETE", "/conversations/<conversation_id>/pin"): Probe(),
    ("PUT", "/conversations/<conversation_id>/tags"): Probe({"tags": ["mine"]}),
    ("GET", "/imports/<import_id>"): Probe(),
    ("GET", "/jobs/<import_id>"): Probe(),
    ("DELETE", "/imports/<import_id>"): Probe(),
    ("DELETE", "/jobs/<import_id>"): Probe(),
    ("GET", "/imports/<import_id>/report"): Probe(),
    ("GET", "/jobs/<import_id>/report"): Probe(),
    ("POST", "/imports/<import_id>/start"): Probe({"domain": "assistant"}),
    ("POST", "/jobs/<import_id>/start"): Probe({"domain": "assistant"}),
    ("POST", "/imports/<import_id>/pause"): Probe(),
    ("POST", "/jobs/<import_id>/pause"): Probe(),
    ("POST", "/imports/<import_id>/resume"): Probe(),
    ("POST", "/jobs/<import_id>/resume"): Probe(),
    ("POST", "/imports/<import_id>/cancel"): Probe(),
    ("POST", "/jobs/<import_id>/cancel"): Probe(),
    ("POST", "/imports/<import_id>/undo"): Probe(),
    ("POST", "/jobs/<import_id>/undo"): Probe(),
    ("GET", "/api/proposals/<proposal_id>"): Probe(),
    ("POST", "/api/proposals/<proposal_id>/accept"): Probe(),
    ("POST", "/api/proposals/<proposal_id>/decline"): Probe(),
    ("GET", "/presets/<preset_id>"): Probe(),
    ("PUT", "/presets/<preset_id>"): Probe({"name": "Mine now"}),
    ("DELETE", "/presets/<preset_id>"): Probe(),
    ("GET", "/prompts/<prompt_id>"): Probe(),
    ("PUT", "/prompts/<prompt_id>"): Probe({"name": "mine", "text": "Mine now"}),
    ("DELETE", "/prompts/<prompt_id>"): Probe(),
    ("PATCH", "/api/tool_servers/<server_name>"): Probe({"is_on": False}),
    ("DELETE", "/api/tool_servers/<server_name>"): Probe(),
    ("POST", "/api/tool_servers/<server_name>/try"): Probe(),
    ("GET", "/api/agents/<agent_id>"): Probe(),
    ("PUT", "/api/agents/<agent_id>"): Probe({"title": "Mine now"}),
    ("DELETE", "/api/agents/<agent_id>"): Probe(),
    ("GET", "/api/inbox/<agent_id>"): Probe(),
    ("POST", "/api/inbox/<agent_id>/service"): Probe(),
    ("POST", "/api/inbox/<agent_id>/retry"): Probe(),
    ("PUT", "/conversations/<conversation_id>/agent"): Probe({"agent": None}),
    ("POST", "/api/conversations/<conversation_id>/activities"): Probe(
        {"type": "system_event", "payload": {"description": "Mine now"}}
    ),
    ("GET", "/api/conversations/<conversation_id>/activities"): Probe(),
    ("GET", "/api/conversations/<conversation_id>/threads"): Probe(),
    ("GET", "/api/activities/<activity_reference>"): Probe(),
    ("PATCH", "/api/activities/<activity_reference>"): Probe({"conversation_id": "mine"}),
    ("GET", "/api/threads/<thread_id>"): Probe(),
    ("PATCH", "/api/threads/<thread_id>"): Probe({"title": "Mine now"}),
    ("DELETE", "/bin/<conversation_id>"): Probe(),
    ("GET", "/list_messages_by_conversation/<conversation_id>"): Probe(),
    ("GET", "/find_in_conversation/<conversation_id>"): Probe(),
    ("GET", "/usage/<conversation_id>"): Probe(),
    ("GET", "/conversations/<conversation_id>/documents"): Probe(),
    ("POST", "/edit_message_from_conversation/<conversation_id>/<message_id>/<int:index>"): Probe({"text": "x"}),
    ("DELETE", "/delete_message_from_conversation/<conversation_id>/<message_id>/<int:index>"): Probe(),
    ("POST", "/move_messages_up_or_down/<conversation_id>"): Probe({"message_ids": ["x"], "direction": "up"}),
    ("POST", "/restore_message/<conversation_id>/<message_id>"): Probe(),
    ("POST", "/show_hide_message_from_conversation/<conversation_id>/<message_id>/<int:index>"): Probe(
        {"show_hide": "hide"}
    ),
    ("GET", "/messages/<message_id>/edits"): Probe(),
    ("GET", "/messages/<message_id>/variants"): Probe(),
    ("PUT", "/messages/<message_id>/pin"): Probe(),
    ("DELETE", "/messages/<message_id>/pin"): Probe(),
    ("GET", "/conversations/<conversation_id>/pinned_messages"): Probe(),
    ("POST", "/fork_conversation/<conversation_id>/<message_id>"): Probe(),
    ("PUT", "/make_conversation_stateless/<conversation_id>"): Probe(),
    ("PUT", "/make_conversation_stateful/<conversation_id>"): Probe(),
    ("GET", "/export_conversation/<conversation_id>"): Probe(),
    ("POST", "/send_message/<conversation_id>"): Probe({"messageText": "hello"}),
    ("POST", "/regenerate/<conversation_id>/<message_id>"): Probe(),
    ("PUT", "/variant/<message_id>/<int:number>"): Probe(),
    ("POST", "/branch/<conversation_id>/<message_id>"): Probe({"text": "hello"}),
    ("PUT", "/branch/<message_id>/<int:number>"): Probe(),
    ("PUT", "/branch/<message_id>"): Probe(),
    ("GET", "/branches/<conversation_id>"): Probe(),
    ("POST", "/continue/<conversation_id>/<message_id>"): Probe(),
    ("GET", "/stream/<message_id>"): Probe(),
    ("POST", "/cancel_response/<conversation_id>"): Probe(),
    ("GET", "/attachments/<attachment_id>"): Probe(),
    ("GET", "/files/<attachment_id>"): Probe(),
    ("GET", "/attachments/<attachment_id>/about"): Probe(),
    ("GET", "/files/<attachment_id>/about"): Probe(),
    ("GET", "/attachments/<attachment_id>/text"): Probe(),
    ("GET", "/files/<attachment_id>/text"): Probe(),
    ("DELETE", "/attachments/<attachment_id>"): Probe(),
    ("DELETE", "/files/<attachment_id>"): Probe(),
    ("GET", "/conversations/<conversation_id>/files"): Probe(),
    ("PUT", "/update_workspace/<workspace_id>"): Probe({"workspace_name": "Mine now"}),
    ("DELETE", "/delete_workspace/<domain>/<workspace_id>"): Probe(),
    ("PUT", "/move_workspace/<workspace_id>"): Probe({"parent_workspace_id": None}),
    ("PUT", "/move_conversation_to_workspace/<conversation_id>"): Probe({"workspace_id": "x"}),
    ("GET", "/get_workspace_path/<workspace_id>"): Probe(),
    ("GET", "/conversations/<friendly_id>/messages"): Probe(),
    ("GET", "/messages/<message_id>/backlinks"): Probe(),
    ("GET", "/conversations/<conversation_id>/backlinks"): Probe(),
    ("GET", "/r/<friendly_id>/<identifier>"): Probe(),
    ("GET", "/interface/<conversation_id>"): Probe(),
    ("POST", "/share/<conversation_id>"): Probe(),
    ("GET", "/share/<conversation_id>"): Probe(),
    ("DELETE", "/share/<conversation_id>"): Probe(),
    ("DELETE", "/sessions/<session_id>"): Probe(),
    ("DELETE", "/api_tokens/<token_id>"): Probe(),
    ("PUT", "/users/<user_email>"): Probe({"disabled": True}, status=403),
    ("DELETE", "/users/<user_email>"): Probe(status=403),
    ("PUT", "/admin/people/<user_email>/quota"): Probe({"messages_a_day": 1}, status=403),
    ("POST", "/admin/jobs/<job_id>/retry"): Probe(status=403),
    ("POST", "/users/<user_email>/password_link"): Probe(status=403),
    ("PUT", "/users/<user_email>/role"): Probe({"role": "administrator"}, status=403),
    ("DELETE", "/invitations/<invitation_id>"): Probe(status=403),
}
# These take no id of a person's thing in their address.
WITHOUT_ID = {
    ("GET", "/"),
    ("GET", "/api/proposals"),
    # tests/endpoints/export asks for other people's rooms, threads and activities.
    ("GET", "/api/export"),
    # tests/endpoints/export/test_account_archive.py tries it with two people.
    ("GET", "/export_account"),
    ("GET", "/api/proposals/count"),
    ("GET", "/api/recipes"),
    # tests/endpoints/tool_servers tries them with two people.
    ("GET", "/api/tool_servers"),
    ("POST", "/api/tool_servers"),
    ("GET", "/api/tools"),
    # tests/chat/tools tries each tool with two people.
    ("POST", "/api/tools/<tool_name>"),
    # tests/endpoints/mcp tries it with two people.
    ("POST", "/mcp"),
    ("GET", "/account"),
    ("GET", "/api/agents"),
    ("GET", "/api/inbox"),
    ("POST", "/api/agents"),
    # tests/endpoints/agents/test_agents.py tries it with two people.
    ("POST", "/api/tools/ask_agent"),
    ("GET", "/api_tokens"),
    ("GET", "/bin/<domain>"),
    ("GET", "/conversation_tags/<domain>"),
    ("GET", "/conversations/autocomplete"),
    # tests/endpoints/events/test_events.py tries it with two people.
    ("GET", "/events"),
    ("GET", "/favicon.ico"),
    ("GET", "/get_user_detail"),
    ("GET", "/get_user_info"),
    ("GET", "/get_user_preference"),
    ("GET", "/healthz"),
    ("GET", "/imports"),
    ("GET", "/jobs"),
    ("GET", "/imports/sources"),
    ("POST", "/import"),
    ("GET", "/interface/"),
    ("GET", "/list_conversation_by_user/<domain>"),
    ("GET", "/limits"),
    ("GET", "/list_workspaces/<domain>"),
    ("GET", "/login"),
    ("GET", "/manifest.webmanifest"),
    ("GET", "/metrics"),
    ("GET", "/models"),
    ("GET", "/openapi.json"),
    # tests/attack/test_openid.py tries what they may not.
    ("GET", "/oidc/start"),
    ("GET", "/oidc/callback"),
    ("GET", "/oidc/link"),
    ("GET", "/oidc/log_out"),
    ("POST", "/oidc/link"),
    ("GET", "/presets"),
    ("GET", "/prompts"),
    ("GET", "/readyz"),
    ("GET", "/references/resolve"),
    ("GET", "/references/suggest"),
    # Whoever has the token may set the password; tests/endpoints/accounts/test_password_reset.py tries the rest.
    ("GET", "/reset/<token>"),
    ("POST", "/reset/<token>"),
    # tests/endpoints/accounts/test_invitations.py tries who may do what.
    ("GET", "/invitations"),
    ("POST", "/invitations"),
    ("GET", "/invite/<token>"),
    ("POST", "/invite/<token>"),
    ("GET", "/search"),
    ("GET", "/api/vault/document"),
    ("GET", "/api/vault/documents"),
    ("PUT", "/api/vault/document"),
    ("DELETE", "/api/vault/document"),
    ("GET", "/api/vault/bin"),
    ("POST", "/api/vault/restore"),
    ("POST", "/api/vault/rename"),
    ("POST", "/api/vault/index"),
    ("POST", "/api/vault/import"),
    ("GET", "/api/vault/graph"),
    ("GET", "/api/vault/resolve"),
    ("GET", "/sessions"),
    ("GET", "/service_worker.js"),
    ("GET", "/settings"),
    ("GET", "/setup"),
    ("GET", "/shell"),
    # Whoever has the token may see what it shows; tests/attack/test_shares.py tries what they may not.
    ("GET", "/shared_chat/<token>"),
    ("GET", "/shared_chat/<token>/files/<snapshot>/<int:message_index>/<int:number>"),
    ("GET", "/shares"),
    ("GET", "/static/<version>/<path:name>"),
    ("POST", "/api_tokens"),
    ("POST", "/attachments"),
    ("POST", "/files"),
    ("POST", "/collapse_workspaces"),
    ("POST", "/conversations/bulk"),
    ("POST", "/create_conversation/<domain>/"),
    ("POST", "/create_temporary_conversation/<domain>"),
    ("POST", "/create_workspace/<domain>/<path:name>"),
    ("POST", "/empty_bin/<domain>"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("POST", "/models/<path:model_id>/fetch"),
    ("POST", "/presets"),
    ("POST", "/prompts"),
    ("POST", "/modify_user_detail"),
    ("POST", "/modify_user_preference"),
    ("POST", "/restore_workspace/<domain>"),
    ("POST", "/setup"),
    ("POST", "/users"),
    ("POST", "/welcome"),
    ("GET", "/users"),
    ("GET", "/usage"),
    ("GET", "/admin/audit"),
    ("GET", "/admin/health"),
    ("GET", "/admin/jobs"),
    ("GET", "/admin/people"),
    ("PUT", "/get_user_info"),
    ("DELETE", "/account"),
    ("DELETE", "/sessions"),
    ("PUT", "/language"),
    ("PUT", "/password"),
}


# One application for the whole module: whatever is tried here changes nothing.
@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("only-mine")
    models = {name: ScriptedChatModel.saying("It is forty-two.") for name in ("main", "cheap")}
    if is_scaled(request.config):
        model, engines = request.getfixturevalue("shared_recording_model"), request.getfixturevalue("engines")
        with app_at_two_processes(folder, engines, model, **models) as application:
            yield application
    else:
        database_url = request.getfixturevalue("database_url_of_module")
        with running_app(settings_in(folder, database_url=database_url), **models) as application:
            yield application


@pytest.fixture(scope="module")
def settings(app: Flask) -> Settings:
    found: Settings = app.extensions[SETTINGS]
    return found


@pytest.fixture(scope="module")
def ada(app: Flask) -> Person:
    return account(app, "ada@example.org")


@pytest.fixture(scope="module")
def eve(app: Flask) -> Person:
    return account(app, "eve@example.org")


@pytest.fixture(scope="module")
def things(ada: Person, settings: Settings) -> dict[str, str]:
    """One thing of each kind that ada owns, by the name of its id."""
    conversation_id = ada.new_conversation()
    last = [event["message_ids"] for event in ada.say(conversation_id, "What is it?") if "message_ids" in event][-1]
    details = ada.get(f"/get_conversation_details/{conversation_id}").json
    workspace = ada.post("/create_workspace/assistant/Secret", json={}).json
    token = ada.post("/api_tokens", json={"name": "script"}).json
    event = {"type": "system_event", "payload": {"description": "Secret"}, "reply_to": last["response_message_id"]}
    activity = ada.post(f"/api/conversations/{conversation_id}/activities", json=event).json
    session = list_sessions(database=open_store(settings.users_dir), user_email=ada.email)[0]
    secret = {"data": b"secret", "content_type": "application/octet-stream"}
    return {
        "attachment_id": ada.post("/attachments?name=secret.txt", **secret).json["attachment_id"],
        "import_id": ada.post(
            "/import?name=a.jsonl",
            data=b'{"conversation": "1", "role": "user", "text": "Secret"}',
            content_type="application/octet-stream",
        ).json["import_id"],
        "conversation_id": conversation_id,
        "message_id": last["response_message_id"],
        "friendly_id": details["conversation_friendly_id"],
        "identifier": last["response_message_short_hash"],
        "workspace_id": workspace["workspace_id"],
        "token_id": token["token_id"],
        "session_id": session["session_id"],
        "proposal_id": ada.post("/api/tools/add_memory", json={"statement": "Secret"}).json["proposal"]["proposal_id"],
        "preset_id": ada.post("/presets", json={"name": "Secret"}).json["preset_id"],
        "prompt_id": ada.post("/prompts", json={"name": "secret", "text": "Secret"}).json["prompt_id"],
        "agent_id": ada.post("/api/agents", json={"title": "Secret"}).json["agent_id"],
        "thread_id": activity["thread_id"],
        "activity_reference": activity["id"],
        "server_name": ada.post("/api/tool_servers", json={"name": "secret", "url": "https://example.org/mcp"}).json[
            "name"
        ],
        "user_email": ada.email,
        "job_id": "purge_bin",
        "invitation_id": create_invitation(
            database=open_store(settings.users_dir), by=COMMAND_LINE, role="member"
        ).invitation_id,
    }


def everything_stored(database: Database) -> dict[str, list[Any]]:
    """All rows by table, but for those that note who came when, and the search index, which is filled behind.

    Nothing where servers of their own work on the store: their upkeep writes meanwhile.
    """
    if database.backend.is_shared:
        return {}
    passing = {"sessions", "login_attempts", "search_state"}
    with database.reading() as connection:
        names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
        return {
            name: sorted(map(repr, connection.exec_driver_sql(f'SELECT * FROM "{name}"')))
            for name in names
            if name not in passing and "fts" not in name
        }


def test_every_route_is_entered_here(app: Flask) -> None:
    known = set(PROBES) | WITHOUT_ID | knowledge_probes.ENTERED
    assert {(method, path) for path, method, _ in routes(app)} == known


@pytest.mark.parametrize(("method", "path"), sorted(PROBES), ids=lambda part: str(part))
def test_what_belongs_to_somebody_else_is_missing(
    method: str, path: str, things: dict[str, str], eve: Person, settings: Settings
) -> None:
    probe = PROBES[method, path]

    def ask(ids: dict[str, str]) -> tuple[int, bytes]:
        address = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: ids[match[1]], path)
        answer = eve.request(method, address, json=probe.body)
        body = re.sub(rb'"request_id":"[0-9a-f]+"', b"", answer.get_data())
        body = body.replace(ids["activity_reference"].encode(), b"")  # an answer may name what was asked for
        return answer.status_code, re.sub(rb"Request <code>[0-9a-f]+", b"", body)

    before = everything_stored(open_store(settings.users_dir))
    foreign, missing = ask({**FIXED, **things}), ask({**FIXED, **MISSING})
    assert foreign == missing
    assert foreign[0] == probe.status
    assert everything_stored(open_store(settings.users_dir)) == before


def test_a_foreign_reference_resolves_like_a_missing_one(things: dict[str, str], eve: Person) -> None:
    def fate(friendly_id: str) -> bytes:
        answer = eve.get(f"/references/resolve?ref=@conversation_{friendly_id}_message_{things['identifier']}")
        return answer.get_data().replace(friendly_id.encode(), b"FID")

    assert fate(things["friendly_id"]) == fate("nothing_here_0000")


def test_a_foreign_workspace_takes_no_conversation(things: dict[str, str], eve: Person) -> None:
    own = eve.new_conversation()
    foreign = eve.put(f"/move_conversation_to_workspace/{own}", json={"workspace_id": things["workspace_id"]})
    missing = eve.put(f"/move_conversation_to_workspace/{own}", json={"workspace_id": MISSING["workspace_id"]})
    assert foreign.status_code == missing.status_code == 404
    assert foreign.json["message"] == missing.json["message"]


def test_a_foreign_workspace_is_no_parent(things: dict[str, str], eve: Person) -> None:
    answer = eve.post("/create_workspace/assistant/Sub", json={"parent_workspace_id": things["workspace_id"]})
    assert (answer.status_code, answer.json["code"]) == (404, "workspace_not_found")


def test_a_message_of_another_conversation_is_missing_in_this_one(things: dict[str, str], ada: Person) -> None:
    other = ada.new_conversation()
    answer = ada.post(f"/edit_message_from_conversation/{other}/{things['message_id']}/1", json={"text": "elsewhere"})
    assert (answer.status_code, answer.json["code"]) == (404, "message_not_found")


def test_clients_cannot_say_what_only_the_server_says(eve: Person, things: dict[str, str], tmp_path: Any) -> None:
    own = eve.new_conversation()
    injected = {
        "_users_dir": str(tmp_path / "elsewhere"),
        "_conversation_loader": "x",
        "_services": {},
        "user_email": "ada@example.org",
        "conversation_pinned_claim_ids": ["1"],
    }
    reference = f"@conversation_{things['friendly_id']}_message_{things['identifier']}"
    events = eve.say(own, f"Look at {reference}", **injected)
    assert [entry["status"] for entry in events[0]["references"]] == ["not_found"]
    assert not (tmp_path / "elsewhere").exists()
