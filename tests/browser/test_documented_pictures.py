"""The pictures of memories in the documents: `documentation/images` has copies of what is made here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk
from tests.browser.knowledge_panel import KnowledgePanel, address, remember
from tests.browser.screens import SCREENSHOTS
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
SIZE = {"width": 1280, "height": 800}
KNEE = "My knee hurts after ten kilometres"


@pytest.fixture
def runner(person: Client, shared_model: RecordingModel) -> Client:
    """Somebody who runs, and has had that remembered."""
    answer = saying("Eight kilometres: your knee hurts after ten.")
    shared_model.scripts = {"main": answer, "cheap": saying("How far to run today")}
    hold_talk(person, "Marathon training plan", "What shall I change in my plan?")
    remember(person, "The marathon is on the third of May", tags=["running"], claim_type="fact")
    remember(person, "Mira runs with me on Sundays", tags=["running"], entities=[{"name": "Mira", "type": "person"}])
    morning = remember(person, "I prefer running in the morning", claim_type="preference", context_domain="health")
    evening = remember(person, "I prefer running in the evening", claim_type="preference", context_domain="health")
    knee = remember(person, KNEE, claim_type="observation", context_domain="health")
    person.post("/pkb/conflicts", {"claim_ids": [morning["claim_id"], evening["claim_id"]]})
    person.put(f"/pkb/claims/{knee['claim_id']}/pin")
    person.post("/pkb/entities", {"name": "Running club", "entity_type": "org"})
    person.post("/pkb/domains", {"name": "running"})
    health = person.post("/pkb/contexts", {"name": "Health"}).json()["context"]
    running = person.post("/pkb/contexts", {"name": "Running", "parent_context_id": health["context_id"]}).json()
    person.put(f"/pkb/contexts/{running['context']['context_id']}/claims/{knee['claim_id']}")
    return person


def keep(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")


def test_the_dropdown_offers_what_has_a_name_of_every_kind(runner: Client, open_page: OpenPage) -> None:
    page = open_page(runner, viewport=SIZE, color_scheme="light")
    page.focus("#composer-input")
    page.keyboard.type("How far shall I go today? @run")
    expect(page.get_by_role("option").filter(has_text="Running club")).to_be_visible()
    headings = page.locator(".suggestions-heading").all_inner_texts()
    assert headings == ["Memories", "Contexts", "Entities", "Tags", "Domains"]
    keep(page, "memories-dropdown")


def test_the_panel_marks_what_is_pinned_and_what_is_contested(runner: Client, open_page: OpenPage) -> None:
    page = open_page(runner, viewport=SIZE, color_scheme="light")
    page.goto(address())
    panel = KnowledgePanel(page)
    expect(panel.rows).to_have_count(5)
    expect(panel.row(KNEE)).to_contain_text("Pinned")
    expect(panel.rows.filter(has_text="Contested")).to_have_count(2)
    keep(page, "memories")


def test_the_report_below_a_message_says_what_a_context_brought(runner: Client, open_page: OpenPage) -> None:
    page = open_page(runner, viewport=SIZE, color_scheme="light")
    page.focus("#composer-input")
    page.keyboard.type("Given @running_context how far shall I go today? ")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_have_attribute("data-status", "complete")
    page.locator(".from-user .report-line").click()
    expect(page.locator(".message-card.from-user")).to_contain_text("Running")
    page.locator(".from-user .message-body .reference-chip").hover()
    expect(page.locator(".reference-card")).to_contain_text(KNEE)
    keep(page, "memory-card")
