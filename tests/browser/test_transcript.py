"""The messages of a conversation in a real browser: changed, moved, deleted, answered, copied; thousands; streaming."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held, until_kept, wait_until
from tests.browser.history import Talk, former_texts, hold_talk, messages, store_talk, told
from tests.browser.screens import NARROW
from tests.browser.sidebar_page import SidebarPage
from tests.browser.transcript import (
    AT_END,
    FIRST_PAGE,
    MOST_CARDS,
    READING,
    body,
    card,
    choose,
    clipboard,
    copied,
    keep_toasts,
    mark_what_flashes,
    open_talk,
    opened_id,
    paragraphs,
    reading_place,
    scroll_by_wheel,
    send,
    texts_of,
)
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
AROUND = re.compile(r"/list_messages_by_conversation/.*[?&]around=")


def test_a_message_is_edited_and_what_it_said_before_is_kept(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    talk, page = open_talk(person, open_page, "How much water?")
    expect(page.get_by_role("article", name="#1 You", exact=True)).to_be_visible()
    choose(page, 1, "Edit")
    field = page.get_by_label("Text of the message")
    expect(field).to_be_focused()
    expect(field).to_have_value("How much water?")
    page.keyboard.press("Escape")
    expect(body(page, 1)).to_have_text("How much water?")

    choose(page, 1, "Edit")
    field.fill("How much **warm** water?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(field).to_have_count(0)
    expect(body(page, 1).locator("strong")).to_have_text("warm")
    expect(card(page, 1)).to_contain_text("edited")
    page.reload()
    expect(body(page, 1)).to_have_text("How much warm water?")
    expect(card(page, 1)).to_contain_text("edited")
    assert told(person, talk.conversation_id).hashes == talk.hashes
    changed = messages(person, talk.conversation_id)[0]
    assert former_texts(server, changed["message_id"]) == ["How much water?"]


def test_messages_are_moved_and_keep_their_references(person: Client, open_page: OpenPage) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?")
    choose(page, 3, "Move up")
    expect(body(page, 2)).to_have_text("How much light?")
    choose(page, 1, "Move down")
    bodies = page.locator(".message-card .message-body")
    expect(bodies).to_have_text(["How much light?", "How much water?", "Understood.", "Understood."])
    first, second, third, fourth = talk.hashes
    badges = page.locator(".message-ref-badge")
    expect(badges).to_contain_text([f"#1 · {third}", f"#2 · {first}", f"#3 · {second}", f"#4 · {fourth}"])
    page.reload()
    expect(bodies).to_have_text(["How much light?", "How much water?", "Understood.", "Understood."])
    assert texts_of(person, talk)[:2] == ["How much light?", "How much water?"]


def test_references_of_messages_that_were_selected_early_are_copied_once_they_are_known(
    person: Client, open_page: OpenPage
) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?")
    page = open_page(person, "/healthz")
    held: list[Route] = []
    for told_by in ("**/get_conversation_details/**", "**/list_conversation_by_user/**"):
        page.route(told_by, lambda route: held.append(route))
    page.goto(talk.path)
    page.get_by_label("Select message 2").check()
    copy = page.get_by_role("toolbar", name="Selected messages").get_by_role("button", name="Copy references")
    expect(copy).to_be_disabled()
    until_held(page, held, times=2)
    for route in held:
        route.continue_()
    expect(copy).to_be_enabled()
    assert copied(page, copy.click) == talk.reference(2)


def test_several_messages_are_selected_moved_and_their_references_copied(person: Client, open_page: OpenPage) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "How much light?")
    bar = page.get_by_role("toolbar", name="Selected messages")
    expect(bar).to_be_hidden()
    for number in (2, 1):
        page.get_by_label(f"Select message {number}").check()
    expect(bar).to_contain_text("2 messages selected")
    references = copied(page, bar.get_by_role("button", name="Copy references").click)
    assert references.split("\n") == [talk.reference(1), talk.reference(2)]

    bar.get_by_role("button", name="Move down").click()
    expect(body(page, 1)).to_have_text("How much light?")
    expect(card(page, 2)).to_have_class(re.compile("selected"))
    assert texts_of(person, talk) == ["How much light?", "How much water?", "Understood.", "Understood."]
    bar.get_by_role("button", name="Clear selection").click()
    expect(bar).to_be_hidden()
    expect(page.locator(".message-card.selected")).to_have_count(0)


def test_what_is_said_stands_above_the_bar_of_selected_messages(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes", "How much water?", "How much light?")
    page = open_page(person, talk.path, viewport=NARROW)
    keep_toasts(page)
    choose(page, 3, "Select")
    bar = page.get_by_role("toolbar", name="Selected messages")
    expect(bar).to_be_visible()
    choose(page, 4, "Delete")
    said = page.locator(".toast-message")
    expect(said).to_be_visible()
    page.wait_for_function(
        """([said, bar]) => said.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top""",
        arg=[said.element_handle(), bar.element_handle()],
    )
    bar.get_by_role("button", name="Clear selection").click()
    expect(bar).to_be_hidden()


def test_a_message_that_is_taken_back_leaves_what_was_chosen_since_to_reply_to(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    page_problems.expect("ERR_INTERNET_DISCONNECTED")
    page.context.set_offline(True)
    send(page, "How much salt?")
    waiting = page.get_by_role("list", name="Messages that are not sent yet").get_by_role("listitem")
    expect(waiting).to_contain_text("Not sent yet.")
    choose(page, 2, "Reply")
    waiting.get_by_role("button", name="Take back and edit").click()
    expect(page.locator("#composer-input")).to_have_value("How much salt?")
    expect(page.locator("#composer-chips")).to_contain_text("Replying to main")


def test_a_reply_says_to_what_and_leads_there(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "How much water?", "How much light?")
    choose(page, 2, "Reply")
    expect(page.locator("#composer-input")).to_be_focused()
    chips = page.locator("#composer-chips")
    expect(chips).to_contain_text("Understood.")
    page.keyboard.press("Escape")
    expect(chips).not_to_contain_text("Understood.")

    # To what one replies is kept with what is written.
    choose(page, 2, "Reply")
    page.keyboard.type("Are you sure?")
    until_kept(page, "Are you sure?")
    page.reload()
    expect(page.locator("#composer-input")).to_have_value("Are you sure?")
    expect(chips).to_contain_text("Replying to main")
    page.locator("#composer-input").press("Enter")
    link = card(page, 5).get_by_role("button", name="Replying to")
    short_id = messages(person, opened_id(page))[1]["short_id"]
    expect(link).to_have_text(f"Replying to main (#{short_id})")
    link.hover()
    expect(card(page, 2)).to_have_class(re.compile("lit"))
    link.click()
    expect(card(page, 2)).to_be_focused()
    page.reload()
    expect(link).to_have_text(f"Replying to main (#{short_id})")


def test_a_messages_text_and_its_id_are_copied(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Twice a *day*:\n\n```sh\nwater --twice\n```")
    talk, page = open_talk(person, open_page, "How much water?")
    expect(page.locator("#composer-input")).to_be_focused()  # the conversation's name has come as well
    keep_toasts(page)
    whole = copied(page, card(page, 2).get_by_role("button", name="Copy text").click)
    assert whole == "Twice a *day*:\n\n```sh\nwater --twice\n```"
    assert copied(page, card(page, 2).get_by_role("button", name="Copy code").click) == "water --twice"

    short_id = messages(person, talk.conversation_id)[1]["short_id"]
    choose(page, 2, f"Copy message ID #{short_id}")
    expect(page.locator("#toasts")).to_contain_text(f"Copied #{short_id}")
    assert clipboard(page) == f"#{short_id}"
    choose(page, 2, "Copy permalink")
    expect(page.locator("#toasts")).to_contain_text("Permalink copied")
    assert clipboard(page) == f"{person.origin}/r/{talk.friendly_id}/{talk.hashes[1]}"
    badge = card(page, 1).locator(".message-ref-badge")
    assert copied(page, badge.click) == talk.reference(1)
    permalink = copied(page, lambda: badge.click(modifiers=["Shift"]))
    assert permalink == f"{person.origin}/r/{talk.friendly_id}/{talk.hashes[0]}"


def test_who_waits_is_told_how_much_is_read_and_how_long_until_the_first_word(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Read.", reading=1_200, pause_after=0)
    page = open_page(person)
    send(page, "Read all of this.")
    told = card(page, 2).get_by_text("The model is reading 1,200 tokens: about 20 s left.")
    expect(told).to_be_visible()
    shared_model.release()
    expect(body(page, 2)).to_have_text("Read.")
    expect(told).to_be_hidden()


def test_who_stops_an_answer_can_ask_again_at_once(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Said. ", "Never said.", pause_after=1)
    page = open_page(person)
    send(page, "Go on for ever")
    expect(body(page, 2)).to_have_text("Said.")
    page.get_by_role("button", name="Stop answering").click()
    expect(card(page, 2)).to_contain_text("Stopped. What had been said is kept.")
    # The button that had the focus is gone: what is typed next is the next message.
    expect(page.locator("#composer-input")).to_be_focused()
    shared_model.scripts["main"] = saying("Gladly.")
    send(page, "Then answer this")
    expect(body(page, 4)).to_have_text("Gladly.")
    page.reload()
    expect(body(page, 2)).to_have_text("Said.")
    expect(card(page, 2)).to_contain_text("Stopped. What had been said is kept.")

    shared_model.scripts["main"] = saying("Gladly. ", "Never said.", pause_after=1)
    send(page, "And this")
    expect(body(page, 6)).to_have_text("Gladly.")
    page.keyboard.press("Escape")
    expect(card(page, 6)).to_contain_text("Stopped. What had been said is kept.")

    shared_model.scripts["main"] = saying(hang=True)
    send(page, "Say nothing")
    page.get_by_role("button", name="Stop answering").click()
    expect(card(page, 8).locator(".message-ending")).to_have_text("Stopped.")


def test_a_change_made_in_another_window_is_seen(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".message-card")).to_have_count(2)
    page.bring_to_front()
    choose(page, 1, "Edit")
    page.get_by_label("Text of the message").fill("How much warm water?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(body(other, 1)).to_have_text("How much warm water?")


@pytest.fixture
def long_talk(server: LiveServer, person: Client) -> Talk:
    """A thousand messages."""
    return store_talk(server, person, "A long story", turns=500)


def test_a_long_conversation_opens_at_its_end_and_is_read_by_windows(
    long_talk: Talk, person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, long_talk.path)
    cards = page.locator(".message-card")
    expect(body(page, 1000)).to_contain_text("Answer 500")
    expect(body(page, 1000)).to_be_in_viewport()
    expect(cards.nth(MOST_CARDS)).to_have_count(0)
    expect(card(page, 800)).to_have_count(0)

    scroll_by_wheel(page, "780")
    expect(cards.nth(MOST_CARDS)).to_have_count(0)
    expect(card(page, 1000)).to_have_count(0)
    numbers = cards.evaluate_all("cards => cards.map((card) => Number(card.getAttribute('message-index')))")
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))

    page.get_by_role("button", name="To the newest message").click()
    expect(body(page, 1000)).to_be_in_viewport()
    expect(page.get_by_role("button", name="To the newest message")).to_be_hidden()
    expect(cards.nth(MOST_CARDS)).to_have_count(0)


def test_what_is_read_stays_in_its_place_while_earlier_messages_come(
    long_talk: Talk, person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, long_talk.path)
    expect(page.locator(".message-card")).to_have_count(FIRST_PAGE)
    waiting: list[Route] = []
    page.route("**/list_messages_by_conversation/**", lambda route: waiting.append(route))
    first = page.locator(".message-card").first
    before = first.get_attribute("message-index")
    page.evaluate("document.getElementById('chatView').scrollTop = 600")
    place = page.evaluate(READING)
    until_held(page, waiting)
    expect(page.get_by_text("Loading earlier messages…")).to_be_visible()
    for route in waiting:
        route.continue_()
    page.unroute("**/list_messages_by_conversation/**")
    expect(first).not_to_have_attribute("message-index", str(before))
    assert page.evaluate(READING) == place


def test_a_permalink_opens_a_long_conversation_in_its_middle(
    long_talk: Talk, person: Client, open_page: OpenPage
) -> None:
    page = open_page(person, f"/r/{long_talk.friendly_id}/{long_talk.hashes[499]}")
    expect(card(page, 500)).to_be_focused()
    expect(body(page, 500)).to_contain_text("Answer 250")
    expect(body(page, 500)).to_be_in_viewport()
    expect(page.locator(".message-card").nth(MOST_CARDS)).to_have_count(0)
    scroll_by_wheel(page, "560")
    scroll_by_wheel(page, "440")
    expect(page.locator(".message-card").nth(MOST_CARDS)).to_have_count(0)
    # What is written now is at the end, and so is who wrote it.
    send(page, "And they lived happily ever after?")
    expect(body(page, 1002)).to_have_text("Understood.")
    expect(body(page, 1002)).to_be_in_viewport()


def test_who_writes_while_what_was_asked_for_comes_goes_on_writing(
    server: LiveServer, person: Client, open_page: OpenPage
) -> None:
    """What comes takes the focus from no field in which somebody writes: Enter would be ignored."""
    held: list[Route] = []

    def asked_of(talk: Talk) -> re.Pattern[str]:
        """What is asked of one conversation, and not of the one that is left, whose answer has just ended."""
        return re.compile("/list_messages_by_conversation/" + re.escape(talk.path.rpartition("/")[2]))

    def hold_what(asks: Locator, asked: re.Pattern[str] = AROUND) -> None:
        """Click on what asks for messages, which do not come yet."""
        page.route(asked, lambda route: held.append(route), times=1)
        asks.click()
        until_held(page, held)

    def write_before(target: Locator, text: str) -> None:
        """Write, let what was asked for come, and send what is written."""
        page.fill("#composer-input", text)
        held.pop().continue_()
        expect(target).to_have_attribute("data-flashed", "")
        expect(page.locator("#composer-input")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#composer-input")).to_have_value("")

    # A message of another conversation.
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water?")
    basil = hold_talk(person, "Drying basil", f"What of {tomatoes.reference(1)}?")
    page = open_page(person, tomatoes.path)
    mark_what_flashes(page)
    card(page, 1).get_by_role("button", name="refers to this one").click()
    hold_what(page.get_by_role("dialog", name="Referred to by").locator(".backlink"))
    write_before(card(page, 1), "And of parsley?")
    expect(body(page, 3)).to_have_text("And of parsley?")
    expect(card(page, 4)).to_have_attribute("data-status", "complete")
    assert opened_id(page) == basil.conversation_id

    # An activity of another one.
    event = {"type": "system_event", "payload": {"type": "frost", "description": "The first frost."}}
    frost = person.post(f"/api/conversations/{tomatoes.conversation_id}/activities", event).json()
    send(page, f"See #{frost['short_id']}.")
    expect(card(page, 6)).to_have_attribute("data-status", "complete")
    hold_what(body(page, 5).locator(".reference-chip"), asked_of(tomatoes))
    write_before(page.locator(".activity-line"), "Before the frost?")
    expect(card(page, 4)).to_have_attribute("data-status", "complete")
    assert opened_id(page) == tomatoes.conversation_id

    # The newest messages, which lead to the composer of who is nowhere else.
    hold_what(SidebarPage(page).row("Drying basil"), asked_of(basil))
    page.keyboard.press("Control+f")
    found = page.get_by_role("search", name="Find in this conversation").get_by_role("searchbox")
    found.fill("parsley")
    held.pop().continue_()
    expect(body(page, 6)).to_have_text("Understood.")
    expect(page.locator("#composer-input")).not_to_be_focused()
    expect(found).to_be_focused()

    # A message far up.
    story = store_talk(server, person, "A long story", turns=200)
    first = messages(person, story.conversation_id)[0]
    assert person.put(f"/messages/{first['message_id']}/pin").status == 200
    page.goto(story.path)
    mark_what_flashes(page)
    expect(body(page, 400)).to_be_in_viewport()
    hold_what(page.get_by_role("region", name="Pinned messages").get_by_role("button", name="#1 You"))
    write_before(card(page, 1), "And then?")
    expect(body(page, 402)).to_have_text("Understood.")


@pytest.fixture
def writer(person: Client, shared_model: RecordingModel) -> Client:
    """Somebody whose model waits in the middle of an answer until it is released."""
    pieces = [*paragraphs("Early"), *paragraphs("Late"), "The end."]
    shared_model.scripts["main"] = saying(*pieces, pause_after=40)
    return person


def test_who_has_scrolled_up_is_not_moved_by_an_answer_that_grows(
    writer: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    page = open_page(writer)
    send(page, "Tell me something long")
    expect(body(page, 2)).to_contain_text("Early paragraph 39")
    expect(body(page, 2).get_by_text("Early paragraph 39")).to_be_in_viewport()
    wait_until(page, AT_END)
    page.locator("#chatView").hover()
    page.mouse.wheel(0, -500)
    expect(page.get_by_role("button", name="To the newest message")).to_be_visible()
    place = reading_place(page)
    shared_model.release()
    expect(card(page, 2)).to_have_attribute("data-status", "complete")
    expect(body(page, 2)).to_contain_text("The end.")
    assert page.evaluate(READING) == place
    page.get_by_role("button", name="To the newest message").click()
    expect(body(page, 2).get_by_text("The end.")).to_be_in_viewport()


def test_who_is_at_the_end_follows_an_answer_that_grows(
    writer: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    page = open_page(writer)
    send(page, "Tell me something long")
    expect(body(page, 2).get_by_text("Early paragraph 39")).to_be_in_viewport()
    shared_model.release()
    expect(body(page, 2).get_by_text("The end.")).to_be_in_viewport()


def test_a_page_loaded_again_in_the_middle_of_an_answer_goes_on(
    writer: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    page = open_page(writer)
    send(page, "Tell me something long")
    expect(body(page, 2)).to_contain_text("Early paragraph 39")
    page.reload()
    expect(body(page, 2)).to_contain_text("Early paragraph 39")
    expect(page.get_by_role("button", name="Stop answering")).to_be_visible()
    shared_model.release()
    expect(card(page, 2)).to_have_attribute("data-status", "complete")
    expect(page.get_by_role("button", name="Send message")).to_be_visible()
    whole = [*paragraphs("Early"), *paragraphs("Late"), "The end."]
    expect(body(page, 2).locator("p")).to_have_text([piece.strip() for piece in whole])
    assert messages(writer, opened_id(page))[1]["text"] == "".join(whole)


def test_who_scrolls_up_slowly_gets_away_from_an_answer_that_grows(
    writer: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    page = open_page(writer)
    send(page, "Tell me something long")
    expect(body(page, 2)).to_contain_text("Early paragraph 39")
    wait_until(page, AT_END)
    body(page, 2).evaluate("""(node) => {
      const grow = (height) => {
        node.style.paddingBottom = `${height}px`;
        if (height < 2000) requestAnimationFrame(() => grow(height + 1));
      };
      grow(1);
    }""")
    page.locator("#chatView").hover()
    for _ in range(20):
        page.mouse.wheel(0, -20)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.get_by_role("button", name="To the newest message")).to_be_visible()
    place = reading_place(page)
    shared_model.release()
    expect(card(page, 2)).to_have_attribute("data-status", "complete")
    assert page.evaluate(READING) == place
