"""Everything that a person reads comes from the words of their language: no screen says anything in English by itself.

The page runs with German words in brackets, and what the test itself writes is Greek. What has Latin letters outside of
brackets was said by nobody's words: a text in a module, a sentence of the server, a date in another language.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

import joined_page
from endpoints.http.languages import template_strings
from tests.browser.chromium import PageProblems
from tests.browser.history import hold_talk
from tests.browser.screens import MEMORIES, SETTINGS
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]

LANGUAGE = "de"
# A module of words whose texts, and those that its functions return, stand in brackets.
BRACKETED = """import * as own from './own_%s';
const bracketed = (value) => {
  if (typeof value === 'string') return value.trim() ? `\u27e6${value}\u27e7` : value;
  if (typeof value === 'function') return (...values) => bracketed(value(...values));
  if (Array.isArray(value)) return value.map(bracketed);
  if (!value || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bracketed(each)]));
};
"""
EXPORTED = re.compile(r"^export (?:const|function) (\w+)", re.MULTILINE)
READ = """() => {
  const NAMES = ['aria-label', 'title', 'placeholder', 'alt', 'aria-description'];
  const found = [document.title];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const place = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (place.closest('script, style, template, code, pre, svg') || !place.checkVisibility()) continue;
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data);
    else found.push(...NAMES.map((name) => node.getAttribute(name) ?? ''));
  }
  return [...new Set(found.map((text) => text.trim()).filter(Boolean))];
}"""


@pytest.fixture
def page_in_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the page's modules joined in German, whose words stand in brackets."""
    static = tmp_path / "interface" / "static"
    static.parent.mkdir()
    (static.parent / "templates").symlink_to(joined_page.STATIC.parent / "templates")
    shutil.copytree(joined_page.STATIC / "page", static / "page")
    (static / "vendor").symlink_to(joined_page.STATIC / "vendor")
    for folder in (static / "page" / "strings").glob("*/"):
        if folder.name not in ("en", LANGUAGE):
            shutil.rmtree(folder)
    for module in (static / "page" / "strings" / LANGUAGE).glob("*.js"):
        if module.name != "count.js":  # numbers and dates, which are no words
            names = EXPORTED.findall(module.read_text(encoding="utf-8"))
            module.rename(module.with_name(f"own_{module.name}"))
            exports = "".join(f"export const {name} = bracketed(own.{name});\n" for name in names)
            module.write_text(BRACKETED % module.name + exports, encoding="utf-8")
    monkeypatch.setattr(joined_page, "STATIC", static)
    monkeypatch.setattr(joined_page, "BUILT", static / "built")
    monkeypatch.setattr(joined_page, "WORK", tmp_path / "work")  # what is made is moved within one file system
    joined_page.prepare_joined_page()
    return static / "built" / LANGUAGE


# What is the same in each language, or comes from the person, the models and the settings.
NAMES = (
    "Anaphora", r"ANAPHORA_\w+", "Esc", r"(?<!\w)/[a-z]+", r"\.md", r"@agent_\w+", r"@claim_\d+", r"@moy_aresei_\w{4}",
    r"\S+@example\.org", r"@?conversation_\w+", r"\b(?:main|cheap|embedding|small)\b", r"qwen[\w.-]+",
    r"#\d+ · \w{6}", r"Understood\.", r"\w+, \d+\. \w+ \d{4} um [\d:]+", r"\d+\. \w+\.?(?: \d{4})?, [\d:]+",
)  # fmt: skip


@pytest.fixture(scope="module")
def known() -> re.Pattern[str]:
    """What stands on screens in Latin letters and is no English: German words of the templates, and names."""
    words = template_strings(LANGUAGE).values()
    pieces = [piece.strip() for each in words for piece in re.split(r"%\(\w+\)s", each) if piece.strip()]
    # The longest first: a piece such as "Mit" begins other words, too.
    return re.compile("|".join([*NAMES, *map(re.escape, sorted(pieces, key=len, reverse=True))]))


