from __future__ import annotations

import pytest

from search.language import beginnings, nearest_names

NAMES = ["react_performance_p44e", "react_native_b4f2", "bread_starter_k3f9", "prefer_morning_a3f2", "chat_x1y2"]


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("react_preformance_p44e", "react_performance_p44e"),
        ("bread_starter_k3f8", "bread_starter_k3f9"),
        ("BREAD_STARTR_K3F9", "bread_starter_k3f9"),
        ("prefer_mornings_a3f2", "prefer_morning_a3f2"),
        ("react_native", "react_native_b4f2"),
    ],
)
def test_the_name_that_was_meant_comes_first(typed: str, nearest: str) -> None:
    assert nearest_names(typed, NAMES, most=3)[0] == nearest


@pytest.mark.parametrize("typed", ["", "x", "garden_tools_zz99", "媒体"])
def test_what_is_like_no_name_gets_none(typed: str) -> None:
    assert nearest_names(typed, NAMES, most=3) == []


def test_the_name_that_was_meant_is_found_among_thousands_that_are_like_it() -> None:
    names = [f"prefer_tea_number_{number:04d}" for number in range(3_000)]
    for number in range(0, 3_000, 500):
        assert f"prefer_tea_number_{number:04d}" in nearest_names(f"prefer_tee_number_{number:04d}", names, most=3)


def test_others_are_looked_up_by_the_beginnings_of_the_words() -> None:
    assert beginnings("bread_startr_k3f9") == ["brea", "star", "k3f9", "br"]
    assert beginnings("") == []
