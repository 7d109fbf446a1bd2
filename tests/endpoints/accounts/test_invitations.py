"""An administrator invites people by links, of which each makes the accounts that it is for and no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from database.accounts.throttle import Limit
from database.connection import open_store
from database.engine import clock
from endpoints.http.scope import EXTENSION
from settings import Settings
from tests.endpoints.accounts.test_openid_login import (
    BROWSER,
    EMAIL,
    is_refused,
    more,
    provider,
    settings,
    shared_provider,
    who,
    with_settings,
)
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person, refused
from tests.openid_provider import OLD_FASHIONED, Provider

__all__ = ["more", "provider", "settings", "shared_provider"]

pytestmark = [*OLD_FASHIONED]
BOB = "bob@example.org"


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


def invite(administrator: Person, **how: Any) -> str:
    """The path of a new invitation."""
    answer = administrator.post("/invitations", json=how)
    assert answer.status_code == 201, answer.get_data(as_text=True)
    return str(answer.json["path"])


def accept(client: FlaskClient, path: str, email: str = BOB, name: str = "Bob") -> TestResponse:
    return client.post(path, json={"email": email, "password": PASSWORD, "name": name})


def log_in_invited(client: FlaskClient, provider: Provider, subject: str, path: str) -> TestResponse:
    """Accept an invitation by the provider instead of a password."""
    token = path.rpartition("/")[2]
    address = client.get("/oidc/start", query_string={"invitation": token}, headers=BROWSER).headers["Location"]
    return client.get(provider.answer_for(address, subject), headers=BROWSER)


@pytest.mark.contract
def test_an_invitation_makes_one_account_and_its_receiver_is_in(app: Flask, grace: Person) -> None:
    path = invite(grace, email=BOB.upper())
    client = app.test_client()
    page = client.get(path, headers=BROWSER)
    assert (page.status_code, page.headers["Referrer-Policy"]) == (200, "no-referrer")
    assert BOB in page.get_data(as_text=True)
    assert accept(client, path).status_code == 200
    assert who(client) == {"user_email": BOB, "name": "Bob", "is_admin": False, "language": None}
    assert refused(accept(app.test_client(), path, "eve@example.org")) == (404, "invitation_not_found")
    assert grace.get("/invitations").json == []


def test_a_form_is_redirected_and_shown_again_with_what_is_wrong(app: Flask, grace: Person) -> None:
    path = invite(grace)
    client = app.test_client()
    form = {"email": "no address", "password": "short"}
    wrong = client.post(path, data=form, headers={"Accept-Language": "de", **BROWSER, **OWN_PAGE})
    assert (wrong.status_code, wrong.headers["Referrer-Policy"]) == (400, "no-referrer")
    assert "Das ist keine E-Mail-Adresse." in wrong.get_data(as_text=True)
    taken = client.post(path, data={"email": grace.email, "password": PASSWORD}, headers={**BROWSER, **OWN_PAGE})
    assert taken.status_code == 409
    assert "There is an account with this e-mail address already." in taken.get_data(as_text=True)
    right = client.post(path, data={"email": BOB, "password": PASSWORD}, headers={**BROWSER, **OWN_PAGE})
    assert (right.status_code, right.headers["Location"]) == (303, "/interface/?welcome=1")


def test_an_invitation_for_an_address_is_nobody_elses(app: Flask, grace: Person) -> None:
    path = invite(grace, email=BOB, role="administrator")
    assert refused(accept(app.test_client(), path, "eve@example.org")) == (400, "bad_request")
    client = app.test_client()
    assert accept(client, path).status_code == 200
    assert (who(client) or {})["is_admin"] is True


def test_used_withdrawn_expired_and_unknown_invitations_read_alike(
    app: Flask, grace: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, withdrawn = invite(grace), invite(grace)
    assert accept(app.test_client(), used).status_code == 200
    invitation_id = grace.get("/invitations").json[0]["invitation_id"]
    assert grace.delete(f"/invitations/{invitation_id}").status_code == 200
    assert refused(grace.delete(f"/invitations/{invitation_id}")) == (404, "invitation_not_found")
    expired = invite(grace, days=2)
    answers = [accept(app.test_client(), path, "eve@example.org") for path in (used, withdrawn, "/invite/nonsense")]
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=49))
    answers.append(accept(app.test_client(), expired, "eve@example.org"))
    told = {(answer.status_code, answer.json["code"], answer.json["message"]) for answer in answers}
    assert len(told) == 1
    assert told.pop()[:2] == (404, "invitation_not_found")
    assert "eve@example.org" not in {each["user_email"] for each in grace.get("/users").json}


@pytest.mark.contract
def test_of_many_who_use_an_invitation_at_once_as_many_get_in_as_it_is_for(app: Flask, grace: Person) -> None:
    path = invite(grace, uses=2)
    statuses: list[int] = []

    def use(number: int) -> None:
        statuses.append(accept(app.test_client(), path, f"guest{number}@example.org").status_code)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 200, 404, 404]
    assert len(grace.get("/users").json) == 3


def test_administrators_see_what_is_open_and_never_the_link(app: Flask, grace: Person, settings: Settings) -> None:
    first = invite(grace, uses=3, days=30)
    assert accept(app.test_client(), first).status_code == 200
    secret = first.rpartition("/")[2]
    answer = grace.get("/invitations")
    assert [(each["uses_left"], each["invited_by"], each["role"]) for each in answer.json] == [
        (2, grace.email, "member")
    ]
    assert secret not in answer.get_data(as_text=True)
    open_store(settings.users_dir).write(lambda connection: None)
    stored = [path.read_bytes() for path in Path(settings.users_dir).iterdir() if path.is_file()]
    assert not any(secret.encode() in content for content in stored)


def test_what_an_administrator_offered_ends_with_their_rights(
    app: Flask, grace: Person, person: Callable[..., Person]
) -> None:
    linus = person("linus@example.org", is_admin=True)
    path, other = invite(linus, role="administrator"), invite(linus)
    assert grace.put(f"/users/{linus.email}/role", json={"role": "member"}).status_code == 200
    assert accept(app.test_client(), path).status_code == 404
    assert grace.get("/invitations").json == []
    assert grace.put(f"/users/{linus.email}/role", json={"role": "administrator"}).status_code == 200
    assert grace.delete(f"/users/{linus.email}").status_code == 200
    assert accept(app.test_client(), other).status_code == 404


def test_nobody_is_invited_who_has_an_account(app: Flask, grace: Person, ada: Person) -> None:
    assert refused(grace.post("/invitations", json={"email": ada.email.upper()})) == (409, "conflict")
    assert grace.get("/invitations").json == []
    told_there = app.test_cli_runner().invoke(args=["users", "invite", "--email", ada.email])
    assert told_there.output == "Error: There is an account with this e-mail address already.\n"


def test_an_invitation_goes_with_the_account_that_it_was_for(
    app: Flask, grace: Person, person: Callable[..., Person]
) -> None:
    path, other = invite(grace, email="ada@example.org"), invite(grace, email=BOB)
    ada = person("ada@example.org")
    assert grace.delete(f"/users/{ada.email}").status_code == 200
    assert [each["invited_email"] for each in grace.get("/invitations").json] == [BOB]
    assert accept(app.test_client(), path, ada.email).status_code == 404
    assert accept(app.test_client(), other).status_code == 200


def test_only_a_signed_in_administrator_invites_and_gives_roles(app: Flask, grace: Person, ada: Person) -> None:
    invite(grace)
    invitation_id = grace.get("/invitations").json[0]["invitation_id"]
    attempts: list[tuple[str, str, object]] = [
        ("POST", "/invitations", {}),
        ("GET", "/invitations", None),
        ("DELETE", f"/invitations/{invitation_id}", None),
        ("PUT", f"/users/{ada.email}/role", {"role": "administrator"}),
    ]
    token = grace.post("/api_tokens", json={"name": "script"}).json["token"]
    program = {"Authorization": f"Bearer {token}"}
    for method, path, body in attempts:
        assert refused(ada.request(method, path, json=body)) == (403, "forbidden"), path
        assert app.test_client().open(path, method=method, json=body).status_code == 401
        if method != "GET":
            answer = app.test_client().open(path, method=method, json=body, headers=program)
            assert refused(answer) == (403, "forbidden"), path
    assert not ada.get("/get_user_info").json["is_admin"]


@pytest.mark.parametrize(
    "body",
    [
        {"uses": 0},
        {"uses": 101},
        {"days": 0},
        {"days": 91},
        {"role": "owner"},
        {"email": "x"},
        {"email": BOB, "uses": 2},
    ],
)
def test_an_invitation_out_of_bounds_is_refused(body: dict[str, Any], grace: Person) -> None:
    assert refused(grace.post("/invitations", json=body)) == (400, "bad_request")
    assert grace.get("/invitations").json == []


def test_guessing_invitations_is_slowed_down(app: Flask) -> None:
    allowed = Limit(subject="an invitation").allowed
    statuses = [app.test_client().get(f"/invite/guess{n}").status_code for n in range(allowed + 1)]
    assert statuses == [404] * allowed + [429]


def test_a_role_is_given_to_others_and_the_last_administrator_stays(app: Flask, grace: Person, ada: Person) -> None:
    assert refused(grace.put(f"/users/{grace.email}/role", json={"role": "member"})) == (400, "bad_request")
    assert refused(grace.put("/users/nobody@example.org/role", json={"role": "member"})) == (404, "user_not_found")
    assert grace.put(f"/users/{ada.email}/role", json={"role": "administrator"}).status_code == 200
    assert ada.get("/users").status_code == 200
    assert ada.put(f"/users/{grace.email}/role", json={"role": "member"}).status_code == 200
    assert grace.get("/users").status_code == 403
    run = app.test_cli_runner().invoke
    last = run(args=["users", "role", "--email", ada.email, "--role", "member"])
    assert (last.exit_code, last.output) == (
        1,
        "Error: This is the only administrator. Make another administrator first.\n",
    )
    assert run(args=["users", "role", "--email", grace.email, "--role", "administrator"]).exit_code == 0
    assert run(args=["users", "role", "--email", ada.email, "--role", "member"]).exit_code == 0


def test_the_audit_log_says_who_invited_whom_and_gave_which_role(grace: Person, ada: Person) -> None:
    path = invite(grace, email=BOB, role="administrator", days=3)
    invitation_id = grace.get("/invitations").json[0]["invitation_id"]
    assert grace.delete(f"/invitations/{invitation_id}").status_code == 200
    for role in ("administrator", "administrator", "member"):
        assert grace.put(f"/users/{ada.email}/role", json={"role": role}).status_code == 200
    answer = grace.get("/admin/audit")
    acts = [(each["act"], each["subject"], each["details"]) for each in answer.json["acts"]]
    assert acts == [
        ("role_changed", ada.email, {"role": "member"}),
        ("role_changed", ada.email, {"role": "administrator"}),
        ("invitation_withdrawn", BOB, {"addressed": True}),
        ("invitation_made", BOB, {"role": "administrator", "uses": 1, "days": 3, "addressed": True}),
    ]
    assert path.rpartition("/")[2] not in answer.get_data(as_text=True)


def test_an_invitation_for_an_address_is_told_from_one_for_anybody_when_its_account_is_erased(
    app: Flask, grace: Person
) -> None:
    path = invite(grace, email=BOB)
    invite(grace, uses=2)
    bob = app.test_client()
    assert accept(bob, path).status_code == 200
    assert grace.delete(f"/users/{BOB}").status_code == 200
    assert app.extensions[EXTENSION].account_erasure.erase_closed() == 1
    made = grace.get("/admin/audit", query_string={"act": "invitation_made"}).json["acts"]
    assert ["@" in each["subject"] for each in made] == [False, False]
    assert [each["details"].get("addressed", False) for each in made] == [False, True]


def test_the_audit_log_says_who_made_an_account_by_an_invitation(app: Flask, grace: Person) -> None:
    path = invite(grace, role="administrator", uses=2)
    assert accept(app.test_client(), path, grace.email).status_code == 409
    assert accept(app.test_client(), path).status_code == 200
    made = grace.get("/admin/audit", query_string={"act": "account_made"}).json["acts"]
    told = [(each["actor_email"], each["subject"], each["door"], each["address"], each["details"]) for each in made]
    assert told == [(BOB, BOB, "page", "127.0.0.1", {"is_admin": True, "because": "invitation"})]


def test_the_command_line_invites(app: Flask, grace: Person) -> None:
    run = app.test_cli_runner().invoke
    made = run(args=["users", "invite", "--email", BOB, "--admin"])
    assert made.exit_code == 0
    client = app.test_client()
    assert accept(client, made.output.strip()).status_code == 200
    assert (who(client) or {})["is_admin"] is True
    wrong = run(args=["users", "invite", "--email", BOB, "--uses", "2"])
    assert (wrong.exit_code, "for one e-mail address" in wrong.output) == (1, True)


@with_settings(oidc_allowed_domains=(), password_sign_in="off")
def test_an_invitation_is_accepted_by_the_provider_where_there_are_no_passwords(
    app: Flask, grace: Person, provider: Provider
) -> None:
    path = invite(grace, email=EMAIL, role="administrator")
    page = app.test_client().get(path, headers=BROWSER).get_data(as_text=True)
    assert f"/oidc/start?invitation={path.rpartition('/')[2]}" in page
    assert 'name="password"' not in page
    assert refused(accept(app.test_client(), path, EMAIL)) == (403, "password_sign_in_off")
    other = log_in_invited(app.test_client(), provider, provider.knows("u2", BOB), path)
    assert is_refused(other, 400, "bad_request")
    client = app.test_client()
    log_in_invited(client, provider, provider.knows("u1", EMAIL), path)
    assert who(client) == {"user_email": EMAIL, "name": "Ada Lovelace", "is_admin": True, "language": None}
    late = log_in_invited(app.test_client(), provider, provider.knows("u2", BOB), path)
    assert is_refused(late, 404, "invitation_not_found")
