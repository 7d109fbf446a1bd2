"""What fails on its way in a real browser: it is said, it can be tried again, and nothing is done twice or lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import former_texts, hold_talk, messages, store_talk
from tests.browser.memories_panel import MemoriesPanel, address, remember, told
from tests.browser.screens import NARROW, WIDTHS, problems
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import (
    AGAIN,
    FIRST_PAGE,
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
)
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something a person does that asks the server once. shows: what is there in the end, and what it says."""

    asks: str
    do: Callable[[Page], object]
    shows: str
    says: str


def body_of(number: int) -> str:
    return f".message-card[message-index='{number}'] .message-body"


WITH_MESSAGES = (
    Action(
        asks="**/messages/*/pin",
        do=lambda page: choose(page, 1, "Pin"),
        shows="#pinned-messages .pinned-open",
        says="#1 You: How much water?",
    ),
    Action(
        asks="**/show_hide_message_from_conversation/**",
        do=lambda page: choose(page, 3, "Hide from the model"),
        shows=".message-card[message-index='3'] .message-hidden-note:visible",
        says="Hidden from the model.",
    ),
    Action(
        asks="**/edit_message_from_conversation/**",
        do=lambda page: edit(page, "How much warm water?"),
        shows=body_of(1),
        says="How much warm water?",
    ),
    Action(
        asks="**/messages/*/edits",
        do=lambda page: card(page, 1).get_by_role("button", name="edited").click(),
        shows=".earlier-text-body",
        says="How much water?",
    ),
    Action(
        asks="**/variant/**",
        do=lambda page: card(page, 2).get_by_role("button", name="Previous variant").click(),
        shows=body_of(2),
        says="Understood.",
    ),
    Action(
        asks="**/move_messages_up_or_down/**",
        do=lambda page: choose(page, 1, "Move down"),
        shows=body_of(2),
        says="How much warm water?",
    ),
    Action(
        asks="**/delete_message_from_conversation/**",
        do=lambda page: choose(page, 2, "Delete"),
        shows="#toasts",
        says="1 message deleted.",
    ),
    Action(
        asks="**/restore_message/**",
        do=lambda page: page.locator("#toasts").get_by_role("button", name="Undo").last.click(),
        shows=body_of(2),
        says="How much warm water?",
    ),
)


def lose_the_answer(route: Route) -> None:
    """The server does it, and nobody hears."""
    route.fetch()
    route.abort()


def client_id_of(asked: Request) -> str:
    client_id: str = asked.post_data_json["client_id"]
    return client_id


@pytest.mark.parametrize("fail", [refuse, lose_the_answer])
def test_what_is_done_with_messages_is_tried_again_and_done_once(
    server: LiveServer,
    person: Client,
    open_page: OpenPage,
    shared_model: RecordingModel,
    page_problems: PageProblems,
    fail: Callable[[Route], None],
) -> None:
    page_problems.expect("net::ERR_FAILED")
    page_problems.expect("404")  # a second try to delete finds that the first one did
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "How much light?")
    page = open_page(person, talk.path)
    keep_toasts(page)
    shared_model.scripts["main"] = saying("Twice a day.")
    answer_again(page, 2)
    expect(body(page, 2)).to_have_text("Twice a day.")

    for action in WITH_MESSAGES:
        page.route(action.asks, fail, times=1)
        action.do(page)
        page.get_by_role("button", name=AGAIN).last.click()
        expect(page.locator(action.shows).last).to_contain_text(action.says)
        expect(page.get_by_role("button", name=AGAIN)).to_have_count(0)
        page.keyboard.press("Escape")

    told = messages(person, talk.conversation_id)
    assert [each["text"] for each in told] == ["Understood.", "How much warm water?", "How much light?", "Understood."]
    assert [bool(each["pinned_at"]) for each in told] == [False, True, False, False]
    assert former_texts(server, told[1]["message_id"]) == ["How much water?"]


