"""Finding in the open conversation, in a real browser: also what is not on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk, store_talk
from tests.browser.screens import findings
from tests.browser.transcript import card
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


@pytest.mark.shows("find")
def test_a_text_is_found_in_the_whole_conversation_and_marked(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    talk = store_talk(server, person, "Growing tomatoes", turns=150)
    page = open_page(person, talk.path)
    expect(card(page, 300)).to_be_visible()
    expect(page.locator("#composer-input")).to_be_focused()
    page.keyboard.press("Control+F")
    # What is typed at once goes into the bar.
    page.keyboard.type("question 11")
    field = page.get_by_role("searchbox", name="Find in this conversation")
    count = page.locator(".find-count")
    expect(field).to_have_value("question 11")
    # "Question 11" and "Question 110" to "Question 119": none of them was on the page.
    expect(count).to_have_text("1 of 11 messages")
    expect(card(page, 21)).to_be_in_viewport()
    wait_until(page, "() => String([...(CSS.highlights.get('found-text-current') ?? [])][0]) === 'Question 11'")
    expect(field).to_be_focused()
    assert findings(page, "find", shown=field) == []
    field.focus()
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("11 of 11 messages")
    expect(card(page, 237)).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 11 messages")
    expect(card(page, 21)).to_be_in_viewport()

    # Here the browser's own finding is let through.
    prevented = "node => !node.dispatchEvent(new KeyboardEvent('keydown', "
    prevented += "{ key: 'f', ctrlKey: true, bubbles: true, cancelable: true }))"
    assert field.evaluate(prevented) is False
    field.fill("no such words")
    expect(count).to_have_text("Not found")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(page.locator("#composer-input")).to_be_focused()
    assert page.evaluate("CSS.highlights.get('found-text').size") == 0
    page.get_by_role("button", name="Find in this conversation").click()
    expect(field).to_be_focused()


def test_what_stands_on_the_page_is_found_as_it_is_read(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    shared_model.scripts["main"] = saying("Some **bold** text with `code` and a [link](https://example.org).")
    talk = hold_talk(person, "Marks", f"See {tomatoes.reference(1)}")
    page = open_page(person, talk.path)
    expect(card(page, 2)).to_contain_text("bold text with code and a link")
    page.keyboard.press("Control+F")
    field = page.get_by_role("searchbox", name="Find in this conversation")
    count = page.locator(".find-count")
    for shown in ("bold text", "code and a link", "Growing tomatoes", "**bold**"):
        field.fill(shown)
        expect(count).to_have_text("1 of 1 message")
    field.fill("bold code")
    expect(count).to_have_text("Not found")
