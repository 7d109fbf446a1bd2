"""Without a model, a text still becomes statements: bullets and sentences, one fact each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truth_management_system.analysis.statements import LONGEST_STATEMENT, parse_statements, same_key, words_of


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("I live in Lisbon. My cat is called Momo.", ["I live in Lisbon.", "My cat is called Momo."]),
        ("i like tea. i hate coffee.", ["i like tea.", "i hate coffee."]),
        ("- buy milk\n* [x] call Anna\n2. wash the car", ["buy milk", "call Anna", "wash the car"]),
        ("- call Anna about\n  the party", ["call Anna about the party"]),
        ("I like tea\nMy dog is Rex", ["I like tea", "My dog is Rex"]),
        (
            "This sentence was wrapped by an editor after about sixty letters\nand goes on in the next line.",
            ["This sentence was wrapped by an editor after about sixty letters and goes on in the next line."],
        ),
        ("Dr. Meier is my dentist, e.g. for teeth.", ["Dr. Meier is my dentist, e.g. for teeth."]),
        ("The meeting is at 7:30 on 2026-02-08 in Room 3.5.", ["The meeting is at 7:30 on 2026-02-08 in Room 3.5."]),
        ("My **wife** is [Anna](https://a.example) and `x_y` stays.", ["My wife is Anna and x_y stays."]),
        ("> I was quoted here.", ["I was quoted here."]),
        ("| what | who |\n|---|---|\n| my boss | Peter |", ["my boss: Peter"]),
        ("我住在北京。我喜欢猫！", ["我住在北京。", "我喜欢猫！"]),
        ("😀 I am happy 😀", ["😀 I am happy 😀"]),
        ("I'm 1.80 m tall\r\nI weigh 70 kg\u2028I run", ["I'm 1.80 m tall", "I weigh 70 kg", "I run"]),
    ],
)
def test_each_bullet_and_each_sentence_is_a_statement(text: str, statements: list[str]) -> None:
    assert parse_statements(text) == statements


@pytest.mark.parametrize(
    "ornament",
    [
        "# About me",
        "About me\n========",
        "**About me**",
        "Shopping:",
        "---",
        "Where do I live?",
        "你好吗？",
        "Πού μένω;",
        "```python\nI am code\n```",
        "~~~\nI am code\n~~~",
        "def remember(this):",
        "import os",
        "const a = 1;",
        "</pkb_item>",
        "Hello!",
        "",
        " \t ",
    ],
)
def test_headings_questions_code_and_greetings_are_left_out(ornament: str) -> None:
    assert parse_statements(f"{ornament}\n\nI like tea.") == ["I like tea."]


def test_a_fence_that_nothing_closes_hides_nothing() -> None:
    assert parse_statements("```\nI like tea.\n\nI like rain.") == ["I like tea.", "I like rain."]


def test_what_is_said_twice_is_one_statement() -> None:
    assert parse_statements("I like tea.\n- I LIKE tea!\nI like  tea") == ["I like tea."]


def test_a_sentence_without_end_is_cut_between_words() -> None:
    words = [f"word{number}" for number in range(1_000)]
    statements = parse_statements(" ".join(words))
    assert all(len(statement) <= LONGEST_STATEMENT for statement in statements)
    assert " ".join(statements).split() == words


@given(st.text(max_size=400))
def test_any_text_gives_distinct_lines_of_its_own_words(text: str) -> None:
    statements = parse_statements(text)
    assert len({same_key(statement) for statement in statements}) == len(statements)
    assert all(statement == statement.strip() and "\n" not in statement for statement in statements)
    assert all("\0" not in statement for statement in statements)


_THINGS = ["garden", "river", "window", "music", "Lisbon", "coffee", "eleven"]
_SENTENCES = st.lists(
    st.lists(st.sampled_from(_THINGS), min_size=2, max_size=6).map(lambda words: f"I like {' and '.join(words)}."),
    min_size=1,
    max_size=8,
    unique=True,
)


@given(_SENTENCES, st.sampled_from([" ", "\n", "\n\n", "\n- ", "\n1. "]))
def test_sentences_come_back_however_they_are_set(sentences: list[str], between: str) -> None:
    assert parse_statements(between.join(sentences)) == sentences


@pytest.mark.parametrize(
    "bad", ["A. ", "**a ", "```\n~~~\n", "x", "a;\n", "| ", "[ ", "- ", ": ", "我", "? ", " ", ".)\"'", "#", "> "]
)
def test_fifty_kilobytes_of_anything_are_read_in_few_steps(bad: str) -> None:
    """A pattern that backtracks would not come back within the time a test has."""
    text = bad * (50_000 // len(bad.encode())) + "x"
    assert all(words_of(statement) for statement in parse_statements(text))
