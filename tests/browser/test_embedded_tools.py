"""The real default model uses tools in the page: it opens a linked document, and finds an earlier conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from settings import load_settings
from tests.browser.screens import keep_picture
from tests.browser.transcript import body, card, send
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.embedded, pytest.mark.proof]
# The model reads some two thousand tokens for an answer that uses tools, and a busy machine reads slowly.
ANSWERED = 300_000
PLAN = """# Garden plan

The beds lie behind the shed.

Our motto: Slow rain feeds deep roots.

- Tomatoes: planted out on 17 May, beside the south wall.
- Beans: sown on 2 June.
"""
BOAT = (
    "Please note: my new sailing boat is called Halcyon. She lies at berth 47 in Laboe harbour.",
    "Which colours go well with dark blue?",
)
OTHERS = ("Give me a recipe for pancakes.", "How do I sharpen a kitchen knife?")


@pytest.fixture
def person(start_server: Callable[..., LiveServer]) -> Client:
    """Somebody whose server has the default model, as it comes, which may use tools."""
    server = start_server(ANAPHORA_MAIN_MODEL="embedded", ANAPHORA_MODEL_DIR=str(load_settings().model_dir))
    return server.sign_up()


def conversation_with_tools(person: Client) -> str:
    conversation_id = person.create_conversation()
    done = person.request("PATCH", f"/conversations/{conversation_id}/settings", {"use_tools": True})
    assert done.status == 200, done.text
    return conversation_id


def tools_called(page: Page, number: int) -> list[str]:
    """The tools that a message has cards of, in order."""
    summaries = card(page, number).locator(".message-tool summary").all_inner_texts()
    return [summary.removeprefix("Tool ").partition(":")[0] for summary in summaries]


def expect_answer(page: Page, number: int) -> None:
    expect(card(page, number)).to_have_attribute("data-status", "complete", timeout=ANSWERED)


def test_a_linked_document_is_opened_and_quoted(person: Client, open_page: Callable[..., Page]) -> None:
    assert person.put(f"/api/vault/document?path={quote('Garden plan.md')}", {"text": PLAN}).status in (200, 201)
    page = open_page(person, f"/interface/{conversation_with_tools(person)}")
    send(page, "Which motto does [[Garden plan]] have? Quote it.")
    expect_answer(page, 2)
    assert tools_called(page, 2)[:1] == ["read_document"]
    expect(card(page, 2).locator(".message-tool").first).to_have_attribute("data-status", "complete")
    expect(body(page, 2).last).to_contain_text("Slow rain feeds deep roots")
    expect(body(page, 2).last).not_to_contain_text("Beans")
    keep_picture(page, "embedded-document")


def test_an_earlier_conversation_is_found_and_read(person: Client, open_page: Callable[..., Page]) -> None:
    for texts in (BOAT, OTHERS):
        earlier = person.create_conversation()
        for text in texts:
            events = list(person.send(earlier, text, options={"answer_tokens": 16}))
            assert [event["error"] for event in events if "error" in event] == []
    page = open_page(person, f"/interface/{conversation_with_tools(person)}")
    send(page, "What did I tell you in an earlier conversation about the berth of my sailing boat?")
    expect_answer(page, 2)
    called = tools_called(page, 2)
    assert "search_messages" in called
    assert "read_conversation" in called[called.index("search_messages") :]
    expect(card(page, 2).locator(".message-content")).to_contain_text("47")
    keep_picture(page, "embedded-conversation")
