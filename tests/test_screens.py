"""No screen of the interface goes unseen: tests in the browser promise to look at each, and are held to it."""

from __future__ import annotations

import importlib
from collections import Counter

from tests.browser.screens import SCREENS, shown_by
from tests.live_server import ROOT


def test_every_screen_is_shown_by_a_test_and_none_that_is_not_listed() -> None:
    modules = (f"tests.browser.{file.stem}" for file in (ROOT / "tests" / "browser").glob("test_*.py"))
    tests = (each for name in modules for each in vars(importlib.import_module(name)).values() if callable(each))
    promised = {screen for test in tests for screen in shown_by(getattr(test, "pytestmark", ()))}
    assert Counter(promised) == Counter(SCREENS)
