"""A title without a model is the beginning of what was asked, as it was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from database.conversations.titles import UNTITLED, copy_title, heuristic_title

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How do I centre a box in CSS, please?", "centre a box in CSS, please"),
        ("Debugging", "Debugging"),
        ("What is it?", "What is it"),
        ("@conversation_react_perf_b4f2_message_5a3fp7 explain the memo trick", "explain the memo trick"),
        ("```python\nprint(1)\n```\nWhy does this print nothing?", "print nothing"),
        ("See https://example.org/a?b=c for C++ templates", "See for C++ templates"),
        ("**Bold** _plans_ for summer", "Bold _plans_ for summer"),
        ("Which motto does [[Garden plan]] have? Quote it.", "motto does Garden plan have? Quote"),
        (r"Sum up ![[plans/beds#May|the beds]] | [[a\|b]]", "Sum up the beds b"),
        ("深度学习是什么", "深度学习是什么"),
        ("", UNTITLED),
        ("!!! ???", UNTITLED),
        ("```\nunclosed code", UNTITLED),
        ("x" * 100, "x" * 60),
    ],
)
def test_the_title_is_made_of_the_first_words_that_mean_something(text: str, title: str) -> None:
    assert heuristic_title(text) == title


@given(st.text())
def test_any_text_gives_a_short_title(text: str) -> None:
    title = heuristic_title(text)
    assert 1 <= len(title) <= 60
    assert len(title.split()) <= 6


@pytest.mark.parametrize(
    ("title", "kind", "wanted"),
    [
        ("React Hooks", "fork", "React Hooks (fork)"),
        ("React Hooks (fork)", "fork", "React Hooks (fork 2)"),
        ("React Hooks (fork 9)", "fork", "React Hooks (fork 10)"),
        ("React Hooks (fork)", "copy", "React Hooks (fork) (copy)"),
        ("(fork)", "fork", "(fork) (fork)"),
        ("a" * 500, "copy", "a" * 493 + " (copy)"),
        ("a" * 493 + " (fork)", "fork", "a" * 491 + " (fork 2)"),
    ],
)
def test_a_copy_is_named_after_what_it_copies_and_counted(title: str, kind: str, wanted: str) -> None:
    assert copy_title(title, kind=kind) == wanted
