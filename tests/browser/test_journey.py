"""The main job in a real browser: two conversations, a message of the one named in the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.transcript import copied, suggested
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
FRIENDLY_ID = re.compile(r"^[a-z0-9]+(_[a-z0-9]+)?_[a-z0-9]{4}$")
# All texts that an element has from now on.
TEXTS = """(node) => {
  const texts = [];
  const all = { childList: true, subtree: true, characterData: true };
  new MutationObserver(() => texts.push(node.textContent)).observe(node, all);
  return texts;
}"""
ANSWER = "Memoize the rows.\n\n```js\nconst Row = memo(({ id }) => <tr key={id} />);\n```\n\nThen measure again."


@pytest.fixture
def page(person: Client, open_page: OpenPage, shared_model: RecordingModel) -> Page:
    pieces = [ANSWER[i : i + 9] for i in range(0, len(ANSWER), 9)]
    shared_model.scripts = {"main": saying(*pieces, delay=0.01), "cheap": saying("React Optimization Plan")}
    return open_page(person)


def send(page: Page, text: str) -> None:
    page.fill("#composer-input", text)
    page.keyboard.press("Enter")


def badges(page: Page) -> list[str]:
    return [re.sub(r"\s+", " ", text.split("\n")[0]) for text in page.locator(".message-ref-badge").all_inner_texts()]


def wait_for_hashes(page: Page, count: int) -> None:
    expect(page.locator(".message-ref-badge[data-msg-hash]:not([data-msg-hash=''])")).to_have_count(count)


def test_a_message_of_one_conversation_is_named_in_another(page: Page, shared_model: RecordingModel) -> None:
    send(page, "How do I speed up my table?")
    expect(page.locator(".message-card")).to_have_count(2)
    wait_for_hashes(page, 2)
    assert [re.fullmatch(r"#\d · [a-z0-9]{6}", text) is not None for text in badges(page)] == [True, True]

    # The sidebar's menu copies the friendly id.
    anchor = page.locator("#workspaces-container a.jstree-anchor", has_text="React Optimization Plan").first
    anchor.click(button="right")
    item = page.locator(".vakata-context li", has_text="Copy Conversation Reference").first
    expect(item).to_be_visible()
    friendly_id = copied(page, item.locator("a").first.click)
    assert FRIENDLY_ID.fullmatch(friendly_id)

    # The badge copies the canonical reference; "Copied!" goes away even after a double click.
    badge = page.locator(".message-ref-badge").nth(1)
    short_hash = badge.get_attribute("data-msg-hash")
    before = badge.inner_text()
    said = badge.evaluate_handle(TEXTS)
    reference = copied(page, badge.dblclick)
    assert reference == f"@conversation_{friendly_id}_message_{short_hash}"
    expect(badge).not_to_contain_text("Copied!")
    expect(badge).to_have_text(before, use_inner_text=True)
    assert any("Copied!" in text for text in said.evaluate("(texts) => texts"))

    # In a second conversation the pasted reference reaches the model word for word.
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.locator(".message-card")).to_have_count(0)
    shared_model.scripts = {"main": saying("Yes, memoize."), "cheap": saying("Second Opinion Wanted")}
    send(page, f"Is this right? {reference}")
    wait_for_hashes(page, 2)
    assert f"#2 (Assistant):\n{ANSWER}</pkb_item>" in shared_model.prompt(model="main")
    expect(page.locator(".message-card").first).to_contain_text("1 reference")

    # It shows as a chip with a card; a click jumps to the message and lights it up.
    chip = page.locator("#chatView .reference-chip").first
    expect(chip).to_be_visible()
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text("Memoize the rows.")
    page.mouse.move(0, 0)
    chip.click()
    target = page.locator(f".message-card:has([data-msg-hash='{short_hash}'])")
    expect(target).to_be_focused()
    expect(target).to_be_in_viewport()
    expect(page.locator("#conversation-title")).to_have_text("React Optimization Plan")


def test_before_there_is_a_friendly_id_the_menu_item_is_disabled(person: Client, open_page: OpenPage) -> None:
    person.create_conversation()
    page = open_page(person)
    anchor = page.locator("#workspaces-container a.jstree-anchor", has_text="(untitled)").first
    anchor.click(button="right")
    item = page.locator(".vakata-context li", has_text="Copy Conversation Reference").first
    expect(item).to_be_visible()
    expect(item).to_have_class(re.compile("vakata-contextmenu-disabled"))


def test_badges_show_the_number_at_once_and_the_hash_when_it_is_there(page: Page, shared_model: RecordingModel) -> None:
    shared_model.scripts["main"] = saying("Wait ", "for ", "it.", pause_after=1)
    send(page, "Slowly, please")
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator(".message-card").nth(1)).to_contain_text("Wait")
    expect(page.locator(".message-ref-badge")).to_contain_text(["#1", "#2"])
    assert badges(page) == ["#1", "#2"]
    shared_model.release()
    wait_for_hashes(page, 2)
    assert [text.split(" · ")[0] for text in badges(page)] == ["#1", "#2"]


def test_a_tab_closed_in_the_middle_of_an_answer_comes_back_to_it(
    page: Page, shared_model: RecordingModel, open_page: OpenPage
) -> None:
    shared_model.scripts["main"] = saying("First half, ", "second half.", pause_after=1)
    send(page, "Tell me something long")
    expect(page.locator(".message-card").nth(1)).to_contain_text("First half,")
    address = page.url
    context = page.context
    page.close()
    again = context.new_page()
    again.goto(address)
    expect(again.locator(".message-card").nth(1)).to_contain_text("First half,")
    shared_model.release()
    expect(again.locator(".message-card").nth(1)).to_contain_text("First half, second half.")
    wait_for_hashes(again, 2)


def test_stop_keeps_what_was_said(page: Page, shared_model: RecordingModel) -> None:
    shared_model.scripts["main"] = saying("Said. ", "Never said.", pause_after=1)
    send(page, "Go on for ever")
    expect(page.locator(".message-card").nth(1)).to_contain_text("Said.")
    page.locator("#stop-button").click()
    wait_for_hashes(page, 2)
    expect(page.locator(".message-card").nth(1)).to_contain_text("Said.")
    expect(page.locator(".message-card").nth(1)).not_to_contain_text("Never said.")
    shared_model.release()
    shared_model.wait_until(lambda model: model.hung_up.total() >= 1)


def test_typing_at_offers_conversations_and_then_their_messages(page: Page, shared_model: RecordingModel) -> None:
    send(page, "How do I speed up my table?")
    wait_for_hashes(page, 2)
    page.get_by_role("button", name="New conversation").first.click()
    page.locator("#composer-input").click()
    page.keyboard.type("@react")
    option = page.get_by_role("option", name=re.compile("React Optimization Plan")).first
    expect(option).to_be_visible()
    suggested(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("option", name=re.compile("Memoize")).first).to_be_visible()
    page.get_by_role("option", name=re.compile("Memoize")).first.click()
    assert re.match(
        r"@conversation_react_optimization_[a-z0-9]{4}_message_[a-z0-9]{6}", page.input_value("#composer-input")
    )


def test_what_is_said_is_never_run(page: Page, shared_model: RecordingModel) -> None:
    hostile = (
        "<img src=x onerror=alert(1)> <script>alert(2)</script> [a](javascript:alert(3)) "
        '<svg/onload=alert(4)> ![x](x" onerror="alert(5)) <iframe srcdoc="<script>alert(6)</script>"></iframe>'
    )
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    shared_model.scripts = {"main": saying(hostile), "cheap": saying("<img src=x onerror=alert(7)>")}
    send(page, hostile)
    wait_for_hashes(page, 2)
    page.reload()
    expect(page.locator(".message-card")).to_have_count(2)
    assert dialogs == []
    dangerous = "img, script, iframe, svg[onload], a[href^='javascript']"
    expect(page.locator("#chatView").locator(dangerous)).to_have_count(0)


def test_earlier_blocks_keep_their_nodes_while_the_answer_grows(page: Page, shared_model: RecordingModel) -> None:
    shared_model.scripts["main"] = saying("First paragraph.\n\n", "Second ", "paragraph.\n\nThird.", pause_after=2)
    send(page, "In parts")
    first = page.locator(".message-card").nth(1).locator("p", has_text="First paragraph.")
    expect(first).to_be_visible()
    first.evaluate("node => { node.dataset.same = 'yes'; }")
    shared_model.release()
    expect(page.locator(".message-card").nth(1)).to_contain_text("Third.")
    expect(first).to_have_attribute("data-same", "yes")
