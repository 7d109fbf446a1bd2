"""Every screen of the interface: what keeps people out of it, and a picture of it, narrow and wide, light and dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.live_server import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCREENSHOTS = Path(__file__).parent / "screenshots"
AXE = ROOT / "interface" / "node_modules" / "axe-core" / "axe.min.js"
RUN_AXE = "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"
NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1440, "height": 900}
WIDTHS = (NARROW, WIDE)
THEMES = ("light", "dark")
SETTINGS = (
    "account", "devices", "tokens", "models", "sending", "appearance", "shortcuts", "shares", "limits", "data",
    "people",
)  # fmt: skip
KNOWLEDGE = ("memories", "contexts", "entities", "tags", "conflicts", "add", "history", "transfer")
# What there is to be looked at. `tests/test_screens.py` holds that a test shows each.
SCREENS = (
    "setup", "login", "login-refused", "not-found",
    "empty", "welcome", "shortcuts-dialog",
    "messages", "references", "answering", "answer-failed", "variants-and-earlier-texts",
    "message-menu", "message-editor", "message-deleted",
    "mentions", "mentions-messages", "mentions-memories", "mention-chosen",
    "commands", "command-help", "models", "options", "file-preview",
    "new-memory", "memory-proposals", "knowledge-empty",
    "sidebar", "sidebar-sections", "sidebar-move-menu", "sidebar-colour-menu", "sidebar-flag-menu", "sidebar-many-menu",
    "sidebar-user-menu", "sidebar-filter", "rename-dialog", "workspace-delete-dialog", "undo", "erase-dialog",
    "fork-dialog", "temporary", "stateless", "exported",
    "search", "share-dialog", "share-dialog-empty", "shared-links", "shared", "shared-not-found",
    "token-made", "token-revoke-dialog",
    *(f"settings-{section}" for section in SETTINGS),
    *(f"knowledge-{tab}" for tab in KNOWLEDGE),
)  # fmt: skip


def findings(page: Page, screen: str) -> list[str]:
    """What is wrong with a screen in either theme: what axe-core finds serious or critical, and what is too wide.

    screen: one of `SCREENS`.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found += [f"{theme}: {told}" for told in map(_told, page.evaluate(RUN_AXE)) if told]
        picture(page, screen)
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(f"{screen} is wider than the window")
    return found


def picture(page: Page, screen: str) -> None:
    """Keep a picture of a screen as it is. Raises ValueError for one that is not in the list."""
    SCREENS.index(screen)
    width = "narrow" if page.evaluate("innerWidth < 768") else "wide"
    theme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{screen}-{width}-{theme}.png", animations="disabled")


def _told(violation: dict[str, Any]) -> str:
    if violation["impact"] not in ("serious", "critical"):
        return ""
    places = [f"{' '.join(map(str, node['target']))} {node['html'][:120]}" for node in violation["nodes"]]
    return f"{violation['id']}: {violation['help']}: {json.dumps(places)}"
