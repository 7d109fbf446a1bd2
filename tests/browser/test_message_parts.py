"""What a message is made of in a real browser: words, thinking, notices, parts of kinds that nobody knows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import Connection, update

from chat.tools.proposals import described
from chat.tools.registry import failure
from database.connection import open_store
from database.messages.parts import store_parts
from database.proposals import create_proposal
from database.schema import messages
from database.turns.turns import accept_turn, finish_turn
from tests.browser.chromium import until_held
from tests.browser.history import told
from tests.browser.screens import findings
from tests.browser.transcript import body, card, send
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
    # It is an activity, too, that a short id leads to; it has no line of its own.
    (noted,) = person.get(f"/api/conversations/{conversation_id}/activities").json()
    assert noted["type"] == "tool_invocation"
    expect(page.locator(".activity-line")).to_have_count(0)
    send(page, f"See #{noted['short_id']}.")
    expect(card(page, 4)).to_have_attribute("data-status", "complete")  # its beginning draws the question again
    body(page, 3).locator(".reference-chip").click()
    expect(card(page, 2)).to_be_focused()
    expect(page.locator(".activity-line")).to_have_count(0)


_OF_A_PROPOSAL = re.compile(r"/api/proposals/(?!count)[^/?]+$")


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
    asked: list[str] = []
    page.on(
        "requestfinished", lambda request: asked.append(request.url) if _OF_A_PROPOSAL.search(request.url) else None
    )
    page.fill("#composer-input", "What do you know of my garden?")
    page.keyboard.press("Enter")
    plums, figs = (card(page, 2).locator(".message-proposal").nth(number) for number in range(2))
    expect(plums).to_contain_text("To remember: I like <b>plums</b>")
    expect(figs).to_contain_text("To remember: I like <b>figs</b>")
    # Both were asked for once, and shown; what becomes of them elsewhere is not seen from then on.
    until_held(page, asked, times=2)
    page.evaluate("fetch('/healthz').then((response) => response.text())")
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


def store_calls(connection: Connection, message_id: str, parts: list[dict[str, Any]]) -> None:
    """Give a stored answer parts."""
    store_parts(connection, message_id, parts, version=1)
    connection.execute(update(messages).where(messages.c.message_id == message_id).values(has_parts=1))


@pytest.mark.shows("tool-consent")
def test_calls_wait_under_their_answer_for_consent_and_the_answer_goes_on_with_the_decisions(
    server: LiveServer, person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        told = [json.loads(message["content"]) for message in request["messages"] if message["role"] == "tool"]
        return saying(" and ".join(each["error"]["code"] for each in told))

    shared_model.scripts["main"] = answer
    payloads = [{"tool": f"bell__{name}", "arguments": {"note": f"<b>{name}</b>"}} for name in ("ring", "mute")]
    path = store_answer(server, person, "Wait.")
    conversation_id = path.rpartition("/")[2]
    asked = person.get(f"/list_messages_by_conversation/{conversation_id}").json()[1]["message_id"]
    scope = {
        "database": open_store(server.users_dir),
        "user_email": str(person.get("/get_user_info").json()["user_email"]),
    }
    made = [create_proposal(**scope, kind="tool_call", payload=each, source_message=asked) for each in payloads]
    parts = [
        {
            "id": number,
            "kind": "tool_call",
            "at": 5,
            "name": each.payload["tool"],
            "arguments": each.payload["arguments"],
            "status": "waiting",
            "result": failure("consent_needed", "Asked.", proposal=described(each)),
        }
        for number, each in enumerate(made, 1)
    ]
    scope["database"].write(lambda connection: store_calls(connection, asked, parts))
    page = open_page(person, path)
    content = card(page, 2).locator(".message-content")
    ring, mute = (content.locator(".message-tool-call").nth(number) for number in range(2))
    expect(ring.locator("summary")).to_contain_text("Tool bell__ring: waits for your consent")
    expect(ring.locator(".message-proposal pre")).to_contain_text("<b>ring</b>")
    ring.locator("summary").first.click()
    assert findings(page, "tool-consent", shown=ring.locator(".message-tool-data").first) == []
    ring.get_by_role("button", name="Allow in this conversation").click()
    expect(ring.locator(".message-proposal-state")).to_have_text("Allowed.")
    page.reload()
    expect(ring.locator(".message-proposal-state")).to_have_text("Allowed.")
    mute.get_by_role("button", name="Refuse").click()
    # No server of this name is there, which the model is told of the call that was allowed.
    for _ in range(2):
        expect(content.locator(".message-body")).to_have_text(["Wait.", "tool_not_found and consent_refused"])
        expect(mute.locator("summary")).to_contain_text("Tool bell__mute: failed")
        expect(content.locator(".message-proposal:visible")).to_have_count(0)
        page.reload()
    assert person.get(f"/get_conversation_settings/{conversation_id}").json()["allowed_tools"] == ["bell__ring"]
