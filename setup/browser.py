"""A Chromium for the browser tests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from environment import VENV, SetupError, install_debian_package
from stamps import WORK

# The first one draws no window of its own around pages, which halves what the browser itself takes of the processor.
PACKAGES = ("chromium-headless-shell", "chromium")
NAMES = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")
LINK = WORK / "bin" / "chromium"


def prepare_browser() -> None:
    """Link `.anaphora/bin/chromium` to the system's Chromium, else install one.

    Raises SetupError where that fails: browser tests are never skipped.
    """
    if LINK.exists():
        return
    found = _system_browser(NAMES[:1])
    if found is None and any(install_debian_package(name) for name in PACKAGES):
        found = _system_browser(PACKAGES)
    found = found or _system_browser(NAMES)
    if found is None:
        found = _playwright_browser()
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(found)


def _system_browser(names: Sequence[str]) -> str | None:
    return next((path for path in map(shutil.which, names) if path), None)


def _playwright_browser() -> str:
    python = str(VENV / "bin" / "python")
    print("Fetching Playwright's Chromium …", flush=True)
    subprocess.run([python, "-m", "playwright", "install", "chromium"], check=False)
    where = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    answer = subprocess.run([python, "-c", where], capture_output=True, text=True, check=False).stdout.strip()
    if not answer or not Path(answer).exists():
        raise SetupError("The browser tests need Chromium, and none could be installed. Install it, then run again.")
    return answer
