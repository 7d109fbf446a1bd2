"""Documents in a real browser: named in a message, read in the panel, followed and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def test_a_document_is_named_read_followed_and_written(person: Client, open_page: OpenPage) -> None:
    """Seed 003, integration 4: the chips, the panel, and the messages that used a document."""
    for path, text in (("garden plan", "# Beds\n\nSee [[tomatoes]] and [[nowhere]]."), ("tomatoes", "Sown in March.")):
        person.put(f"/api/vault/document?path={path.replace(' ', '%20')}.md", {"text": text})
    page = open_page(person)
    field = page.locator("#composer-input")
    field.click()
    page.keyboard.type("See [[gard")
    expect(page.locator("#composer-suggestions [role=option]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(field).to_have_value("See [[garden plan]] ")
    page.keyboard.press("Enter")
    chips = page.locator(".from-user .message-documents .reference-chip")
    expect(chips).to_have_count(1)
    expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(1)

    chips.click()
    panel = page.locator("#documents")
    expect(panel.get_by_role("heading", name="Beds", level=2)).to_be_visible()
    expect(panel.locator(".document-text .unresolved")).to_have_text("[[nowhere]] (Not found)")
    expect(panel.locator(".document-user")).to_have_count(1)
    panel.locator(".document-text .reference-chip", has_text="[[tomatoes]]").click()
    expect(panel.locator(".document-text")).to_have_text("Sown in March.")
    expect(panel.locator(".document-link")).to_have_text(["Beds"])

    panel.get_by_role("button", name="Edit").click()
    text = panel.get_by_role("textbox", name="Text of the document")
    expect(text).to_be_focused()
    text.fill("Sown in **April**.")
    panel.get_by_role("button", name="Save").click()
    expect(panel.locator(".document-text strong")).to_have_text("April")
    panel.get_by_role("button", name="All documents").click()
    expect(panel.locator(".documents-tree .document-link")).to_have_count(2)
    panel.get_by_role("searchbox", name="Find a document").fill("april")
    expect(panel.locator(".documents-excerpt")).to_have_text(["tomatoesSown in **April**."])
    panel.get_by_role("link", name="tomatoes").focus()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_the_document_that_was_meant_is_written_or_opened_by_a_click(person: Client, open_page: OpenPage) -> None:
    person.put("/api/vault/document?path=garden%20plan.md", {"text": "Tomatoes."})
    page = open_page(person)
    field, card = page.locator("#composer-input"), page.locator("#reference-card")
    field.fill("See [[gaden plan]]. ")
    page.locator("#composer-preview .reference-chip.unresolved").click()
    expect(card.get_by_role("button", name="[[garden plan]]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_have_value("See [[garden plan]]. ")
    expect(field).to_be_focused()
    expect(page.locator("#composer-preview .reference-chip[data-status=resolved]")).to_have_count(1)

    field.fill("See [[gaden plan]].")
    field.press("Enter")
    expect(page.locator(".from-assistant[data-status=complete]")).to_have_count(1)
    page.locator(".from-user .message-documents .reference-chip").click()
    card.get_by_role("button", name="[[garden plan]]").click()
    expect(page.locator("#documents .document-text")).to_have_text("Tomatoes.")
