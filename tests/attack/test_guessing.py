"""Guessing passwords is slowed down however it is spread, and locks nobody out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from database.accounts import throttle, users
from database.connection import open_store
from database.engine import clock
from database.schema import login_attempts
from endpoints.accounts.sign_in import DEVICE_COOKIE
from settings import Settings
from tests.endpoints.conftest import PASSWORD, Person

Guess = Callable[..., TestResponse]


class Hashes(list[str]):
    """The passwords that were compared with a hash."""

    def matches(self, password: str, password_hash: str | None) -> bool:
        """Right is what the account was made with."""
        self.append(password)
        return password == PASSWORD and password_hash is not None


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> Hashes:
    """Counts hashes instead of making them."""
    counted = Hashes()
    monkeypatch.setattr(users, "password_matches", counted.matches)
    return counted


@pytest.fixture
def guess(app: Flask, hashes: Hashes, later: Callable[[float], None]) -> Guess:
    """Sign in: guess("ada@example.org", address="192.0.2.1"). No time passes by itself, however slow the machine is."""
    assert later

    def sign_in(
        email: str, password: str = "a guess at it", *, address: str = "192.0.2.1", device: str = ""
    ) -> TestResponse:
        client = app.test_client()
        if device:
            client.set_cookie(DEVICE_COOKIE, device)
        body = {"email": email, "password": password}
        return client.post("/login", json=body, environ_base={"REMOTE_ADDR": address})

    return sign_in


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Moves the clock by seconds; it stands still otherwise, that of PostgreSQL too."""
    moment = datetime.now(UTC)

    def move(seconds: float) -> None:
        nonlocal moment
        moment += timedelta(seconds=seconds)

    for module in (clock, throttle):
        monkeypatch.setattr(module, "now", lambda: moment)
    monkeypatch.setattr(throttle, "corrected_now", lambda _connection: moment)
    return move


def test_one_address_that_tries_many_accounts_is_slowed_down(guess: Guess, hashes: Hashes, ada: Person) -> None:
    statuses = [guess(f"a{number}@example.org").status_code for number in range(40)]
    assert statuses == [401] * 20 + [429] * 20
    assert len(hashes) == 20
    refused = guess(ada.email, PASSWORD)
    assert (refused.status_code, 0 < int(refused.headers["Retry-After"]) <= 60) == (429, True)
    assert guess(ada.email, PASSWORD, address="198.51.100.1").status_code == 200


def test_addresses_of_one_network_of_ipv6_are_one(guess: Guess, hashes: Hashes) -> None:
    for number in range(40):
        guess(f"a{number}@example.org", address=f"2001:db8:0:1::{number:x}")
    assert len(hashes) == 20
    assert guess("b@example.org", address="2001:db8:0:2::1").status_code == 401


@pytest.mark.parametrize("email", ["ada@example.org", "nobody@example.org"])
def test_one_account_that_is_tried_from_many_addresses_is_slowed_down(
    email: str, guess: Guess, hashes: Hashes, ada: Person
) -> None:
    statuses = [guess(email, address=f"192.0.2.{number}").status_code for number in range(30)]
    assert statuses == [401] * 10 + [429] * 20
    assert len(hashes) == 10


def test_the_waits_grow_and_end_within_a_minute(guess: Guess, later: Callable[[float], None]) -> None:
    for number in range(10):
        guess("ada@example.org", address=f"192.0.2.{number}")
    waits = []
    for number in range(6):
        refused = guess("ada@example.org", address=f"198.51.100.{number}")
        waits.append(int(refused.headers["Retry-After"]))
        later(waits[-1])
        assert guess("ada@example.org", address=f"198.51.100.{number}").status_code == 401
    assert waits == [5, 10, 20, 40, 60, 60]


def test_nobody_is_locked_out_of_a_browser_that_they_have_signed_in_from(
    guess: Guess, hashes: Hashes, ada: Person, eve: Person
) -> None:
    cookies = guess(ada.email, PASSWORD).headers.getlist("Set-Cookie")
    device = next(cookie.partition("=")[2].partition(";")[0] for cookie in cookies if cookie.startswith(DEVICE_COOKIE))
    for number in range(30):
        guess(ada.email, address=f"192.0.2.{number}")
    assert guess(ada.email, PASSWORD).status_code == 429
    again = guess(ada.email, PASSWORD, device=device)
    assert again.status_code == 200
    assert not any(cookie.startswith(DEVICE_COOKIE) for cookie in again.headers.getlist("Set-Cookie"))
    forged = device[:-1] + ("0" if device[-1] != "0" else "1")
    assert guess(ada.email, PASSWORD, device=forged).status_code == 429
    # A browser that guesses is slowed down all the same, and knows nothing of other accounts.
    assert [guess(ada.email, device=device).status_code for _ in range(6)] == [401] * 5 + [429]
    for number in range(11):
        guess(eve.email, address=f"203.0.113.{number}")
    assert guess(eve.email, PASSWORD, device=device).status_code == 429


def test_failures_take_up_bounded_room(
    guess: Guess, settings: Settings, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "_MOST_ROWS", 12)
    for number in range(20):
        guess(f"a{number}@example.org", address=f"192.0.2.{number}")
        later(61)
    with open_store(settings.users_dir).reading() as connection:
        assert connection.scalar(select(func.count()).select_from(login_attempts)) <= 12 + 3
