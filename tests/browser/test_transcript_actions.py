"""What the menu of a message does in a real browser: undone, hidden, pinned, forked, made again, read as it was."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import former_texts, hold_talk, messages, store_talk, told
from tests.browser.screens import NARROW, WIDE
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
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

import pytest

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
FRAMES = """async () => {
  for (let frame = 0; frame < 10; frame += 1) await new Promise((done) => requestAnimationFrame(done));
}"""


def toasts(page: Page) -> Locator:
    return page.locator("#toasts")


def variant_switch(page: Page, number: int) -> Locator:
    return card(page, number).get_by_role("group", name="Variants of this answer")


def test_a_message_is_deleted_at_once_and_brought_back(person: Client, open_page: OpenPage) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?")
    keep_toasts(page)
    choose(page, 1, "Delete")
    expect(page.locator(".message-card")).to_have_count(3)
    expect(body(page, 1)).to_have_text("Understood.")
    expect(card(page, 2).locator(".message-ref-badge")).to_contain_text(f"#2 · {talk.hashes[2]}")
    expect(page.locator("#chatView")).to_be_focused()
    expect(toasts(page)).to_contain_text("1 message deleted.")
    assert texts_of(person, talk) == ["Understood.", "How much light?", "Understood."]

    toasts(page).get_by_role("button", name="Undo").click()
    expect(page.locator(".message-card")).to_have_count(4)
    expect(card(page, 1).locator(".message-ref-badge")).to_contain_text(f"#1 · {talk.hashes[0]}")
    page.reload()
    expect(body(page, 1)).to_have_text("How much water?")
    assert told(person, talk.conversation_id).hashes == talk.hashes


def test_selected_messages_are_deleted_and_brought_back_together(person: Client, open_page: OpenPage) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?", "How much salt?")
    keep_toasts(page)
    bar = page.get_by_role("toolbar", name="Selected messages")
    for number in (1, 4, 5):
        page.get_by_label(f"Select message {number}").check()
    bar.get_by_role("button", name="Delete").click()
    bodies = page.locator(".message-card .message-body")
    expect(bodies).to_have_text(["Understood.", "How much light?", "Understood."])
    expect(bar).to_be_hidden()
    expect(toasts(page)).to_contain_text("3 messages deleted.")
    assert texts_of(person, talk) == ["Understood.", "How much light?", "Understood."]
    toasts(page).get_by_role("button", name="Undo").click()
    expect(page.locator(".message-card")).to_have_count(6)
    assert told(person, talk.conversation_id).hashes == talk.hashes


def test_a_hidden_message_is_folded_and_kept_from_the_model(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk, page = open_talk(person, open_page, "The code is 4711.", "How much light?")
    choose(page, 1, "Hide from the model")
    expect(card(page, 1)).to_contain_text("Hidden from the model.")
    expect(body(page, 1)).to_be_hidden()
    send(page, "What did I say?")
    expect(body(page, 6)).to_have_text("Understood.")
    assert "The code is 4711" not in shared_model.prompt()
    send(page, f"And what is {talk.reference(1)}?")
    expect(body(page, 8)).to_have_text("Understood.")
    assert "The code is 4711." in shared_model.prompt()
    page.reload()
    expect(body(page, 1)).to_be_hidden()
    with page.expect_response("**/show_hide_message_from_conversation/**"):
        card(page, 1).get_by_role("button", name="Show").click()
    expect(body(page, 1)).to_have_text("The code is 4711.")
    assert messages(person, talk.conversation_id)[0]["show_hide"] == "show"


HOLD_WHAT_SENDING_ANSWERS = """(() => {
  const real = window.fetch;
  const released = new Promise((resolve) => { window.tellWhatWasSent = resolve; });
  const held = { async transform(chunk, controller) { await released; controller.enqueue(chunk); } };
  window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (!String(url).includes('/send_message/')) return response;
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(new TransformStream(held)), { status, headers });
  };
})()"""


def test_a_message_is_there_once_also_when_others_change_before_it_has_its_ids(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    page.add_init_script(HOLD_WHAT_SENDING_ANSWERS)
    page.reload()
    expect(page.locator(".message-card")).to_have_count(2)
    shared_model.scripts["main"] = saying("Under", "stood.", pause_after=1)
    send(page, "How much light?")
    expect(page.locator(".message-card")).to_have_count(4)
    shared_model.wait_until(lambda model: len(model.requests_to("main")) == 2)
    choose(page, 1, "Hide from the model")
    expect(card(page, 1)).to_contain_text("Hidden from the model.")
    expect(page.locator(".message-card")).to_have_count(4)
    page.evaluate("window.tellWhatWasSent()")
    expect(body(page, 4)).to_contain_text("Under")
    shared_model.release()
    expect(body(page, 4)).to_have_text("Understood.")
    expect(page.locator(".message-card.from-user .message-body")).to_have_text(["How much water?", "How much light?"])
    expect(page.locator(".message-card")).to_have_count(4)


SCROLL_UP = """() => new Promise((resolve) => {
  const view = document.getElementById('chatView');
  view.addEventListener('scroll', () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true });
  view.scrollBy({ top: -200, behavior: 'instant' });
})"""


def test_an_open_menu_stays_where_it_is_while_the_messages_below_it_move(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    talk = store_talk(server, person, "A long story", turns=20)
    page = open_page(person, talk.path)
    expect(body(page, 40)).to_be_in_viewport()
    card(page, 40).get_by_role("button", name="Message actions").click()
    item = page.get_by_role("menuitem", name="Pin")
    # Playwright asks for a place that holds still.
    item.click(trial=True)
    place, below = item.bounding_box(), card(page, 40).bounding_box()
    page.evaluate(SCROLL_UP)
    assert item.bounding_box() == place
    assert card(page, 40).bounding_box() != below
    item.click()
    expect(card(page, 40).locator(".message-pinned")).to_be_visible()


def test_pinned_messages_stand_at_the_top_and_lead_to_their_place(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    talk = store_talk(server, person, "A long story", turns=200)
    first = messages(person, talk.conversation_id)[2]
    page = open_page(person, talk.path)
    expect(body(page, 400)).to_be_in_viewport()
    pinned = page.get_by_role("region", name="Pinned messages")
    expect(pinned).to_have_count(0)
    choose(page, 399, "Pin")
    expect(pinned.get_by_role("button", name="#399 You: Question 200")).to_be_visible()
    expect(card(page, 399).locator(".message-pinned")).to_be_visible()

    assert person.put(f"/messages/{first['message_id']}/pin").status == 200
    page.reload()
    expect(pinned.get_by_role("listitem")).to_contain_text(["#3 You: Question 2", "#399 You: Question 200"])
    pinned.get_by_role("button", name="#3 You").click()
    expect(card(page, 3)).to_be_focused()
    pinned.get_by_role("button", name="Unpin message 3", exact=True).click()
    expect(pinned.get_by_role("listitem")).to_have_count(1)
    choose(page, 4, "Pin")
    expect(pinned.get_by_role("listitem")).to_have_count(2)
    expect(card(page, 4).locator(".message-pinned")).to_be_visible()
    choose(page, 4, "Unpin")
    expect(pinned.get_by_role("listitem")).to_have_count(1)
    pinned.get_by_role("button", name="Unpin message 399").click()
    expect(pinned).to_be_hidden()
    assert not any(message["pinned_at"] for message in messages(person, talk.conversation_id))


def test_a_conversation_is_forked_and_goes_another_way(person: Client, open_page: OpenPage) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?")
    choose(page, 2, "Fork from here")
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes (fork)")
    expect(page.locator(".message-card .message-body")).to_have_text(["How much water?", "Understood."])
    fork = told(person, opened_id(page))
    assert fork.conversation_id != talk.conversation_id
    assert fork.friendly_id not in ("", talk.friendly_id)
    assert not set(fork.hashes) & set(talk.hashes)
    expect(page.locator("#sidebar")).to_contain_text("Growing tomatoes (fork)")
    send(page, "And in winter?")
    expect(body(page, 4)).to_have_text("Understood.")
    assert len(messages(person, talk.conversation_id)) == 4
    page.go_back()
    expect(page.locator("#conversation-title")).to_have_text("Growing tomatoes")


def test_an_answer_is_made_again_and_its_variants_are_gone_through_by_keyboard(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?")
    expect(variant_switch(page, 2)).to_be_hidden()
    for number, text in enumerate(("Twice a *day*.", "Once a week."), 2):
        shared_model.scripts["main"] = saying(text)
        answer_again(page, 2)
        expect(body(page, 2)).to_have_text(text.replace("*", ""))
        expect(variant_switch(page, 2)).to_contain_text(f"{number}/{number}")
    expect(body(page, 2)).to_have_text("Once a week.")
    expect(card(page, 2).locator(".message-ref-badge")).to_contain_text(f"#2 · {talk.hashes[1]}")

    variant_switch(page, 2).get_by_role("button", name="Previous variant").focus()
    page.keyboard.press("Enter")
    expect(body(page, 2)).to_have_text("Twice a day.")
    expect(variant_switch(page, 2)).to_contain_text("2/3")
    page.keyboard.press("Enter")
    expect(body(page, 2)).to_have_text("Understood.")
    page.keyboard.press("Enter")
    expect(body(page, 2)).to_have_text("Once a week.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(body(page, 2)).to_have_text("Understood.")
    page.reload()
    expect(body(page, 2)).to_have_text("Understood.")
    expect(variant_switch(page, 2)).to_contain_text("1/3")
    assert "Twice a" not in shared_model.prompt()
    assert told(person, talk.conversation_id).hashes == talk.hashes


def test_an_attempt_that_fails_says_so_and_leaves_the_answer(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    keep_toasts(page)
    shared_model.scripts["main"] = saying("Half a", "never", break_after=1)
    answer_again(page, 2)
    expect(toasts(page)).to_contain_text("The answer could not be made again.")
    expect(body(page, 2)).to_have_text("Understood.")
    expect(variant_switch(page, 2)).to_contain_text("1/2")
    expect(card(page, 2)).to_have_attribute("data-status", "complete")


def test_an_answer_being_made_again_goes_on_after_a_reload_and_can_be_stopped(
    person: Client, shared_model: RecordingModel, open_page: OpenPage
) -> None:
    talk, page = open_talk(person, open_page, "How much water?")
    shared_model.scripts["main"] = saying("Water it ", "daily.", pause_after=1)
    answer_again(page, 2)
    expect(body(page, 2)).to_have_text("Water it")
    expect(page.get_by_role("button", name="Stop answering")).to_be_visible()
    page.reload()
    expect(body(page, 2)).to_have_text("Water it")
    page.get_by_role("button", name="Stop answering").click()
    expect(card(page, 2)).to_contain_text("Stopped. What had been said is kept.")
    expect(variant_switch(page, 2)).to_contain_text("2/2")
    variant_switch(page, 2).get_by_role("button", name="Next variant").click()
    expect(body(page, 2)).to_have_text("Understood.")
    assert [each["status"] for each in messages(person, talk.conversation_id)[1]["variants"]] == [
        "complete",
        "cancelled",
    ]


def test_earlier_texts_of_an_edited_message_can_be_read(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    peppers = hold_talk(person, "Growing peppers", "How much water?")
    talk, page = open_talk(person, open_page, "How much water?")
    warm = f"How much **warm** water? See {peppers.reference(1)}"
    for text in (warm, "How much cold water?"):
        choose(page, 1, "Edit")
        page.get_by_label("Text of the message").fill(text)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_label("Text of the message")).to_have_count(0)
    card(page, 1).get_by_role("button", name="edited").click()
    history = page.get_by_role("dialog", name="Earlier texts")
    expect(history.locator(".earlier-text-body")).to_have_text(
        [re.compile(r"water\? See Growing peppers › #1"), "How much water?"]
    )
    page.keyboard.press("Escape")
    expect(history).to_have_count(0)
    card(page, 1).get_by_role("button", name="edited").click()
    history.get_by_role("link", name="Growing peppers › #1").click()
    expect(page.locator("#conversation-title")).to_have_text("Growing peppers")
    expect(history).to_have_count(0)
    changed = messages(person, talk.conversation_id)[0]
    assert former_texts(server, changed["message_id"]) == ["How much water?", warm]


def test_a_toast_leaves_a_message_that_is_changed_and_on_a_phone_the_list_of_commands_free(
    person: Client, open_page: OpenPage
) -> None:
    _, page = open_talk(person, open_page, "How much water?", "\n".join(["And light?"] * 40))
    keep_toasts(page)
    page.set_viewport_size(WIDE)
    choose(page, 3, "Edit")
    choose(page, 4, "Delete")
    undo = toasts(page).get_by_role("button", name="Undo")
    undo.focus()  # a toast under the focus stays
    toast, buttons = toasts(page).bounding_box(), page.locator(".message-editor-buttons").bounding_box()
    assert toast
    assert buttons
    assert toast["y"] + toast["height"] <= buttons["y"]
    page.set_viewport_size(NARROW)
    for name in ("Cancel", "Save", "Save and answer again"):
        page.get_by_role("button", name=name, exact=True).click(trial=True)
    expect(undo).to_be_in_viewport(ratio=1)

    page.get_by_role("button", name="Cancel", exact=True).click()
    undo.hover()  # and one under the pointer, too
    page.fill("#composer-input", "/")
    expect(page.get_by_role("option").filter(has_text="/help")).to_be_attached()
    toast, commands = toasts(page).bounding_box(), page.locator(".suggestions").bounding_box()
    assert toast
    assert commands
    assert toast["y"] + toast["height"] <= commands["y"]


def test_nothing_moves_where_a_message_is_pointed_at(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "Water?")
    page.mouse.move(1, 1)
    short_id = card(page, 1).locator(".message-short-id")
    expect(short_id).to_be_hidden()
    places = [card(page, 1).locator(part) for part in (".message-sender", ".message-time", ".message-menu-button")]
    before = [place.bounding_box() for place in places]
    card(page, 1).hover()
    expect(short_id).to_be_visible()
    assert [place.bounding_box() for place in places] == before


def test_a_button_of_a_popup_is_clicked_although_its_message_moves_while_it_is_pressed(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    _, page = open_talk(person, open_page, "How much water?")
    edit(page, "How much warm water?")
    page.route("**/messages/*/edits", refuse, times=1)
    edited = card(page, 1).get_by_role("button", name="edited")
    edited.click()
    popup = page.get_by_role("dialog", name="Earlier texts")
    popup.get_by_role("button", name=AGAIN).hover()
    page.mouse.down()
    before = popup.bounding_box()
    page.locator("#chatView").evaluate("view => { view.style.paddingTop = '120px' }")
    page.evaluate(FRAMES)
    assert popup.bounding_box() == before
    page.mouse.up()
    expect(popup.locator(".earlier-text-body")).to_have_text("How much water?")
    # Released, it follows its message.
    below = "([popup, anchor]) => popup.getBoundingClientRect().top >= anchor.getBoundingClientRect().bottom"
    page.wait_for_function(below, arg=[popup.element_handle(), edited.element_handle()])


def test_what_was_done_outlives_a_restart_and_goes_into_a_copy(
    live_server: LiveServer, recording_model: RecordingModel, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("ERR_CONNECTION")  # what is asked while the server is away
    person = live_server.sign_up()
    talk, page = open_talk(person, open_page, "How much water?", "How much light?", "How much salt?")
    keep_toasts(page)
    recording_model.scripts["main"] = saying("Twice a day.")
    answer_again(page, 2)
    expect(body(page, 2)).to_have_text("Twice a day.")
    choose(page, 3, "Pin")
    expect(page.get_by_role("region", name="Pinned messages")).to_be_visible()
    choose(page, 4, "Hide from the model")
    expect(body(page, 4)).to_be_hidden()
    choose(page, 6, "Delete")
    undo = toasts(page).get_by_role("button", name="Undo")
    undo.hover()
    expect(page.locator(".message-card")).to_have_count(5)
    live_server.kill()
    live_server.start()
    undo.click()
    expect(page.locator(".message-card")).to_have_count(6)

    copy = person.post(f"/clone_conversation/{talk.conversation_id}", {}).json()["conversation_id"]
    for path in (talk.path, told(person, copy).path):
        page.goto(path)
        expect(page.get_by_role("region", name="Pinned messages").get_by_role("listitem")).to_have_count(1)
        expect(card(page, 4)).to_contain_text("Hidden from the model.")
        variant_switch(page, 2).get_by_role("button", name="Previous variant").click()
        expect(body(page, 2)).to_have_text("Understood.")
        expect(variant_switch(page, 2)).to_contain_text("1/2")
    assert told(person, talk.conversation_id).hashes == talk.hashes
