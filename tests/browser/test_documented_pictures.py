"""The pictures in the documents: `documentation/images` has copies of what is made here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import until_ready
from tests.browser.history import hold_talk, make_workspace
from tests.browser.memories_panel import MemoriesPanel, address, remember
from tests.browser.screens import keep_picture
from tests.browser.sidebar_page import SidebarPage, by_right_click, titles
from tests.browser.transcript import copied
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


@pytest.fixture
def gardener(person: Client, shared_model: RecordingModel) -> Client:
    """Somebody with a garden, and an orderly sidebar."""
    answer = "Two litres a plant, twice a week:\n\n1. **Early** in the morning.\n2. At the root, never on the leaves."
    shared_model.scripts = {"main": saying(answer), "cheap": saying("In the garden")}
    garden = make_workspace(person, "Garden")
    beds = make_workspace(person, "Raised beds", parent=garden)
    make_workspace(person, "House")
    hold_talk(person, "Painting the fence", "Which paint lasts on a fence?", workspace_id=garden)
    soil = hold_talk(person, "Soil for raised beds", "Which soil holds water best?", workspace_id=beds)
    hold_talk(person, "A weekend in Lisbon", "Where shall we go on Saturday?")
    tomatoes = hold_talk(person, "Growing tomatoes", "How much water do tomatoes need?", workspace_id=garden)
    assert person.put(f"/conversations/{tomatoes.conversation_id}/pin").status == 200
    for talk, flag in ((soil, "green"), (tomatoes, "red")):
        assert person.post(f"/set_flag/{talk.conversation_id}/{flag}").status == 200
    return person


def keep(page: Page, name: str, *, top: int = 0, width: int = SIZE["width"]) -> None:
    """Keep a picture of the page, or of what lies left of `width` and below `top` (pixels)."""
    keep_picture(page, name, clip={"x": 0, "y": top, "width": width, "height": SIZE["height"] - top})


def open_tomatoes(gardener: Client, open_page: OpenPage) -> Page:
    """The page with the gardener's newest conversation."""
    page = open_page(gardener, viewport=SIZE, color_scheme="light")
    titles(page, "pinned").click()
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.locator("#composer-input")).to_be_focused()  # all of it has come, its name too
    return page


