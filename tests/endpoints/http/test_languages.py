"""The language of a page: the account's, else the one kept in the browser, else what the browser asks for."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from endpoints.languages import COOKIE, ENGLISH, LANGUAGES
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person
from tests.live_server import ROOT

pytestmark = pytest.mark.contract

PAGE_STRINGS = ROOT / "interface" / "static" / "page" / "strings"


def language_of(client: FlaskClient, path: str, asked: str) -> str:
    """What the page at `path` says of its language, to a browser that asks for the languages `asked`."""
    page = client.get(path, headers={"Accept-Language": asked, "Accept": "text/html"}).get_data(as_text=True)
    found = re.search(r'<html lang="([^"]+)">', page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,es-MX;q=0.8,en;q=0.5", "es"),
        ("zh-CN,zh;q=0.9", "zh-Hans"),
        ("zh-TW", "zh-Hans"),
        ("fr,it", "en"),
        ("*", "en"),
        ("", "en"),
        ("\u00fc;q=x,,;", "en"),
    ],
)
def test_a_page_without_an_account_is_in_the_best_language_that_the_browser_asks_for(
    app: Flask, asked: str, answered: str
) -> None:
    assert language_of(app.test_client(), "/setup", asked) == answered


def test_the_language_of_the_account_comes_first_and_stays_in_the_browser(app: Flask, ada: Person) -> None:
    assert language_of(ada.client, "/settings", "es") == "es"
    assert ada.put("/language", json={"language": "de"}).status_code == 200
    assert language_of(ada.client, "/settings", "es") == "de"
    # Another browser of the same person learns it when they sign in, and keeps it when they sign out.
    other = app.test_client()
    assert language_of(other, "/login", "es") == "es"
    credentials = {"email": ada.email, "password": PASSWORD}
    assert other.post("/login", json=credentials, headers=OWN_PAGE).status_code == 200
    assert language_of(other, "/interface/", "es") == "de"
    assert other.post("/logout", json={}, headers=OWN_PAGE).status_code == 200
    assert language_of(other, "/login", "es") == "de"

    assert ada.put("/language", json={"language": None}).status_code == 200
    assert language_of(ada.client, "/settings", "es") == "es"
    assert ada.client.get_cookie(COOKIE) is None


@pytest.mark.parametrize("language", ["fr", "", "DE", 3])
def test_a_language_that_there_is_not_is_refused(ada: Person, language: object) -> None:
    assert ada.put("/language", json={"language": language}).status_code == 400
    ada.client.set_cookie(COOKIE, str(language))
    assert language_of(ada.client, "/settings", "es") == "es"


def test_a_page_in_another_language_starts_with_modules_of_that_language(app: Flask, ada: Person) -> None:
    ada.put("/language", json={"language": "zh-Hans"})
    page = ada.get("/interface/").get_data(as_text=True)
    addresses = re.findall(r'<script type="module" src="([^"]+)"', page)
    assert addresses
    for address in addresses:
        answer = ada.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert "zh-Hans" in address


def test_each_language_has_its_words_in_the_folder_of_its_name() -> None:
    assert {folder.name for folder in PAGE_STRINGS.iterdir() if folder.is_dir()} == set(LANGUAGES)
    assert {file.stem for file in (ROOT / "interface" / "strings").glob("*.json")} == set(LANGUAGES) - {ENGLISH}
