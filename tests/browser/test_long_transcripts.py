"""Ten thousand messages in a real browser; one answer in two windows; a transcript by keys alone, and by touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from benchmarks.made_up.history import SeedPlan, seed
from database.connection import close_store, open_store
from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk, told
from tests.browser.transcript import (
    AT_END,
    MOST_CARDS,
    READING,
    body,
    card,
    copied,
    opened_id,
    paragraphs,
    reading_place,
    send,
)
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
MANY = 10_000


def test_ten_thousand_messages_are_opened_at_either_end_and_in_the_middle(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    person = live_server.sign_up()  # seeding numbers rows by itself, so nobody else may write meanwhile
    email = str(person.get("/get_user_info").json()["user_email"])
    list(
        seed(
            database=open_store(live_server.users_dir), user_email=email, plan=SeedPlan(conversations=1, messages=MANY)
        )
    )
    close_store(live_server.users_dir)
    (conversation,) = person.get("/list_conversation_by_user/assistant").json()
    window = person.get(f"/list_messages_by_conversation/{conversation['conversation_id']}?around=5000&limit=1").json()
    page = open_page(person, f"/interface/{conversation['conversation_id']}")
    cards = page.locator(".message-card")
    expect(card(page, MANY)).to_be_in_viewport()
    wait_until(page, AT_END)
    expect(page.locator("#composer-input")).to_be_focused()  # all of the conversation has come

    view = page.locator("#chatView")
    view.press("Home")
    expect(card(page, 1)).to_be_in_viewport()
    expect(card(page, MANY)).to_have_count(0)
    view.press("End")
    expect(card(page, MANY)).to_be_in_viewport()
    expect(card(page, 1)).to_have_count(0)
    expect(cards.nth(MOST_CARDS)).to_have_count(0)

    page.goto(f"/r/{conversation['conversation_friendly_id']}/{window[0]['message_short_hash']}")
    expect(card(page, window[0]["message_index"])).to_be_focused()
    expect(card(page, window[0]["message_index"])).to_be_in_viewport()
    # The last question is not among what is loaded.
    page.locator("#composer-input").press("ArrowUp")
    expect(page.get_by_label("Text of the message")).to_have_count(0)
    page.get_by_role("button", name="To the newest message").press("Enter")
    expect(card(page, MANY)).to_be_in_viewport()
    expect(cards.nth(MOST_CARDS)).to_have_count(0)


def test_two_windows_watch_one_answer_and_each_reader_stays_where_they_read(
    person: Client, shared_model: RecordingModel, open_page: OpenPage
) -> None:
    pieces = [*paragraphs("Early"), *paragraphs("Late"), "The end."]
    shared_model.scripts["main"] = saying(*pieces, pause_after=40)
    page = open_page(person)
    send(page, "Tell me something long")
    expect(body(page, 2)).to_contain_text("Early paragraph 39")
    other = page.context.new_page()
    other.goto(page.url)
    expect(body(other, 2)).to_contain_text("Early paragraph 39")
    expect(other.get_by_role("button", name="Stop answering")).to_be_visible()
    wait_until(other, AT_END)
    other.locator("#chatView").hover()
    other.mouse.wheel(0, -500)
    expect(other.get_by_role("button", name="To the newest message")).to_be_visible()
    place = reading_place(other)

    shared_model.release()
    for each in (page, other):
        expect(card(each, 2)).to_have_attribute("data-status", "complete")
        expect(body(each, 2).locator("p")).to_have_text([piece.strip() for piece in pieces])
    assert other.evaluate(READING) == place
    page.bring_to_front()
    expect(body(page, 2).get_by_text("The end.")).to_be_in_viewport()
    assert opened_id(page) == opened_id(other)


def test_everything_in_a_card_is_done_by_keys_alone(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    first = hold_talk(person, "Growing tomatoes", "How much water?")
    shared_model.scripts["main"] = saying(f"As in {first.reference(1)}.")
    talk = hold_talk(person, "Watering", f"What of {first.reference(1)}?")
    page = open_page(person, talk.path)
    keyboard = page.keyboard

    # A reference says what it means as soon as it has the focus, and Enter goes there.
    chip = body(page, 2).locator(".reference-chip")
    expect(chip).to_have_attribute("data-status", "resolved")
    expect(page.locator("#composer-input")).to_be_focused()  # all of the conversation has come
    card(page, 2).get_by_role("button", name="Message actions").focus()
    keyboard.press("Tab")
    expect(chip).to_be_focused()
    expect(page.locator("#reference-card")).to_contain_text("How much water?")
    keyboard.press("Escape")
    expect(page.locator("#reference-card")).to_be_hidden()
    card(page, 1).locator(".report-line").focus()
    keyboard.press("Enter")
    expect(card(page, 1).locator(".report-list .reference-chip")).to_be_visible()
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")
    expect(card(page, 1)).to_be_focused()

    # Who refers here is a list to go through; its first is under the finger.
    card(page, 1).get_by_role("button", name="refers to this one").press("Enter")
    expect(page.get_by_role("dialog", name="Referred to by").locator(".backlink").first).to_be_focused()
    keyboard.press("Escape")

    # The menu, the pins, the selection.
    card(page, 1).get_by_role("button", name="Message actions").press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    for _ in page.get_by_role("menuitem").all():
        if page.evaluate("document.activeElement.textContent") == "Pin":
            break
        keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Pin", exact=True)).to_be_focused()
    keyboard.press("Enter")
    pinned = page.get_by_role("region", name="Pinned messages")
    expect(pinned.get_by_role("listitem")).to_have_count(1)
    pinned.get_by_role("button", name="#1 You").press("Enter")
    expect(card(page, 1)).to_be_focused()
    card(page, 2).get_by_role("checkbox").press("Space")
    bar = page.get_by_role("toolbar", name="Selected messages")
    bar.get_by_role("button", name="Move up").press("Enter")
    expect(body(page, 2)).to_have_text("How much water?")
    bar.get_by_role("button", name="Clear selection").press("Enter")
    expect(bar).to_be_hidden()
    badge = card(page, 1).locator(".message-ref-badge")
    assert copied(page, lambda: badge.press("Enter")) == first.reference(2)
    assert told(person, first.conversation_id).hashes == (first.hashes[1], first.hashes[0])


def test_a_finger_sees_what_a_reference_means_before_it_goes_there(person: Client, open_page: OpenPage) -> None:
    first = hold_talk(person, "Growing tomatoes", "How much water?")
    talk = hold_talk(person, "Watering", f"What of {first.reference(1)}?")
    page = open_page(person, talk.path, has_touch=True, is_mobile=True, viewport={"width": 360, "height": 740})
    chip = body(page, 1).locator(".reference-chip")
    chip.tap()
    shown = page.locator("#reference-card")
    expect(shown).to_contain_text("How much water?")
    expect(page.locator("#conversation-title")).to_have_text("Watering")
    shown.get_by_role("button", name="Open").tap()
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")
