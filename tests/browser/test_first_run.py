"""The first minute: an account, a welcome that refers to another conversation, a reference tried out; and the keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import conversation, hold_talk, messages
from tests.browser.transcript import keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
WELCOME, TRIP = "Welcome to Anaphora", "A weekend in Lisbon"


def fill_in(page: Page, email: str, button: str) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name=button).click()


def test_a_newcomer_tries_a_reference_and_follows_it(
    live_server: LiveServer, recording_model: RecordingModel, open_page: OpenPage
) -> None:
    recording_model.scripts = {"main": saying("The tile museum, then Cascais."), "cheap": saying("Another Title")}
    page = open_page(live_server.client())
    fill_in(page, "grace@example.org", "Create account")
    expect(page.locator("#conversation-title")).to_have_text(WELCOME)
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator(".message-card").nth(1).locator(".message-sender")).to_have_text("Anaphora")
    expect(page.locator("#sidebar")).to_contain_text(TRIP)
    expect(page).not_to_have_url(re.compile("welcome="))

    expect(page.locator(".suggested-messages-note")).to_be_hidden()
    # A suggestion reads as what it refers to, is written, and sent by the key that sends.
    suggestion = page.get_by_role("button", name=re.compile(f"What did I plan for Saturday.*{TRIP} › #"))
    expect(page.locator(".suggested-message", has_text="@")).to_have_count(0)
    expect(suggestion.locator(".suggested-reference")).to_contain_text(TRIP)
    suggestion.click()
    expect(page.locator("#composer-input")).to_have_value(
        re.compile(r"^What did I plan for Saturday\? @conversation_w")
    )
    page.keyboard.press("Enter")
    # It has served; the others stay.
    expect(suggestion).to_have_count(0)
    expect(page.locator(".suggested-message")).to_have_count(2)
    expect(page.locator(".message-card").nth(2)).to_contain_text("1 reference")
    expect(page.locator(".message-card").nth(3)).to_contain_text("The tile museum, then Cascais.")
    assert "National Tile Museum, 8 euros each" in recording_model.prompt(model="main")

    # The chip leads to the message. Once the answer is whole, nothing moves it away from under the mouse.
    expect(page.locator(".message-card").nth(3)).to_have_attribute("data-status", "complete")
    expect(page.get_by_role("button", name="Stop answering")).to_have_count(0)
    chip = page.locator(".message-card").nth(2).locator(".reference-chip").first
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text("National Tile Museum")
    chip.click()
    expect(page.locator("#conversation-title")).to_have_text(TRIP)
    expect(page.locator(".message-card").nth(3)).to_be_in_viewport()
    expect(page.locator(".suggested-messages")).to_have_count(0)

    # What was put away stays away.
    page.go_back()
    expect(page.locator(".suggested-message")).to_have_count(2)
    # Over the chip, the mouse would open its card.
    page.mouse.move(0, 0)
    page.get_by_role("button", name="Do not suggest these any more").click()
    expect(page.locator(".suggested-messages")).to_have_count(0)
    page.reload()
    expect(page.locator(".message-card")).to_have_count(4)
    expect(page.locator(".suggested-messages")).to_have_count(0)


def test_the_first_form_welcomes_and_the_second_does_not(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    # The first page may still be asking for what is deleted under it.
    page_problems.expect("404")
    email = str(person.get("/get_user_info").json()["user_email"])
    first = open_page(server.client())
    fill_in(first, email, "Log in")
    expect(first.locator("#conversation-title")).to_have_text(WELCOME)
    expect(first.locator(".suggested-message")).to_have_count(3)
    person.delete(f"/delete_conversation/{(conversation(person, WELCOME) or {})['conversation_id']}")
    second = open_page(server.client())
    fill_in(second, email, "Log in")
    expect(second.get_by_role("heading", name="What would you like to talk about?")).to_be_visible()
    second.goto("/interface/?welcome=1")
    expect(second).to_have_url(re.compile("/interface/$"))
    assert conversation(person, WELCOME) is None
    assert conversation(person, TRIP) is not None


def test_a_welcome_that_could_not_be_made_is_made_at_the_next_try(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_FAILED")
    page = open_page(person, "/setup")
    page.route("**/welcome", lambda route: route.abort(), times=1)
    page.goto("/interface/?welcome=1")
    expect(page.locator("#toasts")).to_contain_text("The welcome could not be made.")
    page.locator("#toasts").get_by_role("button", name="Try again").click()
    expect(page.locator("#conversation-title")).to_have_text(WELCOME)
    welcome = conversation(person, WELCOME)
    assert welcome is not None
    assert len(messages(person, welcome["conversation_id"])) == 2

    expect(page.locator(".suggested-message")).to_have_count(3)
    page.route("**/page/conversation/welcome/welcome.css*", lambda route: route.abort(), times=1)
    page.reload()
    page.locator("#toasts").get_by_role("button", name="Try again").click()
    expect(page.locator(".suggested-message")).to_have_count(3)


def test_keys_lead_everywhere(person: Client, open_page: OpenPage) -> None:
    older = hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Baking bread", "How much salt?")
    page = open_page(person)
    keep_toasts(page)
    expect(page.locator("#workspaces-container a[data-conversation-id]")).to_have_count(2)
    page.locator("#chatView").focus()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog")
    expect(listed).to_contain_text("Copy the reference of this conversation")
    # With a dialog open, keys are the dialog's.
    page.keyboard.press("Control+b")
    expect(page.locator("html")).to_have_attribute("data-sidebar", "open")
    page.keyboard.press("Escape")
    expect(listed).to_have_count(0)

    page.keyboard.press("/")
    expect(page.locator("#composer-input")).to_be_focused()
    page.keyboard.type("and/or?")
    expect(page.locator("#composer-input")).to_have_value("and/or?")
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#conversation-title")).to_have_text("Baking bread")
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")
    page.keyboard.press("Control+Shift+Period")
    expect(page.locator("#toasts")).to_contain_text(f"@conversation_{older.friendly_id}")
    assert page.evaluate("navigator.clipboard.readText()") == f"@conversation_{older.friendly_id}"
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#conversation-title")).to_have_text("Baking bread")
    page.keyboard.press("Control+b")
    expect(page.locator("html")).to_have_attribute("data-sidebar", "closed")
    page.keyboard.press("Control+b")
    page.keyboard.press("Control+Shift+O")
    expect(page.locator("#conversation-title")).to_have_text("New conversation")
    page.keyboard.press("Control+Shift+F")
    expect(page).to_have_url(re.compile("panel=search"))
    page.keyboard.press("Control+Shift+Comma")
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


def test_a_panel_opened_before_a_new_conversation_exists_stays(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    held: list[Route] = []
    page.route("**/create_conversation/**", lambda route: held.append(route))
    expect(page.get_by_role("treeitem", name="General")).to_be_visible()
    with page.expect_request("**/create_conversation/**"):
        page.keyboard.press("Control+Shift+O")
    page.keyboard.press("Control+Shift+F")
    expect(page.locator("#search-input")).to_be_focused()
    page.keyboard.type("tomatoes")
    until_held(page, held)
    for route in held:
        route.continue_()
    expect(page).to_have_url(re.compile("/interface/person.*[?]panel=search&q=tomatoes"))
    expect(page.locator("#search-input")).to_have_value("tomatoes")
    expect(page.locator("#search-input")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("/interface/person[^?]*$"))


def test_the_menu_of_the_account_leads_to_settings_and_shortcuts(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    page.locator(".sidebar-user").click()
    page.locator("#user-menu").get_by_text("Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    page.locator(".sidebar-user").click()
    page.locator("#user-menu").get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Appearance").click()
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
