"""People join MCP servers of their own: theirs alone, with their consent, and whatever such a server does."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask import Flask

from chat.tools.foreign import personal
from chat.tools.foreign.configuration import ForeignServer, ForeignTool, keep_servers
from chat.tools.registry import Tool
from database.accounts.api_tokens import create_token
from database.connection import open_store
from database.conversations.consent import allow_tool
from database.conversations.repository import get_conversation
from database.engine.errors import StorageFailedError
from database.maintenance.account_erasure import close_account
from endpoints.http.scope import EXTENSION
from endpoints.tool_servers.models import ToolServerItem
from language_models.file_lock import locked
from language_models.testing import Reply, ScriptedChatModel, calling
from settings import Settings
from tests.chat.tools.foreign.rude_http import RudeServer, serving
from tests.endpoints.conftest import Person, events_of, refused, told
from tests.live_server import LiveServer, new_account

SECRET = "swordfish-4711"
ADDRESS = "/api/tool_servers"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Tool servers may be on this machine."""
    return settings.model_copy(update={"tool_servers": "private"})


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a busy machine takes for a call is no matter of a test."""
    monkeypatch.setattr(personal, "_SECONDS", 300.0)
    monkeypatch.setattr(personal, "_PATIENCE", 300.0)


@pytest.fixture
def replies() -> list[Reply]:
    """What the model says, one after the other."""
    return []


@pytest.fixture
def main_model(replies: list[Reply]) -> ScriptedChatModel:
    """Calls tools, and says what it is told to."""
    return ScriptedChatModel(replies=lambda _prompt: replies.pop(0), calls_tools=True)


@pytest.fixture(scope="module")
def rude() -> Iterator[RudeServer]:
    """A server that misbehaves."""
    with serving() as server:
        yield server


def joined(person: Person, url: str, *, name: str = "rude", is_tried: bool = True, **more: Any) -> dict[str, Any]:
    """A server that the person has joined."""
    added = person.post(ADDRESS, json={"name": name, "url": url, **more})
    item = told(added, ToolServerItem, status=201)
    if is_tried:
        item = told(person.post(f"{ADDRESS}/{name}/try"), ToolServerItem)
    return item.model_dump()


def asks(tool: str, **arguments: Any) -> Reply:
    return Reply(calling((tool, orjson.dumps(arguments).decode())), finish_reason="tool_calls")


def decide(person: Person, how: str, **body: Any) -> None:
    """Decide on the newest open proposal, and wait until the answer has gone on."""
    proposal = person.get("/api/proposals").json[0]
    assert person.post(f"/api/proposals/{proposal['proposal_id']}/{how}", json=body).status_code == 200
    events_of(person.get(f"/stream/{proposal['source']['message_id']}"))


def last_result(model: ScriptedChatModel) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(model.prompts[-1][-1]["content"])
    return found


def test_a_person_joins_a_real_server_for_their_own_turns_alone_and_its_key_is_never_shown(
    ada: Person,
    eve: Person,
    replies: list[Reply],
    main_model: ScriptedChatModel,
    shared_server: LiveServer,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    email = "joined@example.org"
    new_account(shared_server, email).create_conversation()
    database = open_store(shared_server.users_dir)
    key = create_token(database=database, user_email=email, name="program", read_only=True)[1]
    server = joined(ada, f"{shared_server.url}/mcp", name="other", token=key)
    assert (server["state"], server["reason"], server["headers"]) == ("ready", None, ["Authorization"])
    tool = "other__list_conversations"
    assert tool in [each["name"] for each in server["tools"]]
    assert tool in [each["name"] for each in ada.get("/api/tools").json]
    assert refused(ada.post(f"/api/tools/{tool}", json={})) == (400, "consent_needed")

    replies += [asks(tool, limit=5), Reply("One conversation.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "How many conversations are there?")
    assert [each["payload"]["tool"] for each in ada.get("/api/proposals").json] == [tool]
    decide(ada, "accept", scope="conversation")
    answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[1]
    assert (answer["text"], answer["parts"][0]["result"]["structured"]["count"]) == ("One conversation.", 1)

    assert tool not in [each["name"] for each in eve.get("/api/tools").json]
    assert refused(eve.post(f"/api/tools/{tool}", json={})) == (404, "tool_not_found")
    assert eve.get(ADDRESS).json["servers"] == []
    replies += [asks(tool), Reply("There is no such tool.")]
    eve.say(eve.new_conversation(), "How many conversations are there?")
    assert last_result(main_model)["error"]["code"] == "tool_not_found"
    figures = eve.get("/metrics").text
    assert 'anaphora_tool_calls_total{tool="personal"}' in figures
    assert "other__" not in figures

    shown = [ada.get(path).get_data(as_text=True) for path in (ADDRESS, "/api/tools", "/api/proposals", "/settings")]
    formats = [
        ada.get(f"/export_conversation/{conversation_id}?format={each}") for each in ("json", "markdown", "html")
    ]
    shown += [each.get_data(as_text=True) for each in formats]
    (file,) = (settings.data_dir / "mcp_servers_of_people").glob("*.json")
    assert key in file.read_text()
    assert key not in "".join(shown) + caplog.text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("tool", ["die", "huge", "nonsense", "wrong", "away"])
def test_a_server_that_misbehaves_fails_its_call_alone_and_the_turn_goes_on(
    tool: str, ada: Person, replies: list[Reply], main_model: ScriptedChatModel, rude: RudeServer
) -> None:
    joined(ada, rude.url)
    replies += [asks(f"rude__{tool}"), Reply("It did not work.")]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Call it, please")
    decide(ada, "accept")
    assert last_result(main_model)["error"]["code"] == "foreign_server_failed"
    answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[1]
    assert (answer["text"], answer["parts"][0]["status"]) == ("It did not work.", "failed")
    (server,) = ada.get(ADDRESS).json["servers"]
    assert (server["state"], server["reason"]) == ("failed", "failed")
    assert ada.post(f"{ADDRESS}/rude/try").json["state"] == "ready"


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/mcp/denied", "unauthorized"), ("/mcp/silent", "timeout"), (":1/mcp", "unreachable")],
)
def test_trying_a_server_says_why_it_does_not_answer(
    path: str, reason: str, ada: Person, rude: RudeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason == "timeout":
        monkeypatch.setattr(personal, "_SECONDS", 0.5)
    address = f":{rude.server_address[1]}{path}" if path.startswith("/") else path
    server = joined(ada, f"http://127.0.0.1{address}")
    assert (server["state"], server["reason"], server["tools"]) == ("failed", reason, [])
    assert server["checked_at"]


def test_addresses_of_this_network_are_refused_unless_the_operator_allows_them(
    ada: Person, app: Flask, settings: Settings, rude: RudeServer
) -> None:
    state = app.extensions[EXTENSION]
    joined(ada, rude.url)
    strict = personal.PersonalServers(settings.data_dir, reach="public", database=state.database)
    object.__setattr__(state, "tool_servers", strict)
    asked = len(rude.hosts)
    for url in ("http://example.org/mcp", "https://127.0.0.1/mcp", "https://169.254.169.254/latest/meta-data"):
        assert refused(ada.post(ADDRESS, json={"name": "own", "url": url})) == (400, "address_refused")
    # A name is refused once it is resolved; an address that was allowed before, when it is asked.
    for name, url in (("own", "https://localhost/mcp"), ("rude", None)):
        if url is not None:
            ada.post(ADDRESS, json={"name": name, "url": url})
        assert ada.post(f"{ADDRESS}/{name}/try").json["reason"] == "address_refused"
    assert len(rude.hosts) == asked


def test_where_people_may_join_none_they_can_only_leave_what_they_had(
    ada: Person, app: Flask, settings: Settings, rude: RudeServer
) -> None:
    joined(ada, rude.url)
    state = app.extensions[EXTENSION]
    off = personal.PersonalServers(settings.data_dir, reach=None, database=state.database)
    object.__setattr__(state, "tool_servers", off)
    assert ada.get(ADDRESS).json["allowed"] == "off"
    assert not any(each["name"].startswith("rude__") for each in ada.get("/api/tools").json)
    tries: list[tuple[str, str, Any]] = [
        ("POST", ADDRESS, {"name": "own", "url": rude.url}),
        ("PATCH", f"{ADDRESS}/rude", {"is_on": True}),
        ("POST", f"{ADDRESS}/rude/try", None),
    ]
    assert [refused(ada.request(method, path, json=body)) for method, path, body in tries] == [(403, "forbidden")] * 3
    assert ada.delete(f"{ADDRESS}/rude").status_code == 200
    assert ada.get(ADDRESS).json["servers"] == []


def test_what_is_no_server_is_refused_and_its_key_is_not_quoted(
    ada: Person, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    good = {"name": "own", "url": "https://example.org/mcp"}
    wrong: list[dict[str, Any]] = [
        {"name": "Own"},
        {"name": "a__b"},
        {"name": "../own"},
        {"url": "ftp://example.org/"},
        {"url": f"https://me:{SECRET}@example.org/"},
        {"url": f"https://example.org:{SECRET}/"},
        {"url": "https://example.org/" + "x" * 2_000},
        {"token": f"{SECRET}\r\nHost: evil"},
        {"token": f"{SECRET}\u2028"},
        {"headers": {"X-Key": f"{SECRET}\n"}},
        {"headers": {"X Key": SECRET}},
        {"headers": {"Host": SECRET}},
        {"headers": {"Content-Length": SECRET}},
        {"headers": {f"X-{number}": SECRET for number in range(11)}},
    ]
    for each in wrong:
        answer = ada.post(ADDRESS, json={**good, **each})
        assert answer.status_code == 400, each
        assert SECRET not in answer.get_data(as_text=True)
    keep_servers(settings.data_dir, (ForeignServer(name="tickets", url="https://example.org/mcp"),))
    assert refused(ada.post(ADDRESS, json={**good, "name": "tickets"})) == (409, "conflict")
    names = [f"own-{number}" for number in range(personal.MOST_SERVERS)]
    assert [ada.post(ADDRESS, json={**good, "name": name}).status_code for name in names] == [201] * len(names)
    assert refused(ada.post(ADDRESS, json={**good, "name": names[0]})) == (409, "conflict")
    assert refused(ada.post(ADDRESS, json={**good, "name": "more"})) == (400, "bad_request")
    assert SECRET not in caplog.text


def test_a_new_address_has_neither_the_key_nor_the_consent_of_the_old_one(
    ada: Person, replies: list[Reply], rude: RudeServer, app: Flask, settings: Settings
) -> None:
    joined(ada, rude.url, token=SECRET, headers={"X-Key": "another"})
    conversation_id = ada.new_conversation()

    def allow() -> None:
        replies.extend([asks("rude__headers"), Reply("Done.")])
        ada.say(conversation_id, "Call it, please")
        decide(ada, "accept", scope="conversation")
        assert allowed() == ["rude__headers"]

    def allowed() -> list[str]:
        found: list[str] = ada.get(f"/get_conversation_settings/{conversation_id}").json.get("allowed_tools", [])
        return found

    allow()
    # Only the address changes hands: what is set for the old one is not sent to the new one.
    moved = told(ada.request("PATCH", f"{ADDRESS}/rude", json={"url": f"{rude.url}&more=1"}), ToolServerItem)
    assert (moved.headers, moved.tools, moved.state, allowed()) == ([], [], "untried", [])
    assert ada.post(f"{ADDRESS}/rude/try").json["state"] == "ready"
    allow()
    # A tool that says something else than when it was allowed asks again.
    servers = app.extensions[EXTENSION].tool_servers
    known = servers.get(ada.email, "rude")
    changed = ForeignTool(name="headers", description="Reads headers.", parameters={"type": "object"})
    kept = tuple(changed if tool.name == "headers" else tool for tool in known.server.tools)
    servers._keep(ada.email, [known.model_copy(update={"server": known.server.model_copy(update={"tools": kept})})])
    assert ada.post(f"{ADDRESS}/rude/try").json["state"] == "ready"
    assert allowed() == []
    allow()
    assert ada.request("PATCH", f"{ADDRESS}/rude", json={"is_on": False}).json["is_on"] is False
    assert not any(each["name"].startswith("rude__") for each in ada.get("/api/tools").json)
    assert ada.delete(f"{ADDRESS}/rude").status_code == 200
    assert (allowed(), refused(ada.delete(f"{ADDRESS}/rude"))) == ([], (404, "tool_server_not_found"))
    assert ada.delete(f"{ADDRESS}/rude").json["message"] == "There is no such tool server."
    assert SECRET not in "".join(file.read_text() for file in settings.data_dir.glob("mcp_servers_of_people/*"))


@pytest.mark.parametrize("how", ["change", "probe", "remove"])
def test_consent_is_withdrawn_before_the_tool_is_another_one(
    how: str, ada: Person, app: Flask, rude: RudeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined(ada, rude.url)
    servers = app.extensions[EXTENSION].tool_servers
    known = servers.get(ada.email, "rude")
    if how == "probe":
        changed = tuple(tool.model_copy(update={"description": "Once."}) for tool in known.server.tools)
        known = known.model_copy(update={"server": known.server.model_copy(update={"tools": changed})})
        servers._keep(ada.email, [known])
    own = {"database": app.extensions[EXTENSION].database, "user_email": ada.email}
    conversation_id = ada.new_conversation()
    allow_tool(**own, conversation_id=conversation_id, tool="rude__headers")

    def fails(_file: Path, _content: str) -> None:
        assert "allowed_tools" not in get_conversation(**own, conversation_id=conversation_id).settings
        raise OSError("stopped when the consent was withdrawn")

    monkeypatch.setattr(personal, "write_private", fails)
    more = {"url": f"{rude.url}&more=1"} if how == "change" else {}
    with pytest.raises(StorageFailedError):
        getattr(servers, how)(ada.email, "rude", **more)
    assert servers.get(ada.email, "rude").server == known.server


def test_no_tool_of_a_person_stands_in_the_place_of_another_one(ada: Person, app: Flask, rude: RudeServer) -> None:
    joined(ada, rude.url)
    state = app.extensions[EXTENSION]
    ours = Tool(name="rude__headers", description="Ours.", parameters={}, run=lambda _context: {"success": True})
    state.tools.register(ours)
    (found,) = (each for each in ada.get("/api/tools").json if each["name"] == "rude__headers")
    assert found["description"] == "Ours."
    assert ada.post("/api/tools/rude__headers", json={}).json == {"success": True}


def test_so_many_calls_of_one_person_run_at_once_and_the_next_one_is_refused(
    ada: Person, eve: Person, app: Flask, rude: RudeServer
) -> None:
    for person in (ada, eve):
        joined(person, rude.url, is_tried=False)
    servers = app.extensions[EXTENSION].tool_servers
    with ExitStack() as running:
        for _ in range(personal.CALLS_AT_ONCE):
            running.enter_context(servers._one_call(ada.email))
        too_many = ada.post(f"{ADDRESS}/rude/try")
        assert (refused(too_many), too_many.headers["Retry-After"]) == ((429, "too_many_calls"), "1")
        assert eve.post(f"{ADDRESS}/rude/try").json["state"] == "ready"
    assert ada.post(f"{ADDRESS}/rude/try").json["state"] == "ready"


def test_a_malformed_file_is_no_end_of_the_server_and_an_erased_account_leaves_none(
    ada: Person, app: Flask, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    joined(ada, "https://example.org/mcp", is_tried=False, token=SECRET)
    (file,) = Path(settings.data_dir, "mcp_servers_of_people").glob("*.json")
    file.write_text(file.read_text().replace('"is_on": true', f'"is_on": "{SECRET}"'))
    assert ada.get(ADDRESS).json["servers"] == []
    assert "is malformed" in caplog.text
    assert SECRET not in caplog.text
    state = app.extensions[EXTENSION]
    close_account(database=state.database, user_email=ada.email)
    state.account_erasure.erase_closed()
    assert not file.exists()


def test_what_several_processes_change_at_once_is_all_kept(app: Flask, settings: Settings) -> None:
    database = app.extensions[EXTENSION].database
    processes = [personal.PersonalServers(settings.data_dir, reach="public", database=database) for _ in range(4)]
    names = [f"own{number}" for number in range(personal.MOST_SERVERS)]

    def add(number: int) -> None:
        processes[number % len(processes)].add(
            "ada@example.org", name=names[number], url=f"https://example.org/{number}", headers={}
        )

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(add, range(len(names))))
    for process in processes:
        assert [each.name for each in process.servers_of("ada@example.org")] == names


def test_a_change_that_waits_for_too_long_says_so(
    app: Flask, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(personal, "_PATIENCE", 0.02)
    own = personal.PersonalServers(settings.data_dir, reach="public", database=app.extensions[EXTENSION].database)
    folder = settings.data_dir / "mcp_servers_of_people"
    folder.mkdir(exist_ok=True)
    with locked(folder / ".lock", while_waiting=lambda: None), pytest.raises(StorageFailedError):
        own.add("ada@example.org", name="own", url="https://example.org/", headers={})
    assert own.servers_of("ada@example.org") == ()
