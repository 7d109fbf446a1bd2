"""A person finds what was said anywhere: by the panel, by a command, by keys, by `@` and words; and goes there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import PageProblems
from tests.browser.history import Talk, hold_talk
from tests.browser.memories_panel import remember
from tests.browser.screens import NARROW, findings
from tests.browser.transcript import copied
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
HOSTILE = "<img src=x onerror=alert(1)> <b>quince</b> & jelly"


@pytest.fixture
def bread(person: Client) -> Talk:
    """A conversation with 🙂 sourdough in its first message, and markup in its second."""
    return hold_talk(person, "Bread", "A 🙂 sourdough starter lives for years", HOSTILE)


@pytest.fixture
def garden(person: Client, bread: Talk) -> Talk:
    """A newer conversation about something else."""
    assert bread
    return hold_talk(person, "Garden", "Roses need little water")


def hits(page: Page) -> Locator:
    """What is listed."""
    return page.locator("#search-panel .search-hit")


def box(node: Locator) -> FloatRect:
    """Where it is, in pixels."""
    found = node.bounding_box()
    assert found is not None
    return found


def search_for(page: Page, words: str) -> None:
    """Type into the field of the panel."""
    page.get_by_role("searchbox", name="Search everything").fill(words)


def test_things_of_kinds_that_the_page_does_not_know_are_found_offered_and_opened(
    open_page: OpenPage, person: Client, bread: Talk, garden: Talk
) -> None:
    page = open_page(person, garden.path)
    recipe = {"kind": "recipe", "title": "Bread soup", "snippet": HOSTILE, "ranges": [], "icon": "flag"}
    shown = [
        {**recipe, "reference": "@recipe_7", "permalink": bread.path},
        {**recipe, "reference": None, "title": "Old soup", "permalink": "//elsewhere.example/soup"},
    ]
    answer = {"results": shown, "next": None, "warnings": []}
    offered = {"kind": "recipe", "reference": "recipe_7", "title": "Bread soup", "icon": "flag"}
    page.route("**/references/suggest?*", lambda route: route.fulfill(json=[offered]))
    page.focus("#composer-input")
    page.keyboard.type("See @soup")
    expect(page.locator(".listbox-heading")).to_have_text(["Recipe"])
    option = page.get_by_role("option").filter(has_text="Bread soup")
    expect(option.locator("use")).to_have_attribute("href", re.compile("#flag$"))
    page.keyboard.press("Enter")
    expect(page.locator("#composer-input")).to_have_value("See @recipe_7 ")

    page.route("**/search?*", lambda route: route.fulfill(json=answer))
    page.get_by_role("button", name="Search", exact=True).click()
    search_for(page, "soup")
    expect(page.locator(".search-group-title")).to_have_text(["Recipe"])
    expect(hits(page)).to_contain_text([HOSTILE, HOSTILE])
    expect(hits(page).first.locator("use")).to_have_attribute("href", re.compile("#flag$"))
    expect(page.get_by_role("button", name="Copy reference to “Bread soup”")).to_be_visible()
    expect(hits(page).last).not_to_have_attribute("href", re.compile(""))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(hits(page).last).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".message-card[message-index='1']")).to_contain_text("sourdough starter lives for years")


def test_a_message_of_another_conversation_is_found_and_jumped_to(
    open_page: OpenPage, person: Client, bread: Talk, garden: Talk
) -> None:
    page = open_page(person, garden.path)
    page.get_by_role("button", name="Search", exact=True).click()
    field = page.get_by_role("searchbox", name="Search everything")
    expect(field).to_be_focused()
    expect(page.locator("#search-status")).to_contain_text("Type what you remember")
    field.fill("starter sourd sender:model")
    expect(page.locator("#search-status")).to_contain_text("Nothing was found")
    field.fill("starter sourd")
    expect(hits(page).locator("mark")).to_have_text(["sourdough", "starter"])
    page.keyboard.press("ArrowDown")
    expect(hits(page).first).to_be_focused()
    page.keyboard.press("Enter")
    card = page.locator(".message-card[message-index='1']")
    expect(card).to_contain_text("sourdough starter lives for years")
    expect(card).to_be_focused()
    expect(page.locator("#search-panel")).to_be_hidden()
    assert quote(bread.conversation_id, safe="") in page.url
    page.go_back()
    expect(page.locator("#search-panel")).to_be_visible()
    expect(field).to_have_value("starter sourd")
    expect(hits(page)).to_have_count(1)


def test_excerpts_read_without_the_marks_of_markdown_and_leave_code_alone(open_page: OpenPage, person: Client) -> None:
    said = "# Starter\n\n**Feed** the *sourdough* with `2*3*4` grams: __init__ and <b>flour</b>"
    hold_talk(person, "Bread", said)
    person.put("/api/vault/document?path=dough.md", {"text": "## Dough\n\n**Sourdough** of `rye_flour`."})
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'sourdough'})}")
    texts = hits(page).locator(".search-hit-text")
    expect(texts).to_have_text(
        ["Dough Sourdough of rye_flour.", "Starter Feed the sourdough with 2*3*4 grams: __init__ and <b>flour</b>"]
    )
    expect(texts.locator("mark")).to_have_text(["Sourdough", "sourdough"])
    expect(texts.locator("b")).to_have_count(0)


def test_results_stand_by_kind_and_each_reference_can_be_copied(
    open_page: OpenPage, person: Client, bread: Talk
) -> None:
    remember(person, "Bread is baked on Sundays", friendly_id="bread_sundays")
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'bread'})}")
    expect(page.locator(".search-group-title")).to_have_text(["Conversations", "Memories"])
    page.get_by_role("button", name="Memories", exact=True).last.click()
    expect(page.locator(".search-group-title")).to_have_text(["Memories"])
    assert "kind=memory" in page.url
    copy = page.get_by_role("button", name="Copy reference to “Bread is baked on Sundays”")
    assert copied(page, copy.click) == "@bread_sundays"
    hits(page).click()
    expect(page.locator("#memories")).to_be_visible()
    expect(page.locator("#memories .memory")).to_contain_text("Bread is baked on Sundays")
    expect(page.locator("#search-panel")).to_be_hidden()
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#search-panel")).to_be_visible()
    expect(page.locator("#memories")).to_be_hidden()
    assert bread


def test_in_a_narrow_window_each_reference_is_copied_beside_its_result(open_page: OpenPage, person: Client) -> None:
    hold_talk(person, "Bread", "Sourdough lives for years", "Sourdough again")
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'sourdough'})}", viewport=NARROW)
    copies = page.locator("#search-panel .search-copy")
    expect(copies).to_have_count(2)
    for index, number in ((0, 3), (1, 1)):
        expect(copies.nth(index)).to_have_accessible_name(re.compile(f"^Copy reference to “Bread · #{number} · "))
        row, copy = (box(page.locator(".search-row").nth(index)), box(copies.nth(index)))
        # Beside the words, large enough for a finger, and no line of its own.
        assert row["height"] < 100
        assert copy["x"] > row["x"] + row["width"] - 50
        assert min(copy["width"], copy["height"]) >= 44
    reference = copied(page, copies.first.click)
    assert "_message_" in reference
    expect(copies.first.get_by_text("Copied")).to_be_visible()


def test_what_was_said_is_shown_as_text(open_page: OpenPage, person: Client, bread: Talk) -> None:
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'quince onerror'})}")
    expect(hits(page).locator(".search-hit-text")).to_have_text(HOSTILE)
    expect(hits(page).locator("mark")).to_have_text(["onerror", "quince"])
    expect(page.locator("#search-panel :is(img, b)")).to_have_count(0)
    assert bread


def test_a_document_is_found_shown_as_text_and_opened_in_its_panel(open_page: OpenPage, person: Client) -> None:
    for path, text in (("a/jelly.md", f"# Jelly\n\n{HOSTILE}"), ("tea.md", "Mint.")):
        person.put(f"/api/vault/document?path={quote(path)}", {"text": text})
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'quince onerror'})}")
    expect(page.locator(".search-group-title")).to_have_text(["Documents"])
    expect(hits(page).locator(".search-hit-title")).to_have_text("Jelly")
    expect(hits(page).locator(".search-hit-text")).to_contain_text(HOSTILE)
    expect(hits(page).locator(".search-hit-about")).to_contain_text("a/jelly.md")
    expect(hits(page).locator("mark")).to_have_text(["onerror", "quince"])
    expect(page.locator("#search-panel :is(img, b)")).to_have_count(0)
    page.locator(".search-kinds").get_by_role("button", name="Documents", exact=True).click()
    assert "kind=document" in page.url
    hits(page).click()
    panel = page.locator("#documents")
    expect(panel.get_by_role("heading", name="Jelly", level=2)).to_be_visible()
    expect(page.locator("#search-panel")).to_be_hidden()
    page.go_back()
    expect(hits(page)).to_have_count(1)


def test_commands_and_keys_lead_to_the_search_and_escape_leads_back(
    open_page: OpenPage, person: Client, bread: Talk
) -> None:
    page = open_page(person, bread.path)
    composer = page.locator("#composer-input")
    composer.fill("/search sourdough")
    composer.press("Escape")
    composer.press("Enter")
    expect(hits(page)).to_have_count(1)
    expect(composer).to_have_value("")
    # Safari tells of the Escape that ends a composition afterwards, with this code.
    page.get_by_role("searchbox", name="Search everything").evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', keyCode: 229, bubbles: true }))"
    )
    expect(page.locator("#search-panel")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#search-panel")).to_be_hidden()
    expect(composer).to_be_focused()
    page.keyboard.press("Control+Shift+F")
    expect(page.get_by_role("searchbox", name="Search everything")).to_be_focused()
    page.keyboard.press("Escape")
    expect(composer).to_be_focused()


def test_more_come_page_by_page(open_page: OpenPage, person: Client) -> None:
    hold_talk(person, "Fruit", *(f"Apple number {number}" for number in range(23)))
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'apple'})}")
    expect(hits(page)).to_have_count(20)
    page.get_by_role("button", name="Show more").click()
    expect(hits(page)).to_have_count(23)
    expect(hits(page).nth(20)).to_be_focused()
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    expect(page.locator("#search-status")).to_have_text("23 results")


def test_nothing_found_and_a_failure_are_said_and_tried_again(
    open_page: OpenPage, person: Client, bread: Talk, page_problems: PageProblems
) -> None:
    page = open_page(person, "/interface/?panel=search&q=zeppelin")
    expect(page.locator("#search-status")).to_have_text("Nothing was found for “zeppelin”.")
    page_problems.expect("503")
    busy = {"code": "storage_busy", "message": "Busy."}
    page.route("**/search?*", lambda route: route.fulfill(status=503, json=busy))
    search_for(page, "sourdough")
    expect(page.locator(".search-problem")).to_contain_text("The search failed. Busy.")
    page.unroute("**/search?*")
    page.get_by_role("button", name="Try again").click()
    expect(hits(page)).to_have_count(1)
    assert bread


def test_words_of_a_message_complete_to_its_reference(
    open_page: OpenPage, person: Client, bread: Talk, garden: Talk
) -> None:
    page = open_page(person, garden.path)
    composer = page.locator("#composer-input")
    composer.press_sequentially("As in @starter lives")
    option = page.get_by_role("option").filter(has_text="sourdough starter lives for years")
    expect(option).to_contain_text("Bread")
    expect(page.get_by_role("listbox")).to_contain_text("Messages")
    option.click()
    reference = f"@conversation_{bread.friendly_id}_message_{bread.hashes[0]}"
    expect(composer).to_have_value(f"As in {reference} ")
    composer.press("Enter")
    expect(page.locator(".message-card").nth(3)).to_contain_text("Understood.")
    chip = page.locator("#chatView .reference-chip").first
    chip.hover()
    expect(page.locator(".reference-card")).to_contain_text("sourdough starter lives for years")
    chip.click()
    target = page.locator(".message-card[message-index='1']")
    expect(target).to_contain_text("sourdough starter lives for years")
    expect(target.locator(".backlinks-button")).to_have_text("↩ 1")


@pytest.mark.shows("search")
def test_the_panel_has_no_serious_fault_wide_and_narrow_light_and_dark(
    open_page: OpenPage, person: Client, bread: Talk, garden: Talk
) -> None:
    remember(person, "Sourdough is fed on Sundays")
    page = open_page(person, f"/interface/?{urlencode({'panel': 'search', 'q': 'sourdough'})}")
    expect(hits(page)).to_have_count(2)
    assert bread
    assert garden
    page.locator(".search-help summary").click()
    assert findings(page, "search") == []
