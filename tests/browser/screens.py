"""Every screen of the interface: what keeps people out of it, narrow and wide, light and dark; a picture on request.

`make test` looks at the narrow screen in the light theme and at the wide one in the dark, by every rule. `make proofs`
looks at both themes at each width.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import expect

from tests.live_server import ROOT
from tests.tiers import TIER

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import FloatRect, Locator, Page, ViewportSize

SCREENSHOTS = Path(os.environ.get("PICTURES_FOLDER") or Path(__file__).parent / "screenshots")
AXE = ROOT / "interface" / "node_modules" / "axe-core" / "axe.min.js"
# Of the rules that run, one alone would have things loaded once more: audio and video, of which the pages have none.
RUN_AXE = """async (rules) =>
  (await axe.run(document, { ...rules, resultTypes: ['violations'], preload: false })).violations"""
NARROW: ViewportSize = {"width": 360, "height": 740}
WIDE: ViewportSize = {"width": 1440, "height": 900}
WIDTHS = (NARROW, WIDE)
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
PICTURES = bool(os.environ.get("PICTURES"))
# In `make test` each width is seen in one theme.
EVERY_LOOK = TIER == "proofs" or PICTURES
SETTINGS = (
    "account", "devices", "tokens", "models", "agents", "tool-servers", "sending", "appearance", "shortcuts", "shares",
    "limits", "data", "people", "administration",
)  # fmt: skip
MEMORIES = ("memories", "contexts", "entities", "tags", "conflicts", "add", "history", "transfer")
# What there is to be looked at. `tests/test_screens.py` holds that a test promises each, and `conftest.py` that a test
# looks at what it promises.
SCREENS = (
    "setup", "login", "login-refused", "login-provider", "account-link", "invited", "reset", "not-found",
    "empty", "welcome", "shortcuts-dialog", "palette",
    "messages", "references", "answering", "answer-failed", "variants-and-earlier-texts",
    "message-menu", "message-editor", "message-deleted", "branch-tree", "activities", "thread", "tool-consent",
    "rail", "rail-references", "rail-backlinks", "rail-pins", "rail-usage", "rail-documents", "rail-files",
    "find", "split-view", "code-preview", "variants-compared",
    "mentions", "mentions-messages", "mentions-memories", "mention-chosen",
    "commands", "command-help", "models", "options", "answer-settings", "prompt-library", "file-preview",
    "new-memory", "memory-form", "memory-proposals", "memories-empty", "proposals", "documents", "document",
    "document-editor", "outbox",
    "sidebar", "sidebar-sections", "sidebar-move-menu", "sidebar-colour-menu", "sidebar-flag-menu", "sidebar-many-menu",
    "sidebar-user-menu", "sidebar-filter", "rename-dialog", "tags-dialog", "tags-of-many-dialog",
    "workspace-delete-dialog", "undo",
    "erase-dialog",
    "fork-dialog", "choose-conversation", "temporary", "stateless", "exported", "download-everything",
    "search", "share-dialog", "share-dialog-empty", "share-dialog-files", "shared-links", "shared", "shared-files",
    "shared-not-found",
    "token-made", "token-revoke-dialog", "agent-form", "tool-servers", "import-ready", "import-done", "password-link",
    "account-delete-dialog",
    *(f"settings-{section}" for section in SETTINGS),
    *(f"memories-{tab}" for tab in MEMORIES),
)  # fmt: skip


# The sprite has these, and the page's `use` elements show nothing for any other.
ICONS = frozenset((ROOT / "interface" / "icons.txt").read_text(encoding="utf-8").split())
DRAWN = "[...document.querySelectorAll('use')].map((use) => (use.getAttribute('href') ?? '').split('#')[1] ?? '')"

# What a control of one row is called, a control of another row is not: by their names, voice control and lists of
# controls tell them apart. What does the same in each row is called the same: filters of memories, numbers of messages.
# Rows that say the same are alike.
ALIKE_IN_ROWS = """() => {
  const controls = 'button:not(.memory-filed:not(.memory-source), .rail-number), [role=button], input, select';
  const isSeen = (node) => node.checkVisibility({ visibilityProperty: true });
  const labelsOf = ({ labels }) => [...(labels ?? [])].map((label) => label.innerText).join(' ');
  const nameOf = (node) => (node.ariaLabel || labelsOf(node) || node.innerText || node.title).trim();
  const namesIn = (row) => new Set([...row.querySelectorAll(controls)].filter(isSeen).map(nameOf));
  const found = [];
  for (const list of document.querySelectorAll('ul, ol, tbody, [role=list]')) {
    const rows = new Map();
    for (const row of list.children) {
      for (const name of namesIn(row)) {
        if ((rows.get(name) ?? row.innerText) !== row.innerText) found.push(`${list.className || list.id}: ${name}`);
        rows.set(name, row.innerText);
      }
    }
  }
  return [...new Set(found)];
}"""


# The screens that the running test has looked at so far.
looked_at: set[str] = set()


def shown_by(marks: Iterable[pytest.Mark]) -> set[str]:
    """The screens that a test's `shows` marks promise."""
    return {screen for mark in marks if mark.name == "shows" for screen in mark.args}


