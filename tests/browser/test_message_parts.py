"""What a message is made of in a real browser: words, thinking, notices, parts of kinds that nobody knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from database.connection import open_store
from database.turns.turns import accept_turn, finish_turn
from tests.browser.history import told
from tests.browser.transcript import card
from tests.fakes import Answer, RecordingModel, calling, saying
from tests.http_client import Client
from tests.live_server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.chromium import PageProblems

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def store_answer(server: LiveServer, client: Client, text: str, *parts: dict[str, Any], asked: str = "Hello") -> str:
    """A conversation with one answer, put into the server's store as its own code would. The path of its page."""
    conversation_id = client.create_conversation()
    where = {
        "database": open_store(server.users_dir),
        "user_email": str(client.get("/get_user_info").json()["user_email"]),
        "conversation_id": conversation_id,
    }
    accepted = accept_turn(**where, text=asked, config={})
    finish_turn(
        **where,
        response_message_id=accepted.response_message_id,
        text=text,
        parts=parts,
        status="complete",
        config={},
        title="Parts",
    )
    return told(client, conversation_id).path


def test_parts_stand_where_they_came_among_the_words(server: LiveServer, person: Client, open_page: OpenPage) -> None:
    path = store_answer(
        server,
        person,
        "First **one**.\n\nThen two 🐦.",
        {"id": 1, "kind": "thinking", "at": 0, "text": "It is <b>hard</b>."},
        {"id": 2, "kind": "thinking", "at": 16, "text": "Go on."},
        {"id": 3, "kind": "notice", "at": 27, "text": "The answer was cut."},
        {"id": 4, "kind": "hologram", "at": 3, "name": "whale"},
    )
    page = open_page(person, path)
    content = card(page, 2).locator(".message-content")
    classes = "nodes => nodes.map((node) => node.classList[0])"
    expect(content.locator("> *")).to_have_count(6)
    assert content.locator("> *").evaluate_all(classes) == [
        "message-thinking",
        "message-body",
        "message-thinking",
        "message-body",
        "message-notice",
        "message-notice",
    ]
    expect(content.locator(".message-body")).to_have_text(["First one.", "Then two 🐦."])
    expect(content.locator(".message-notice")).to_have_text(["Note: The answer was cut.", "hologram: whale"])
    thought = content.locator(".message-thought")
    expect(thought.first).to_be_hidden()
    content.locator("summary").first.click()
    expect(thought.first).to_have_text("It is <b>hard</b>.")
    expect(thought.last).to_be_hidden()


def test_a_tool_call_is_shown_while_the_model_answers_and_after_a_reload(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        is_answered = any(message["role"] == "tool" for message in request["messages"])
        arguments = json.dumps({"query": "<b>garden</b>"})
        return (
            saying("You have none.") if is_answered else calling(("list_conversations", arguments), saying=["Wait. "])
        )

    shared_model.scripts["main"] = answer
    conversation_id = person.create_conversation()
    person.request("PATCH", f"/conversations/{conversation_id}/settings", {"use_tools": True})
    page = open_page(person, f"/interface/{conversation_id}")
    page.fill("#composer-input", "What did I say about gardens?")
    page.keyboard.press("Enter")
    for _ in range(2):
        content = card(page, 2).locator(".message-content")
        expect(content.locator(".message-body")).to_have_text(["Wait.", "You have none."])
        call = content.locator(".message-tool")
        expect(call.locator("summary")).to_contain_text("Tool list_conversations: done")
        expect(call.locator("pre")).to_be_hidden()
        call.locator("summary").click()
        expect(call.locator("pre")).to_contain_text('"query": "<b>garden</b>"')
        expect(call.locator("pre")).to_contain_text('"success": true')
        page.reload()


def test_a_proposed_memory_is_accepted_once_under_the_answer_that_proposed_it(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page_problems.expect("409")

    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return saying("Shall I?")
        both = [("add_memory", json.dumps({"statement": f"I like <b>{fruit}</b>"})) for fruit in ("plums", "figs")]
        return calling(*both)

    shared_model.scripts["main"] = answer
    conversation_id = person.create_conversation()
    person.request("PATCH", f"/conversations/{conversation_id}/settings", {"use_tools": True})
    page = open_page(person, f"/interface/{conversation_id}")
    page.fill("#composer-input", "What do you know of my garden?")
    page.keyboard.press("Enter")
    plums, figs = (card(page, 2).locator(".message-proposal").nth(number) for number in range(2))
    expect(plums).to_contain_text("To remember: I like <b>plums</b>")
    plums.get_by_role("button", name="Accept").click()
    expect(plums).to_contain_text("Accepted.")
    (open_one,) = person.get("/api/proposals").json()
    person.post(f"/api/proposals/{open_one['proposal_id']}/decline")
    figs.get_by_role("button", name="Accept").click()
    expect(figs).to_contain_text("Declined.")
    page.reload()
    expect(plums).to_contain_text("Accepted.")
    expect(figs).to_contain_text("Declined.")
    assert [claim["statement"] for claim in person.get("/pkb/claims").json()["claims"]] == ["I like <b>plums</b>"]


def test_a_proposed_document_shows_its_diff_and_again_where_the_document_was_changed_meanwhile(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page_problems.expect("409")

    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return saying("Shall I?")
        return calling(("write_document", json.dumps({"path": "plan.md", "text": "<b>roses</b>"})))

    shared_model.scripts["main"] = answer
    conversation_id = person.create_conversation()
    switched_on = {"use_tools": True, "tools": {"write_document": True}}
    person.request("PATCH", f"/conversations/{conversation_id}/settings", switched_on)
    page = open_page(person, f"/interface/{conversation_id}")
    page.fill("#composer-input", "Write a plan for my garden?")
    page.keyboard.press("Enter")
    proposal = card(page, 2).locator(".message-proposal")
    expect(proposal).to_contain_text("To write: plan.md")
    expect(proposal.locator("pre")).to_contain_text("+<b>roses</b>")
    person.request("PUT", "/api/vault/document?path=plan.md", {"text": "tulips"})
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal.locator("pre")).to_contain_text("-tulips")
    expect(proposal.get_by_role("alert")).to_contain_text("changed meanwhile")
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal).to_contain_text("Accepted.")
    assert person.get("/api/vault/document?path=plan.md").json()["text"] == "<b>roses</b>"