def test_the_first_page_offers_something_to_try(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/interface/?welcome=1", viewport=SIZE, color_scheme="light")
    expect(page.locator(".suggested-message")).to_have_count(3)
    expect(page.locator("#conversation-title")).to_have_text("Welcome to Anaphora")
    keep(page, "welcome")


def test_messages_are_pinned_made_again_and_have_a_menu(gardener: Client, open_page: OpenPage) -> None:
    page = open_tomatoes(gardener, open_page)
    cards = page.locator(".message-card")
    cards.nth(0).get_by_role("button", name="Message actions").click()
    page.get_by_role("menuitem", name="Pin", exact=True).click()
    expect(page.get_by_role("region", name="Pinned messages")).to_contain_text("How much water")
    cards.nth(1).get_by_role("button", name="Answer again").click()
    expect(page.get_by_role("group", name="Variants of this answer")).to_contain_text("2/2")
    expect(cards.nth(1)).to_have_attribute("data-status", "complete")
    cards.nth(0).get_by_role("button", name="Message actions").click()
    expect(page.get_by_role("menuitem", name="Fork from here")).to_be_visible()
    keep(page, "message-menu")


def test_a_message_of_another_conversation_is_named_and_its_card_shown(
    gardener: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    shared_model.scripts["main"] = saying("Not today: the soil is wet enough for three days. **Then** as before.")
    page = open_tomatoes(gardener, open_page)
    reference = copied(page, page.locator(".from-assistant .message-ref-badge").click)
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.locator(".message-card")).to_have_count(0)
    page.fill("#composer-input", f"It rained all night. Does this still hold? {reference} ")
    page.keyboard.press("Enter")
    expect(page.locator(".from-assistant")).to_have_attribute("data-status", "complete")
    expect(page.locator(".from-user .report-line")).to_have_text("1 reference")
    page.locator(".from-user .message-body .reference-chip").hover()
    expect(page.locator(".reference-card")).to_contain_text("The model gets it word for word")
    expect(page.locator(".reference-card-preview li").first).to_have_text("Early in the morning.")
    keep(page, "reference")


def test_what_is_worth_remembering_is_proposed(gardener: Client, open_page: OpenPage) -> None:
    page = open_tomatoes(gardener, open_page)
    page.focus("#composer-input")
    page.keyboard.type("Remember this: my balcony faces south and has room for six pots.")
    page.keyboard.press("Enter")
    proposals = page.locator(".memory-proposals")
    expect(proposals.get_by_role("checkbox").first).to_be_visible()
    proposals.get_by_role("button", name="Dismiss").scroll_into_view_if_needed()
    expect(proposals).to_contain_text("my balcony faces south")
    keep(page, "memory-proposals")


def test_the_settings_tell_what_answers(person: Client, open_page: OpenPage) -> None:
    page = open_page(person, "/settings#models", viewport=SIZE, color_scheme="light")
    expect(page.locator("[data-section='models']")).to_contain_text("main")
    expect(page.get_by_text("Loading…")).to_have_count(0)
    keep(page, "settings")


def test_the_sidebar_the_composer_the_share_dialog_and_the_search(gardener: Client, open_page: OpenPage) -> None:
    page = open_tomatoes(gardener, open_page)
    sidebar = SidebarPage(page)
    sidebar.open(sidebar.row("Garden (2)"))
    by_right_click(sidebar, sidebar.row("Painting the fence"))
    sidebar.menu_item("Set Flag").hover()
    expect(sidebar.menu_item("Green")).to_be_visible()
    expect(sidebar.menu_item("Share…")).to_be_visible()
    keep(page, "sidebar", width=720)
    page.keyboard.press("Escape")

    page.focus("#composer-input")
    page.keyboard.type("/")
    expect(page.get_by_role("option").filter(has_text="/export")).to_be_visible()
    keep(page, "commands", top=240)
    page.keyboard.press("Backspace")
    page.locator("#model-button").click()
    models = page.get_by_role("listbox", name="Models")
    expect(models.get_by_role("option", selected=True)).to_contain_text("main model")
    keep(page, "models", top=240)
    page.keyboard.press("Escape")

    sidebar.choose(titles(page, "pinned"), "Share…")
    dialog = page.get_by_role("dialog", name="Share “Growing tomatoes”")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("textbox", name="Link")).to_be_visible()
    expect(dialog.get_by_role("button", name="Withdraw link")).to_be_visible()
    keep(page, "share")

    remember(gardener, "Water the tomatoes in the morning")
    page.goto("/interface/?panel=search&q=water")
    panel = page.get_by_role("region", name="Search")
    expect(panel).to_contain_text("Which soil holds water best?")
    expect(panel).to_contain_text("Water the tomatoes in the morning")
    keep(page, "search")


def test_memories_in_the_dropdown_in_their_panel_and_in_the_report_below_a_message(
    runner: Client, open_page: OpenPage
) -> None:
    page = open_page(runner, viewport=SIZE, color_scheme="light")
    page.focus("#composer-input")
    page.keyboard.type("How far shall I go today? @run")
    expect(page.get_by_role("option").filter(has_text="Running club")).to_be_visible()
    kinds = ["Memories", "Contexts", "Entities", "Tags", "Domains"]
    expect(page.locator(".listbox-heading")).to_have_text(kinds)
    keep(page, "memories-dropdown")

    page.goto(address())
    panel = MemoriesPanel(page)
    expect(panel.rows).to_have_count(5)
    expect(panel.row(KNEE)).to_contain_text("Pinned")
    expect(panel.rows.filter(has_text="Contested")).to_have_count(2)
    keep(page, "memories")

    page.goto("/interface/")
    until_ready(page)
    page.fill("#composer-input", "")
    page.focus("#composer-input")
    page.keyboard.type("Given @running_context how far shall I go today? ")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card.from-assistant")).to_have_attribute("data-status", "complete")
    page.locator(".from-user .report-line").click()
    expect(page.locator(".message-card.from-user")).to_contain_text("Running")
    page.locator(".from-user .message-body .reference-chip").hover()
    expect(page.locator(".reference-card")).to_contain_text(KNEE)
    keep(page, "memory-card")