def findings(
    page: Page,
    screen: str,
    *,
    shown: Locator | None = None,
    sizes: Iterable[ViewportSize] = WIDTHS,
    themes: Sequence[Theme] | None = None,
    minor: bool = False,
) -> list[str]:
    """What is wrong with a screen in each size: what axe-core finds serious, what is too wide, missing icons.

    screen: one of `SCREENS`, which the test is marked with: `@pytest.mark.shows("login")`. shown: must be visible in
    each size of the window. themes: to look at in each size, where the screen is looked at in one alone. minor: report
    also what axe-core finds neither serious nor critical.
    """
    looked_at.add(screen)
    found = []
    for size in sizes:
        page.set_viewport_size(size)
        if shown is not None:
            expect(shown).to_be_visible()
        found += problems(page, themes=themes or _themes(size), picture_of=screen, minor=minor)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{screen} is wider than the window")
    found += [f"{screen}: rows with buttons of one name: {each}" for each in page.evaluate(ALIKE_IN_ROWS)]
    found += [f"{screen}: there is no icon {name!r}" for name in sorted(set(page.evaluate(DRAWN)) - ICONS)]
    return found


def problems(
    page: Page, *, themes: Sequence[Theme] = THEMES, picture_of: str | None = None, minor: bool = False
) -> list[str]:
    """What axe-core finds wrong with the page as it is, in each of `themes`.

    The themes differ in nothing but colours: all but the first are asked for contrast alone.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for theme in themes:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        rules = {} if theme == themes[0] else {"runOnly": ["color-contrast"]}
        told = [_told(violation, minor=minor) for violation in page.evaluate(RUN_AXE, rules)]
        found += [f"{theme}: {each}" for each in told if each]
        if picture_of is not None:
            picture(page, picture_of, theme)
    return found


def _themes(size: ViewportSize) -> Sequence[Theme]:
    """Those in which a screen of that size is looked at."""
    if EVERY_LOOK:
        return THEMES
    return ("light",) if size == NARROW else ("dark",)


def picture(page: Page, screen: str, theme: str) -> None:
    """Keep a picture of a screen as it is, if the environment asks for it with `PICTURES=1`."""
    if PICTURES:
        width = "narrow" if page.evaluate("innerWidth < 768") else "wide"
        keep_picture(page, f"{screen}-{width}-{theme}")


def keep_picture(page: Page, name: str, *, clip: FloatRect | None = None) -> None:
    """Keep a picture of the page, or of a part of it (pixels), if the environment asks for it with `PICTURES=1`."""
    if PICTURES:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled", clip=clip)


def _told(violation: dict[str, Any], *, minor: bool) -> str:
    if not minor and violation["impact"] not in ("serious", "critical"):
        return ""
    places = [f"{' '.join(map(str, node['target']))} {node['html'][:120]}" for node in violation["nodes"]]
    return f"{violation['id']}: {violation['help']}: {json.dumps(places)}"
