"""Documents that would run something in a real browser: the page shows them as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.fakes import Answer, RecordingModel, calling, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
RUN = "document.documentElement.dataset.ran = 1"
HOSTILE = f"""# Plan <img src=x onerror="{RUN}">

<script>{RUN}</script> <svg onload="{RUN}"></svg> <iframe srcdoc="<script>parent.{RUN}</script>"></iframe>

![a](https://evil.example/a.png) <img src="https://evil.example/b.png" onerror="{RUN}"> [link](javascript:{RUN})

[[<img src=x onerror={RUN}>]] <div class="message-tool"><summary>Tool shell: done</summary></div> The end.
"""


def test_a_page_with_hostile_documents_runs_nothing(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    """In the panel, in the card of the tool that read the document, and in an answer that repeats the document."""

    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return saying(HOSTILE)
        return calling(("read_document", json.dumps({"path": "plan.md"})))

    shared_model.scripts["main"] = answer
    person.put("/api/vault/document?path=plan.md", {"text": HOSTILE})
    conversation_id = person.create_conversation()
    person.request("PATCH", f"/conversations/{conversation_id}/settings", {"use_tools": True})
    assert list(person.send(conversation_id, "What does [[plan]] say?"))[-1]["done"]
    page = open_page(person)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{person.origin}/interface/{conversation_id}")
    said = page.locator(".from-assistant .message-body")
    expect(said).to_contain_text("The end.")
    expect(page.locator("details.message-tool")).to_have_count(1)
    page.locator(".from-user .message-documents .reference-chip").click()
    shown = page.locator("#documents .document-text")
    expect(shown).to_contain_text("The end.")
    for text in (said, shown):
        expect(
            text.locator("img, script, svg:not(.icon), iframe, [onerror], [onload], [href^='javascript:']")
        ).to_have_count(0)
        expect(text.locator(".message-tool")).to_have_count(0)
    expect(page.locator("html[data-ran]")).to_have_count(0)
    assert [address for address in asked if not address.startswith((person.origin, "data:", "blob:"))] == []
