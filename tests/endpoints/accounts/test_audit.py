"""The audit log: what administrators did, and nothing secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import orjson
import pytest
from flask import Flask
from sqlalchemy import update

from database.accounts.audit import COMMAND_LINE, Act, list_acts, purge_acts
from database.accounts.users import create_user, get_user
from database.changes import changes_after
from database.engine.database import Database
from database.jobs import Progress, add_job, claim_job, store_failure, store_progress
from database.schema import audit_log
from endpoints.administration.models import AuditPage, Jobs, ServerHealth
from endpoints.http.languages import LANGUAGES
from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import PASSWORD, Person, refused, told
from tests.live_server import ROOT

pytestmark = pytest.mark.contract


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


@pytest.fixture
def store(app: Flask) -> Database:
    """The store behind the server."""
    database: Database = app.extensions[EXTENSION].database
    return database


def log_of(grace: Person, **query: object) -> AuditPage:
    return told(grace.get("/admin/audit", query_string=query), AuditPage)


def test_each_act_says_who_did_what_to_whom_and_from_where(grace: Person, ada: Person) -> None:
    grace.post("/users", json={"email": "bob@example.org", "password": PASSWORD})
    link = grace.post(f"/users/{ada.email}/password_link").json["path"]
    grace.put(f"/admin/people/{ada.email}/quota", json={"messages_a_day": 3})
    grace.put(f"/users/{ada.email}", json={"disabled": True})
    grace.put(f"/users/{ada.email}", json={"disabled": False})
    grace.delete("/users/bob@example.org")
    acts = log_of(grace).acts[::-1]
    assert [(each.act, each.subject) for each in acts] == [
        ("account_made", "bob@example.org"),
        ("password_link_made", ada.email),
        ("quota_changed", ada.email),
        ("account_disabled", ada.email),
        ("account_enabled", ada.email),
        ("account_deleted", "bob@example.org"),
    ]
    assert {(each.actor_email, each.door, each.address) for each in acts} == {(grace.email, "page", "127.0.0.1")}
    assert acts[2].details == {"messages_a_day": [None, 3]}
    everything = grace.get("/admin/audit").get_data(as_text=True)
    assert link.rsplit("/", 1)[1] not in everything
    assert PASSWORD not in everything


def test_each_act_is_told_to_the_pages_of_administrators_alone_and_a_quota_to_whose_it_is(
    store: Database, grace: Person, ada: Person, person: Callable[..., Person]
) -> None:
    other = person("other@example.org", is_admin=True)
    grace.put(f"/admin/people/{ada.email}/quota", json={"messages_a_day": 3})
    grace.put(f"/admin/people/{ada.email}/quota", json={"messages_a_day": 3})
    grace.put(f"/users/{ada.email}", json={"disabled": True})

    def heard(email: str) -> list[tuple[str, str]]:
        changes = changes_after(database=store, user_email=email, after=0, most=100)
        return [(each.kind, each.id) for each in changes if each.kind in ("administration", "settings")]

    for email in (grace.email, other.email):
        assert heard(email)[-2:] == [("administration", "quota_changed"), ("administration", "account_disabled")]
    assert heard(ada.email) == [("settings", "quota")]


def test_who_is_made_an_administrator_or_a_member_is_told(
    store: Database, grace: Person, person: Callable[..., Person]
) -> None:
    email = person("other@example.org").email
    for role, heard in (("administrator", 1), ("member", 2)):
        assert grace.put(f"/users/{email}/role", json={"role": role}).status_code == 200
        for each in (grace.email, email):
            changes = changes_after(database=store, user_email=each, after=0, most=100)
            told = [change.id for change in changes if change.kind == "administration"]
            assert told == ["role_changed"] * heard, (role, each)


def test_the_log_of_an_erased_account_stays_and_names_it_by_its_id(
    app: Flask, store: Database, grace: Person, ada: Person
) -> None:
    user_id = get_user(database=store, user_email=ada.email).user_id
    grace.put(f"/users/{ada.email}", json={"disabled": True})
    grace.delete(f"/users/{ada.email}")
    assert app.extensions[EXTENSION].account_erasure.erase_closed() == 1
    acts = [(each.act, each.subject, each.actor_email) for each in log_of(grace).acts]
    assert acts == [("account_deleted", user_id, grace.email), ("account_disabled", user_id, grace.email)]
    assert ada.email not in grace.get("/admin/audit").get_data(as_text=True)


def test_a_refused_act_and_one_that_changes_nothing_leave_no_trace(grace: Person, ada: Person) -> None:
    grace.post("/users", json={"email": ada.email, "password": PASSWORD})
    grace.put("/users/nobody@example.org", json={"disabled": True})
    grace.put(f"/admin/people/{ada.email}/quota", json={})
    grace.put(f"/users/{ada.email}", json={"disabled": False})
    ada.put(f"/users/{grace.email}", json={"disabled": True})
    assert log_of(grace).acts == []
    for _ in range(2):
        assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    assert [each.act for each in log_of(grace).acts] == ["account_disabled"]


def test_the_log_is_read_page_by_page_and_filtered(grace: Person, ada: Person) -> None:
    for number in range(1, 6):
        grace.put(f"/admin/people/{ada.email}/quota", json={"messages_a_day": number})
    grace.put(f"/users/{ada.email}", json={"disabled": True})
    first = log_of(grace, limit=4)
    rest = log_of(grace, limit=4, before=first.next)
    assert (len(first.acts), len(rest.acts), rest.next) == (4, 2, None)
    assert [each.audit_id for each in (*first.acts, *rest.acts)] == sorted(
        (each.audit_id for each in log_of(grace).acts), reverse=True
    )
    assert [each.act for each in log_of(grace, act="account_disabled").acts] == ["account_disabled"]
    assert log_of(grace, subject=grace.email).acts == []
    assert len(log_of(grace, subject=ada.email.upper()).acts) == 6


def test_an_act_that_there_is_not_is_refused_with_those_that_there_are(grace: Person) -> None:
    refused = grace.get("/admin/audit", query_string={"act": "account_mde"})
    assert (refused.status_code, refused.json["code"]) == (400, "bad_request")
    (told,) = refused.json["details"]
    assert (told["loc"], "account_made" in told["msg"]) == (["act"], True)
    assert refused.json["message"] == f"Not valid: act. act: {told['msg']}."
    assert log_of(grace, act="").acts == log_of(grace).acts


def test_acts_of_the_command_line_and_of_tokens_say_so(app: Flask, grace: Person, store: Database) -> None:
    create_user(database=store, user_email="bob@example.org", password=PASSWORD, by=COMMAND_LINE)
    token = grace.post("/api_tokens", json={"name": "script"}).json["token"]
    program = {"Authorization": f"Bearer {token}"}
    app.test_client().put("/users/bob@example.org", json={"disabled": True}, headers=program)
    assert [(each.actor_email, each.door) for each in log_of(grace).acts] == [
        (grace.email, "token"),
        ("", "command line"),
    ]
    listed = app.test_cli_runner().invoke(args=["users", "audit", "--json", "--limit", "1"])
    assert orjson.loads(listed.output)["act"] == "account_disabled"
    shown = app.test_cli_runner().invoke(args=["users", "audit", "--of", "bob@example.org"]).output
    assert [line.split("  ")[1] for line in shown.splitlines()] == [grace.email, "command line"]


def test_acts_are_kept_for_as_long_as_the_operator_says(grace: Person, ada: Person, store: Database) -> None:
    grace.put(f"/users/{ada.email}", json={"disabled": True})
    long_ago = update(audit_log).values(at="2020-01-01T00:00:00.000000Z")
    store.write(lambda connection: connection.execute(long_ago).rowcount)
    grace.put(f"/users/{ada.email}", json={"disabled": False})
    assert purge_acts(database=store, days=400) == 1
    assert [each["act"] for each in list_acts(database=store, limit=10)] == ["account_enabled"]


def test_jobs_are_listed_with_what_failed_first_and_tried_again(grace: Person, ada: Person, store: Database) -> None:
    add_job(database=store, kind="next", job_id="next")
    for kind, user_email in (("fine", None), ("broken", None), ("private", ada.email), ("again", None), ("mine", None)):
        job_id = add_job(database=store, kind=kind, user_email=user_email, job_id=kind)
        job = claim_job(database=store, kinds=[kind], owner="me")
        assert job is not None
        if kind == "fine":
            store_progress(
                database=store, job=job, owner="me", progress=Progress(finished=True, done=3, total=3), repeat_after=60
            )
        elif kind == "again":
            store_failure(database=store, job=job, owner="me", error="The disk is full.", retry_after=60)
        elif kind != "mine":
            store_failure(
                database=store, job=job, owner="me", error="The disk of Ada's diary is full.", retry_after=None
            )
        assert job_id == kind
    found = {each.kind: each for each in told(grace.get("/admin/jobs"), Jobs).jobs}
    assert set(list(found)[:2]) == {"broken", "private"}
    waits = {"next": "turn", "fine": "time", "again": "retry", "mine": None, "broken": None, "private": None}
    assert {kind: each.waits_for for kind, each in found.items()} == waits
    assert [kind for kind, each in found.items() if each.running] == ["mine"]
    assert (found["broken"].error, found["private"].error) == ("The disk of Ada's diary is full.", "")
    assert grace.post("/admin/jobs/broken/retry").status_code == 200
    assert refused(grace.post("/admin/jobs/fine/retry")) == (404, "job_not_found")
    assert grace.post("/admin/jobs/private/retry").status_code == 200
    acts = [
        (act["act"], act["actor_email"], act["subject"], act["details"])
        for act in grace.get("/admin/audit").json["acts"]
    ]
    assert acts == [
        ("job_retried", grace.email, ada.email, {"kind": "private"}),
        ("job_retried", grace.email, "", {"kind": "broken"}),
    ]
    again = {each.kind: each for each in told(grace.get("/admin/jobs"), Jobs).jobs}["broken"]
    assert (again.status, again.error, again.attempts) == ("waiting", "", 0)


def test_the_health_of_the_server_names_its_parts(grace: Person, store: Database) -> None:
    health = told(grace.get("/admin/health"), ServerHealth)
    assert health.ready.store == "ok"
    assert health.engine.split()[0] == ("postgresql" if store.backend.is_shared else "sqlite")
    assert 0 < health.disk.free <= health.disk.total
    assert health.turns_running == 0


@pytest.mark.parametrize("path", ["/admin/audit", "/admin/people", "/admin/jobs", "/admin/health"])
def test_others_are_refused(ada: Person, path: str) -> None:
    assert refused(ada.get(path)) == (403, "forbidden")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_words_for_each_act(language: str) -> None:
    words = (ROOT / "interface/static/page/strings" / language / "administration.js").read_text(encoding="utf-8")
    acts = words[words.index("acts: {") :]
    assert re.findall(r"^ +(\w+): '", acts, re.MULTILINE) == list(get_args(Act))
