"""Behind a reverse proxy: what it says of who asks is believed, and of nobody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live_server import PASSWORD, LiveServer

# The first address is what somebody made up before the proxy added theirs.
FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7, 203.0.113.9"}


@pytest.mark.parametrize(
    ("trusted", "secure", "address"),
    [("10.1.0.0/16, 127.0.0.0/8", True, "203.0.113.9"), ("10.1.0.0/16", False, "127.0.0.1")],
)
def test_only_a_trusted_proxy_says_who_asks_and_whether_under_tls(
    start_server: Callable[..., LiveServer], trusted: str, secure: bool, address: str
) -> None:
    client = start_server(ANAPHORA_TRUSTED_PROXIES=trusted).client()
    account = {"email": "ada@example.org", "password": PASSWORD}
    made = client.request("POST", "/setup", account, headers=FORWARDED)
    assert made.status == 200
    assert ("; Secure" in made.headers["set-cookie"]) is secure
    assert [session["address"] for session in client.get("/sessions").json()] == [address]


def test_whoever_guesses_passwords_through_the_proxy_slows_down_nobody_else_behind_it(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(ANAPHORA_TRUSTED_PROXIES="127.0.0.1")
    server.sign_up()

    def sign_in(address: str, password: str) -> int:
        said = {"email": "ada@example.org", "password": password}
        return server.client().request("POST", "/login", said, headers={"X-Forwarded-For": address}).status

    assert [sign_in("203.0.113.9", "wrong wrong") for _ in range(6)] == [401] * 5 + [429]
    assert sign_in("203.0.113.10", PASSWORD) == 200
