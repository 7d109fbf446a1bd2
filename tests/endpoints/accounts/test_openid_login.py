"""People log in by an OpenID provider: who gets an account, which role, and what happens to accounts that exist."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from database.accounts import users
from database.accounts.throttle import Limit
from endpoints.accounts import openid
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from settings import Settings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person, refused, settings_in, with_shared_routes
from tests.openid_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    OLD_FASHIONED,
    Forged,
    Provider,
    query_of,
    running_provider,
)

pytestmark = [*OLD_FASHIONED]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
EMAIL = "ada@example.org"


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(shared_provider: Provider) -> Iterator[Provider]:
    """The provider, which tells nothing but the truth when a test begins."""
    yield shared_provider
    shared_provider.forge = shared_provider.describe = None


@pytest.fixture
def more() -> dict[str, Any]:
    """The settings of a test beside those of the provider."""
    return {}


@pytest.fixture
def settings(tmp_path: Path, database_url: str | None, provider: Provider, more: dict[str, Any]) -> Settings:
    """A server that people log in to by the provider; whoever has an address of example.org gets an account."""
    named = {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_name": "Example",
        "oidc_allowed_domains": ("example.org",),
    }
    return settings_in(tmp_path, database_url=database_url).model_copy(update=named | more)


def with_settings(**values: object) -> Any:
    """Run a test with these settings besides."""
    return pytest.mark.parametrize("more", [values])


def begin(client: FlaskClient, next_page: str = "") -> str:
    """Where the server sends the browser."""
    answer = client.get("/oidc/start", query_string={"next": next_page}, headers=BROWSER)
    assert answer.status_code == 303, answer.get_data(as_text=True)
    return answer.headers["Location"]


def log_in(client: FlaskClient, provider: Provider, subject: str | None, next_page: str = "") -> TestResponse:
    """Go there and back again."""
    return client.get(provider.answer_for(begin(client, next_page), subject), headers=BROWSER)


def who(client: FlaskClient) -> dict[str, Any] | None:
    """The account that the browser is logged in to."""
    answer = client.get("/get_user_info")
    return answer.json if answer.status_code == 200 else None


def is_refused(answer: TestResponse, status: int, code: str) -> bool:
    """Whether a page says that the login is refused, with this code, and no session was begun."""
    page = answer.get_data(as_text=True)
    cookies = answer.headers.getlist("Set-Cookie")
    assert "Traceback" not in page
    assert not any(cookie.startswith(f"{SESSION_COOKIE}=") for cookie in cookies)
    return (answer.status_code, answer.mimetype) == (status, "text/html") and f"<code>{code}</code>" in page


def accounts(app: Flask, person: Callable[..., Person]) -> set[str]:
    """All accounts but that of the administrator who looks."""
    return {each["user_email"] for each in person("root@example.org", is_admin=True).get("/users").json} - {
        "root@example.org"
    }


@pytest.mark.contract
def test_the_first_login_makes_an_account_and_later_ones_find_it_by_its_subject(app: Flask, provider: Provider) -> None:
    subject = provider.knows("u1", "Ada@Example.org")
    client = app.test_client()
    answer = log_in(client, provider, subject)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/interface/?welcome=1")
    assert who(client) == {"user_email": EMAIL, "name": "Ada Lovelace", "is_admin": False, "language": None}
    # The address at the provider may change; the account stays.
    provider.knows("u1", "ada.king@example.org")
    again = app.test_client()
    log_in(again, provider, subject)
    assert who(again) == who(client)
    assert again.post("/logout", json={}, headers=OWN_PAGE).status_code == 200
    assert who(again) is None
    assert who(client) is not None


def test_the_flow_has_pkce_and_the_secret_never_reaches_the_browser(
    app: Flask, provider: Provider, settings: Settings
) -> None:
    client = app.test_client()
    address = begin(client)
    asked = query_of(address)
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    assert asked["redirect_uri"] == "http://localhost/oidc/callback"
    assert len(asked["state"]) >= 43
    assert len(asked["nonce"]) >= 43
    answer = client.get(provider.answer_for(address, provider.knows("u1", EMAIL)))
    verifier = provider.token_requests[-1]["code_verifier"]
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert asked["code_challenge"] == digest
    told = address + str(answer.headers) + client.get("/login").get_data(as_text=True)
    assert CLIENT_SECRET not in told
    assert CLIENT_SECRET not in repr(settings)


def test_another_process_may_take_the_answer(app: Flask, provider: Provider, settings: Settings) -> None:
    other = with_shared_routes(settings, app.extensions[EXTENSION].models)
    try:
        back = provider.answer_for(begin(client := app.test_client()), provider.knows("u1", EMAIL))
        cookie = client.get_cookie("anaphora_oidc", path="/oidc")
        assert cookie is not None
        there = other.test_client()
        there.set_cookie("anaphora_oidc", cookie.value, path="/oidc")
        assert there.get(back, headers=BROWSER).status_code == 303
        assert who(there) is not None
    finally:
        other.extensions[EXTENSION].knowledge.close()


def test_the_log_of_a_login_holds_no_secret(app: Flask, provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    client = app.test_client()
    address = begin(client)
    back = provider.answer_for(address, provider.knows("u1", EMAIL))
    client.get(back, headers=BROWSER)
    replayed = client.get(back, headers=BROWSER)
    assert replayed.status_code == 400
    own = [record.getMessage() for record in caplog.records if record.name != "werkzeug"]
    assert own, "the refusal is logged"
    secrets = [CLIENT_SECRET, query_of(back)["code"], *(query_of(address)[name] for name in ("state", "nonce"))]
    secrets.append(provider.token_requests[-1]["code_verifier"])
    assert [line for line in own if any(secret in line for secret in secrets)] == []


def test_logging_out_offers_to_log_out_at_the_provider(app: Flask, provider: Provider) -> None:
    client = app.test_client()
    log_in(client, provider, provider.knows("u1", EMAIL))
    form = {"Content-Type": "application/x-www-form-urlencoded", **BROWSER, **OWN_PAGE}
    left = client.post("/logout", data={}, headers=form)
    assert (left.status_code, left.headers["Location"]) == (303, "/login?left=1")
    assert who(client) is None
    page = client.get(left.headers["Location"], headers=BROWSER).get_data(as_text=True)
    assert 'href="/oidc/log_out"' in page
    assert "/oidc/log_out" not in client.get("/login", headers=BROWSER).get_data(as_text=True)
    there = client.get("/oidc/log_out", headers=BROWSER)
    assert there.status_code == 303
    assert there.headers["Location"] == f"{provider.issuer}/oauth2/end_session?client_id={CLIENT_ID}"


def test_a_provider_that_ends_no_sessions_leads_back_to_the_login(app: Flask, provider: Provider) -> None:
    openid._provider.cache_clear()
    provider.describe = lambda described: described.pop("end_session_endpoint")
    answer = app.test_client().get("/oidc/log_out", headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")
    openid._provider.cache_clear()


def test_cookies_of_a_login_are_for_the_server_alone(app: Flask) -> None:
    answer = app.test_client().get("/oidc/start", base_url="https://localhost")
    cookie = next(line for line in answer.headers.getlist("Set-Cookie") if line.startswith("anaphora_oidc="))
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/oidc", "Max-Age=600"} <= set(cookie.split("; "))


def test_a_login_leads_to_the_page_that_asked_for_it_and_never_elsewhere(app: Flask, provider: Provider) -> None:
    subject = provider.knows("u1", EMAIL)
    assert log_in(app.test_client(), provider, subject, "/settings").headers["Location"] == "/settings"
    for evil in ("//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"):
        location = log_in(app.test_client(), provider, subject, evil).headers["Location"]
        assert location == "/interface/?welcome=1", evil


def test_an_answer_of_the_provider_works_once(app: Flask, provider: Provider) -> None:
    client = app.test_client()
    address = begin(client)
    back = provider.answer_for(address, provider.knows("u1", EMAIL))
    cookie = client.get_cookie("anaphora_oidc", path="/oidc")
    assert cookie is not None
    assert client.get(back, headers=BROWSER).status_code == 303
    assert is_refused(client.get(back, headers=BROWSER), 400, "sign_in_expired")
    thief = app.test_client()
    thief.set_cookie("anaphora_oidc", cookie.value, path="/oidc")
    assert is_refused(thief.get(back, headers=BROWSER), 403, "sign_in_refused")
    assert who(thief) is None


def test_the_login_page_offers_the_provider_in_each_language(app: Flask, ada: Person) -> None:
    client = app.test_client()
    for language, words in (("en", "Log in with"), ("de", "anmelden"), ("es", "Entrar con"), ("zh", "登录")):
        page = client.get("/login?next=/settings", headers={"Accept-Language": language, **BROWSER})
        text = page.get_data(as_text=True)
        assert 'href="/oidc/start?next=/settings"' in text
        assert words in text
        assert "Example" in text
        assert 'name="password"' in text


@with_settings(password_sign_in="off")
def test_without_passwords_the_provider_is_the_only_way_in(app: Flask, ada: Person, provider: Provider) -> None:
    client = app.test_client()
    page = client.get("/login", headers=BROWSER).get_data(as_text=True)
    assert 'name="password"' not in page
    assert "/oidc/start" in page
    credentials = {"email": ada.email, "password": PASSWORD}
    assert refused(client.post("/login", json=credentials)) == (403, "password_sign_in_off")
    assert refused(client.post("/setup", json=credentials)) == (403, "password_sign_in_off")
    assert refused(client.post("/reset/any", json={"password": PASSWORD})) == (403, "password_sign_in_off")
    assert who(client) is None
    log_in(client, provider, provider.knows("u7", "new@example.org"))
    assert who(client) is not None


@with_settings(oidc_issuer=None)
def test_a_server_without_a_provider_has_no_such_pages(app: Flask) -> None:
    client = app.test_client()
    for path in ("/oidc/start", "/oidc/callback?code=x&state=y", "/oidc/link", "/oidc/log_out"):
        assert client.get(path).status_code == 404
    assert client.post("/oidc/link", json={"password": PASSWORD}).status_code == 404
    assert "/oidc/start" not in client.get("/setup").get_data(as_text=True)


@pytest.mark.contract
def test_an_account_that_exists_is_connected_by_its_password_alone(app: Flask, ada: Person, provider: Provider) -> None:
    subject = provider.knows("u1", EMAIL)
    client = app.test_client()
    answer = log_in(client, provider, subject, "/settings")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/oidc/link")
    assert who(client) is None
    assert EMAIL in client.get("/oidc/link", headers=BROWSER).get_data(as_text=True)
    form = {"Content-Type": "application/x-www-form-urlencoded", **BROWSER, **OWN_PAGE}
    wrong = client.post("/oidc/link", data={"password": "not the one"}, headers=form)
    assert (wrong.status_code, 'role="alert"' in wrong.get_data(as_text=True)) == (401, True)
    assert who(client) is None
    # Who logs in to nothing but the provider has gained nothing.
    assert log_in(app.test_client(), provider, subject).headers["Location"] == "/oidc/link"
    right = client.post("/oidc/link", data={"password": PASSWORD}, headers=form)
    assert (right.status_code, right.headers["Location"]) == (303, "/settings")
    assert (who(client) or {})["user_email"] == EMAIL
    other = app.test_client()
    log_in(other, provider, subject)
    assert (who(other) or {})["user_email"] == EMAIL


def test_no_login_is_connected_by_a_password_that_was_reset_meanwhile(
    app: Flask, ada: Person, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reset_behind(**who: Any) -> users.UserRow | None:
        proved = verify(**who)
        users.set_password(database=who["database"], user_email=EMAIL, password="wholly another one")
        return proved

    verify = users.verify_password
    client, subject = app.test_client(), provider.knows("u1", EMAIL)
    log_in(client, provider, subject)
    monkeypatch.setattr(users, "verify_password", reset_behind)
    assert refused(client.post("/oidc/link", json={"password": PASSWORD})) == (401, "unauthorized")
    assert who(client) is None
    assert log_in(app.test_client(), provider, subject).headers["Location"] == "/oidc/link"


def test_guessing_the_password_of_an_account_to_connect_is_slowed_down(
    app: Flask, ada: Person, provider: Provider
) -> None:
    client = app.test_client()
    log_in(client, provider, provider.knows("u1", EMAIL))
    allowed = Limit(subject="an account").allowed
    guesses = [client.post("/oidc/link", json={"password": f"guess {n}"}).status_code for n in range(allowed + 1)]
    assert guesses == [401] * allowed + [429]


def test_nobody_connects_without_a_login_at_the_provider(app: Flask, ada: Person) -> None:
    client = app.test_client()
    assert is_refused(client.get("/oidc/link", headers=BROWSER), 400, "sign_in_expired")
    assert refused(client.post("/oidc/link", json={"password": PASSWORD})) == (400, "sign_in_expired")


def test_an_address_is_not_verified_by_what_is_said_of_another(app: Flask, provider: Provider) -> None:
    provider.knows("u1", "eve@example.org")

    def forge(header: dict[str, Any], claims: dict[str, Any], key: Any) -> Forged:
        told = {name: value for name, value in claims.items() if name != "email_verified"}
        return header, told | {"email": EMAIL}, key

    provider.forge = forge
    client = app.test_client()
    log_in(client, provider, "u1")
    # The user info, which says that an address is verified, says eve's.
    assert (who(client) or {})["user_email"] == "eve@example.org"


def test_the_audit_log_says_who_came_by_the_provider(
    app: Flask, ada: Person, provider: Provider, person: Callable[..., Person]
) -> None:
    log_in(app.test_client(), provider, provider.knows("u2", "bob@example.org"))
    client = app.test_client()
    log_in(client, provider, provider.knows("u1", EMAIL))
    assert client.post("/oidc/link", json={"password": PASSWORD}).status_code == 200
    log_in(app.test_client(), provider, "u1")
    grace = person("grace@example.org", is_admin=True)
    acts = [
        (each["act"], each["actor_email"], each["subject"], each["details"])
        for each in grace.get("/admin/audit").json["acts"]
    ]
    assert acts == [
        ("identity_connected", EMAIL, EMAIL, {"issuer": provider.issuer}),
        ("account_made", "bob@example.org", "bob@example.org", {"is_admin": False, "because": "provider"}),
    ]


def test_the_operator_disconnects_an_account_from_the_provider(app: Flask, ada: Person, provider: Provider) -> None:
    client = app.test_client()
    log_in(client, provider, provider.knows("u1", EMAIL))
    assert client.post("/oidc/link", json={"password": PASSWORD}).status_code == 200
    run = app.test_cli_runner().invoke
    done = run(args=["users", "disconnect", "--email", "Ada@example.org"])
    assert (done.exit_code, done.output) == (0, f"Logins of {EMAIL} that were disconnected: 1.\n")
    assert who(client) is None
    assert log_in(client, provider, "u1").headers["Location"] == "/oidc/link"
    assert run(args=["users", "disconnect", "--email", EMAIL]).output.endswith(": 0.\n")
    assert run(args=["users", "disconnect", "--email", "nobody@example.org"]).exit_code == 3
    assert '"act":"identity_disconnected"' in run(args=["users", "audit", "--json", "--limit", "1"]).output


def test_an_account_without_a_password_is_nobody_elses(app: Flask, provider: Provider) -> None:
    log_in(app.test_client(), provider, provider.knows("u1", EMAIL))
    thief = app.test_client()
    answer = log_in(thief, provider, provider.knows("u2", EMAIL))
    assert is_refused(answer, 403, "account_connected")
    for password in ("", "nobody has this password"):
        assert thief.post("/login", json={"email": EMAIL, "password": password}).status_code == 401
    assert who(thief) is None


def test_a_disabled_account_stays_out(app: Flask, provider: Provider, person: Callable[..., Person]) -> None:
    subject = provider.knows("u1", EMAIL)
    log_in(app.test_client(), provider, subject)
    person("grace@example.org", is_admin=True).put(f"/users/{EMAIL}", json={"disabled": True})
    client = app.test_client()
    assert is_refused(log_in(client, provider, subject), 403, "account_disabled")
    assert who(client) is None


def test_an_erased_account_is_made_anew_and_has_nothing_of_the_old_one(
    app: Flask, provider: Provider, person: Callable[..., Person]
) -> None:
    subject = provider.knows("u1", EMAIL)
    log_in(app.test_client(), provider, subject)
    grace = person("grace@example.org", is_admin=True)
    assert grace.delete(f"/users/{EMAIL}").status_code == 200
    app.extensions["anaphora"].account_erasure.erase_closed()
    client = app.test_client()
    log_in(client, provider, subject)
    assert client.get("/list_conversation_by_user/assistant").json == []


@with_settings(oidc_allowed_domains=())
def test_nobody_gets_an_account_unless_the_settings_say_who(
    app: Flask, provider: Provider, person: Callable[..., Person]
) -> None:
    assert is_refused(log_in(app.test_client(), provider, provider.knows("u1", EMAIL)), 403, "not_invited")
    assert accounts(app, person) == set()


@pytest.mark.parametrize("email", ["ada@example.com", "ada@sub.example.org", "ada@notexample.org"])
def test_other_domains_get_no_account(
    email: str, app: Flask, provider: Provider, person: Callable[..., Person]
) -> None:
    assert is_refused(log_in(app.test_client(), provider, provider.knows("u1", email)), 403, "not_invited")
    assert accounts(app, person) == set()


@with_settings(oidc_allowed_domains=("*",))
def test_everybody_gets_an_account_where_the_settings_say_so(app: Flask, provider: Provider) -> None:
    client = app.test_client()
    log_in(client, provider, provider.knows("u1", "ada@elsewhere.example"))
    assert who(client) is not None


@with_settings(oidc_allowed_groups=("staff",), oidc_allowed_domains=(), oidc_groups_claim="realm_access.roles")
def test_groups_are_asked_for_at_each_login(app: Flask, provider: Provider) -> None:
    stranger = provider.knows("u2", "bob@example.org", realm_access={"roles": ["guests"]}, groups=["staff"])
    assert is_refused(log_in(app.test_client(), provider, stranger), 403, "group_not_allowed")
    subject = provider.knows("u1", EMAIL, realm_access={"roles": ["staff"]})
    client = app.test_client()
    log_in(client, provider, subject)
    assert who(client) is not None
    provider.knows("u1", EMAIL, realm_access="nonsense")
    assert is_refused(log_in(app.test_client(), provider, subject), 403, "group_not_allowed")


@pytest.mark.contract
@with_settings(oidc_admin_groups=("ops", "root"))
def test_groups_make_administrators_and_members_and_the_last_administrator_stays(
    app: Flask, provider: Provider, person: Callable[..., Person]
) -> None:
    subject = provider.knows("u1", EMAIL, groups=["ops", "staff"])
    client = app.test_client()
    log_in(client, provider, subject)
    assert (who(client) or {})["is_admin"] is True
    provider.knows("u1", EMAIL, groups=["staff"])
    log_in(client, provider, subject)
    assert (who(client) or {})["is_admin"] is True, "nobody else could administer the server"
    person("grace@example.org", is_admin=True)
    log_in(client, provider, subject)
    assert (who(client) or {})["is_admin"] is False
    provider.knows("u1", EMAIL, groups="ops")
    log_in(client, provider, subject)
    assert (who(client) or {})["is_admin"] is True


@with_settings(oidc_issuer="http://127.0.0.1:9")
def test_while_the_provider_is_away_a_page_says_so(app: Flask) -> None:
    answer = app.test_client().get("/oidc/start", headers=BROWSER)
    assert is_refused(answer, 503, "provider_unavailable")
    assert "Location" not in answer.headers
