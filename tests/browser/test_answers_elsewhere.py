"""What a page knows in a real browser of what it turned away from, and of an answer that another model gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import hold_talk
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import body, card, keep_toasts, refuse, send, texts_of
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

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
    expect(SidebarPage(page).row("How much light?")).to_have_count(1)

    shared_model.release()
    for window in (page, other):
        expect(SidebarPage(window).row("A Short Title")).to_have_count(1)
        expect(SidebarPage(window).row("(untitled)")).to_have_count(0)
        expect(window.locator("#conversation-title")).to_have_text("Growing tomatoes")


def test_a_page_that_comes_while_an_answer_is_written_marks_its_conversation(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    send(page, "How much light?")
    expect(body(page, 4)).to_have_text("Under")

    page.reload()
    marked = page.locator("#workspaces-container .is-answering")
    expect(marked).to_have_text(re.compile("Growing tomatoes"))
    running = person.get("/list_conversation_by_user/assistant?brief=true").json()[0]["running_answers"]
    assert len(running) == 1
    other = page.context.new_page()
    other.goto("/interface/")
    expect(other.locator("#workspaces-container .is-answering")).to_have_count(1)
    shared_model.release()
    for window in (page, other):
        expect(window.locator("#workspaces-container .is-answering")).to_have_count(0)
    assert "running_answers" not in person.get("/list_conversation_by_user/assistant?brief=true").json()[0]


def leave_while_sending(page: Page, text: str) -> Route:
    """Send, and turn to the other conversation before the server has the message: what is on its way to it."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/send_message/**", hold, times=1)
    with page.expect_request("**/send_message/**"):
        send(page, text)
    page.get_by_role("link", name="Drying basil").click()
    expect(body(page, 1)).to_have_text("How long?")
    until_held(page, held)
    return held[0]


def test_a_message_is_sent_once_also_when_one_turns_elsewhere_before_the_server_has_it(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Drying basil", "How long?")
    page = open_page(person, talk.path)
    expect(body(page, 2)).to_have_text("Understood.")
    field = page.locator("#composer-input")

    on_its_way = leave_while_sending(page, "How much light?")
    with page.expect_response("**/send_message/**"):
        on_its_way.continue_()
    page.get_by_role("link", name="Growing tomatoes").click()
    expect(body(page, 4)).to_have_text("Understood.")
    expect(field).to_have_value("")

    on_its_way = leave_while_sending(page, "How much salt?")
    page.route("**/send_message/**", refuse)
    on_its_way.abort()
    waits = page.locator("#toasts").get_by_role("alert")
    expect(waits).to_contain_text("A message is not sent yet, and waits where you wrote it.")
    waits.get_by_role("button", name="Go there").click()
    expect(page.locator("#outbox")).to_contain_text("How much salt?")
    expect(page.locator(".message-card")).to_have_count(4)
    # Still in vain: as soon as it could work, it may go by itself before anybody clicks.
    with page.expect_request("**/send_message/**"):
        page.get_by_role("button", name="Send now").click()
    page.unroute("**/send_message/**")
    expect(body(page, 6)).to_have_text("Understood.")
    expect(page.locator("#outbox")).to_be_hidden()
    assert texts_of(person, talk)[::2] == ["How much water?", "How much light?", "How much salt?"]


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


def test_back_from_a_panel_leads_to_the_message_box_of_the_same_conversation(
    person: Client, open_page: OpenPage
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    for opener, focused in (("#open-search", "#search-input"), ("#open-memories", "#memories-title")):
        page.click(opener)
        expect(page.locator(focused)).to_be_focused()
        page.go_back()
        expect(page.locator("#composer-input")).to_be_focused()
        expect(body(page, 1)).to_have_text("How much water?")
    page.click("#open-search")
    page.click("#close-search")
    page.go_back()
    expect(page.locator("#search-panel")).to_be_hidden()
    expect(page).to_have_url(re.compile(f"{talk.path}$"))


def test_what_is_deleted_in_another_window_goes_from_this_one(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Drying basil", "How long?")
    page = open_page(person, talk.path)
    keep_toasts(page)
    expect(body(page, 2)).to_have_text("Understood.")
    other = page.context.new_page()
    other.goto("/interface/")
    SidebarPage(other).choose(SidebarPage(other).row("Growing tomatoes"), "Delete")
    expect(page.locator("#toasts")).to_contain_text("deleted in another window")
    expect(SidebarPage(other).row("Growing tomatoes")).to_have_count(0)
    expect(SidebarPage(page).row("Growing tomatoes")).to_have_count(0)
    expect(SidebarPage(page).row("Drying basil")).to_have_count(1)
    expect(page.locator(".message-card")).to_have_count(0)
