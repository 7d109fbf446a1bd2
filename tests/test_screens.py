"""No screen of the interface goes unseen: a test in the browser shows each, narrow and wide, light and dark."""

from __future__ import annotations

import re

import pytest

from tests.browser.screens import KNOWLEDGE, SCREENS, SETTINGS
from tests.live_server import ROOT

TESTS = "\n".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests" / "browser").glob("test_*.py")))
LOOKED_AT = frozenset(re.findall(r'(?:findings|picture|check_accessibility)\(\w+, "([\w-]+)"\)', TESTS))
# A test goes through all of these.
IN_TURN = frozenset([*(f"settings-{section}" for section in SETTINGS), *(f"knowledge-{tab}" for tab in KNOWLEDGE)])


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_is_looked_at(screen: str) -> None:
    assert screen in LOOKED_AT | IN_TURN


def test_nothing_is_looked_at_that_is_not_in_the_list() -> None:
    assert set(SCREENS) >= LOOKED_AT
    assert len(set(SCREENS)) == len(SCREENS)
