"""Results that are too long are cut: they say so, and where to go on leads to the first thing that was left out."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.tools.ranges import counted, line_range, numbered
from chat.tools.results import fitted_result
from tests.tiers import examples

LINES = st.lists(st.text('ab „é番"\\\u2028\U0001f600', max_size=60), min_size=2, max_size=80)


def length(result: Any) -> int:
    return len(orjson.dumps(result))


@examples(80)
@given(LINES, st.integers(300, 3_000))
def test_numbered_lines_are_cut_at_a_line_and_the_next_one_is_named(lines: list[str], chars: int) -> None:
    wanted = line_range(None, None, total=len(lines))
    whole = {"success": True, "title": "T", **numbered(counted(lines, wanted), max_chars=None).told(wanted)}
    told = fitted_result(whole, chars)
    assert length(told) <= chars
    if told == whole:
        return
    assert told["truncated"] is True
    if "too long to be shown whole" in told["rangeMessage"]:
        assert (told["rangeStart"], told["rangeEnd"]) == (1, 1)
        assert whole["content"].startswith(told["content"])
        return
    shown = told["rangeEnd"]
    assert told["content"] == numbered(counted(lines, line_range(1, shown, total=len(lines))), max_chars=None).content
    assert told["rangeMessage"] == f"Cut: there was no room for more. Go on with lineStart {shown + 1}."


def test_what_a_tool_cut_already_names_the_line_that_is_left_out_in_the_end() -> None:
    lines = [f"„Zeile“ {number}" for number in range(1, 400)]
    wanted = line_range(None, None, total=len(lines))
    cut = {"success": True, "returnedCount": 399, **numbered(counted(lines, wanted), max_chars=2_000).told(wanted)}
    told = fitted_result(cut, 2_000)
    assert length(told) <= 2_000
    assert told["rangeEnd"] < cut["rangeEnd"]
    assert told["returnedCount"] == told["rangeEnd"]
    assert told["content"].endswith(f"\n{told['rangeEnd']}→{lines[told['rangeEnd'] - 1]}")
    assert f"lineStart {told['rangeEnd'] + 1}." in told["rangeMessage"]


def test_a_line_that_alone_is_too_long_says_so() -> None:
    alone = numbered([(1, "x" * 500)], max_chars=100).told(line_range(None, None, total=1))
    assert (alone["truncated"], alone["rangeEnd"]) == (True, 1)
    assert alone["rangeMessage"] == "Line 1 is too long to be shown whole."
    first = numbered([(1, "x" * 500), (2, "y")], max_chars=100).told(line_range(None, None, total=2))
    assert first["rangeMessage"].endswith("Go on with lineStart 2.")
    assert first["rangeMessage"].startswith("Line 1 is too long")


@pytest.mark.parametrize("more", [True, False])
def test_a_line_that_is_too_long_keeps_where_to_go_on_however_often_it_is_cut(more: bool) -> None:
    """By the tool, for the JSON around it, and for a model that had no room for that."""
    lines = ["first", "x" * 14_000, *(["third", "fourth"] if more else [])]
    wanted = line_range(2, None, total=len(lines))
    by_tool = {"success": True, **numbered(counted(lines, wanted), max_chars=8_000).told(wanted)}
    for_json = fitted_result(by_tool, 8_000)
    for_model = fitted_result(for_json, 2_000)
    assert len(for_model["content"]) < len(for_json["content"]) < len(by_tool["content"])
    said = "Line 2 is too long to be shown whole."
    for told in (by_tool, for_json, for_model):
        assert (told["rangeStart"], told["rangeEnd"], told.get("nextLine")) == (2, 2, 3 if more else None)
        going_on = " Cut: there was no room for more. Go on with lineStart 3." if more else ""
        assert told["rangeMessage"] == said + going_on


def test_a_list_of_which_not_even_one_row_fits_keeps_the_first_with_less_text() -> None:
    told = fitted_result({"success": True, "results": [{"relative_path": "a.md", "text": "番" * 4_000}] * 3}, 1_000)
    (row,) = told["results"]
    assert (told["truncated"], row["truncated"], row["relative_path"]) == (True, True, "a.md")
    assert "番" * 100 in row["text"]
    assert length(told) <= 1_000


def test_of_several_items_of_a_reference_the_first_are_kept() -> None:
    items = [{"type": "conversation_message", "label": f"[user] {number}", "content": "x" * 300} for number in range(9)]
    told = fitted_result({"success": True, "kind": "conversation", "items": items}, 1_500)
    assert told["items"] == items[: len(told["items"])] != items
    assert told["truncated"] is True


@pytest.mark.parametrize(
    "result",
    [
        {"success": True, "content": "", "structured": {"rows": ["word"] * 100_000}},
        {"success": True, "content": "a text", "structured": {"rows": ["word"] * 100_000}},
        {"success": True, "content": "a text", "beside": "word" * 100_000},
        {"success": True, "of": "word" * 100_000},
    ],
)
def test_whatever_makes_a_result_huge_it_is_cut_and_says_so(result: dict[str, Any]) -> None:
    told = fitted_result(result, 40_000)
    assert (told["success"], told["truncated"]) == (True, True)
    assert length(told) <= 40_000
    assert "word" in str(told) or told["content"] == "a text"
