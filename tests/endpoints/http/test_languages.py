"""The language of a page: the account's, else the one kept in the browser, else what the browser asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import Environment

from database.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from endpoints.languages import COOKIE, ENGLISH, LANGUAGES, template_strings
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person
from tests.live_server import ROOT

pytestmark = pytest.mark.contract

# What forms and error pages show of errors is said in these.
SAYING = (
    "database/accounts/users.py",
    "database/errors.py",
    "endpoints/accounts/sign_in.py",
    "endpoints/http/error_responses.py",
    "endpoints/http/errors.py",
)
PAGE_STRINGS = ROOT / "interface" / "static" / "page" / "strings"


def sentences_of(module: Path) -> Iterator[str]:
    """All texts in a module's code."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


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


def test_a_form_with_two_mistakes_names_both_in_the_language_of_the_page(app: Flask) -> None:
    wrong = {"email": "no address", "password": "short"}
    page = (
        app.test_client()
        .post("/setup", data=wrong, headers={"Accept-Language": "de", **OWN_PAGE})
        .get_data(as_text=True)
    )
    assert "Das ist keine E-Mail-Adresse. Das Passwort hat 8 bis 1.024 Zeichen." in page


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


def test_the_templates_are_translated_word_for_word_and_nothing_is_left_over() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    marked = set()
    for template in (ROOT / "interface" / "templates").glob("*.html"):
        for _, _, message in environment.extract_translations(template.read_text(encoding="utf-8")):
            marked.add(message if isinstance(message, str) else message[0])
    said = {words for module in SAYING for words in sentences_of(ROOT / module)}
    said.add(f"The password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters.")
    for language in set(LANGUAGES) - {ENGLISH}:
        words = template_strings(language)
        assert marked - words.keys() == set(), language
        assert words.keys() - marked - said == set(), language
        for english, own in words.items():
            assert re.findall(r"%\(\w+\)s", own) == re.findall(r"%\(\w+\)s", english)
            assert own.strip()
