"""The language of a page: the account's, else the one kept in the browser, else what the browser asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2 import Environment, nodes

from activity.recipes.builtin import BUILT_IN as RECIPES
from chat.tools.catalogue import BUILT_IN
from database.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD
from database.conversations.titles import UNTITLED
from database.engine.errors import NotFoundError
from endpoints.http.errors import AMBIGUOUS, ERROR_TABLE
from endpoints.http.languages import COOKIE, ENGLISH, LANGUAGES, template_strings
from sentences import SENTENCES
from tests.endpoints.conftest import OWN_PAGE, PASSWORD, Person
from tests.live_server import ROOT

pytestmark = pytest.mark.contract

# What forms and error pages show of errors is said in these, and what stands behind the titles of copies.
SAYING = (
    "endpoints/conversations/views.py",
    "endpoints/messages/views.py",
    "database/accounts/users.py",
    "database/engine/errors.py",
    "endpoints/accounts/forms.py",
    "endpoints/accounts/login.py",
    "endpoints/http/error_responses.py",
    "endpoints/http/errors.py",
)
WRITTEN = ("portability/account_index.py", "activity/export_document.py", "activity/export_html.py")
"""Modules that write pages with the words of the templates: those that they give to `words`."""
PAGE_STRINGS = ROOT / "interface" / "static" / "page" / "strings"
TEMPLATES = ROOT / "interface" / "templates"
READ_ALOUD = {"aria-label", "alt", "label", "placeholder", "title"}
"""Attributes that people read or hear."""
BRAND = "Anaphora"


def sentences_of(module: Path) -> Iterator[str]:
    """All texts in a module's code."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def words_of(module: Path) -> Iterator[str]:
    """What a module says by `words`."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "words":
            yield ast.literal_eval(node.args[0])


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


def test_a_page_that_is_not_there_says_so_in_the_language_of_the_page(ada: Person) -> None:
    answers = {
        language: ada.get("/interface/nothing", headers={"Accept": "text/html", "Accept-Language": language})
        for language in ("de", "en")
    }
    assert {answer.status_code for answer in answers.values()} == {404}
    assert "Unter dieser Adresse gibt es nichts." in answers["de"].get_data(as_text=True)
    assert "There is no such conversation." in answers["en"].get_data(as_text=True)


def test_the_language_of_the_account_comes_first_and_stays_in_the_browser(app: Flask, ada: Person) -> None:
    assert language_of(ada.client, "/settings", "es") == "es"
    assert ada.put("/language", json={"language": "de"}).status_code == 200
    assert language_of(ada.client, "/settings", "es") == "de"
    # Another browser of the same person learns it when they log in, and keeps it when they log out.
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
    said |= {SENTENCES[code] for code in ("no_email_address", "account_exists", "invitation_other_email")}
    marked |= {words for module in WRITTEN for words in words_of(ROOT / module)}
    for language in set(LANGUAGES) - {ENGLISH}:
        words = template_strings(language)
        assert marked - words.keys() == set(), language
        assert words.keys() - marked - said == set(), language
        for english, own in words.items():
            assert re.findall(r"%\(\w+\)s", own) == re.findall(r"%\(\w+\)s", english)
            assert own.strip()


class WordsOutsideOfStrings(HTMLParser):
    """Collects the words of a template's own HTML, without the brand's name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in READ_ALOUD:
                self.handle_data(value or "")

    def handle_data(self, data: str) -> None:
        self.found += re.findall(r"[^\W\d_]{2,}", data.replace(BRAND, ""))


