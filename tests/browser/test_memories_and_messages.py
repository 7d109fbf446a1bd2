"""From a memory to the message that it came from, and from an answer to the memories that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk, messages
from tests.browser.memories_panel import MemoriesPanel, address, remember
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
TEA = "I drink black tea in the morning."
MARKET = "Ask Anna when the market opens."


def used(page: Page) -> Locator:
    """What is said of memories under the newest answer."""
    return page.locator(".message-card.from-assistant").last.locator(".memories-used")


def test_a_memory_leads_to_the_message_that_it_came_from(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Moving", *(f"Thought {number}" for number in range(12)), "I moved to Leipzig.")
    source = messages(person, talk.conversation_id)[0]
    remember(person, TEA, source_message_id=source["message_id"])
    remember(person, "It has no source.")
    page = open_page(person, address(), viewport={"width": 1100, "height": 800})
    panel = MemoriesPanel(page)
    expect(panel.rows).to_have_count(2)
    link = panel.node.get_by_role("button", name="From a message")
    expect(link).to_have_count(1)
    link.click()
    expect(panel.node).to_be_hidden()
    card = page.locator(f'.message-card[message-id="{source["message_id"]}"]')
    expect(card).to_be_focused()
    expect(card).to_be_in_viewport()
    assert source["message_id"] in page.url
    page.go_back()
    expect(panel.rows).to_have_count(2)


def test_a_memory_of_a_deleted_message_has_no_link(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Moving")
    source = messages(person, talk.conversation_id)[0]
    remember(person, TEA, source_message_id=source["message_id"])
    person.delete(f"/delete_conversation/{talk.conversation_id}")
    page = open_page(person, address())
    expect(MemoriesPanel(page).row(TEA)).to_be_visible()
    expect(page.get_by_role("button", name="From a message")).to_have_count(0)


def test_what_was_asked_to_be_remembered_leads_to_who_said_it(open_page: OpenPage, person: Client) -> None:
    page = open_page(person)
    page.fill("#composer-input", "Remember this: I moved to Leipzig in May.")
    page.keyboard.press("Enter")
    card = page.locator(".message-card.from-assistant .memory-proposals")
    card.get_by_role("button", name="Remember").click()
    card.get_by_role("button", name="Show").click()
    page.get_by_role("button", name="From a message").click()
    expect(page.locator(".message-card.from-user")).to_be_focused()


def test_an_answer_tells_which_memories_it_was_given(open_page: OpenPage, person: Client) -> None:
    tea, market = remember(person, TEA), remember(person, MARKET)
    person.put(f"/pkb/claims/{market['claim_id']}/pin")
    page = open_page(person)
    page.fill("#composer-input", f"What shall I drink? @{tea['friendly_id']}")
    page.keyboard.press("Enter")
    line = used(page).locator("summary")
    expect(line).to_have_text("Used:2 memories")
    page.reload()
    expect(page.locator("#composer-input")).to_be_focused()  # all of the conversation has come
    expect(line).to_have_text("Used:2 memories")
    line.focus()
    page.keyboard.press("Enter")
    rows = used(page).locator("li")
    expect(rows).to_have_text(
        [f"@{tea['friendly_id']}{TEA} · named in your message", f"@{market['friendly_id']}{MARKET} · pinned"]
    )
    chip = rows.nth(1).locator(".reference-chip")
    expect(chip).to_have_attribute("data-status", "resolved")
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text(MARKET)
    chip.click()
    expect(MemoriesPanel(page).row(MARKET)).to_be_visible()


def test_a_memory_that_was_retracted_since_is_still_shown(open_page: OpenPage, person: Client) -> None:
    tea = remember(person, TEA)
    talk = hold_talk(person, "Drinks", f"What shall I drink? @{tea['friendly_id']}")
    person.delete(f"/pkb/claims/{tea['claim_id']}")
    page = open_page(person, talk.path)
    used(page).locator("summary").click()
    chip = used(page).locator(".reference-chip")
    expect(chip).to_have_attribute("data-status", "resolved")
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text("retracted")
    expect(page.locator(".reference-card")).to_contain_text(TEA)


def test_nothing_is_said_where_no_memory_was_given(open_page: OpenPage, person: Client) -> None:
    talk = hold_talk(person, "Drinks", "What shall I drink?")
    page = open_page(person, talk.path)
    expect(page.locator(".message-card.from-assistant")).to_have_count(1)
    expect(page.locator(".memories-used:visible")).to_have_count(0)
