"""Bringing history from elsewhere: by the first page that a person sees, and by the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import conversation
from tests.browser.memories_panel import address, claims
from tests.browser.screens import findings
from tests.http_client import Client
from tests.portability.importers.exports import chatgpt_talk, claude_conversation, claude_message, write_zip

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
DROP = """(node, text) => {
  const files = new DataTransfer();
  files.items.add(new File([text], 'conversations.json', { type: 'application/json' }));
  for (const name of ['dragenter', 'dragover', 'drop']) {
    node.dispatchEvent(new DragEvent(name, { dataTransfer: files, bubbles: true, cancelable: true }));
  }
}"""


def export(conversations: int, *, first: int = 1) -> str:
    return json.dumps([chatgpt_talk(number) for number in range(first, first + conversations)])


def card(page: Page, state: str) -> Locator:
    """The card of the only import, in this state."""
    return page.locator(f".import-card[data-state='{state}']")


def test_a_newcomer_drops_an_export_and_sees_its_conversations(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    page.locator(".empty-state .import-offer").evaluate(DROP, export(40))
    sidebar = page.locator("#sidebar")
    dialog = page.get_by_role("dialog", name="Bring your history")

    # The first ones stand in the sidebar while the others are still stored; when all are, the workspace counts them.
    expect(sidebar).to_contain_text("Talk 1")
    expect(dialog.locator(".import-line")).to_have_text("Done: 40 imported.")
    expect(sidebar).to_contain_text("(40)")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    sidebar.get_by_text("Talk 1", exact=True).first.click()
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator(".message-card").nth(1)).to_contain_text("Answer 1 of 1")


@pytest.mark.shows("import-ready", "import-done")
def test_an_import_is_looked_at_chosen_from_reported_about_and_taken_back(
    person: Client, open_page: OpenPage, page_problems: PageProblems
) -> None:
    page_problems.expect("422")
    page = open_page(person, "/settings#data")
    page.locator(".import-drop").evaluate(DROP, '{"a": 1}')
    expect(page.get_by_role("alert")).to_have_text(
        "conversations.json is not a file that can be imported. Choose one of these:"
    )
    # Which files can be, and where they are found, stands below.
    expect(page.locator(".import-where li").first).to_contain_text("ChatGPT Settings › Data controls › Export data.")

    page.locator(".imports input[type=file]").set_input_files(
        {"name": "conversations.json", "mimeType": "application/json", "buffer": export(3).encode()}
    )
    ready = card(page, "ready")
    expect(ready.locator(".import-name")).to_have_text("ChatGPTconversations.json")
    expect(ready.locator(".import-line")).to_have_text("3 conversations with 6 messages.")
    ready.get_by_text("Choose conversations").click()
    expect(ready.locator(".import-titles .record-note").first).to_have_text(re.compile(r"^2 messages · .*2023"))
    ready.get_by_label(re.compile("Talk 2")).uncheck()
    assert findings(page, "import-ready", shown=ready) == []
    ready.get_by_role("button", name=re.compile("^Import:")).click()
    done = card(page, "done")
    expect(done.locator(".import-line")).to_have_text("Done: 2 imported · 1 skipped.")
    assert findings(page, "import-done", shown=done) == []
    assert conversation(person, "Talk 1") is not None
    assert conversation(person, "Talk 2") is None

    with page.expect_download() as download:
        done.get_by_role("link", name="Download report").click()
    assert json.loads(download.value.path().read_text(encoding="utf-8"))["imported"] == 2
    done.get_by_role("button", name="Undo the import").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo the import").click()
    expect(card(page, "undone").locator(".import-line")).to_have_text("Taken back.")
    assert conversation(person, "Talk 1") is None
    card(page, "undone").get_by_role("button", name="Remove from this list").click()
    expect(page.locator(".import-card")).to_have_count(0)


def test_memories_are_taken_from_what_claude_remembered_once_the_person_says_so(
    person: Client, open_page: OpenPage, tmp_path: Path
) -> None:
    talk = claude_conversation(claude_message("m1", "human", "Hello"))
    members = {"conversations.json": [talk], "memories.json": [{"conversations_memory": "She has a sloop."}]}
    page = open_page(person, "/settings#data")
    page.locator(".imports input[type=file]").set_input_files(write_zip(tmp_path / "claude.zip", members))
    card(page, "ready").get_by_role("button", name=re.compile("^Import:")).click()
    lesson = card(page, "done").locator(".import-lesson")
    expect(lesson).to_contain_text("“What Claude remembered” says what another program remembered of you.")
    lesson.get_by_role("link", name="Find memories in it").click()

    text = page.locator("#ingest-text")
    expect(text).to_have_value("She has a sloop.")
    expect(page).to_have_url(re.compile(r"[?&]panel=memories&tab=add$"))
    assert claims(person) == []

    text.fill("She has a yawl.")
    page.reload()
    expect(text).to_have_value("She has a yawl.")
    page.goto(address(tab="add", document="What Claude remembered.md"))
    dialog = page.get_by_role("dialog", name="Replace the text?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(text).to_have_value("She has a yawl.")
    page.goto(address(tab="add", document="What Claude remembered.md"))
    dialog.get_by_role("button", name="Replace").click()
    expect(text).to_have_value("She has a sloop.")


def sent(page: Page, text: str) -> Locator:
    """The card of a file that a page sends, once the file was looked at."""
    with page.expect_response(lambda answer: "/import?" in answer.url) as answered:
        page.locator(".imports input[type=file]").set_input_files(
            {"name": "conversations.json", "mimeType": "application/json", "buffer": text.encode()}
        )
    card = page.locator(f".import-card[data-import='{answered.value.json()['import_id']}']")
    expect(card).to_have_attribute("data-state", "ready")
    return card


def test_an_import_that_is_done_says_how_many_messages_wait_to_be_found_by_meaning(
    person: Client, open_page: OpenPage
) -> None:
    page, left = open_page(person, "/settings#data"), [3]

    def answer(route: Route) -> None:
        details = route.fetch().json()
        if details["state"] == "done":
            details["vectors_left"] = left[0]
        route.fulfill(json=details)

    page.route(re.compile(r"/imports/[0-9a-f-]+$"), answer)
    sent(page, export(3)).get_by_role("button", name=re.compile("^Import:")).click()
    note = card(page, "done").locator(".import-vectors")
    expect(note).to_have_text("Messages that are found by their words, and soon by their meaning: 3")
    left[0] = 0
    expect(note).to_be_hidden()


def test_two_tabs_send_the_same_export_and_others_and_nothing_comes_twice(person: Client, open_page: OpenPage) -> None:
    tabs = [open_page(person, "/settings#data") for _ in range(2)]
    same = [sent(tab, export(30)) for tab in tabs]
    others = [sent(tab, export(5, first=first)) for tab, first in zip(tabs, (31, 36), strict=True)]
    cards = [*same, *others]
    for card_ in cards:
        card_.get_by_role("button", name=re.compile("^Import:")).click()
    reports = []
    for card_ in cards:
        expect(card_).to_have_attribute("data-state", "done")
        with card_.page.expect_download() as download:
            card_.get_by_role("link", name="Download report").click()
        reports.append(json.loads(download.value.path().read_text(encoding="utf-8")))
    assert [sum(report[name] for report in reports[:2]) for name in ("imported", "skipped")] == [30, 30]
    assert [(report["imported"], report["skipped"]) for report in reports[2:]] == [(5, 0), (5, 0)]
    assert [report["failed"] for report in reports] == [[]] * 4
    listed = person.get("/list_conversation_by_user/assistant").json()
    titles = [each["title"] for each in listed if each["title"].startswith("Talk ")]
    assert sorted(titles) == sorted(f"Talk {number}" for number in range(1, 41))