@dataclass
class Reader:
    """Reads screens, and keeps the texts that no words of the language said."""

    page: Page
    known: re.Pattern[str]
    english: set[str] = field(default_factory=set)

    def read(self, path: str, *shown: str) -> None:
        """Open a page and read it once each of these elements is there."""
        self.page.goto(path)
        self.look(*shown)

    def look(self, *shown: str) -> None:
        """Read the page as it is."""
        for each in shown:
            expect(self.page.locator(each).first).to_be_visible()
        self.english |= {text for text in self.page.evaluate(READ) if self._is_english(text)}

    def _is_english(self, text: str) -> bool:
        while (shorter := re.sub("\u27e6[^\u27e6\u27e7]*\u27e7", " ", text)) != text:
            text = shorter
        # A text that the page takes apart has one of its brackets in another element.
        text = re.sub("\u27e6.*|.*\u27e7", " ", text, flags=re.DOTALL)
        return re.search(r"[A-Za-z]{2,}|\d\.\d(?!\d)", self.known.sub(" ", text)) is not None


def test_every_screen_says_everything_in_the_words_of_the_language(
    server: LiveServer, person: Client, open_page: OpenPage, page_in_brackets: Path, known: re.Pattern[str],
    page_problems: PageProblems,
) -> None:  # fmt: skip
    page_problems.expect("404")
    assert person.put("/language", {"language": LANGUAGE}).status == 200
    talk = hold_talk(person, "Ντομάτες", "Πόσο νερό;")
    told = hold_talk(person, "Κήπος", f"Βλέπε {talk.reference(1)} [[λάθος]] @claim_99")
    memory = {"statement": "Μου αρέσει", "claim_type": "fact", "context_domain": "personal"}
    assert person.post("/pkb/claims", memory).status == 201
    name = quote("κήπος.md")
    assert person.put(f"/api/vault/document?path={name}", {"text": "[[τίποτα]]"}).status in (200, 201)
    page = open_page(person, "/interface/nothing")
    screens = Reader(page, known)
    screens.look("main")
    page.route(
        f"**/built/{LANGUAGE}/*.js",
        lambda route: route.fulfill(path=page_in_brackets / route.request.url.rpartition("/")[2]),
    )
    read_the_settings(screens)
    read_the_panels(screens)
    screens.read(told.path, ".message-card:nth-child(2)", ".jstree-anchor")
    read_what_opens(screens)
    assert screens.english == set()


def read_the_settings(screens: Reader) -> None:
    """Each section of somebody who is no administrator."""
    screens.read("/settings", "#user-detail")
    for section in set(SETTINGS) - {"people", "administration"}:
        screens.page.evaluate("(section) => { location.hash = section; }", section)
        screens.look(f"[data-section='{section}']")


def read_the_panels(screens: Reader) -> None:
    """Memories, documents, search, and a page without a conversation."""
    screens.read("/interface/", "#composer-input")
    for tab in MEMORIES:
        screens.read(f"/interface/?panel=memories&tab={tab}", "#memories [role=tabpanel]:not([hidden])")
    screens.read("/interface/?panel=documents", "#documents .document-link")
    screens.read("/interface/?panel=search&q=%CE%BD%CE%B5%CF%81%CF%8C", "#search-panel .search-hit")


def read_what_opens(screens: Reader) -> None:
    """What each button of a conversation opens, the menus of messages and of the sidebar, the dialogs of keys."""
    page = screens.page
    page.locator(".jstree-anchor").first.click(button="right")
    screens.look(".vakata-context")
    page.keyboard.press("Escape")
    for place in ("header", "#composer", ".message-card:nth-child(1)", ".message-card:nth-child(2)"):
        buttons = page.locator(f"{place} button:is([aria-haspopup], [aria-expanded])")
        for number in range(buttons.count()):
            if buttons.nth(number).is_visible() and buttons.nth(number).is_enabled():
                buttons.nth(number).click()
                # What opens may be brought first.
                expect(buttons.nth(number)).to_have_attribute("aria-expanded", "true")
                screens.look()
                page.keyboard.press("Escape")
    page.locator("body").press("Control+k")
    screens.look("dialog[open]")
