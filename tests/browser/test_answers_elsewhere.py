"""What a page says of answers in a real browser that it did not watch, or that another model gave than was chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk
from tests.browser.sidebar_page import SidebarPage
from tests.browser.test_transcript import body, card, send
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def test_the_title_of_a_conversation_comes_also_when_its_first_answer_ends_out_of_sight(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    other = page.context.new_page()
    other.goto(talk.path)
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    send(page, "How much light?")
    expect(body(page, 2)).to_have_text("Under")
    page.get_by_role("link", name="Growing tomatoes").click()
    expect(body(page, 1)).to_have_text("How much water?")
    expect(SidebarPage(page).row("(untitled)")).to_have_count(1)

    shared_model.release()
    for window in (page, other):
        expect(SidebarPage(window).row("A Short Title")).to_have_count(1)
        expect(SidebarPage(window).row("(untitled)")).to_have_count(0)
        expect(window.locator("#conversation-title")).to_have_text("Growing tomatoes")


def test_an_answer_of_another_model_than_was_chosen_says_so(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    settings = {"model_overrides": {"main": "embedded:gone"}}
    assert person.put(f"/get_conversation_settings/{talk.conversation_id}", settings).status == 200
    page = open_page(person, talk.path)
    notice = card(page, 4).locator(".message-notice")
    send(page, "How much light?")
    expect(notice).to_contain_text("Note: embedded:gone")
    page.reload()
    expect(notice).to_contain_text("Note: embedded:gone")
    expect(card(page, 2).locator(".message-notice")).to_be_hidden()
