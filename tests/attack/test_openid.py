"""Whoever attacks a login by an OpenID provider gets a refusal with a code, no session and no account."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from flask import Flask
from itsdangerous import URLSafeTimedSerializer
from joserfc.jwk import OctKey, RSAKey

from database.accounts import throttle
from database.accounts.throttle import provider_limits
from endpoints.accounts import openid, openid_login
from settings import Settings
from tests.endpoints.accounts.test_openid_login import (
    BROWSER,
    EMAIL,
    accounts,
    begin,
    is_refused,
    log_in,
    shared_provider,
    who,
)
from tests.endpoints.accounts.test_openid_login import provider as truthful_provider
from tests.endpoints.conftest import Person
from tests.openid_provider import CLIENT_ID, CLIENT_SECRET, OLD_FASHIONED, Forged, Provider, query_of

__all__ = ["shared_provider"]

pytestmark = [*OLD_FASHIONED]
provider = truthful_provider


@pytest.fixture
def environ(provider: Provider) -> Mapping[str, str]:
    """A server that people log in to by the provider; whoever has an address of example.org gets an account."""
    return provider.environ(ALLOWED_DOMAINS="example.org")


@pytest.fixture(autouse=True)
def nothing_is_left(app: Flask, person: Callable[..., Person]) -> Iterator[None]:
    """No attack leaves an account behind."""
    openid._provider.cache_clear()
    yield
    assert accounts(app, person) == set()


def changed(**claims: Any) -> Callable[[dict[str, Any], dict[str, Any], Any], Forged]:
    """A token with other claims, signed by the provider's own key; None: without that claim."""

    def forge(header: dict[str, Any], told: dict[str, Any], key: Any) -> Forged:
        return header, {name: value for name, value in (told | claims).items() if value is not None}, key

    return forge


def by_another_key(header: dict[str, Any], claims: dict[str, Any], _key: Any) -> Forged:
    return header, claims, RSAKey.generate_key(2048, private=True)


