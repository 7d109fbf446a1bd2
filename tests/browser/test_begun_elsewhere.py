"""What was begun in a conversation stays there, whatever is shown by then; what other tabs do arrives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import Talk, hold_talk, messages
from tests.browser.transcript import (
    AGAIN,
    answer_again,
    body,
    card,
    choose,
    edit,
    keep_toasts,
    open_talk,
    opened_id,
    refuse,
    send,
    texts_of,
)
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def fork(page: Page) -> None:
    choose(page, 3, "Fork from here")


MESSAGE_ACTIONS: tuple[tuple[str, Callable[[Page], object]], ...] = (
    ("**/show_hide_message_from_conversation/**", lambda page: choose(page, 1, "Hide from the model")),
    ("**/edit_message_from_conversation/**", lambda page: edit(page, "How much warm water?")),
    ("**/move_messages_up_or_down/**", lambda page: choose(page, 1, "Move down")),
    ("**/delete_message_from_conversation/**", lambda page: choose(page, 4, "Delete")),
    ("**/regenerate/**", lambda page: answer_again(page, 1)),
    ("**/fork_conversation/**", fork),
)
COMMANDS = {
    "/title Wrong": "**/conversations/*/title",
    "/pin": "**/conversations/*/pin",
    "/stateless on": "**/make_conversation_stateless/**",
    "/archive": "**/archive_conversation/**",
}


def field(page: Page) -> Locator:
    return page.get_by_label("Text of the message")


def turn_to(page: Page, title: str) -> None:
    page.locator("#sidebar").get_by_text(title).first.click()
    expect(page.locator("#conversation-title")).to_have_text(title)
    expect(body(page, 2)).to_have_text("Understood.")


def try_again(page: Page, talk: Talk) -> None:
    """What is asked then names the conversation that it was begun in."""
    name = quote(talk.conversation_id, safe="")
    with page.expect_request(lambda request: request.method != "GET") as asked:
        page.locator("#toasts").get_by_role("button", name=AGAIN).click()
    assert name in asked.value.url
    reply = asked.value.response()
    assert reply
    assert reply.ok
    expect(page.get_by_role("button", name=AGAIN)).to_have_count(0)


def test_what_failed_is_tried_again_in_the_conversation_it_was_begun_in(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "How much light?")
    other = hold_talk(person, "Watching trains", "When?")
    page = open_page(person, talk.path)
    keep_toasts(page)
    for asks, do in MESSAGE_ACTIONS:
        page.route(asks, refuse, times=1)
        do(page)
        expect(page.locator("#toasts").get_by_role("button", name=AGAIN)).to_have_count(1)
        turn_to(page, "Watching trains")
        try_again(page, talk)
        if do is not fork:  # which opens what it made
            page.go_back()
        expect(page.locator("#conversation-title")).to_have_text(re.compile("^Growing tomatoes"))
    page.goto(talk.path)
    expect(page.locator(".message-card")).to_have_count(3)
    assert texts_of(person, talk) == ["Understood.", "How much warm water?", "How much light?"]
    assert messages(person, talk.conversation_id)[1]["show_hide"] == "hide"
    assert len(messages(person, talk.conversation_id)[0]["variants"]) == 2
    assert texts_of(person, other) == ["When?", "Understood."]


def test_a_command_that_fails_late_names_the_conversation_it_was_written_in(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    other = hold_talk(person, "Watching trains", "When?")
    page = open_page(person, talk.path)
    waiting: list[Route] = []
    for command, asks in COMMANDS.items():
        page.route(asks, lambda route: waiting.append(route), times=1)
        page.fill("#composer-input", command)
        page.locator("#composer-input").press("Escape")
        with page.expect_request(asks):
            page.locator("#composer-input").press("Enter")
        turn_to(page, "Watching trains")
        until_held(page, waiting)
        waiting.pop().abort()
        expect(page.locator("#toasts")).to_contain_text("That did not work.")
        expect(page.locator("#composer-problem")).to_be_hidden()
        try_again(page, talk)
        expect(page.locator("#conversation-title")).to_have_text("Watching trains")
        page.go_back()
        expect(page).to_have_url(re.compile(f"{re.escape(talk.path)}$"))
        expect(body(page, 1)).to_have_text("How much water?")
    done, untouched = (person.get(f"/get_conversation_details/{each.conversation_id}").json() for each in (talk, other))
    assert (done["title"], done["pinned"], done["stateless"], done["archived"]) == ("Wrong", True, True, True)
    names = ("title", "pinned", "stateless", "archived")
    assert [untouched[name] for name in names] == ["Watching trains", False, False, False]


def test_what_is_typed_into_a_message_outlives_leaving_it_and_what_others_do_to_it(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("409")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Watching trains", "When?")
    page = open_page(person, talk.path)
    choose(page, 1, "Edit")
    save = card(page, 1).locator("button[type=submit]")
    field(page).fill(" ")
    expect(save).to_be_disabled()
    field(page).fill("How much warm water?")
    turn_to(page, "Watching trains")
    expect(field(page)).to_have_count(0)
    page.go_back()
    expect(field(page)).to_have_value("How much warm water?")

    # The page has not seen the other text yet when it saves.
    on_its_way: list[Route] = []
    page.route("**/list_messages_by_conversation/**", lambda route: on_its_way.append(route), times=1)
    question = messages(person, talk.conversation_id)[0]["message_id"]
    with page.expect_request("**/list_messages_by_conversation/**"):
        path = f"/edit_message_from_conversation/{talk.conversation_id}/{question}/1"
        assert person.post(path, {"text": "How?"}).status == 200
    save.click()
    notice = card(page, 1).get_by_role("alert")
    expect(notice).to_contain_text("This message was changed elsewhere meanwhile.")
    on_its_way.pop().continue_()
    notice.get_by_role("button", name="Show the other text").click()
    expect(body(page, 1)).to_have_text("How?")
    expect(field(page)).to_have_value("How much warm water?")
    card(page, 1).get_by_role("button", name="Save anyway").click()
    expect(field(page)).to_have_count(0)
    expect(body(page, 1)).to_have_text("How much warm water?")

    choose(page, 1, "Edit")
    field(page).fill("How much cold water?")
    second = page.context.new_page()
    second.goto(talk.path)
    expect(field(second)).to_have_value("How much cold water?")
    choose(second, 1, "Delete")
    expect(second.locator(".message-card")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("This message was deleted elsewhere meanwhile.")
    page.get_by_role("button", name="Restore and save").click()
    expect(field(page)).to_have_count(0)
    assert texts_of(person, talk) == ["How much cold water?", "Understood."]


def test_what_is_sent_while_its_conversation_is_still_loading_stays_in_sight(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/list_messages_by_conversation/**", lambda route: held.append((route, route.fetch())), times=1)
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    page.reload()
    expect(page.locator("#composer:not([aria-busy])")).to_be_attached()
    send(page, "How much light?")
    expect(page.locator("#composer-input")).to_have_value("")
    for _ in range(3):  # the server has time to answer what was sent
        page.evaluate("fetch('/healthz').then((response) => response.text())")
    expect(page.locator(".message-card").filter(has_text="How much water?")).to_have_count(0)
    until_held(page, held)
    route, before = held.pop()
    route.fulfill(response=before)
    bodies = page.locator(".message-card .message-body")
    expect(bodies).to_have_text(["How much water?", "Understood.", "How much light?", re.compile("^Under")])
    shared_model.release()
    expect(bodies.last).to_have_text("Understood.")


def test_the_title_is_there_at_once_and_follows_what_another_tab_calls_it(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    hold_talk(person, "Watching trains", "When?")
    page = open_page(person, "/interface/")
    waiting: list[Route] = []
    page.route("**/get_conversation_details/**", lambda route: waiting.append(route), times=1)
    page.locator("#sidebar").get_by_text("Growing tomatoes").first.click()
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")
    expect(page).to_have_title(re.compile("^Growing tomatoes"))
    until_held(page, waiting)
    waiting[0].continue_()
    expect(body(page, 2)).to_have_text("Understood.")

    second = page.context.new_page()
    second.goto(talk.path)
    expect(body(second, 2)).to_have_text("Understood.")
    second.fill("#composer-input", "/title Growing beans")
    second.locator("#composer-input").press("Enter")
    expect(page.locator("#conversation-title")).to_have_text("Growing beans")

    page.bring_to_front()
    page.keyboard.press("Control+Shift+F")
    page.get_by_role("searchbox", name="Search everything").fill("When")
    expect(page.locator(".search-hit").first).to_contain_text("When?")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#conversation-title")).to_have_text("Watching trains")
    expect(card(page, 1)).to_be_focused()
    card(page, 1).get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menuitem", name="Move up")).to_be_disabled()
    expect(page.get_by_role("menuitem", name="Move down")).to_be_enabled()
    page.keyboard.press("Escape")
    card(page, 2).get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menuitem", name="Move down")).to_be_disabled()


def test_where_a_conversation_is_gone_a_new_one_begins_with_what_is_written(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    talk = hold_talk(person, "Watching trains", "When?")
    gone = person.post("/create_temporary_conversation/assistant", {}).json()["conversation_id"]
    page = open_page(person, f"/interface/{quote(gone, safe='')}")
    expect(page.locator("#temporary-mark")).to_be_visible()
    turn_to(page, "Watching trains")
    assert person.delete(f"/delete_conversation/{gone}").status == 200
    # Changes are told in their order: by then the page has heard of the deletion.
    assert person.put(f"/conversations/{talk.conversation_id}/title", {"title": "Trains"}).status == 200
    expect(page.locator("#conversation-title")).to_have_text("Trains")
    page.go_back()
    failure = page.locator(".failure-state")
    expect(failure).to_contain_text("This conversation does not exist, or was deleted.")
    expect(page.locator("#temporary-mark")).to_be_hidden()
    waiting: list[Route] = []
    page.route("**/send_message/**", lambda route: waiting.append(route), times=1)
    with page.expect_request("**/send_message/**"):
        send(page, "Anyone here?")
    expect(page.locator("#outbox")).to_contain_text("Sending…")
    # What is asked for at the end of the answer comes when something else is open.
    page.route("**/list_messages_by_conversation/**", lambda route: waiting.append(route), times=1)
    with page.expect_request("**/list_messages_by_conversation/**"):
        waiting[0].continue_()
    expect(card(page, 2).locator(".message-sender")).to_have_text("main")
    expect(body(page, 2)).to_have_text("Understood.")
    expect(page.locator("#composer-input")).to_have_value("")
    assert opened_id(page) != gone

    page.go_back()
    expect(failure).to_contain_text("This conversation does not exist, or was deleted.")
    until_held(page, waiting, times=2)
    with page.expect_response("**/list_messages_by_conversation/**"):
        waiting[1].continue_()
    page.evaluate("fetch('/healthz')")  # by the time that this is answered, the page has taken what came
    failure.get_by_role("button", name="New conversation").click()
    expect(page.locator(".empty-state")).to_be_visible()


def test_fingers_meet_no_boxes_and_are_told_of_no_keys(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    viewport = {"width": 360, "height": 740}
    page = open_page(person, talk.path, viewport=viewport, has_touch=True, is_mobile=True)
    box = page.get_by_label("Select message 1")
    expect(body(page, 2)).to_have_text("Understood.")
    expect(box).to_be_hidden()
    choose(page, 2, "Select")
    expect(box).to_be_visible()
    expect(page.get_by_label("Select message 2")).to_be_checked()
    page.fill("#composer-input", "/he")
    expect(page.get_by_role("option")).to_have_count(1)
    expect(page.locator(".suggestions-note")).to_be_hidden()
    page.fill("#composer-input", "/help")
    page.locator("#composer-input").press("Enter")
    expect(page.locator("#composer-input")).to_have_value("/help\n")
    page.get_by_role("button", name="Send message").tap()
    commands = page.locator(".composer-card")
    expect(commands).to_contain_text("Show the commands")
    assert commands.evaluate("node => node.scrollWidth <= node.clientWidth")
