"""A lost password is replaced by an administrator's one-time link, or from the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from database.accounts import password_links, users
from database.accounts.throttle import Limit
from database.connection import open_store
from database.engine import clock
from settings import Settings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person, refused

pytestmark = pytest.mark.contract

NEW = "a wholly new one"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", **OWN_PAGE}


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


@pytest.fixture
def link(grace: Person, ada: Person) -> str:
    """The path of a fresh link for ada."""
    return link_for(grace, ada)


def link_for(administrator: Person, person: Person) -> str:
    answer = administrator.post(f"/users/{person.email}/password_link", json={})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json["path"]


def lets_in(app: Flask, email: str, password: str) -> bool:
    return app.test_client().post("/login", json={"email": email, "password": password}).status_code == 200


def test_a_link_sets_the_password_once_and_ends_every_session_and_token(app: Flask, ada: Person, link: str) -> None:
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    client = app.test_client()
    answer = client.post(link, json={"password": NEW})
    assert (answer.status_code, answer.json["user_email"]) == (200, ada.email)
    assert client.get("/get_user_info").json["user_email"] == ada.email
    assert ada.get("/get_user_info").status_code == 401
    assert app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert lets_in(app, ada.email, NEW)
    assert not lets_in(app, ada.email, PASSWORD)
    assert refused(client.post(link, json={"password": "yet another one"})) == (404, "password_link_not_found")
    assert lets_in(app, ada.email, NEW)


@pytest.mark.parametrize("way", ["login", "reset", "change"])
def test_no_session_and_no_password_outlives_a_reset_that_came_while_it_was_asked_for(
    way: str, app: Flask, grace: Person, ada: Person, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset_behind(module: Any, name: str) -> None:
        """The password is reset once more when this function has done its work."""
        function = getattr(module, name)

        def done(**arguments: Any) -> Any:
            result = function(**arguments)
            monkeypatch.undo()
            users.set_password(
                database=arguments["database"], user_email=ada.email, password="the last one", keep_tokens=False
            )
            return result

        monkeypatch.setattr(module, name, done)

    if way == "reset":
        reset_behind(password_links, "redeem_password_link")
        client = app.test_client()
        answer = client.post(link, json={"password": NEW})
    elif way == "login":
        reset_behind(users, "verify_password")
        client = app.test_client()
        answer = client.post("/login", json={"email": ada.email, "password": PASSWORD})
    else:
        reset_behind(users, "verify_password")
        client = ada
        answer = ada.put("/password", json={"current_password": PASSWORD, "new_password": NEW})
    assert answer.status_code == (403 if way == "change" else 401)
    assert client.get("/get_user_info").status_code == 401
    assert lets_in(app, ada.email, "the last one")


@pytest.mark.parametrize("how", ["member", "disabled", "deleted"])
def test_a_link_is_void_when_an_administrator_who_may_have_made_it_is_none_any_more(
    how: str, app: Flask, grace: Person, ada: Person, eve: Person, person: Callable[..., Person]
) -> None:
    linus = person("linus@example.org", is_admin=True)
    link = link_for(grace, ada)
    # Whoever becomes one, or is let in again, has made none.
    linus.put(f"/users/{eve.email}/role", json={"role": "administrator"})
    linus.put(f"/users/{eve.email}", json={"disabled": False})
    assert app.test_client().get(link, headers=BROWSER).status_code == 200
    if how == "member":
        done = linus.put(f"/users/{grace.email}/role", json={"role": "member"})
    elif how == "disabled":
        done = linus.put(f"/users/{grace.email}", json={"disabled": True})
    else:
        done = linus.delete(f"/users/{grace.email}")
    assert done.status_code == 200
    assert refused(app.test_client().post(link, json={"password": NEW})) == (404, "password_link_not_found")
    assert lets_in(app, ada.email, PASSWORD)


def test_tokens_stay_where_the_person_wants_them(app: Flask, ada: Person, link: str) -> None:
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    form = {"password": NEW, "keep_tokens": "true"}
    answer = app.test_client().post(link, data=form, headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/interface/?welcome=1")
    assert app.test_client().get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_the_page_names_the_account_and_shows_again_what_is_wrong(app: Flask, ada: Person, link: str) -> None:
    client = app.test_client()
    page = client.get(link, headers=BROWSER)
    assert page.status_code == 200
    assert ada.email in page.get_data(as_text=True)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    short = client.post(link, data={"password": "short"}, headers=BROWSER)
    assert short.status_code == 400
    assert 'role="alert"' in short.get_data(as_text=True)
    assert 'name="password"' in short.get_data(as_text=True)
    assert client.get(link, headers=BROWSER).status_code == 200  # the link is not used up


def test_unknown_used_replaced_and_expired_links_read_alike(
    app: Flask, grace: Person, ada: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, replaced = link_for(grace, eve), link_for(grace, ada)
    assert app.test_client().post(used, json={"password": NEW}).status_code == 200
    newest = link_for(grace, ada)
    answers = [app.test_client().post(each, json={"password": NEW}) for each in ("/reset/nonsense", used, replaced)]
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(hours=25))
    answers.append(app.test_client().post(newest, json={"password": NEW}))
    told = {(answer.status_code, answer.json["code"], answer.json["message"]) for answer in answers}
    assert len(told) == 1
    assert told.pop()[:2] == (404, "password_link_not_found")
    page = app.test_client().get("/reset/nonsense", headers=BROWSER)
    assert page.status_code == 404
    assert page.mimetype == "text/html"


def test_a_form_with_a_used_link_says_so_and_asks_for_no_password(app: Flask, link: str) -> None:
    assert app.test_client().post(link, json={"password": NEW}).status_code == 200
    answer = app.test_client().post(link, data={"password": NEW}, headers=BROWSER)
    page = answer.get_data(as_text=True)
    assert answer.status_code == 404
    assert 'role="alert"' in page
    assert 'name="password"' not in page


def test_a_changed_password_and_a_disabled_account_void_the_link(app: Flask, grace: Person, ada: Person) -> None:
    link = link_for(grace, ada)
    assert ada.put("/password", json={"current_password": PASSWORD, "new_password": NEW}).status_code == 200
    assert app.test_client().post(link, json={"password": PASSWORD}).status_code == 404
    link = link_for(grace, ada)
    assert grace.put(f"/users/{ada.email}", json={"disabled": True}).status_code == 200
    assert refused(grace.post(f"/users/{ada.email}/password_link", json={})) == (409, "conflict")
    assert grace.put(f"/users/{ada.email}", json={"disabled": False}).status_code == 200
    assert app.test_client().post(link, json={"password": PASSWORD}).status_code == 404
    assert lets_in(app, ada.email, NEW)


def test_of_two_who_use_a_link_at_once_one_wins(app: Flask, ada: Person, link: str) -> None:
    statuses: list[int] = []

    def use(password: str) -> None:
        statuses.append(app.test_client().post(link, json={"password": password}).status_code)

    threads = [threading.Thread(target=use, args=(f"password number {n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 404, 404]


def test_guessing_links_is_slowed_down(app: Flask) -> None:
    client = app.test_client()
    allowed = Limit(subject="a link").allowed
    statuses = [client.post(f"/reset/guess{n}", json={"password": NEW}).status_code for n in range(allowed + 1)]
    assert statuses == [404] * allowed + [429]
    refusal = client.get("/reset/guess")
    assert refusal.status_code == 429
    assert int(refusal.headers["Retry-After"]) > 0


def test_only_a_signed_in_administrator_makes_links_and_for_others(app: Flask, grace: Person, ada: Person) -> None:
    assert refused(ada.post(f"/users/{grace.email}/password_link", json={})) == (403, "forbidden")
    assert refused(grace.post(f"/users/{grace.email}/password_link", json={})) == (400, "bad_request")
    assert refused(grace.post("/users/nobody@example.org/password_link", json={})) == (404, "user_not_found")
    token = grace.post("/api_tokens", json={"name": "script"}).json["token"]
    program = {"Authorization": f"Bearer {token}"}
    path = f"/users/{ada.email}/password_link"
    assert refused(app.test_client().post(path, json={}, headers=program)) == (403, "forbidden")
    assert app.test_client().post(path, json={}).status_code == 401


def test_a_foreign_page_can_not_use_a_link(app: Flask, link: str) -> None:
    form = {"password": NEW}
    answer = app.test_client().post(link, data=form, headers={"Origin": "https://evil.example"})
    assert refused(answer) == (403, "forbidden")


def test_the_store_holds_no_token(settings: Settings, link: str) -> None:
    open_store(settings.users_dir).write(lambda connection: None)
    secret = link.rpartition("/")[2].encode()
    assert not any(secret in path.read_bytes() for path in Path(settings.users_dir).iterdir() if path.is_file())


def test_the_command_line_sets_a_password_and_says_what_ended(app: Flask, ada: Person, link: str) -> None:
    ada.post("/api_tokens", json={"name": "script"})

    def run(email: str, typed: str, *more: str) -> Any:
        arguments = ["users", "password", "--email", email, "--password-stdin", *more]
        return app.test_cli_runner().invoke(args=arguments, input=f"{typed}\n")

    kept = run("Ada@example.org", NEW, "--keep-tokens")
    assert (kept.exit_code, kept.output) == (0, "The password is set. Sessions ended: 1. API tokens revoked: 0.\n")
    assert ada.get("/get_user_info").status_code == 401
    assert lets_in(app, ada.email, NEW)
    assert app.test_client().post(link, json={"password": PASSWORD}).status_code == 404
    assert run(ada.email, PASSWORD).output.endswith("Sessions ended: 1. API tokens revoked: 1.\n")
    unknown = run("nobody@example.org", NEW)
    assert (unknown.exit_code, unknown.output) == (3, "Error: There is no such user.\n")
    assert run(ada.email, "short").exit_code == 1
    not_text = app.test_cli_runner().invoke(
        args=["users", "password", "--email", ada.email, "--password-stdin"], input=b"nine \xff letters\n"
    )
    assert (not_text.exit_code, not_text.output) == (1, "Error: The password is not UTF-8.\n")
    assert run(ada.email, "nul \0 and more").output == "Error: A password can't contain a NUL character.\n"
    assert lets_in(app, ada.email, PASSWORD)
