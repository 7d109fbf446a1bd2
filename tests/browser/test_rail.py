"""The column beside the conversation in a real browser: its tabs and what they list."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk, messages
from tests.browser.screens import findings
from tests.browser.transcript import body, card, choose, open_talk
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# Branches and threads are looked at with something in them, elsewhere.
TABS = {
    "references": "References",
    "backlinks": "Referred to by",
    "pins": "Pins",
    "usage": "Usage",
    "documents": "Documents",
    "files": "Files",
}


@pytest.mark.shows(*(f"rail-{tab}" for tab in TABS))
def test_references_pins_and_branches_stand_beside_the_conversation(person: Client, open_page: OpenPage) -> None:
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    talk, page = open_talk(person, open_page, f"See {tomatoes.reference(1)}.", "And light?")
    toggle = page.get_by_role("button", name="Conversation details")
    rail = page.get_by_role("complementary", name="Conversation details")
    toggle.click()
    expect(rail.get_by_role("tab", name="References")).to_be_focused()
    expect(rail.locator(".reference-chip-label")).to_have_text(["Growing tomatoes › #1"])
    expect(rail.locator(".rail-text")).to_have_text(["You: See Growing tomatoes › #1."])
    # It takes its room from the conversation and covers nothing.
    column, transcript = rail.bounding_box(), page.locator("#chatView").bounding_box()
    assert column
    assert transcript
    assert transcript["x"] + transcript["width"] <= column["x"] + 1

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(rail).to_contain_text("No message is pinned.")
    choose(page, 4, "Pin")
    rail.get_by_role("button", name="#4").click()
    expect(card(page, 4)).to_be_focused()
    choose(page, 1, "Pin")
    pinned = page.get_by_role("region", name="Pinned messages").locator(".pinned-open")
    expect(pinned).to_have_text(["#1 You: See Growing tomatoes › #1.", re.compile("^#4 ")])
    rail.get_by_role("tab", name="References").click()
    rail.get_by_role("tab", name="Pins").click()
    expect(rail.locator(".rail-text").first).to_have_text("You: See Growing tomatoes › #1.")
    rail.get_by_role("tab", name="Branches").click()
    expect(rail).to_contain_text("No question was asked again")
    person.post(
        f"/branch/{talk.conversation_id}/{messages(person, talk.conversation_id)[2]['message_id']}",
        {"text": f"And **salt**? {tomatoes.reference(1)}"},
    )
    page.goto(talk.path)
    expect(body(page, 3)).to_contain_text("And salt?")
    rail.get_by_role("tab", name="Branches").click()
    expect(rail.locator(".branch-preview")).to_have_text(["And light?", "And salt? Growing tomatoes › #1"])
    rail.get_by_role("button", name="And light?").click()
    expect(body(page, 3)).to_have_text("And light?")

    rail.get_by_role("tab", name="Referred to by").click()
    expect(rail).to_contain_text("No message refers to this conversation as a whole")
    hold_talk(person, "Notes", f"Sum up @conversation_{talk.friendly_id}.")
    rail.get_by_role("tab", name="Pins").click()
    rail.get_by_role("tab", name="Referred to by").click()
    expect(rail.locator(".backlink-title")).to_have_text(["Notes"])

    for tab, label in TABS.items():
        rail.get_by_role("tab", name=label).click()
        expect(rail.get_by_role("tabpanel")).not_to_be_empty()
        assert findings(page, f"rail-{tab}", shown=rail) == []
    rail.get_by_role("tab", name="Branches").click()

    # Where all three have no room, the sidebar makes room for the rail. Each button turns that round.
    sidebar = page.locator("#sidebar")
    for width in (999, 768, 620):
        page.set_viewport_size({"width": width, "height": 740})
        expect(sidebar).to_be_hidden()
        column, conversation = rail.bounding_box(), page.locator("main").bounding_box()
        assert column
        assert conversation
        assert conversation["x"] + conversation["width"] <= column["x"] + 1
        assert conversation["width"] >= 360
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.set_viewport_size({"width": 800, "height": 740})
    page.get_by_role("button", name="Show the sidebar").click()
    expect(page.get_by_role("button", name="Hide the sidebar")).to_be_focused()
    expect(rail).to_be_hidden()
    toggle.click()
    expect(rail).to_be_visible()
    expect(sidebar).to_be_hidden()
    rail.get_by_role("button", name="Close").click()
    expect(sidebar).to_be_visible()
    toggle.click()
    # Below the drawer nothing takes the focus.
    page.set_viewport_size({"width": 700, "height": 740})
    page.get_by_role("button", name="Show the sidebar").click()
    expect(rail).to_have_js_property("inert", True)
    page.keyboard.press("Escape")
    expect(rail).to_have_js_property("inert", False)

    # On a phone it is a sheet, which Escape closes.
    page.set_viewport_size({"width": 360, "height": 740})
    sheet = rail.bounding_box()
    assert sheet
    assert (sheet["x"], sheet["y"] > 150) == (0, True)
    rail.get_by_role("tab", name="Branches").press("Escape")
    expect(rail).to_be_hidden()
    page.reload()
    expect(body(page, 3)).to_have_text("And light?")
    expect(rail).to_be_hidden()


def test_references_are_those_of_the_messages_that_are_shown_by_now(person: Client, open_page: OpenPage) -> None:
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    talk = hold_talk(person, "Many questions", f"See {tomatoes.reference(1)}.", *(f"Question {n}?" for n in range(60)))
    page = open_page(person, talk.path)
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    expect(rail).to_contain_text("Nothing in the messages shown refers to anything yet.")
    page.locator("#chatView").focus()
    page.keyboard.press("Home")
    expect(card(page, 1)).to_be_visible()
    expect(rail.locator(".reference-chip-label")).to_have_text(["Growing tomatoes › #1"])


def test_documents_name_messages_that_are_not_loaded_by_their_numbers(person: Client, open_page: OpenPage) -> None:
    person.put("/api/vault/document?path=plan.md", {"text": "Tomatoes."})
    talk = hold_talk(person, "Many questions", "Hello", "See [[plan]].", *(f"Question {n}?" for n in range(60)))
    page = open_page(person, talk.path)
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    rail.get_by_role("tab", name="Documents").click()
    expect(card(page, 3)).to_have_count(0)
    number = rail.get_by_role("button", name="Go to message 3", exact=True)
    expect(number).to_have_text("#3")
    number.click()
    expect(card(page, 3)).to_be_focused()