def by_the_clients_secret(header: dict[str, Any], claims: dict[str, Any], _key: Any) -> Forged:
    return header | {"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET)


def by_the_public_key_as_secret(header: dict[str, Any], claims: dict[str, Any], key: Any) -> Forged:
    with_public = OctKey.import_key(key.as_dict(private=False)["n"])
    return header | {"alg": "HS256"}, claims, with_public


def without_signature(header: dict[str, Any], claims: dict[str, Any], _key: Any) -> Forged:
    return header | {"alg": "none"}, claims, None


NOW = int(time.time())


@pytest.mark.parametrize(
    "forge",
    [
        changed(nonce="another one"),
        changed(nonce=None),
        changed(aud="another client"),
        changed(aud=["another client"]),
        changed(aud=None),
        changed(aud=[CLIENT_ID, "another client"], azp="another client"),
        changed(iss="https://login.evil.example"),
        changed(iss=None),
        changed(exp=NOW - 3600),
        changed(exp=None),
        changed(exp="never"),
        changed(nbf=NOW + 30 * 86_400),
        changed(iat=NOW + 30 * 86_400),
        changed(sub=None),
        changed(sub=""),
        changed(sub=7),
        changed(sub="s" * 256),
        changed(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
        by_another_key,
        by_the_clients_secret,
        by_the_public_key_as_secret,
        without_signature,
    ],
)
def test_a_token_that_is_not_the_providers_for_this_login_is_refused(
    forge: Callable[..., Forged], app: Flask, provider: Provider
) -> None:
    provider.knows("u1", EMAIL)
    provider.forge = forge
    client = app.test_client()
    assert is_refused(log_in(client, provider, "u1"), 403, "sign_in_refused")
    assert who(client) is None


def test_an_answer_without_a_login_that_this_browser_began_is_refused(app: Flask, provider: Provider) -> None:
    provider.knows("u1", EMAIL)
    attacker, victim = app.test_client(), app.test_client()
    # The attacker's own answer, slipped to somebody else (login CSRF).
    back = provider.answer_for(begin(attacker), "u1")
    begin(victim)
    assert is_refused(victim.get(back, headers=BROWSER), 400, "sign_in_expired")
    assert is_refused(app.test_client().get(back, headers=BROWSER), 400, "sign_in_expired")
    asked = len(provider.token_requests)
    for query in ("", "?code=x", "?code=x&state=\u00e9", "?state=", "?code=x&state=null", "?error=access_denied"):
        assert is_refused(victim.get(f"/oidc/callback{query}", headers=BROWSER), 400, "sign_in_expired")
    assert len(provider.token_requests) == asked, "the code was given to nobody"
    assert who(victim) is None


@pytest.mark.in_process("what counts as too long is changed")
def test_a_login_that_takes_too_long_is_refused(
    app: Flask, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.knows("u1", EMAIL)
    client = app.test_client()
    back = provider.answer_for(begin(client), "u1")
    monkeypatch.setattr(openid_login, "_SECONDS", -1)
    assert is_refused(client.get(back, headers=BROWSER), 400, "sign_in_expired")


def test_a_cookie_that_is_forged_is_refused(app: Flask, provider: Provider, settings: Settings) -> None:
    provider.knows("u1", EMAIL)
    client = app.test_client()
    back = provider.answer_for(begin(client), "u1")
    good = client.get_cookie("anaphora_oidc", path="/oidc")
    assert good is not None
    values = {"state": query_of(back)["state"], "nonce": "n", "code_verifier": "v", "next": ""}
    of_another_key = URLSafeTimedSerializer("another key", salt="anaphora_oidc").dumps(values)
    of_another_purpose = URLSafeTimedSerializer(settings.secret_key, salt="anaphora_oidc_link").dumps(values)

    for cookie in (of_another_key, of_another_purpose, "x", good.value[:-1], ""):
        client.set_cookie("anaphora_oidc", str(cookie), path="/oidc")
        assert is_refused(client.get(back, headers=BROWSER), 400, "sign_in_expired"), cookie


def test_a_person_who_does_not_agree_is_not_logged_in(app: Flask, provider: Provider) -> None:
    client = app.test_client()
    address = begin(client)
    # This provider leaves out the state where the person does not agree.
    back = f"{provider.answer_for(address, None)}&state={query_of(address)['state']}"
    assert "error=access_denied" in back
    assert is_refused(client.get(back, headers=BROWSER), 403, "sign_in_refused")


@pytest.mark.parametrize("verified", [False, None, "false", "yes", 1])
def test_an_address_that_is_not_verified_makes_no_account(verified: object, app: Flask, provider: Provider) -> None:
    provider.knows("u1", EMAIL, email_verified=verified)
    assert is_refused(log_in(app.test_client(), provider, "u1"), 403, "email_not_verified")


@pytest.mark.parametrize("email", ["", "no address", "a@b@c", "../etc@example.org", "x" * 300 + "@example.org"])
def test_what_is_no_address_makes_no_account(email: str, app: Flask, provider: Provider) -> None:
    provider.knows("u1", email)
    answer = log_in(app.test_client(), provider, "u1")
    assert answer.status_code in (400, 403)
    assert "Traceback" not in answer.get_data(as_text=True)


def test_a_code_that_another_provider_gave_is_refused(app: Flask, provider: Provider) -> None:
    provider.knows("u1", EMAIL)
    client = app.test_client()
    back = provider.answer_for(begin(client), "u1")
    asked = len(provider.token_requests)
    mixed_up = client.get(f"{back}&iss=https://login.evil.example", headers=BROWSER)
    assert is_refused(mixed_up, 403, "sign_in_refused")
    assert len(provider.token_requests) == asked, "the code was given to nobody"


def test_a_provider_that_promises_to_name_itself_has_to(app: Flask, provider: Provider) -> None:
    provider.knows("u1", EMAIL)
    provider.describe = lambda described: described.update(authorization_response_iss_parameter_supported=True)
    asked = len(provider.token_requests)
    assert is_refused(log_in(app.test_client(), provider, "u1"), 403, "sign_in_refused")
    assert len(provider.token_requests) == asked, "the code was given to nobody"


def test_a_description_of_another_issuer_is_refused(app: Flask, provider: Provider) -> None:
    provider.describe = lambda described: described.update(issuer="https://login.evil.example")
    assert is_refused(app.test_client().get("/oidc/start", headers=BROWSER), 503, "provider_unavailable")


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("address", [None, "javascript:alert(1)", "file:///etc/passwd", 7])
def test_a_description_with_an_unsafe_address_is_refused(
    name: str, address: object, app: Flask, provider: Provider
) -> None:
    provider.describe = lambda described: described.update({name: address})
    assert is_refused(app.test_client().get("/oidc/start", headers=BROWSER), 503, "provider_unavailable")


@pytest.mark.parametrize("name", ["userinfo_endpoint", "end_session_endpoint"])
def test_a_description_may_leave_these_addresses_out(name: str, app: Flask, provider: Provider) -> None:
    provider.describe = lambda described: described.pop(name)
    assert app.test_client().get("/oidc/start", headers=BROWSER).status_code == 303


@pytest.mark.parametrize("name", ["userinfo_endpoint", "end_session_endpoint"])
@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", 7])
def test_a_description_may_not_name_an_unsafe_one_of_these(
    name: str, address: object, app: Flask, provider: Provider
) -> None:
    provider.describe = lambda described: described.update({name: address})
    assert is_refused(app.test_client().get("/oidc/start", headers=BROWSER), 503, "provider_unavailable")


@pytest.mark.in_process("the clock is held; test_guessing.py has two processes throttle")
def test_answers_that_keep_failing_are_slowed_down(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = throttle.now()
    monkeypatch.setattr(throttle, "_time", lambda *_: moment)
    client = app.test_client()
    allowed = provider_limits("127.0.0.1")[0].allowed
    statuses = [client.get("/oidc/callback?code=x&state=y").status_code for _ in range(allowed + 1)]
    assert statuses == [400] * allowed + [429]


def test_a_member_of_another_site_is_not_connected_by_a_form(app: Flask) -> None:
    answer = app.test_client().post(
        "/oidc/link", data={"password": "x"}, headers={"Origin": "https://evil.example", **BROWSER}
    )
    assert answer.status_code == 403
