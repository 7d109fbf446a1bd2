"""Logging in, staying logged in, and requests that somebody else's page makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from flask import Flask
from flask.testing import FlaskClient

from endpoints.accounts.login import WELCOME
from settings import Settings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person


@pytest.fixture
def environ(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """Of a server on all addresses where a test names settings."""
    named: Mapping[str, str] | None = getattr(request, "param", None)
    return {} if named is None else {"ANAPHORA_HOST": "0.0.0.0", **named}


def sign_in(client: FlaskClient, email: str, password: str = PASSWORD) -> object:
    return client.post("/login", json={"email": email, "password": password})


def test_the_first_account_is_made_once_and_is_an_administrator(app: Flask) -> None:
    client = app.test_client()
    first = client.post("/setup", json={"email": " Ada@Example.org ", "password": PASSWORD})
    assert (first.status_code, first.json["user_email"], first.json["is_admin"]) == (200, "ada@example.org", True)
    second = app.test_client().post("/setup", json={"email": "eve@example.org", "password": PASSWORD})
    assert (second.status_code, second.json["code"]) == (409, "conflict")


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(app: Flask, ada: Person) -> None:
    header = sign_in(app.test_client(), ada.email).headers["Set-Cookie"]
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header
    assert "Path=/" in header
    over_tls = app.test_client().post(
        "/login", json={"email": ada.email, "password": PASSWORD}, base_url="https://localhost"
    )
    assert "Secure" in over_tls.headers["Set-Cookie"]


def test_an_unknown_account_and_a_wrong_password_read_alike(app: Flask, ada: Person) -> None:
    wrong = sign_in(app.test_client(), ada.email, "not it at all")
    unknown = sign_in(app.test_client(), "nobody@example.org")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json["message"] == unknown.json["message"]


def test_guessing_is_slowed_down(app: Flask, ada: Person) -> None:
    client = app.test_client()
    statuses = [sign_in(client, ada.email, "guess number one").status_code for _ in range(7)]
    assert statuses[:5] == [401] * 5
    assert statuses[-1] == 429
    refused = sign_in(client, ada.email)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0


def test_signing_out_ends_the_session_itself(app: Flask, ada: Person) -> None:
    stolen = ada.client.get_cookie("anaphora_session").value
    assert ada.post("/logout").status_code == 200
    thief = app.test_client()
    thief.set_cookie("anaphora_session", stolen)
    assert thief.get("/get_user_info").status_code == 401


def test_a_session_can_be_revoked_from_another_one(app: Flask, ada: Person) -> None:
    other = app.test_client()
    sign_in(other, ada.email)
    listed = {item["current"]: item["session_id"] for item in ada.get("/sessions").json}
    assert ada.delete(f"/sessions/{listed[False]}").status_code == 200
    assert other.get("/get_user_info").status_code == 401
    assert ada.get("/get_user_info").status_code == 200


def test_a_new_password_ends_every_other_session(app: Flask, ada: Person) -> None:
    other = app.test_client()
    sign_in(other, ada.email)
    change = {"current_password": PASSWORD, "new_password": "another good one"}
    assert ada.put("/password", json={**change, "current_password": "wrong one"}).status_code == 403
    assert ada.put("/password", json=change).status_code == 200
    assert other.get("/get_user_info").status_code == 401
    assert ada.get("/get_user_info").status_code == 200
    assert sign_in(app.test_client(), ada.email).status_code == 401
    assert sign_in(app.test_client(), ada.email, "another good one").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_foreign_page_changes_nothing(headers: dict[str, str], ada: Person) -> None:
    answer = ada.client.post("/create_conversation/assistant/", headers=headers)
    assert (answer.status_code, answer.json["code"]) == (403, "forbidden")
    assert ada.get("/list_conversation_by_user/assistant").json == []


def test_what_a_page_of_another_account_asks_is_not_done(person: Callable[..., Person], ada: Person) -> None:
    eve = person("eve+1@example.org")
    here = {"X-Anaphora-User": "eve%2B1%40example.org"}
    for method, path in (("post", "/create_conversation/assistant/"), ("get", "/list_workspaces/assistant")):
        refused = getattr(ada, method)(path, headers=here)
        assert (refused.status_code, refused.json["code"]) == (409, "other_account")
        assert getattr(eve, method)(path, headers=here).status_code in (200, 201)
    assert ada.get("/list_conversation_by_user/assistant").json == []
    assert ada.get("/healthz", headers=here).status_code == 200
    assert ada.client.application.test_client().get("/get_user_info", headers=here).status_code == 401


@pytest.mark.parametrize("headers", [{"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {}])
def test_our_own_page_may(headers: dict[str, str], ada: Person) -> None:
    assert ada.client.post("/create_conversation/assistant/", headers=headers).status_code == 201


def test_a_foreign_page_can_sign_nobody_in(app: Flask, ada: Person) -> None:
    form = {"email": ada.email, "password": PASSWORD}
    refused = app.test_client().post("/login", data=form, headers={"Origin": "https://evil.example"})
    assert refused.status_code == 403
    assert "Set-Cookie" not in refused.headers
    accepted = app.test_client().post("/login", data=form, headers=OWN_PAGE)
    assert (accepted.status_code, accepted.headers["Location"]) == (303, WELCOME)


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_writes(media: str, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    answer = ada.post(f"/send_message/{conversation_id}", data=b'{"messageText":"hi"}', content_type=media)
    assert (answer.status_code, answer.json["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(target: str, app: Flask, ada: Person) -> None:
    form = {"email": ada.email, "password": PASSWORD, "next": target}
    answer = app.test_client().post("/login", data=form, headers=OWN_PAGE)
    assert answer.headers["Location"] == WELCOME


def test_a_rebound_host_name_is_refused(ada: Person) -> None:
    answer = ada.get("/get_user_info", headers={"Host": "evil.example:5000"})
    assert (answer.status_code, answer.json["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    ("environ", "status"), [({}, 200), ({"ANAPHORA_ALLOWED_HOSTS": "chat.example.org"}, 400)], indirect=["environ"]
)
def test_on_all_addresses_the_allowed_hosts_alone_are_answered_where_there_are_any(
    status: int, ada: Person, app: Flask
) -> None:
    for host, expected in (("chat.example.org", 200), ("evil.example", status)):
        assert app.test_client().get("/login", headers={"Host": host}).status_code == expected, host


def test_a_token_works_without_a_browser_until_it_is_revoked(app: Flask, ada: Person) -> None:
    made = ada.post("/api_tokens", json={"name": "script"}).json
    bearer = {"Authorization": f"Bearer {made['token']}"}
    script = app.test_client()
    assert script.post("/create_conversation/assistant/", headers=bearer).status_code == 201
    assert "token" not in ada.get("/api_tokens").json[0]
    assert ada.delete(f"/api_tokens/{made['token_id']}").status_code == 200
    refused = script.get("/get_user_info", headers=bearer)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "revoked" in refused.json["message"]
    assert app.test_client().get("/get_user_info").json["message"] == "Please log in."


def test_a_password_that_a_proxy_asks_for_is_not_ours_and_opens_no_way_for_other_sites(app: Flask, ada: Person) -> None:
    """With HTTP's Basic scheme, browsers send a proxy's password along with every request, those of other sites too."""
    basic = {"Authorization": "Basic YWRhOnNlY3JldA=="}
    assert ada.get("/get_user_info", headers=basic).json["user_email"] == ada.email
    assert ada.post("/create_conversation/assistant/", headers=basic | OWN_PAGE).status_code == 201
    forged = ada.post("/create_conversation/assistant/", headers=basic | {"Sec-Fetch-Site": "cross-site"})
    assert (forged.status_code, forged.json["code"]) == (403, "forbidden")
    refused = app.test_client().get("/get_user_info", headers=basic | {"X-Anaphora-User": ada.email})
    assert (refused.status_code, refused.json["message"]) == (401, "Please log in.")


def test_a_read_only_token_changes_nothing(app: Flask, ada: Person) -> None:
    made = ada.post("/api_tokens", json={"name": "reader", "read_only": True}).json
    bearer = {"Authorization": f"Bearer {made['token']}"}
    script = app.test_client()
    assert script.get("/get_user_info", headers=bearer).json["user_email"] == ada.email
    assert script.post("/create_conversation/assistant/", headers=bearer).status_code == 403


def test_whoever_finds_a_token_makes_no_tokens_and_no_administrators_with_it(
    app: Flask, person: Callable[..., Person]
) -> None:
    root = person("root@example.org", is_admin=True)
    found = root.post("/api_tokens", json={"name": "script"}).json["token"]
    thief, bearer = app.test_client(), {"Authorization": f"Bearer {found}"}
    further = thief.post("/api_tokens", json={"name": "for later"}, headers=bearer)
    assert (further.status_code, further.json["code"]) == (403, "forbidden")
    own = {"email": "thief@example.org", "password": PASSWORD}
    administrator = thief.post("/users", json={**own, "is_admin": True}, headers=bearer)
    assert (administrator.status_code, administrator.json["code"]) == (403, "forbidden")
    assert [each["name"] for each in root.get("/api_tokens").json] == ["script"]
    assert [each["user_email"] for each in root.get("/users").json] == [root.email]
    assert thief.post("/users", json=own, headers=bearer).status_code == 201


def test_whoever_finds_a_token_keeps_no_administrator_out_with_it(app: Flask, person: Callable[..., Person]) -> None:
    root, second, bob = (
        person(f"{name}@example.org", is_admin=is_admin)
        for name, is_admin in (("root", True), ("second", True), ("bob", False))
    )
    found = root.post("/api_tokens", json={"name": "script"}).json["token"]
    thief, bearer = app.test_client(), {"Authorization": f"Bearer {found}"}
    refused = thief.put(f"/users/{second.email.upper()}", json={"disabled": True}, headers=bearer)
    assert (refused.status_code, refused.json["code"]) == (403, "forbidden")
    assert second.get("/get_user_info").status_code == 200
    assert root.put(f"/users/{second.email}", json={"disabled": True}).status_code == 200
    refused = thief.put(f"/users/{second.email}", json={"disabled": False}, headers=bearer)
    assert (refused.status_code, refused.json["code"]) == (403, "forbidden")
    assert second.get("/get_user_info").status_code == 401
    # Accounts that may do less than the token are a script's to shut out.
    assert thief.put(f"/users/{bob.email}", json={"disabled": True}, headers=bearer).status_code == 200
    assert bob.get("/get_user_info").status_code == 401


def test_only_administrators_make_accounts(person: Callable[..., Person], ada: Person) -> None:
    new = {"email": "bob@example.org", "password": PASSWORD}
    assert ada.post("/users", json=new).status_code == 403
    root = person("root@example.org", is_admin=True)
    assert root.post("/users", json=new).status_code == 201
    assert root.post("/users", json=new).status_code == 409


def test_pages_carry_a_strict_policy(ada: Person, settings: Settings) -> None:
    for path in ("/interface/", "/account", "/get_user_info", "/nowhere"):
        headers = ada.get(path, headers={"Accept": "text/html"}).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"


def test_a_name_stays_text_in_the_page(app: Flask) -> None:
    name = "</script><img src=x onerror=alert(1)>"
    client = app.test_client()
    client.post("/setup", json={"email": "mallory@example.org", "password": PASSWORD, "name": name})
    page = client.get("/interface/").get_data(as_text=True)
    assert client.get("/get_user_info").json["name"] == name
    assert "<img src=x" not in page
    assert "onerror=alert(1)>" not in page
