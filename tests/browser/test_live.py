"""One state: what another browser or a program does is seen in an open page, and nothing else is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import wait_until
from tests.browser.history import hold_talk, make_workspace, messages
from tests.browser.memories_panel import MemoriesPanel, remember, told
from tests.browser.sidebar_page import SidebarPage, titles
from tests.browser.transcript import body, card, keep_toasts
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
HOLD_LOCK = """(name) => new Promise((held) => {
  navigator.locks.request(name, () => {
    held();
    return new Promise(() => {});
  }).catch(() => {});
})"""
# A page looks every 20 s whether the one that watches still answers; where a machine stands still, that may be late.
LOOK_AFTER_NOBODY = """const { setInterval: every } = globalThis;
globalThis.setInterval = (job, ms, ...rest) => (ms === 20000 ? 0 : every(job, ms, ...rest));"""
LISTS = ("/list_conversation_by_user/", "/list_workspaces/")
OF_A_CONVERSATION = ("/list_messages_by_conversation/", "/get_conversation_details/", "/pinned_messages")


def asked_for(page: Page, *parts: str) -> list[str]:
    """What the page asks for from now on, of those addresses that have one of `parts` in them: filled as it goes."""
    found: list[str] = []
    page.on(
        "request", lambda request: found.append(request.url) if any(part in request.url for part in parts) else None
    )
    return found


def opened(page: Page) -> None:
    """Wait until the page has asked for all that an open conversation shows; its pins come last."""
    wait_until(
        page, "() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/pinned_messages'))"
    )


def do(person: Client, method: str, path: str, body: object = None) -> None:
    assert person.request(method, path, body).status in (200, 201)


def test_what_a_program_does_to_conversations_and_workspaces_is_seen_without_asking_for_lists(
    person: Client, open_page: OpenPage
) -> None:
    talks = [hold_talk(person, title, "How much?") for title in ("One", "Two", "Three", "Four")]
    one, two, three, four = (talk.conversation_id for talk in talks)
    garden = make_workspace(person, "Garden")
    page = open_page(person, talks[3].path)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    expect(sidebar.row("One")).to_be_visible()
    expect(body(page, 2)).to_have_text("Understood.")
    opened(page)
    again = asked_for(page, *LISTS, *OF_A_CONVERSATION)

    do(person, "PUT", f"/conversations/{four}/title", {"title": "Fourth"})
    expect(sidebar.row("Fourth")).to_be_visible()
    expect(page.locator("#conversation-title")).to_have_text("Fourth")
    expect(page).to_have_title(re.compile("^Fourth"))
    do(person, "POST", f"/set_flag/{one}/red")
    expect(sidebar.row("One").locator("xpath=..")).to_have_attribute("data-flag", "red")
    do(person, "PUT", f"/conversations/{two}/pin")
    expect(titles(page, "pinned")).to_have_text(["Two"])
    do(person, "PUT", f"/move_conversation_to_workspace/{three}", {"workspace_id": garden})
    expect(sidebar.row("Garden (1)")).to_be_visible()
    do(person, "PUT", f"/update_workspace/{garden}", {"workspace_name": "Orchard"})
    expect(sidebar.row("Orchard (1)")).to_be_visible()
    made = person.create_conversation()
    expect(sidebar.row("(untitled)")).to_be_visible()
    assert list(person.send(made, "What is it?"))[-1]["done"]
    expect(sidebar.row("(untitled)")).to_have_count(0)
    do(person, "DELETE", f"/delete_workspace/assistant/{garden}")
    expect(sidebar.row("Orchard (1)")).to_have_count(0)
    expect(sidebar.row("Three")).to_be_visible()
    do(person, "POST", f"/archive_conversation/{one}", {"archived": True})
    expect(sidebar.row("One")).to_have_count(0)
    do(person, "POST", f"/archive_conversation/{one}", {"archived": False})
    expect(sidebar.row("One")).to_be_visible()
    do(person, "DELETE", f"/delete_conversation/{four}")
    expect(page.locator("#toasts")).to_contain_text("deleted in another window")
    expect(page.locator(".message-card")).to_have_count(0)
    assert again == []


def test_of_messages_that_change_elsewhere_only_those_are_asked_for(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "How much light?")
    where = talk.conversation_id
    question, _, _, answer = (each["message_id"] for each in messages(person, where))
    page = open_page(person, talk.path)
    expect(body(page, 4)).to_have_text("Understood.")
    opened(page)
    again = asked_for(page, *LISTS, *OF_A_CONVERSATION)

    do(person, "POST", f"/show_hide_message_from_conversation/{where}/{answer}/4", {"show_hide": "hide"})
    expect(card(page, 4)).to_have_class(re.compile("hidden"))
    assert again == []
    do(person, "POST", f"/edit_message_from_conversation/{where}/{question}/1", {"text": "How much rain?"})
    expect(body(page, 1)).to_have_text("How much rain?")
    assert ["limit=1" in url for url in again] == [True]
    assert list(person.send(where, "How much salt?"))[-1]["done"]
    expect(body(page, 5)).to_have_text("How much salt?")
    expect(body(page, 6)).to_have_text("Understood.")
    assert "after=4" in again[1]


def test_one_window_watches_for_all_and_another_takes_over_when_it_closes(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    first = open_page(person, talk.path)
    expect(body(first, 2)).to_have_text("Understood.")
    second = first.context.new_page()
    streams = asked_for(second, "/events")
    second.add_init_script(LOOK_AFTER_NOBODY)
    second.goto(talk.path)
    do(person, "PUT", f"/conversations/{talk.conversation_id}/title", {"title": "Growing beans"})
    for page in (first, second):
        expect(SidebarPage(page).row("Growing beans")).to_be_visible()
    assert streams == []
    with second.expect_request("**/events?*"):
        first.close()
    do(person, "PUT", f"/conversations/{talk.conversation_id}/title", {"title": "Growing peas"})
    expect(SidebarPage(second).row("Growing peas")).to_be_visible()
    assert len(streams) == 1


def test_a_window_takes_over_where_the_one_that_watches_is_frozen(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    # To others, a frozen page holds the lock and answers nothing.
    frozen = open_page(person, "/healthz")
    email = talk.conversation_id.rpartition("_")[0]
    frozen.evaluate(HOLD_LOCK, f"anaphora.changes.{email}")
    page = frozen.context.new_page()
    page.add_init_script(LOOK_AFTER_NOBODY)
    page.goto(talk.path)
    expect(body(page, 2)).to_have_text("Understood.")
    with page.expect_request("**/events?*"):
        # As when the machine comes back to its network. Without that, the page looks every 20 s.
        page.evaluate("dispatchEvent(new Event('online'))")
    do(person, "PUT", f"/conversations/{talk.conversation_id}/title", {"title": "Growing beans"})
    expect(SidebarPage(page).row("Growing beans")).to_be_visible()


HIDE = "() => Object.defineProperty(document, 'hidden', { configurable: true, value: true })"
SHOW = """() => {
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
}"""
ALLOW_NOTIFICATIONS = """() => {
    window.notified = [];
    window.Notification = class extends EventTarget {
        static permission = 'default';
        static async requestPermission() { return this.permission = 'granted'; }
        close() {}
        constructor(title, { body }) {
            super();
            window.notified.push(`${title}: ${body}`);
            window.lastNotification = this;
        }
    };
}"""


def test_answers_are_marked_while_they_are_written_and_until_they_are_read_in_any_window(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, hold_talk(person, "Drying basil", "How long?").path)
    keep_toasts(page)
    expect(body(page, 2)).to_have_text("Understood.")
    page.evaluate(ALLOW_NOTIFICATIONS)
    second = page.context.new_page()
    second.goto("/interface/")
    rows = [SidebarPage(each).row("Growing tomatoes").locator("xpath=..") for each in (page, second)]
    recent = page.locator("[data-section=recent] .sidebar-row").filter(has_text="Growing tomatoes")
    expect(rows[1]).to_be_visible()

    shared_model.scripts["main"] = saying("Well", ".", pause_after=1)
    answer = Thread(target=lambda: list(person.send(talk.conversation_id, "How much light?")))
    answer.start()
    for row in (*rows, recent):
        expect(row).to_have_class(re.compile("is-answering"))
    shared_model.release()
    answer.join()
    for row in (*rows, recent):
        expect(row).to_have_class(re.compile("is-unread"))
    expect(recent.get_by_role("link", name="Growing tomatoes, unread answer")).to_be_visible()
    for each in (page, second):
        expect(each).to_have_title(re.compile(r"^\(1\) "))
    second.reload()
    expect(second).to_have_title(re.compile(r"^\(1\) "))
    second.goto(talk.path)
    expect(body(second, 4)).to_have_text("Well.")
    for row in (*rows, recent):
        expect(row).not_to_have_class(re.compile("is-unread"))
    for each in (page, second):
        expect(each).to_have_title(re.compile(r"^\w"))
    second.close()

    page.evaluate(HIDE)
    assert list(person.send(talk.conversation_id, "How much salt?"))[-1]["done"]
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    page.evaluate(SHOW)
    page.get_by_role("button", name="Notify me").click()
    page.evaluate(HIDE)
    # Of an answer that ended before the person came back, no notification comes after leaving again.
    page.evaluate("() => new Promise((done) => setTimeout(done, 1000))")
    assert page.evaluate("window.notified") == []
    assert list(person.send(talk.conversation_id, "How much sugar?"))[-1]["done"]
    wait_until(page, "() => window.notified.length === 1")
    assert page.evaluate("window.notified") == ["Growing tomatoes: The answer is done."]
    page.evaluate(SHOW)
    page.evaluate("window.lastNotification.dispatchEvent(new Event('click'))")
    expect(body(page, 8)).to_have_text("Well.")
    expect(page).to_have_url(re.compile(r"\?message="))
    expect(page).to_have_title(re.compile("^Growing tomatoes"))

    # Nobody is asked a second time.
    page.reload()
    expect(body(page, 8)).to_have_text("Well.")
    page.evaluate(ALLOW_NOTIFICATIONS)
    page.evaluate(HIDE)
    assert list(person.send(talk.conversation_id, "How much pepper?"))[-1]["done"]
    expect(body(page, 10)).to_have_text("Well.")
    page.evaluate(SHOW)
    expect(page.locator("#toasts").get_by_role("button", name="Notify me")).to_have_count(0)


def test_many_conversations_that_are_deleted_elsewhere_go_together(person: Client, open_page: OpenPage) -> None:
    stays = hold_talk(person, "Growing tomatoes", "How much water?")
    ids = [person.create_conversation() for _ in range(300)]
    page = open_page(person, stays.path)
    expect(SidebarPage(page).row("General (301)")).to_be_visible()
    opened(page)
    again = asked_for(page, *LISTS, *OF_A_CONVERSATION)
    do(person, "POST", "/conversations/bulk", {"conversation_ids": ids, "change": "delete"})
    expect(SidebarPage(page).row("General (1)")).to_be_visible()
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    do(person, "POST", "/conversations/bulk", {"conversation_ids": ids, "change": "restore"})
    expect(SidebarPage(page).row("General (301)")).to_be_visible()
    assert again == []


def test_memories_that_change_elsewhere_are_seen_and_only_they_are_asked_for(
    person: Client, open_page: OpenPage
) -> None:
    with told(person, 2):
        bread, salt = (remember(person, statement) for statement in ("I bake bread", "I eat salt"))
    talk = hold_talk(person, "Growing tomatoes", f"What of @{bread['friendly_id']}?")
    page = open_page(person, talk.path)
    chip = card(page, 1).locator(".reference-chip").first
    expect(chip).to_contain_text("I bake bread")
    page.click("#open-memories")
    panel = MemoriesPanel(page)
    expect(panel.rows).to_have_count(2)
    panel.row("I bake bread").get_by_role("button", name="Use now").click()
    attached = page.locator(".claim-chip")
    expect(attached).to_contain_text("I bake bread")
    panel.row("I eat salt").focus()
    lists = asked_for(page, "/pkb/claims?", *LISTS)
    single = asked_for(page, "/pkb/claims/")

    do(person, "PUT", f"/pkb/claims/{bread['claim_id']}", {"statement": "I bake rye bread"})
    expect(panel.row("I bake rye bread")).to_be_visible()
    expect(attached).to_contain_text("I bake rye bread")
    expect(chip).to_contain_text("I bake rye bread")
    do(person, "POST", "/pkb/claims", {"statement": "I grow basil"})
    expect(panel.row("I grow basil")).to_be_visible()
    expect(panel.node.get_by_role("status").filter(has_text="3")).to_be_visible()
    do(person, "DELETE", f"/pkb/claims/{bread['claim_id']}")
    expect(panel.row("I bake rye bread")).to_have_count(0)
    expect(attached).to_contain_text("deleted")
    expect(panel.row("I eat salt")).to_be_focused()
    assert lists == []
    assert all(salt["claim_id"] not in url for url in single)
