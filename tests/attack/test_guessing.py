"""Guessing passwords is slowed down however it is spread, and locks nobody out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import func, select
from werkzeug.test import TestResponse

from database.accounts import throttle
from database.connection import open_store
from database.schema import login_attempts
from endpoints.accounts.login import DEVICE_COOKIE
from settings import Settings
from tests.attack.server_of_guesses import PROGRAM, Guesses
from tests.endpoints.conftest import PASSWORD, Person

Guess = Callable[..., TestResponse]


@pytest.fixture
def kept() -> int:
    """How many failures are kept."""
    return throttle._MOST_ROWS


@pytest.fixture
def guesses(tmp_path: Path) -> Guesses:
    """The clock, and the passwords that were compared."""
    begun = Guesses(tmp_path / "guesses")
    begun.begin()
    return begun


@pytest.fixture
def environ(tmp_path: Path, kept: int) -> Mapping[str, str]:
    """What `PROGRAM` needs."""
    return {"GUESSES": str(tmp_path / "guesses"), "GUESSES_KEPT": str(kept)}


@pytest.fixture
def program() -> str:
    """What two processes run."""
    return PROGRAM


@pytest.fixture
def guess(app: Flask, guesses: Guesses, kept: int, is_at_two_processes: bool, monkeypatch: pytest.MonkeyPatch) -> Guess:
    """Log in: guess("ada@example.org", address="192.0.2.1"). No time passes by itself, however slow the machine is."""
    if not is_at_two_processes:
        for module, name, value in guesses.replacements(kept=kept):
            monkeypatch.setattr(module, name, value)

    def sign_in(
        email: str, password: str = "a guess at it", *, address: str = "192.0.2.1", device: str = ""
    ) -> TestResponse:
        client = app.test_client()
        if device:
            client.set_cookie(DEVICE_COOKIE, device)
        body = {"email": email, "password": password}
        return client.post("/login", json=body, environ_base={"REMOTE_ADDR": address})

    return sign_in


def test_one_address_that_tries_many_accounts_is_slowed_down(guess: Guess, guesses: Guesses, ada: Person) -> None:
    statuses = [guess(f"a{number}@example.org").status_code for number in range(40)]
    assert statuses == [401] * 20 + [429] * 20
    assert len(guesses.compared) == 20
    refused = guess(ada.email, PASSWORD)
    assert (refused.status_code, 0 < int(refused.headers["Retry-After"]) <= 60) == (429, True)
    assert guess(ada.email, PASSWORD, address="198.51.100.1").status_code == 200


def test_addresses_of_one_network_of_ipv6_are_one(guess: Guess, guesses: Guesses) -> None:
    for number in range(40):
        guess(f"a{number}@example.org", address=f"2001:db8:0:1::{number:x}")
    assert len(guesses.compared) == 20
    assert guess("b@example.org", address="2001:db8:0:2::1").status_code == 401


@pytest.mark.parametrize("email", ["ada@example.org", "nobody@example.org"])
def test_one_account_that_is_tried_from_many_addresses_is_slowed_down(
    email: str, guess: Guess, guesses: Guesses, ada: Person
) -> None:
    statuses = [guess(email, address=f"192.0.2.{number}").status_code for number in range(30)]
    assert statuses == [401] * 10 + [429] * 20
    assert len(guesses.compared) == 10


def test_the_waits_grow_and_end_within_a_minute(guess: Guess, guesses: Guesses) -> None:
    for number in range(10):
        guess("ada@example.org", address=f"192.0.2.{number}")
    waits = []
    for number in range(6):
        refused = guess("ada@example.org", address=f"198.51.100.{number}")
        waits.append(int(refused.headers["Retry-After"]))
        guesses.move(waits[-1])
        assert guess("ada@example.org", address=f"198.51.100.{number}").status_code == 401
    assert waits == [5, 10, 20, 40, 60, 60]


def test_nobody_is_locked_out_of_a_browser_that_they_have_signed_in_from(
    guess: Guess, guesses: Guesses, ada: Person, eve: Person
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


@pytest.mark.parametrize("kept", [12])
def test_failures_take_up_bounded_room(guess: Guess, guesses: Guesses, settings: Settings) -> None:
    for number in range(20):
        guess(f"a{number}@example.org", address=f"192.0.2.{number}")
        guesses.move(61)
    with open_store(settings.users_dir).reading() as connection:
        assert connection.scalar(select(func.count()).select_from(login_attempts)) <= 12 + 3
