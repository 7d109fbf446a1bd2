"""Questions that are asked again in a real browser: branches, their tree, and answers that go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems, until_held
from tests.browser.history import messages
from tests.browser.transcript import answer_again, body, card, choose, keep_toasts, open_talk, send, texts_of
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def versions(page: Page, number: int) -> Locator:
    return card(page, number).get_by_role("group", name="Versions of this question")


def ask_instead(page: Page, number: int, text: str) -> None:
    choose(page, number, "Edit")
    page.get_by_label("Text of the message").fill(text)
    page.get_by_role("button", name="Save and answer again").click()


def test_a_message_that_can_not_be_moved_says_why(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "How much water?", "And light?")
    keep_toasts(page)
    ask_instead(page, 3, "And shade?")
    expect(body(page, 3)).to_have_text("And shade?")
    expect(versions(page, 3)).to_contain_text("2/2")
    choose(page, 2, "Move down")
    expect(page.locator(".toast-text")).to_contain_text("Nothing was moved")
    choose(page, 2, "Move up")
    expect(page.locator(".message-body")).to_have_text(["Understood.", "How much water?", "And shade?", "Understood."])
    said = page.locator(".toast-text").all_inner_texts()
    assert len(said) == 1
    assert all("Nothing was moved" in each for each in said)


def test_a_question_is_asked_again_and_both_ways_are_kept(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    talk, page = open_talk(person, open_page, "How much water?", "And light?")
    bodies = page.locator(".message-body")
    shared_model.scripts["main"] = saying("Much.")
    ask_instead(page, 1, "How much salt?")
    expect(bodies).to_have_text(["How much salt?", "Much."])
    expect(versions(page, 1)).to_contain_text("2/2")
    assert texts_of(person, talk) == ["How much salt?", "Much."]
    ask_instead(page, 1, "How much sugar?")
    expect(versions(page, 1)).to_contain_text("3/3")

    versions(page, 1).get_by_role("button", name="Next version of the question").click()
    expect(bodies).to_have_text(["How much water?", "Understood.", "And light?", "Understood."])
    ask_instead(page, 3, "And shade?")
    expect(bodies).to_have_text(["How much water?", "Understood.", "And shade?", "Much."])
    versions(page, 1).get_by_role("button", name="Show all branches").click()
    tree = page.get_by_role("dialog", name="Branches of this conversation")
    expect(tree.locator("> div > ul > li > button .branch-preview")).to_have_text(
        ["How much water?", "How much salt?", "How much sugar?"]
    )
    expect(tree.locator("[aria-current] .branch-preview")).to_have_text(["How much water?", "And shade?"])
    tree.get_by_role("button", name="How much salt?").click()
    expect(bodies).to_have_text(["How much salt?", "Much."])

    page_problems.expect("404")
    # An address of a message in another branch turns to it.
    page.goto(f"/r/{talk.friendly_id}/{talk.hashes[2]}")
    expect(bodies).to_have_text(["How much water?", "Understood.", "And light?", "Understood."])


def test_a_deleted_question_hides_no_other_branch(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    bodies = page.locator(".message-body")
    ask_instead(page, 1, "How much salt?")
    expect(versions(page, 1)).to_contain_text("2/2")
    choose(page, 1, "Delete")
    expect(bodies).to_have_text(["Understood."])
    expect(versions(page, 1)).to_contain_text("2/2")
    page.reload()
    versions(page, 1).get_by_role("button", name="Previous version of the question").click()
    expect(bodies).to_have_text(["How much water?", "Understood."])
    versions(page, 1).get_by_role("button", name="Next version of the question").click()
    expect(bodies).to_have_text(["Understood."])
    choose(page, 1, "Delete")
    expect(bodies).to_have_text(["How much water?", "Understood."])
    expect(versions(page, 1)).to_have_count(0)
    page.locator("#toasts").get_by_role("button", name="Undo").last.click()
    expect(bodies).to_have_text(["Understood."])
    expect(versions(page, 1)).to_contain_text("2/2")


def test_a_question_that_is_asked_again_waits_in_the_outbox_and_is_asked_once(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("net::ERR_FAILED")
    talk, page = open_talk(person, open_page, "How much water?")
    bodies = page.locator(".message-body")
    held: list[Route] = []

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/branch/**", lambda route: held.append(route))
    ask_instead(page, 1, "How much salt?")
    until_held(page, held)
    lose(held.pop())
    expect(page.locator("#outbox")).to_contain_text("How much salt?")
    expect(page.get_by_label("Text of the message")).to_have_count(0)
    until_held(page, held)  # it is tried again by itself
    held.pop().continue_()
    page.unroute("**/branch/**")
    expect(bodies).to_have_text(["How much salt?", "Understood."])
    expect(page.locator("#outbox")).to_be_hidden()
    expect(versions(page, 1)).to_contain_text("2/2")

    page.route("**/regenerate/**", lose, times=1)
    answer_again(page, 2)
    page.locator("#toasts").get_by_role("button", name="Try again").click()
    variants = card(page, 2).get_by_role("group", name="Variants of this answer")
    expect(variants).to_contain_text("2/2")
    assert len(messages(person, talk.conversation_id)[1]["variants"]) == 2


def test_a_long_edit_is_not_thrown_away_by_one_key(person: Client, open_page: OpenPage) -> None:
    _, page = open_talk(person, open_page, "How much water?")
    field = page.get_by_label("Text of the message")
    choose(page, 1, "Edit")
    field.fill("Short.")
    field.press("Escape")
    expect(field).to_have_count(0)
    choose(page, 1, "Edit")
    field.fill("One line\nand another")
    field.press("Escape")
    expect(card(page, 1).get_by_role("alert")).to_contain_text("Your changes are not saved.")
    expect(field).to_have_value("One line\nand another")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(body(page, 1)).to_have_text("How much water?")


def test_an_answer_that_was_stopped_goes_on(person: Client, open_page: OpenPage, shared_model: RecordingModel) -> None:
    talk, page = open_talk(person, open_page, "How much water?")
    goes_on = page.get_by_role("button", name="Continue")
    expect(goes_on).to_have_count(0)
    shared_model.scripts["main"] = saying("One, two, ", "never", pause_after=1)
    send(page, "Count.")
    expect(body(page, 4)).to_have_text("One, two,")
    page.get_by_role("button", name="Stop answering").click()
    shared_model.scripts["main"] = saying("three.")
    goes_on.click()
    expect(body(page, 4)).to_have_text("One, two, three.")
    expect(goes_on).to_have_count(0)
    expect(card(page, 4).get_by_role("group", name="Variants of this answer")).to_contain_text("2/2")
    assert texts_of(person, talk)[3] == "One, two, three."
    variants = messages(person, talk.conversation_id)[3]["variants"]
    assert [each["status"] for each in variants] == ["cancelled", "complete"]

    shared_model.scripts["main"] = saying("One, ", finish_reason="length")
    send(page, "Once more.")
    content = card(page, 6).locator(".message-content")  # beside it, a hash has any letters
    expect(content).to_contain_text("cut")
    shared_model.scripts["main"] = saying("two.")
    goes_on.click()
    expect(body(page, 6)).to_have_text("One, two.")
    expect(content).not_to_contain_text("cut")
    expect(card(page, 6)).to_have_attribute("data-status", "complete")
    assert texts_of(person, talk)[5] == "One, two."