def unmarked_sentences(node: nodes.Node) -> Iterator[str]:
    """Texts of a template's expressions that read as words and are not marked for translation."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "_":
        return
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and re.match(r"[A-Z][a-z]+( |$)", node.value):
        yield node.value
    for child in node.iter_child_nodes():
        yield from unmarked_sentences(child)


@pytest.mark.parametrize("name", sorted(path.name for path in TEMPLATES.glob("*.html")))
def test_a_template_says_nothing_that_is_not_marked_for_translation(name: str) -> None:
    template = (TEMPLATES / name).read_text(encoding="utf-8")
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    assert list(unmarked_sentences(environment.parse(template))) == []
    # Blocks and macros that stand within a tag hold class names, not words.
    html = re.sub(r"{% block body_class %}.*?{% endblock %}|{%- macro named.*?endmacro -%}", "", template)
    parser = WordsOutsideOfStrings()
    parser.feed("".join(text if kind == "data" else " " for _, kind, text in environment.lex(html)))
    assert parser.found == []


def subclasses_of(kind: type) -> Iterator[type]:
    """`kind`, and all that derive from it."""
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses_of(each)


def codes_of_errors() -> set[str]:
    """Every code that an answer of the server can have, by the table of errors and the types that are in it."""
    codes = {"internal_error", "method_not_allowed", "not_found", AMBIGUOUS}
    for row in ERROR_TABLE:
        if row.code == "{noun}_not_found":
            own = set(subclasses_of(row.error)) - {NotFoundError}
            codes |= {f"{kind.noun}_not_found" for kind in own}  # type: ignore[attr-defined]
        elif row.code == "{code}":
            codes |= {str(kind.code) for kind in subclasses_of(row.error) if hasattr(kind, "code")}
        else:
            codes.add(row.code)
    return codes


def words_of_errors(language: str) -> str:
    """The modules' lines with the words of errors: those that a page begins with, and those that it loads later."""
    at_once, later = (
        (PAGE_STRINGS / language / name).read_text(encoding="utf-8") for name in ("errors.js", "said_later.js")
    )
    return at_once + later.partition("laterErrors = {")[2].partition("};")[0]


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {ENGLISH}))
def test_each_code_of_the_table_of_errors_has_words(language: str) -> None:
    words = re.findall(r"^  (\w+): ", words_of_errors(language), re.MULTILINE)
    assert codes_of_errors() - set(words) == set()
    assert len(words) == len(set(words))


def values_of(english: str) -> set[str]:
    """The values that a sentence of the server has."""
    return {name for _, name, _, _ in Formatter().parse(english) if name}


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {ENGLISH}))
def test_each_sentence_of_the_server_has_words_that_take_its_values(language: str) -> None:
    words: dict[str, str] = {}
    for name in ("said.js", "said_later.js", "said_imports.js"):
        catalogue = (PAGE_STRINGS / language / name).read_text(encoding="utf-8").partition("Words = {")[2]
        words |= re.findall(r"^  (\w+): (.+),$", catalogue, re.MULTILINE)
    assert words.keys() == SENTENCES.keys()
    for code, english in SENTENCES.items():
        taken = re.match(r"\(\{ (.+?) \}\) => ", words[code])
        names = {name.partition(":")[0] for name in taken[1].split(", ")} if taken else set()
        assert names == values_of(english), code


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_each_tool_that_people_switch_has_a_name_in_words(language: str) -> None:
    settings = (PAGE_STRINGS / language / "answer_settings.js").read_text(encoding="utf-8")
    named = re.findall(r"^      (\w+): '", re.split(r"^    names: \{$", settings, flags=re.MULTILINE)[1], re.MULTILINE)
    assert {tool.name for tool in BUILT_IN} - set(named) == set()


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_each_kind_of_activity_of_the_product_has_a_name_in_words(language: str) -> None:
    settings = (PAGE_STRINGS / language / "settings.js").read_text(encoding="utf-8")
    named = set(re.findall(r"^        '([\w-]+/\w+)': '", settings, re.MULTILINE))
    assert {f"{recipe.domain}/{name}" for recipe in RECIPES for name in recipe.activity_types} == named


def test_the_page_knows_what_the_server_calls_a_conversation_without_words_for_a_title() -> None:
    module = (PAGE_STRINGS.parent / "core" / "words" / "conversation_title.js").read_text(encoding="utf-8")
    assert f"NAMED_BY_THE_SERVER = '{UNTITLED}';" in module


def test_copies_are_called_so_in_the_language_of_the_page(ada: Person) -> None:
    source = ada.post("/create_conversation/assistant/").json["conversation_id"]
    ada.put(f"/conversations/{source}/title", json={"title": "Beete"})
    for _ in range(2):
        source = ada.post(f"/clone_conversation/{source}", headers={"Accept-Language": "de"}).json["conversation_id"]
    assert ada.get(f"/get_conversation_details/{source}").json["title"] == "Beete (Kopie 2)"
    source = ada.post(f"/clone_conversation/{source}").json["conversation_id"]
    assert ada.get(f"/get_conversation_details/{source}").json["title"] == "Beete (Kopie 2) (copy)"
