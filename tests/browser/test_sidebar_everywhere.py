"""The sidebar on narrow and wide screens, in both themes, by touch; its marks and the way the focus takes in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import until_held
from tests.browser.history import hold_talk, make_workspace
from tests.browser.screens import NARROW, WIDTHS, findings
from tests.browser.sidebar_page import SidebarPage, by_shift_f10, part, show_sidebar, titles, unfold
from tests.browser.transcript import keep_toasts
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route, ViewportSize

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
TEMPORARY = "This conversation is temporary: it is gone when you leave it, or after a day."
FLAGS = ("red", "orange", "yellow", "green", "blue", "purple")


def fill(person: Client) -> None:
    """Something in each section."""
    make_workspace(person, "Garden")
    for flag in FLAGS:
        talk = hold_talk(person, f"A conversation about the colour {flag}, and more")
        assert person.post(f"/set_flag/{talk.conversation_id}/{flag}").status == 200
    for title, method, address in (
        ("Pinned", "PUT", "/conversations/{}/pin"),
        ("Put away", "POST", "/archive_conversation/{}"),
        ("Thrown away", "DELETE", "/delete_conversation/{}"),
    ):
        talk = hold_talk(person, title)
        assert person.request(method, address.format(talk.conversation_id)).status == 200


@pytest.mark.shows("sidebar-sections", "sidebar-flag-menu", "erase-dialog", "temporary")
def test_nothing_serious_is_found_in_any_section(person: Client, open_page: OpenPage) -> None:
    fill(person)
    page = open_page(person, viewport=NARROW)
    expect(page.get_by_role("heading", name="What would you like to talk about?")).to_be_visible()
    expect(page.get_by_text(TEMPORARY)).to_be_hidden()
    for size in WIDTHS:
        page.set_viewport_size(size)
        look_at_each_section(page, size)


def look_at_each_section(page: Page, size: ViewportSize) -> None:
    sizes = [size]
    sidebar = show_sidebar(page)
    expect(titles(page, "pinned")).to_have_text(["Pinned"])
    for name in ("archived", "bin"):
        unfold(page, name)
        expect(titles(page, name)).to_have_count(1)
    assert findings(page, "sidebar-sections", sizes=sizes) == []
    titles(page, "recent").first.click(button="right")
    sidebar.menu_item("Set Flag").hover()
    assert findings(page, "sidebar-flag-menu", shown=sidebar.menu_item("Red"), sizes=sizes) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Erase “Thrown away” for good").click()
    expect(page.get_by_role("dialog")).to_contain_text("It cannot be brought back")
    assert findings(page, "erase-dialog", sizes=sizes) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="More to begin").click()
    sidebar.menu_item("Temporary conversation").click()
    expect(page.locator("#temporary-mark")).to_be_visible()
    expect(page.get_by_text(TEMPORARY)).to_be_visible()
    assert findings(page, "temporary", sizes=sizes) == []


def test_a_long_press_opens_the_menu_of_a_listed_conversation(person: Client, open_page: OpenPage) -> None:
    hold_talk(person, "Growing tomatoes")
    page = open_page(person, viewport=NARROW, has_touch=True)
    sidebar = show_sidebar(page)
    link = titles(page, "recent")
    # The sidebar slides in.
    link.tap(trial=True)
    box = link.bounding_box()
    assert box is not None
    touch = page.context.new_cdp_session(page)
    point = {"x": box["x"] + 30, "y": box["y"] + 10}
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(sidebar.menu()).to_be_visible()
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(sidebar.menu_item("Archive")).to_be_visible()
    sidebar.menu_item("Pin").tap()
    expect(titles(page, "pinned")).to_have_text(["Growing tomatoes"])
    # What the finger let go of was not opened.
    expect(page.locator(".message-card")).to_have_count(0)
    expect(part(page, "recent")).to_be_hidden()


def test_the_open_conversation_is_marked_wherever_it_is_listed(person: Client, open_page: OpenPage) -> None:
    talk = hold_talk(person, "Growing tomatoes")
    hold_talk(person, "Painting the house")
    page = open_page(person, talk.path)
    sidebar = SidebarPage(page)
    # Its details draw the rows again: a conversation that has come leads to where it is answered.
    expect(page.locator("#composer-input")).to_be_focused()
    recent = part(page, "recent").locator(".sidebar-row:has([aria-current])")
    expect(recent).to_have_text(["Growing tomatoes"])
    marked = recent.evaluate("row => getComputedStyle(row).backgroundColor")
    whole = "xpath=../*[contains(@class, 'jstree-wholerow')]"
    expect(sidebar.row("Growing tomatoes").locator(whole)).to_have_css("background-color", marked)
    sidebar.row("Painting the house").click()
    expect(sidebar.row("Painting the house").locator(whole)).to_have_css("background-color", marked)
    expect(sidebar.row("Growing tomatoes").locator(whole)).not_to_have_css("background-color", marked)


def test_the_focus_of_a_row_that_goes_goes_to_its_neighbour_and_comes_back_from_a_toast(
    person: Client, open_page: OpenPage
) -> None:
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three", "Four")]
    page = open_page(person, talks[0].path)
    keep_toasts(page)
    sidebar = SidebarPage(page)
    # A conversation that has come leads to where it is answered.
    expect(page.locator("#composer-input")).to_be_focused()
    sidebar.row("Three").focus()
    page.keyboard.press("Delete")
    expect(sidebar.row("Two")).to_be_focused()
    page.locator("#toasts").get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    expect(sidebar.row("Three")).to_be_visible()
    expect(sidebar.row("Two")).to_be_focused()
    expect(page).to_have_url(re.compile(re.escape(talks[0].path) + "$"))

    by_shift_f10(sidebar, sidebar.row("Two"))
    sidebar.menu_item("Archive").press("Enter")
    expect(sidebar.row("Two")).to_have_count(0)
    expect(sidebar.row("One")).to_be_focused()

    part(page, "recent").get_by_role("button", name="Actions for “Three”").press("Enter")
    sidebar.menu_item("Delete").press("Enter")
    expect(titles(page, "recent")).to_have_text(["Four", "One"])
    expect(titles(page, "recent").last).to_be_focused()


def test_who_goes_elsewhere_before_a_conversation_comes_stays_there(person: Client, open_page: OpenPage) -> None:
    talks = [hold_talk(person, title) for title in ("One", "Two", "Three")]
    page = open_page(person, talks[0].path)
    sidebar = SidebarPage(page)
    held: list[Route] = []
    page.route("**/list_messages_by_conversation/**", lambda route: held.append(route))
    sidebar.row("Three").click()
    until_held(page, held)
    page.keyboard.press("ArrowDown")
    expect(sidebar.row("Two")).to_be_focused()
    held[0].continue_()
    expect(page.locator(".message-card")).to_have_count(2)
    expect(page.get_by_role("heading", name="Three", level=1)).to_be_visible()
    expect(sidebar.row("Two")).to_be_focused()
