"""By finger on a narrow screen: nothing opens a keyboard unasked, and what is held shows its menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk, make_workspace
from tests.browser.screens import NARROW
from tests.browser.sidebar_page import SidebarPage, show_sidebar
from tests.browser.transcript import body
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]


def hold(page: Page, target: Locator, until: Locator) -> None:
    """Press `target` with a finger until `until` is shown, and let go."""
    box = target.bounding_box()
    assert box is not None
    touch = page.context.new_cdp_session(page)
    point = {"x": box["x"] + 40, "y": box["y"] + box["height"] / 2}
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(until).to_be_visible()
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_by_finger_a_conversation_is_found_opened_and_written_in(person: Client, open_page: OpenPage) -> None:
    garden = make_workspace(person, "Garden")
    hold_talk(person, "Growing tomatoes", "How much water?", workspace_id=garden)
    page = open_page(person, viewport=NARROW, has_touch=True, is_mobile=True)
    field = page.locator("#composer-input")
    expect(field).not_to_be_focused()
    # An empty page is read from its beginning, also where it is longer than the window.
    page.set_viewport_size({"width": 360, "height": 480})
    heading = page.get_by_role("heading", name="What would you like to talk about?")
    expect(heading).to_be_in_viewport(ratio=1)
    page.set_viewport_size(NARROW)
    sidebar: SidebarPage = show_sidebar(page)
    folder = sidebar.row("Garden (1)")
    # The sidebar slides in.
    folder.tap(trial=True)
    sidebar.open(folder)
    row = sidebar.row("Growing tomatoes")
    row.tap(trial=True)
    hold(page, row, sidebar.menu_item("Rename"))
    # What the finger let go of was not opened.
    page.keyboard.press("Escape")
    expect(sidebar.menu()).to_be_hidden()
    expect(page.locator(".message-card")).to_have_count(0)

    row.tap()
    expect(body(page, 2)).to_have_text("Understood.")
    expect(row).not_to_be_in_viewport()
    expect(field).not_to_be_focused()
    field.tap()
    page.keyboard.type("First")
    page.keyboard.press("Enter")
    page.keyboard.type("Second")
    expect(field).to_have_value("First\nSecond")
    page.get_by_role("button", name="Send message").tap()
    expect(body(page, 3).locator("br")).to_have_count(1)
    expect(body(page, 4)).to_have_text("Understood.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