def test_a_conversation_whose_making_nobody_heard_of_is_made_once(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    page = open_page(person)
    tried: list[str] = []
    page.on("request", lambda asked: "/create_conversation/" in asked.url and tried.append(client_id_of(asked)))
    page.route("**/create_conversation/**", lose_the_answer, times=1)
    page.locator("#composer-input").fill("How much water?")
    page.locator("#composer-input").press("Enter")
    expect(body(page, 2)).to_have_text("Understood.")  # it is sent again by itself
    assert [each["message_count"] for each in person.get("/list_conversation_by_user/assistant").json()] == [2]
    assert len(tried) == 2
    assert len(set(tried)) == 1


def test_a_copy_whose_making_nobody_heard_of_is_made_once(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    page.route("**/fork_conversation/**", lose_the_answer, times=1)
    choose(page, 2, "Fork from here")
    toast = page.locator("#toasts").get_by_role("alert")
    expect(toast).to_contain_text("The conversation could not be forked.")
    toast.get_by_role("button", name=AGAIN).click()
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes (fork)")
    assert opened_id(page) != talk.conversation_id
    expect(SidebarPage(page).row("Growing tomatoes (fork)")).to_have_count(1)


def test_what_was_typed_in_a_message_is_kept_until_it_is_saved(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    page.route("**/edit_message_from_conversation/**", refuse, times=1)
    edit(page, "How much warm water?")
    field = page.get_by_label("Text of the message")
    expect(page.locator("#toasts")).to_contain_text("The message could not be changed.")
    expect(field).to_have_value("How much warm water?")
    field.fill("How much cold water?")
    page.locator("#toasts").get_by_role("button", name=AGAIN).click()
    expect(field).to_have_count(0)
    expect(body(page, 1)).to_have_text("How much cold water?")


def test_messages_that_do_not_come_are_asked_for_again_by_who_reads(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    store_talk(server, person, "A long story", turns=60)
    page = open_page(person)
    page.route("**/events?*", refuse)  # who hears the server asks again unbidden
    page.reload()
    page.route("**/list_messages_by_conversation/**", refuse, times=1)
    page.locator("#sidebar").get_by_text("A long story").first.click()
    expect(page.locator(".failure-state")).to_contain_text("The messages could not be loaded.")
    page.locator(".failure-state").get_by_role("button", name=AGAIN).click()
    expect(body(page, 120)).to_be_in_viewport()
    expect(page.locator(".message-card")).to_have_count(FIRST_PAGE)

    asked: list[str] = []

    def refuse_and_note(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route("**/list_messages_by_conversation/**before=**", refuse_and_note)
    page.evaluate("document.getElementById('chatView').scrollTop = 0")
    note = page.locator(".transcript-note.failed")
    expect(note).to_contain_text("Earlier messages could not be loaded.")
    page.locator("#chatView").press("ArrowDown")
    page.locator("#chatView").press("ArrowUp")
    page.unroute("**/list_messages_by_conversation/**before=**")
    note.get_by_role("button", name=AGAIN).click()
    expect(card(page, 60)).to_have_count(1)
    expect(note).to_have_count(0)
    assert len(asked) == 1


def test_who_refers_to_a_message_and_what_a_reference_means_is_asked_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    first = hold_talk(person, "Growing tomatoes", "How much water?")
    second = hold_talk(person, "Watering", f"What of {first.reference(1)}?")
    page = open_page(person, first.path)
    page.route("**/messages/*/backlinks", refuse, times=1)
    card(page, 1).get_by_role("button", name="refers to this one").click()
    list_of_them = page.get_by_role("dialog", name="Referred to by")
    expect(list_of_them).to_contain_text("The list could not be loaded. The server cannot be reached.")
    list_of_them.get_by_role("button", name=AGAIN).click()
    expect(list_of_them.locator(".backlink")).to_contain_text("Watering")
    list_of_them.locator(".backlink").click()
    expect(page.locator("#conversation-title")).to_have_text("Watering")
    assert opened_id(page) == second.conversation_id

    page.route("**/references/resolve*", refuse, times=1)
    page.fill("#composer-input", f"And {first.reference(2)}?")
    send(page, f"And {first.reference(2)} of {first.reference(1)}")
    expect(body(page, 4)).to_have_text("Understood.")
    expect(body(page, 3).locator(".reference-chip[data-status='resolved']")).to_have_count(2)


def test_each_part_of_the_memories_is_asked_for_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    with told(person):
        remember(person, "I sleep badly at full moon")
    page = open_page(person, address())
    keep_toasts(page)
    panel = MemoriesPanel(page)
    expect(panel.rows).to_have_count(1)
    parts = {
        "Contexts": "**/pkb/contexts",
        "Entities": "**/pkb/entities*",
        "Tags": "**/pkb/tags*",
        "Conflicts": "**/pkb/conflicts",
        "History": "**/pkb/audit*",
        "Import and export": "**/pkb/stats",
    }
    for name, asks in parts.items():
        page.route(asks, refuse)
        panel.tab(name).click()
        failure = panel.node.locator(".failure-state:visible")
        expect(failure).to_contain_text("This could not be loaded. The server cannot be reached.")
        page.unroute(asks)
        failure.get_by_role("button", name=AGAIN).click()
        expect(failure).to_have_count(0)

    panel.tab("Memories").click()
    page.route("**/pkb/claims/*/pin", refuse, times=1)
    listed = panel.page.get_by_role("list", name="Memories")
    panel.choose(listed.locator(".memory"), "Pin")
    panel.toasts.get_by_role("button", name=AGAIN).click()
    expect(listed.get_by_role("button", name="Unpin")).to_have_attribute("aria-pressed", "true")
    page.route("**/pkb/claims/*", refuse, times=1)
    panel.choose(listed.locator(".memory"), "Retract")
    panel.toasts.get_by_role("button", name=AGAIN).click()
    expect(listed.locator(".memory")).to_have_count(0)
    page.route("**/pkb/undo/**", refuse, times=1)
    panel.toasts.get_by_role("button", name="Undo").last.click()
    panel.toasts.get_by_role("button", name=AGAIN).click()
    expect(listed.locator(".memory")).to_have_count(1)


def test_what_fails_in_a_dialog_is_tried_again_from_a_message_above_it(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    page = open_page(person, address())
    panel = MemoriesPanel(page)
    page.get_by_role("button", name="Add memory").first.click()
    dialog = page.get_by_role("dialog", name="Add a memory")
    kinds = dialog.locator("select", has_text="New type…")
    kinds.select_option("New type…")
    page.route("**/pkb/types", refuse, times=1)
    question = page.get_by_role("dialog", name="New type", exact=True)
    question.get_by_role("textbox").fill("recipe")
    question.get_by_role("textbox").press("Enter")
    again = panel.toasts.get_by_role("button", name=AGAIN)
    again.focus()
    expect(again).to_be_focused()
    # What is below stays in reach, also where the message is as wide as the window.
    page.set_viewport_size(NARROW)
    dialog.get_by_role("heading", name="Add a memory").click(trial=True)
    for button in dialog.locator(".dialog-buttons button").all():
        button.click(trial=True)
    again.click()
    expect(kinds).to_have_value("recipe")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


# What toasts lie over, of the buttons that are given.
_COVERED = """(buttons) => {
  const boxOf = (node) => node.getBoundingClientRect();
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const toasts = [...document.querySelectorAll('.toast-message')].map(boxOf);
  const isCovered = (button) => button.checkVisibility() && toasts.some((toast) => meet(toast, boxOf(button)));
  return buttons.filter(isCovered).map((button) => button.ariaLabel || button.textContent);
}"""

# What follows a new size of the window is done by then.
_NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_what_failed_can_be_pressed_again_beside_what_is_said_of_it(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    _, page = open_talk(person, open_page, "How much water?")
    keep_toasts(page)
    toasts = page.locator(".toast-message")
    page.route("**/edit_message_from_conversation/**", refuse)
    choose(page, 1, "Edit")
    page.get_by_label("Text of the message").fill("How much light?")
    save = page.get_by_role("button", name="Save", exact=True)
    for width in (320, 768, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 740})
        for times in (1, 2):
            save.click()
            expect(toasts).to_have_count(times)
            pressed = page.locator(".message-editor-buttons button, #send-button")
            assert pressed.evaluate_all(_COVERED) == [], f"{width} pixels"
        page.set_viewport_size({"width": 400, "height": 740})
        page.evaluate(_NEXT_FRAME)
        assert pressed.evaluate_all(_COVERED) == [], f"400 pixels in place of {width}"
        for _ in (1, 2):
            toasts.first.get_by_role("button", name="Dismiss").click()
        expect(toasts).to_have_count(0)


def test_toasts_leave_the_buttons_of_a_wide_dialog_free(person: Client, open_page: OpenPage) -> None:
    for number in range(20):
        person.post("/prompts", {"name": f"prompt-{number:02}", "text": "Translate this."})
    page = open_page(person)
    keep_toasts(page)
    page.fill("#composer-input", "/prompts")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    library = page.get_by_role("dialog", name="Prompt library")
    toasts = page.locator(".toast-message")
    left = [f"Delete /prompt-{number:02}" for number in range(20)]
    for width in (320, 768, 1280, 1440, 1600):
        page.set_viewport_size({"width": width, "height": 740})
        for times in (1, 2):
            library.get_by_role("button", name=left.pop()).click()
            expect(toasts).to_have_count(times)
        library.evaluate("(dialog) => { dialog.scrollTop = 0; }")
        assert library.locator(".dialog-form button").evaluate_all(_COVERED) == [], f"{width} pixels"
        for _ in (1, 2):
            toasts.first.get_by_role("button", name="Dismiss").click()


def test_a_part_of_the_page_that_does_not_come_is_told_in_words_and_asked_for_again(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_INTERNET_DISCONNECTED")
    page = open_page(person, empty_cache=True)
    problem = page.locator("#composer-problem")
    page.context.set_offline(True)
    page.locator("#model-button").click()
    expect(problem).to_have_text(f"A part of the page could not be loaded. The server cannot be reached.{AGAIN}")
    page.context.set_offline(False)
    problem.get_by_role("button", name=AGAIN).click()
    expect(page.get_by_role("listbox", name="Models").get_by_role("option")).not_to_have_count(0)
    expect(problem).to_be_hidden()

    page = open_page(person, empty_cache=True)
    problem = page.locator("#composer-problem")
    page.context.set_offline(True)
    # One key, one attempt: a second one could still be failing when the network is back.
    page.locator("#composer-input").press("/")
    expect(problem).to_contain_text("The server cannot be reached.")
    page.context.set_offline(False)
    page.locator("#composer-input").press("h")
    expect(page.get_by_role("option").first).to_contain_text("/help")
    expect(problem).to_be_hidden()


def test_what_takes_a_while_shows_that_it_runs(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, talk.path)
    bar = page.get_by_role("progressbar", name="Working…")
    expect(body(page, 2)).to_have_text("Understood.")
    expect(bar).to_be_hidden()
    waiting: list[Route] = []
    page.route("**/messages/*/pin", lambda route: waiting.append(route))
    choose(page, 1, "Pin")
    expect(bar).to_be_visible()
    until_held(page, waiting)
    waiting[0].continue_()
    expect(bar).to_be_hidden()
    expect(page.locator("#pinned-messages")).to_be_visible()
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('.busy-bar'), '::before').animationName") == "none"


def test_an_answer_goes_on_when_the_connection_is_back(
    person: Client, shared_model: RecordingModel, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_")
    shared_model.scripts["main"] = saying("Said before. ", "Said after.", pause_after=1)
    page = open_page(person)
    send(page, "Go on")
    expect(body(page, 2)).to_have_text("Said before.")
    page.route("**/stream/**", refuse)
    page.reload()
    expect(card(page, 2)).to_contain_text("The connection broke. Reconnecting…")
    page.unroute("**/stream/**")
    shared_model.release()
    expect(body(page, 2)).to_have_text("Said before. Said after.")
    expect(card(page, 2)).to_have_attribute("data-status", "complete")
    assert messages(person, opened_id(page))[1]["text"] == "Said before. Said after."


def test_a_message_that_is_not_there_says_so_and_leads_on(
    person: Client, open_page: OpenPage, server: LiveServer, page_problems: PageProblems
) -> None:
    page_problems.expect("404")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, f"/r/{talk.friendly_id}/zzzzzz")
    expect(page.locator("main")).to_contain_text("There is no such message.")
    page.get_by_role("link", name=re.compile("conversations", re.IGNORECASE)).click()
    expect(page.locator("#composer-input")).to_be_visible()


def test_a_permalink_opened_signed_out_leads_there_after_logging_in(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("401")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(server.client(), f"/r/{talk.friendly_id}/{talk.hashes[1]}")
    email = person.get("/get_user_info").json()["user_email"]
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(card(page, 2)).to_be_focused()
    expect(card(page, 2)).to_be_in_viewport()
    target = messages(person, talk.conversation_id)[1]["message_id"]
    expect(page).to_have_url(re.compile(f"{re.escape(talk.path)}.message={target}$"))

    page.context.clear_cookies()
    page.goto(f"{talk.path}?message={target}")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(card(page, 2)).to_be_focused()
    with page.expect_popup() as opened:
        page.evaluate("(address) => window.open(address)", f"/r/{talk.friendly_id}/1")
    expect(card(opened.value, 1)).to_be_focused()


def test_nobody_is_kept_out_while_something_runs_or_has_failed(
    server: LiveServer, person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk = store_talk(server, person, "A long story", turns=60)
    hold_talk(person, "Watering", f"What of {talk.reference(120)}?")
    page = open_page(person, talk.path, reduced_motion="reduce")
    expect(page.locator(".message-card")).to_have_count(FIRST_PAGE)
    page.route("**/list_messages_by_conversation/**before=**", refuse)
    page.evaluate("document.getElementById('chatView').scrollTop = 0")
    expect(page.locator(".transcript-note.failed")).to_be_visible()
    page.route("**/messages/*/pin", refuse, times=1)
    choose(page, 71, "Pin")
    expect(page.locator("#toasts").get_by_role("button", name=AGAIN)).to_be_visible()
    waiting: list[Route] = []
    page.route("**/messages/*/pin", lambda route: waiting.append(route))
    choose(page, 72, "Pin")
    expect(page.get_by_role("progressbar", name="Working…")).to_be_visible()
    for size in WIDTHS:
        page.set_viewport_size(size)
        assert problems(page) == []
    until_held(page, waiting)
    waiting[0].continue_()

    page.get_by_role("button", name="To the newest message").click()
    page.route("**/messages/*/backlinks", refuse, times=1)
    card(page, 120).get_by_role("button", name="refers to this one").click()
    expect(page.get_by_role("dialog", name="Referred to by").get_by_role("button", name=AGAIN)).to_be_visible()
    for size in WIDTHS:
        page.set_viewport_size(size)
        assert problems(page) == []


def test_a_conversation_that_could_not_be_reached_comes_by_itself_once_the_server_is_heard(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_INTERNET_DISCONNECTED")
    hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person)
    row = SidebarPage(page).row("Growing tomatoes")
    expect(row).to_be_visible()
    page.context.set_offline(True)
    row.click()
    expect(page.locator(".failure-state")).to_contain_text("The messages could not be loaded.")
    page.context.set_offline(False)
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator(".failure-state")).to_have_count(0)


def test_what_a_gateway_refused_comes_by_itself_once_the_server_is_heard(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("502")
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    assert person.put("/api/vault/document?path=heron.md", {"text": "# Heron"}).status in (200, 201)
    page = open_page(person, "/account")
    is_down = True

    def gateway(route: Route) -> None:
        if is_down:
            route.fulfill(status=502, content_type="text/html", body="<h1>Bad Gateway</h1>")
        else:
            route.fallback()

    page.route(re.compile("/events|/list_|/get_conversation_details|/api/vault/documents"), gateway)
    page.goto(f"{talk.path}?panel=documents")
    sidebar, messages_place = page.locator("#sidebar-status"), page.locator(".failure-state")
    documents = page.get_by_role("region", name="Documents")
    for place in (sidebar, messages_place, documents):
        expect(place).to_contain_text("could not be loaded. The server cannot be reached.")
        expect(place.get_by_role("button", name=AGAIN)).to_be_visible()
    is_down = False
    expect(page.locator(".message-card")).to_have_count(2)
    expect(SidebarPage(page).row("Growing tomatoes")).to_be_visible()
    expect(documents.get_by_role("link", name="Heron")).to_be_visible()
    expect(page.get_by_role("button", name=AGAIN)).to_have_count(0)
