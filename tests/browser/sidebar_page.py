"""The sidebar as a person works it: rows by what they say, menus by right click, dots or keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.chromium import TIMEOUT

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Way = Callable[["SidebarPage", "Locator"], None]


@dataclass(frozen=True)
class SidebarPage:
    """The sidebar of an open page."""

    page: Page

    def row(self, text: str) -> Locator:
        """The row that says exactly `text` (a workspace's count of conversations is part of it)."""
        anchors = self.page.locator("#workspaces-container a.jstree-anchor")
        return anchors.filter(has=self.page.get_by_text(text, exact=True)).or_(
            self.page.get_by_role("treeitem", name=text, exact=True)
        )

    def inside(self, workspace: Locator) -> Locator:
        """The rows below a workspace's row."""
        return workspace.locator("xpath=../ul").locator("a.jstree-anchor")

    def open(self, workspace: Locator) -> None:
        """Open a workspace's row where it is closed, as soon as there is something in it."""
        expect(workspace.locator("xpath=..")).to_have_class(re.compile("jstree-(open|closed)"))
        open_up(workspace, workspace, "aria-expanded", "true")

    def menu(self) -> Locator:
        """The open menu."""
        return self.page.locator(".vakata-context")

    def menu_item(self, label: str) -> Locator:
        """An item of the open menu or of a submenu of it."""
        return self.menu().get_by_role("menuitem", name=label, exact=True)

    def choose(self, row: Locator, *labels: str) -> None:
        """Right-click a row, go along its menu and click the last of `labels`."""
        by_right_click(self, row)
        for label in labels[:-1]:
            self.menu_item(label).hover()
        self.menu_item(labels[-1]).click()

    def answer(self, text: str) -> None:
        """Give the open dialog its text, by keyboard."""
        field = self.page.locator("dialog[open] input")
        expect(field).to_be_focused()
        field.fill(text)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("dialog[open]")).to_have_count(0)

    def drag(self, row: Locator, to: Locator, *, mark: str = "ok") -> None:
        """Take a row by the mouse and let go over another, which shows by its mark ("ok", "er") whether it takes it."""
        row.hover()
        self.page.mouse.down()
        target = to.bounding_box()
        assert target is not None
        x, y = target["x"] + 40, target["y"] + target["height"] / 2
        self.page.mouse.move(x, y - 6, steps=6)
        self.page.mouse.move(x, y, steps=3)
        expect(self.page.locator(f"#vakata-dnd .jstree-{mark}")).to_be_visible()
        self.page.mouse.up()
        expect(self.page.locator("#vakata-dnd")).to_have_count(0)


def by_right_click(sidebar: SidebarPage, row: Locator) -> None:
    """Open a row's menu with the right button."""
    row.click(button="right")
    expect(sidebar.menu()).to_be_visible()


def by_dots(sidebar: SidebarPage, row: Locator) -> None:
    """Open a row's menu with its triple-dot button."""
    row.hover()
    row.locator("xpath=../*[contains(@class, 'jstree-node-menu-btn')]").click()
    expect(sidebar.menu()).to_be_visible()


def by_shift_f10(sidebar: SidebarPage, row: Locator) -> None:
    """Open a row's menu with the keyboard."""
    row.focus()
    sidebar.page.keyboard.press("Shift+F10")
    expect(sidebar.menu()).to_be_visible()


def part(page: Page, name: str) -> Locator:
    """A section beside the tree: "pinned", "recent", "archived" or "bin"."""
    return page.locator(f"#sidebar [data-section='{name}']")


def titles(page: Page, name: str) -> Locator:
    """The titles that a section lists."""
    return part(page, name).locator(".sidebar-link")


def unfold(page: Page, name: str) -> Locator:
    """Open a section, once the tree above it is drawn, which moves it."""
    section = part(page, name)
    expect(page.locator("#workspaces-container .jstree-anchor").first).to_be_visible()
    open_up(section.locator("summary"), section, "open", "")
    return section


def open_up(handle: Locator, opened: Locator, name: str, value: str) -> None:
    """Click the handle until what it opens says by an attribute that it is open: it may just be opening by itself."""
    for _ in range(5):
        if opened.get_attribute(name) == value:
            return
        handle.click()
        with suppress(AssertionError):
            expect(opened).to_have_attribute(name, value, timeout=TIMEOUT // 9)
    expect(opened).to_have_attribute(name, value)


def show_sidebar(page: Page) -> SidebarPage:
    """The sidebar, drawn out where the window is narrow."""
    expect(page.locator("html")).to_have_attribute("data-sidebar", "open" if is_wide(page) else "closed")
    if not is_wide(page):
        page.get_by_role("button", name="Show the sidebar").click()
    expect(page.locator("#sidebar-filter")).to_be_visible()
    return SidebarPage(page)


def is_wide(page: Page) -> bool:
    """Whether the sidebar has its place beside the conversation."""
    return bool(page.evaluate("innerWidth >= 768"))
