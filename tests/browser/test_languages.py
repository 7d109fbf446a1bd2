"""The page in each of its languages: chosen in the settings, read on a few screens, kept for the login page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest
from playwright.sync_api import expect

from database.conversations.titles import UNTITLED
from tests.browser.history import hold_talk
from tests.browser.memories_panel import remember
from tests.browser.screens import problems
from tests.browser.transcript import card
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.browser.chromium import PageProblems

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


class Words(NamedTuple):
    """What a few screens say in a language."""

    name: str
    section: str
    devices: str
    message: str
    sender: str
    unnamed: str
    menu: str
    memories: str
    no_memories: str
    log_in: str


WORDS = {
    "de": Words(
        name="Deutsch",
        section="Aussehen und Sprache",
        devices="dieses Gerät",
        message="Nachricht",
        sender="Du",
        unnamed="Neue Unterhaltung",
        menu="Aktionen der Nachricht",
        memories="Erinnerungen",
        no_memories="Noch keine Erinnerungen",
        log_in="Anmelden",
    ),
    "es": Words(
        name="Español",
        section="Aspecto e idioma",
        devices="este dispositivo",
        message="Mensaje",
        sender="Tú",
        unnamed="Conversación nueva",
        menu="Acciones del mensaje",
        memories="Recuerdos",
        no_memories="Todavía no hay recuerdos",
        log_in="Iniciar sesión",
    ),
    "zh-Hans": Words(
        name="简体中文",
        section="外观和语言",
        devices="此设备",
        message="消息",
        sender="你",
        unnamed="新建对话",
        menu="消息操作",
        memories="记忆",
        no_memories="还没有记忆",
        log_in="登录",
    ),
}


@pytest.mark.parametrize("language", WORDS)
def test_the_page_is_read_in_the_language_that_was_chosen(language: str, person: Client, open_page: OpenPage) -> None:
    words = WORDS[language]
    talk = hold_talk(person, UNTITLED, "How much water?")
    page = open_page(person, "/settings#appearance")
    page.get_by_role("combobox", name="Language").select_option(words.name)
    shown = page.locator(".settings-section:visible h2")
    expect(shown).to_have_text(words.section)
    expect(page.locator("html")).to_have_attribute("lang", language)
    page.locator(".settings-nav a[href='#devices']").click()
    expect(page.locator("#session-list")).to_contain_text(words.devices)

    page.goto(talk.path)
    cards = page.locator(".message-card")
    expect(cards).to_have_count(2)
    expect(cards.first.locator(".message-sender")).to_have_text(words.sender)
    expect(page.locator("#conversation-title")).to_have_text(words.unnamed)
    expect(page.locator("#workspaces-container")).to_contain_text(words.unnamed)
    expect(page.get_by_role("textbox", name=words.message, exact=True)).to_be_visible()
    cards.first.get_by_role("button", name=words.menu).click()
    expect(page.get_by_role("menu", name=words.menu)).to_be_visible()
    page.keyboard.press("Escape")
    # What is loaded later speaks the language too.
    page.get_by_role("button", name=words.memories, exact=True).click()
    expect(page.get_by_role("heading", name=words.no_memories)).to_be_visible()
    assert problems(page) == []
    assert page.locator(f"script[type='module'][src*='{language}']").count() == 1

    page.context.clear_cookies(name=re.compile("session"))
    page.goto("/login")
    expect(page.get_by_role("button", name=words.log_in, exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", language)


def test_kinds_of_memories_and_notes_about_them_are_said_in_the_language_that_was_chosen(
    person: Client, open_page: OpenPage
) -> None:
    assert person.put("/language", {"language": "de"}).status == 200
    remember(person, "Tee trinke ich ohne Zucker", claim_type="preference")
    page = open_page(person)
    field = page.locator("#composer-input")
    field.press_sequentially("@zucker")
    offered = page.get_by_role("option").filter(has_text="Tee trinke ich")
    expect(offered.locator(".option-about")).to_contain_text("Vorliebe")
    field.fill("@life")
    expect(page.get_by_role("option").filter(has_text="life_ops_domain").locator(".option-title")).to_have_text(
        "Alltag"
    )

    # The model says nothing that can be used.
    field.fill("/memory Ich mag Tee")
    field.press("Escape")
    field.press("Enter")
    note = page.locator(".memory-card .memory-note[role=status]")
    expect(note).to_have_text(re.compile("^Die Vorschläge wurden nach Regeln gemacht."))
    page.goto("/interface/?panel=search&q=Zucker")
    expect(page.locator(".search-hit-about")).to_contain_text("Vorliebe")


def test_the_words_of_refusals_come_with_the_first_one_and_are_asked_for_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    page_problems.expect("ERR_FAILED")
    assert person.put("/language", {"language": "de"}).status == 200
    talk = hold_talk(person, "Tomaten", "Wie viel Wasser?")
    page = open_page(person, empty_cache=True)
    asked = list[str]()

    def lose(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route(re.compile(r"/built/de/later\.js"), lose)
    page.route(
        "**/messages/*/pin",
        lambda route: route.continue_(url=re.sub(r"(?<=/messages/)[^/]+", "gone", route.request.url)),
    )
    # For the words that are fetched only now, a page waits 5 s before it says the server's English ones.
    page.add_init_script("""const { setTimeout: later } = globalThis;
        globalThis.setTimeout = (job, ms, ...rest) => (ms === 5000 ? 0 : later(job, ms, ...rest));""")
    page.goto(talk.path)

    def pin() -> None:
        card(page, 1).get_by_role("button", name="Aktionen der Nachricht").click()
        page.get_by_role("menuitem", name="Anheften").click()

    refusals = page.locator("#toasts .toast-text")
    pin()
    expect(refusals.last).to_have_text("Das Anheften konnte nicht geändert werden. There is no such message.")
    assert len(asked) == 1
    page.unroute(re.compile(r"/built/de/later\.js"))
    pin()
    expect(refusals.last).to_have_text("Das Anheften konnte nicht geändert werden. Diese Nachricht gibt es nicht.")
