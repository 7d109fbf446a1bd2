"""What an administrator does with accounts, and what everybody may know of the server's limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Table, insert

from chat.turns.other_servers import OtherServers
from database.accounts.audit import COMMAND_LINE
from database.accounts.sessions import create_session
from database.accounts.users import new_account, set_disabled
from database.engine.database import Database
from database.schema import attachments, documents, quotas, sessions, usage_days, users
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from endpoints.operations.limits import Limits
from language_models.testing import Hold, Reply, ScriptedChatModel
from settings import SETTINGS_TABLE, Settings
from tests.database.test_many_people import Asked, recorded, scans
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
    assert list(accounts) == [ada.email, grace.email]
    assert (accounts[ada.email]["name"], accounts[ada.email]["is_admin"]) == ("Ada", False)
    assert accounts[grace.email]["is_admin"]
    assert accounts[ada.email]["last_seen_at"]
    assert accounts[ada.email]["disabled_at"] is None


LISTS = ("/users", "/admin/people")
A_FILE = {"media_type": "text/plain", "kind": "text", "size": 3, "created_at": "2026-02-08T10:00:00Z"}
A_DOCUMENT = {"size": 4, "modified_ns": 1, "front_matter": {}, "headings": [], "chunked": 1, "text": ""}
A_SESSION = dict.fromkeys(("created_at", "last_seen_at", "expires_at"), "2999-02-08T10:00:00Z")


def make_people(app: Flask, *names: str, called: str = "") -> None:
    database = app.extensions[EXTENSION].database
    rows = [new_account(f"{name}@example.org", "", called, is_admin=False) for name in names]
    database.write(lambda connection: connection.execute(insert(users), rows).close())


def pages(grace: Person, first: str, between: Callable[[], object] = lambda: None) -> list[list[str]]:
    """The addresses of each page, by the `Link` headers. between: called after the first page."""
    found, following = list[list[str]](), first
    while following:
        answer = grace.get(following)
        assert answer.status_code == 200, answer.get_data(as_text=True)
        found.append([each["user_email"] for each in answer.json])
        following = answer.headers.get("Link", "").partition("<")[2].partition(">")[0]
        if len(found) == 1:
            between()
    return found


@pytest.mark.parametrize("path", LISTS)
def test_the_pages_of_the_list_make_the_whole_while_accounts_are_made(path: str, app: Flask, grace: Person) -> None:
    make_people(app, "ben", "cleo", "dora", "hugo")
    whole = [f"{name}@example.org" for name in ("ben", "cleo", "dora", "grace", "hugo")]
    assert pages(grace, path) == [whole]
    assert pages(grace, f"{path}?limit=2") == [whole[:2], whole[2:4], whole[4:]]
    assert pages(grace, f"{path}?limit=5") == [whole]
    # One before what was shown, and one behind it: those that were there come once each.
    seen = pages(grace, f"{path}?limit=2", lambda: make_people(app, "abel", "emil"))
    assert seen == [["ben@example.org", "cleo@example.org"], ["dora@example.org", "emil@example.org"], whole[3:]]


@pytest.mark.parametrize("path", LISTS)
def test_somebody_is_found_by_a_part_of_the_address_or_the_name(path: str, app: Flask, grace: Person) -> None:
    make_people(app, "ben", called="Benjamin O'Hara")
    make_people(app, "marie", called="Zoë Curie")
    for q, found in (
        ("EN@ex", ["ben@example.org"]),
        ("jamin o'h", ["ben@example.org"]),
        ("zoe", ["marie@example.org"]),
        ("CURIE marie@", ["marie@example.org"]),
        ("marie benjamin", []),
        ("%", []),
        (" ", ["ben@example.org", "grace@example.org", "marie@example.org"]),
    ):
        answer = grace.get(path, query_string={"q": q})
        assert [each["user_email"] for each in answer.json] == found, q
        assert "Link" not in answer.headers
    assert pages(grace, f"{path}?limit=1&q=example.org%20e") == [
        ["ben@example.org"],
        ["grace@example.org"],
        ["marie@example.org"],
    ]


def live_long(database: Database, first: int, people: int) -> None:
    """So many people who have written, stored files and documents and logged in on each of the last 40 days."""
    emails = [f"person-{number:04}@example.org" for number in range(first, first + people)]
    accounts = [new_account(email, "", "", is_admin=False) for email in emails]
    today = datetime.now(UTC)
    days = [(today - timedelta(days=ago)).date().isoformat() for ago in range(40)]
    own: list[tuple[Table, dict[str, Any]]] = [
        *((usage_days, {"day": day, "messages": 1, "tokens": 2}) for day in days),
        *((attachments, {"attachment_id": f"{{}} {day}", "sha256": day, "name": "a", **A_FILE}) for day in days),
        *((documents, {"path": day, "title": "", "version": "", **A_DOCUMENT}) for day in days),
        *((sessions, {"session_hash": f"{{}} {day}", "session_id": f"{{}} {day}", **A_SESSION}) for day in days),
        (quotas, {"messages_a_day": 7}),
    ]
    rows = dict[Table, list[dict[str, Any]]]({users: accounts})
    for table, values in own:
        of_each = ({name: _told(value, email) for name, value in values.items()} for email in emails)
        rows.setdefault(table, []).extend(
            {"user_email": email, **each} for email, each in zip(emails, of_each, strict=True)
        )
    for table, made in rows.items():
        database.write(lambda connection, table=table, made=made: connection.execute(insert(table), made).close())


def _told(value: Any, email: str) -> Any:
    return value.format(email) if isinstance(value, str) else value


def cost_of(database: Database, asked: Asked) -> int:
    """What the engine goes through for these statements: rows of PostgreSQL, steps of SQLite's virtual machine."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with database.reading() as connection:
        if database.backend.file is None:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            explained = [
                connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
                for statement, parameters in asked
                if statement.lstrip().startswith(("SELECT", "WITH"))
            ]
            return sum(rows_of(plan[0]["Plan"]) for plan in explained)
        raw: Any = connection.connection.driver_connection
        raw.set_progress_handler(count, 1)
        try:
            for statement, parameters in asked:
                connection.exec_driver_sql(statement, parameters).fetchall()
        finally:
            raw.set_progress_handler(None, 0)
    return steps


