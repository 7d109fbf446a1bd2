"""The command palette: everything the page can do, conversations and settings in one list, by keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import hold_talk
from tests.http_client import Client

from .screens import findings

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Commands and conversations")


def choose(page: Page, query: str, option: str | re.Pattern[str]) -> None:
    """Open the palette, type, and take the first entry, which is to be `option`."""
    page.keyboard.press("Control+k")
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type(query)
    expect(palette(page).locator(".is-active .option-title")).to_have_text(option)
    page.keyboard.press("Enter")
    expect(palette(page)).to_have_count(0)


@pytest.mark.shows("palette")
def test_the_palette_does_what_menus_commands_and_settings_do(open_page: OpenPage, person: Client) -> None:
    bread = hold_talk(person, "Baking bread", "How much salt?")
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, bread.path)
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_count(2)
    expect(page.locator(".message-card")).to_have_count(2)
    page.locator("#composer-input").fill("half a sentence")

    page.keyboard.press("Control+k")
    field = palette(page).get_by_role("combobox")
    expect(field).to_be_focused()
    options = palette(page).get_by_role("option")
    expect(options.first).to_have_text("Growing tomatoes")
    expect(options.first).to_have_attribute("aria-selected", "true")
    active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    assert options.first.get_attribute("id") == active
    expect(palette(page).get_by_role("group", name="This conversation").get_by_role("option")).not_to_have_count(0)
    assert findings(page, "palette", shown=palette(page)) == []
    commands = palette(page).get_by_role("group", name="Commands").locator(".option-title")
    for name in ("Keyboard shortcuts", "Find in this conversation"):
        expect(commands.filter(has_text=re.compile(f"^{name}$"))).to_have_count(1)
    page.keyboard.press("Control+k")
    expect(palette(page)).to_have_count(0)
    expect(page.locator("#composer-input")).to_be_focused()
    expect(page.locator("#composer-input")).to_have_value("half a sentence")

    # The menu of the open conversation, and what lies in its submenus.
    choose(page, "flag red", "Set Flag › Red")
    row = page.locator("#workspaces-container li.jstree-flag-red")
    expect(row).to_contain_text("Baking bread")
    # A command, the theme, a conversation.
    choose(page, "/prompts", re.compile("prompt library"))
    expect(page.get_by_role("dialog", name="Prompt library")).to_be_visible()
    page.keyboard.press("Escape")
    choose(page, "dark th", "Dark theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    choose(page, "tomat", "Growing tomatoes")
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")
    # What was used comes first, the newest foremost.
    page.keyboard.press("Control+k")
    recent = palette(page).get_by_role("group", name="Recent").get_by_role("option")
    expect(recent.first).to_contain_text("Dark theme")
    page.keyboard.press("Escape")
    expect(palette(page)).to_have_count(0)
    choose(page, "documents", "Documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    # What nothing is called leads to the search for everything; settings lead to their section.
    choose(page, "how much salt", "Search everything for “how much salt”")
    expect(page.get_by_role("searchbox", name="Search everything")).to_have_value("how much salt")
    choose(page, "api tok", "API tokens")
    expect(page.get_by_role("heading", name="API tokens")).to_be_visible()


def test_the_palette_asks_the_server_for_conversations_that_no_list_has(open_page: OpenPage, person: Client) -> None:
    old = hold_talk(person, "Seeds of long ago", "Which ones?")
    assert person.post(f"/archive_conversation/{old.conversation_id}", {"archived": True}).status == 200
    page = open_page(person)
    page.locator(".sidebar-user").click()
    page.locator("#user-menu").get_by_role("button", name="Commands").click()
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type("seeds of")
    found = palette(page).get_by_role("group", name="Conversations").get_by_role("option")
    expect(found).to_have_text(["Seeds of long ago"])
    found.click()
    expect(page.locator("#conversation-title")).to_have_text("Seeds of long ago")


@pytest.mark.parametrize(
    ("keys", "part", "place"),
    [("Control+k", "palette", ".palette-field"), ("Control+Shift+f", "search", "#search-input")],
)
def test_what_is_typed_while_a_field_is_on_its_way_is_for_it_and_sends_nothing(
    keys: str, part: str, place: str, open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    page.locator("#composer-input").fill("half a sentence")
    held: list[Route] = []
    page.route(f"**/{part}.css", lambda route: held.append(route))
    page.keyboard.press(keys)
    until_held(page, held)
    page.keyboard.type("tomatu")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    held[0].continue_()
    field = page.locator(place)
    expect(field).to_be_focused()
    expect(field).to_have_value("tomat")
    page.keyboard.type("oes")
    expect(field).to_have_value("tomatoes")
    expect(page.locator("#composer-input")).to_have_value("half a sentence")
    expect(page.locator(".message-card")).to_have_count(0)


@pytest.mark.parametrize("is_done", [True, False], ids=["composed before", "still composing"])
def test_what_an_input_method_composes_while_the_palette_is_on_its_way_is_for_it(
    is_done: bool, open_page: OpenPage, person: Client
) -> None:
    page = open_page(person)
    composer, field = page.locator("#composer-input"), page.locator(".palette-field")
    composer.fill("half a sentence")
    held: list[Route] = []
    page.route("**/palette.css", lambda route: held.append(route))
    page.keyboard.press("Control+k")
    until_held(page, held)
    page.keyboard.type("to ")
    keyboard = page.context.new_cdp_session(page)
    for text in ("f", "fan", "番茄"):
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
    if is_done:
        keyboard.send("Input.insertText", {"text": "番茄"})
        expect(composer).to_have_value("half a sentence")
        page.keyboard.type("!")
    held[0].continue_()
    expect(field).to_be_focused()
    expect(field).to_have_value("to 番茄!" if is_done else "to 番茄")
    expect(composer).to_have_value("half a sentence")


def test_keys_are_for_the_message_again_where_the_palette_does_not_come(
    open_page: OpenPage, person: Client, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person)
    page.locator("#composer-input").focus()
    page.route("**/palette.css", lambda route: route.abort())
    page.keyboard.press("Control+k")
    expect(page.locator("#toasts")).to_contain_text("That did not work.")
    page.keyboard.type("half a sentence")
    expect(page.locator("#composer-input")).to_have_value("half a sentence")


def test_what_is_typed_for_a_field_that_does_not_come_is_seen_after_a_while(
    open_page: OpenPage, person: Client
) -> None:
    page = open_page(person, own_clock=True)
    page.clock.install()
    page.locator("#composer-input").focus()
    held: list[Route] = []
    page.route("**/palette.css", lambda route: held.append(route))
    page.keyboard.press("Control+k")
    until_held(page, held)
    page.keyboard.type("tomatoes")
    expect(page.locator("#composer-input")).to_have_value("")
    page.clock.fast_forward(10_000)
    expect(page.locator("#composer-input")).to_have_value("tomatoes")
    page.keyboard.type(" and beans")
    expect(page.locator("#composer-input")).to_have_value("tomatoes and beans")
    held[0].continue_()
    expect(page.locator(".palette-field")).to_be_focused()
