"""A Chromium for the browser tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from environment import VENV, SetupError, install_debian_package
from stamps import WORK

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LINK = WORK / "bin" / "chromium"


def prepare_browser() -> None:
    """Link `.anaphora/bin/chromium` to the system's Chromium, else install one.

    Raises SetupError where that fails: browser tests are never skipped.
    """
    if LINK.exists():
        return
    found = _system_browser()
    if found is None and install_debian_package("chromium"):
        found = _system_browser()
    if found is None:
        found = _playwright_browser()
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(found)


def _system_browser() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


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
