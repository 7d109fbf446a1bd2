"""Two conversations side by side in a real browser: each with its own composer, and the address names both."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import Talk, conversation, hold_talk
from tests.browser.screens import THEMES, findings
from tests.browser.sidebar_page import SidebarPage, by_right_click
from tests.browser.transcript import texts_of
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, ViewportSize

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
WIDE: ViewportSize = {"width": 1400, "height": 800}


def two_talks(person: Client) -> tuple[Talk, Talk]:
    """A conversation, and one that refers to it."""
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    return tomatoes, hold_talk(person, "Drying basil", f"See {tomatoes.reference(1)}.")


def beside(page: Page) -> Locator:
    """The second conversation."""
    return page.get_by_role("region", name="Conversation beside")


def composer(side: Page | Locator) -> Locator:
    """Where the next message of a conversation is written."""
    return side.get_by_role("textbox", name="Message", exact=True)


@pytest.mark.shows("split-view")
def test_two_conversations_stand_side_by_side_each_with_its_own_messages_and_drafts(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    tomatoes, basil = two_talks(person)
    page = open_page(person, tomatoes.path, viewport=WIDE)
    first, second = page.get_by_role("main"), beside(page)
    expect(first.locator(".message-card")).to_have_count(2)
    row = SidebarPage(page).row("Drying basil")
    by_right_click(SidebarPage(page), row)
    page.get_by_role("menuitem", name="Open Beside").click()
    expect(second.locator(".message-card")).to_have_count(2)
    expect(second.get_by_role("heading", name="Drying basil")).to_be_visible()
    expect(composer(second)).to_be_focused()
    expect(page).to_have_url(re.compile(rf"{re.escape(tomatoes.path)}\?beside="))
    expect(second.locator(".model-button")).to_have_text(first.locator(".model-button").text_content() or "")
    for sender in page.locator(".message-card .message-sender").all():
        assert sender.evaluate("node => node.scrollWidth <= node.clientWidth"), sender.text_content()
    assert findings(page, "split-view", shown=second, sizes=[WIDE], themes=THEMES, minor=True) == []

    # The sidebar marks both, in the tree and among the recent ones; a menu still speaks of one.
    expect(row).to_have_attribute("aria-current", "true")
    expect(SidebarPage(page).row("Growing tomatoes")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#sidebar [data-section=recent] a[aria-current]")).to_have_count(2)

    # What is written goes to the side in which it was written; a draft stays with its conversation.
    shared_model.scripts["main"] = saying("In ", "the shade.", pause_after=1)
    composer(second).fill("Where?")
    composer(second).press("Enter")
    expect(second.locator(".message-body").nth(3)).to_have_text("In")
    composer(first).fill("A draft of mine")
    shared_model.release()
    expect(second.locator(".message-body").nth(3)).to_have_text("In the shade.")
    expect(second.locator(".message-card").nth(3)).to_have_attribute("data-status", "complete")  # by then it is stored
    expect(first.locator(".message-card")).to_have_count(2)
    assert texts_of(person, basil)[2:] == ["Where?", "In the shade."]

    swap = second.get_by_role("button", name="Swap the two conversations")
    swap.click()
    expect(first.get_by_role("heading", name="Drying basil")).to_be_visible()
    expect(SidebarPage(page).row("Growing tomatoes")).to_have_attribute("aria-current", "true")
    expect(page.locator("#workspaces-container [aria-current]")).to_have_count(1)
    expect(first.locator(".message-card")).to_have_count(4)
    expect(second.locator(".message-card")).to_have_count(2)
    expect(composer(second)).to_have_value("A draft of mine")
    expect(swap).to_be_focused()
    # Going back changes them again; the card of a reference goes with its chip.
    first.locator(".reference-chip").first.hover()
    expect(page.locator("#reference-card")).to_be_visible()
    page.go_back()
    expect(first.get_by_role("heading", name="Growing tomatoes")).to_be_visible()
    expect(page.locator("#reference-card")).to_be_hidden()
    page.mouse.move(0, 0)
    page.go_forward()
    expect(first.get_by_role("heading", name="Drying basil")).to_be_visible()
    page.reload()
    expect(first.locator(".message-card")).to_have_count(4)
    expect(composer(second)).to_have_value("A draft of mine")

    # What happens elsewhere is seen on both sides; what is deleted leaves its place.
    person.put(f"/conversations/{tomatoes.conversation_id}/title", {"title": "Ripe tomatoes"})
    expect(second.get_by_role("heading", name="Ripe tomatoes")).to_be_visible()
    person.delete(f"/delete_conversation/{tomatoes.conversation_id}")
    expect(second).to_be_hidden()
    expect(page).to_have_url(re.compile(rf"{re.escape(basil.path)}$"))
    assert conversation(person, "Drying basil")


def test_a_message_box_that_becomes_narrower_shows_all_that_is_written_in_it(
    person: Client, open_page: OpenPage
) -> None:
    tomatoes, _ = two_talks(person)
    page = open_page(person, tomatoes.path, viewport=WIDE)
    first = composer(page.get_by_role("main"))
    first.fill("Growing tomatoes takes patience. " * 9)
    by_right_click(SidebarPage(page), SidebarPage(page).row("Drying basil"))
    page.get_by_role("menuitem", name="Open Beside").click()
    expect(beside(page).locator(".message-card")).to_have_count(2)
    wait_until(page, "() => ((box) => box.scrollHeight <= box.clientHeight)(document.getElementById('composer-input'))")


def test_keys_and_references_lead_from_one_side_to_the_other(person: Client, open_page: OpenPage) -> None:
    tomatoes, basil = two_talks(person)
    page = open_page(person, basil.path, viewport=WIDE)
    first, second = page.get_by_role("main"), beside(page)
    expect(first.locator(".message-card")).to_have_count(2)
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    page.keyboard.press("Control+\\")
    page.get_by_role("combobox", name="Which conversation is to stand beside this one?").fill("Growing")
    page.keyboard.press("Enter")
    expect(composer(second)).to_be_focused()
    expect(second.locator(".message-card")).to_have_count(2)
    page.keyboard.press("F6")
    expect(composer(first)).to_be_focused()
    first.locator(".reference-chip").first.click()
    expect(second.locator(".message-card").first).to_be_focused()
    expect(first.get_by_role("heading", name="Drying basil")).to_be_visible()

    # Finding works where the focus is.
    page.keyboard.press("Control+f")
    expect(second.get_by_role("search", name="Find in this conversation")).to_be_visible()
    page.keyboard.press("Escape")

    # One thing stands beside the conversation at a time; where there is no room, the first conversation is alone.
    page.get_by_role("button", name="Memories", exact=True).click()
    expect(second).to_be_hidden()
    page.get_by_role("button", name="Close the memories").click()
    expect(second.locator(".message-card")).to_have_count(2)
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(second).to_be_hidden()
    page.set_viewport_size({"width": 1400, "height": 800})
    expect(second.locator(".message-card")).to_have_count(2)
    second.get_by_role("button", name="Close the conversation beside").click()
    expect(second).to_be_hidden()
    expect(page).to_have_url(re.compile(rf"{re.escape(basil.path)}$"))
    page.go_back()
    expect(second.locator(".message-card")).to_have_count(2)
    first.locator(".message-card").first.click()
    SidebarPage(page).row("Growing tomatoes").click()
    expect(composer(second)).to_be_focused()
    assert tomatoes.path not in page.url.partition("?")[0]

    # A click with Alt held opens beside, too.
    second.get_by_role("button", name="Close the conversation beside").click()
    SidebarPage(page).row("Growing tomatoes").click(modifiers=["Alt"])
    expect(composer(second)).to_be_focused()
    second.get_by_role("button", name="Close the conversation beside").click()
    expect(second).to_be_hidden()
    first.locator(".reference-chip").first.click(modifiers=["Alt"])
    expect(second.locator(".message-card").first).to_be_focused()
