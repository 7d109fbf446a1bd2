"""Folded blocks are found in time linear in the text, whatever stands in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from portability.importers.reading.folded_blocks import folded_blocks

_OPENING, _CLOSING = re.compile(r":::thinking(?=[ \t]*\n)"), re.compile(r"^[ \t]*:::[ \t]*$", re.MULTILINE)


class _Text(str):
    """Counts the characters that are looked at."""

    looked_at = 0

    def find(self, sub: str, *place: Any) -> int:
        found = super().find(sub, *place)
        _Text.looked_at += (len(self) if found < 0 else found) - (place[0] if place else 0)
        return found

    def rfind(self, sub: str, *place: Any) -> int:
        found = super().rfind(sub, *place)
        _Text.looked_at += place[1] - max(found, place[0])
        return found

    def __getitem__(self, place: Any) -> str:
        piece = super().__getitem__(place)
        _Text.looked_at += len(piece)
        return piece


class _Pattern:
    """Searches as another one does, and counts."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def search(self, text: str, place: int) -> re.Match[str] | None:
        found = self._pattern.search(text, place)
        _Text.looked_at += (len(text) if found is None else found.end()) - place
        return found


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("x :::thinking\n" * 1_000 + "\n" * 50_000 + ":::\n", 0),
        ("x :::thinking\n" * 1_000 + "\n" * 50_000, 0),
        (":::thinking\n" * 1_000 + "\n" * 50_000 + ":::\n", 1),
        (":::thinking\n" * 1_000 + "\n" * 50_000, 0),
        ("x" * 50_000 + ":::thinking \t\n" * 1_000 + ":::\n", 1),
        ("```\n:::thinking\n```\n" * 900 + "\n" * 50_000 + ":::thinking\nHm.\n:::\n", 1),
        (":::thinking\nHm.\n:::\n" * 900 + "\n" * 50_000, 900),
    ],
)
def test_each_piece_of_a_text_is_looked_at_a_few_times_at_most(text: str, blocks: int) -> None:
    _Text.looked_at = 0
    patterns: Any = {"opening": _Pattern(_OPENING), "closing": _Pattern(_CLOSING)}
    found = list(folded_blocks(_Text(text), head_ends="\n", **patterns))
    assert sum(head is not None for head, _ in found) == blocks
    assert _Text.looked_at < 6 * len(text)


def test_openings_inside_of_lines_use_up_nothing_and_blanks_may_stand_before_a_block() -> None:
    text = "x :::thinking\n" * 2_000 + " \t:::thinking\nHm.\n:::\n y :::thinking\nno\n:::\n"
    found = list(folded_blocks(text, opening=_OPENING, head_ends="\n", closing=_CLOSING))
    assert found[1:] == [(":::thinking", "Hm.\n"), (None, "\n y :::thinking\nno\n:::\n")]


def test_a_block_may_follow_another_in_its_line() -> None:
    text = "a\n[1][2] [3]x[4]"
    found = list(folded_blocks(text, opening=re.compile(r"\["), head_ends="", closing=re.compile(r"\]")))
    assert [body for head, body in found if head is not None] == ["1", "2", "3"]
