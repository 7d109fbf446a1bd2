"""What models and programs propose, counted above the sidebar and decided in a dialog, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.screens import findings
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def propose(person: Client, statement: str) -> str:
    """The id of a proposal, made by a program."""
    answer = person.post("/api/tools/add_memory", {"statement": statement}).json()
    return str(answer["proposal"]["proposal_id"])


@pytest.mark.shows("proposals")
def test_proposals_are_counted_as_they_come_and_decided_in_a_dialog(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    button = page.locator("#open-proposals")
    expect(button).to_be_hidden()
    token = person.post("/api_tokens", {"name": "Kitchen", "read_only": False}).json()["token"]
    propose(Client(person.port, token=token), "I am allergic to walnuts")
    expect(button).to_have_text("1 proposal")
    assert "/api/proposals" not in asked

    button.click()
    dialog = page.get_by_role("dialog", name="What models and programs propose")
    expect(dialog.get_by_role("listitem")).to_contain_text("walnuts")
    expect(dialog.get_by_role("listitem")).to_contain_text("A program with the token “Kitchen”")
    other = propose(person, "I grow tomatoes")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    assert findings(page, "proposals", shown=dialog) == []
    dialog.get_by_role("listitem").filter(has_text="walnuts").get_by_role("button", name="Accept").click()
    expect(dialog.get_by_text("Accepted.")).to_be_visible()
    expect(button).to_have_text("1 proposal")
    person.post(f"/api/proposals/{other}/decline")
    expect(dialog.get_by_text("Declined.")).to_be_visible()
    expect(button).to_be_hidden()
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator("#composer-input")).to_be_focused()
    assert [claim["statement"] for claim in person.get("/pkb/claims").json()["claims"]] == ["I am allergic to walnuts"]
