"""What is done with code, tables and formulas of a message in a real browser, and how a conversation is printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import told
from tests.browser.screens import findings
from tests.browser.transcript import body, card, copied
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
ANSWER = """```html
<style>h1 { color: rgb(1, 2, 3) }</style><h1>Hello</h1>
<script>document.body.textContent = 'ran';</script>
```

```svg
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" onload="document.title = 'ran'"><circle r="4"/></svg>
```

| name | note |
|---|---|
| salt | a, b |

$$x^2$$
"""


@pytest.mark.shows("code-preview")
def test_code_tables_and_formulas_have_their_tools(
    person: Client, open_page: OpenPage, shared_model: RecordingModel, page_problems: PageProblems
) -> None:
    page_problems.expect("Executing inline event handler violates")
    shared_model.scripts["main"] = saying(ANSWER, "\nThat is all.", delay=0.2, pause_after=1)
    # The speed is that between two pieces that the server took apart.
    conversation_id = person.create_conversation()
    answering = person.send(conversation_id, "Show me.")
    assert any(event.get("text") for event in answering)
    shared_model.release()
    assert list(answering)[-1]["done"]
    page = open_page(person, told(person, conversation_id).path)
    expect(page.locator(".message-card")).to_have_count(2)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = body(page, 2)
    block, drawing = answer.locator(".code-block").first, answer.locator(".code-block").last
    block.get_by_role("button", name="Wrap lines").click()
    expect(block.locator("code")).to_have_css("white-space", "pre-wrap")
    with page.expect_download() as begun:
        block.get_by_role("button", name="Download").click()
    assert begun.value.suggested_filename == "code.html"
    assert Path(begun.value.path()).read_text().startswith("<style>h1")

    # The preview has its styles, and nothing of it runs.
    block.get_by_role("button", name="Preview").click()
    shown = page.frame_locator(".code-preview").locator("h1")
    expect(shown).to_have_text("Hello")
    expect(shown).to_have_css("color", "rgb(1, 2, 3)")
    assert findings(page, "code-preview", shown=block) == []
    block.get_by_role("button", name="Preview").click()
    expect(page.locator(".code-preview")).to_have_count(0)
    drawing.get_by_role("button", name="Preview").click()
    expect(page.frame_locator(".code-preview").locator("circle")).to_be_visible()
    expect(page).not_to_have_title("ran")

    answer.locator("table").hover()
    assert copied(page, answer.get_by_role("button", name="Copy as CSV").click) == 'name,note\r\nsalt,"a, b"'
    answer.locator(".math-display").hover()
    assert copied(page, answer.get_by_role("button", name="Copy LaTeX").click) == "x^2"

    expect(card(page, 2).locator(".message-usage")).to_have_text(
        re.compile(r"^7 → 5 tokens · [\d.,]+ tokens/s · \$0\.000057$")
    )
    page.get_by_role("button", name="Conversation details").click()
    rail = page.get_by_role("complementary", name="Conversation details")
    rail.get_by_role("tab", name="Usage").click()
    expect(rail.locator(".rail-fact").last).to_have_text("Price$0.000057")

    # Whatever stands beside the conversation or over it, the conversation alone is printed.
    page.keyboard.press("Control+f")
    page.emulate_media(media="print")
    for other in ("#sidebar", "#composer", "#rail", ".find-bar"):
        expect(page.locator(other)).to_be_hidden()
    expect(answer).to_be_visible()
    page.emulate_media(media="screen")
    for panel in ("#memories", "#documents"):
        page.locator(f"#open-{panel[1:]}").click()
        expect(page.locator(panel)).to_be_visible()
        page.emulate_media(media="print")
        expect(page.locator(panel)).to_be_hidden()
        printed = page.locator("#chatView").bounding_box()
        assert printed
        assert printed["width"] > 1200
        page.emulate_media(media="screen")
    page.emulate_media(media="print")
    assert page.locator("#chatView").evaluate("node => getComputedStyle(node).overflowY") == "visible"