def rows_of(node: dict[str, Any]) -> int:
    """The rows that a step of a plan and those below it gave or passed over."""
    own = node["Actual Rows"] + sum(count for name, count in node.items() if name.startswith("Rows Removed"))
    return int(own * node["Actual Loops"]) + sum(rows_of(each) for each in node.get("Plans", ()))


@pytest.mark.parametrize("path", LISTS)
def test_a_page_costs_the_same_among_many_people(path: str, app: Flask, grace: Person) -> None:
    database = app.extensions[EXTENSION].database
    costs, counts = [], []
    for first, people in ((0, 50), (50, 250)):
        live_long(database, first, people)
        database.write(lambda connection: connection.exec_driver_sql("ANALYZE").close())
        grace.get(f"{path}?limit=5")  # what is held in memory afterwards is read once
        with recorded() as asked:
            answer = grace.get(f"{path}?limit=5")
        assert len(answer.json) == 5
        assert scans(database, asked) == []
        counts.append(len(asked))
        costs.append(cost_of(database, asked))
    assert counts[1] == counts[0]
    assert costs[1] <= costs[0] * 1.1, costs


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "query",
    [{"cursor": "nonsense"}, {"cursor": ""}, {"cursor": "AAAA"}, {"cursor": "YQ==="}, {"limit": 0}, {"limit": 501}],
)
def test_a_page_that_there_is_not_is_refused(path: str, query: dict[str, object], grace: Person) -> None:
    assert refused(grace.get(path, query_string=query)) == (400, "bad_request")


def test_a_disabled_account_is_out_at_once_and_in_again_when_enabled(app: Flask, grace: Person, ada: Person) -> None:
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    credentials = {"email": ada.email, "password": PASSWORD}
    assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    (account,) = grace.get("/users", query_string={"q": ada.email}).json
    assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    assert account["disabled_at"]
    assert grace.get("/users", query_string={"q": ada.email}).json == [account]
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


def test_a_server_stops_the_answers_of_an_account_that_a_command_disabled(
    app: Flask, ada: Person, grace: Person, hold: Hold
) -> None:
    running = ada.post(f"/send_message/{ada.new_conversation()}", json={"messageText": "Go on"}, buffered=False)
    other = grace.post(f"/send_message/{grace.new_conversation()}", json={"messageText": "Go on"}, buffered=False)
    assert hold.wait_until_reached()
    state = app.extensions[EXTENSION]
    state.turns.stop_disabled()
    # As a process of its own does it, which knows nothing of this one.
    set_disabled(database=state.database, user_email=ada.email, disabled=True, by=COMMAND_LINE)
    state.turns.stop_disabled()
    assert events_of(running)[-1]["answer_status"] == "cancelled"
    hold.release()
    assert events_of(other)[-1]["answer_status"] == "complete"


def test_a_server_that_looks_for_disabled_accounts_asks_no_other_one_to_stop(
    app: Flask, ada: Person, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = ada.post(f"/send_message/{ada.new_conversation()}", json={"messageText": "Go on"}, buffered=False)
    assert hold.wait_until_reached()
    state, asked = app.extensions[EXTENSION], list[str]()
    monkeypatch.setattr(OtherServers, "ask_to_stop", lambda _others, *, user_email: asked.append(user_email))
    set_disabled(database=state.database, user_email=ada.email, disabled=True, by=COMMAND_LINE)
    state.turns.stop_disabled()
    assert events_of(running)[-1]["answer_status"] == "cancelled"
    assert asked == []
    state.turns.cancel_all(user_email=ada.email)
    assert asked == [ada.email]


def test_nobody_shuts_themself_out(grace: Person) -> None:
    assert refused(grace.put(f"/users/{grace.email.upper()}", json={"disabled": True})) == (400, "bad_request")
    assert grace.put("/users/nobody@example.org", json={"disabled": True}).status_code == 404
    assert grace.get("/get_user_info").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/users", None),
        ("GET", "/users?limit=1&q=a", None),
        ("GET", "/admin/people?limit=1&q=a", None),
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
