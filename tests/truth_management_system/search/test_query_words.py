"""The words in what somebody typed."""

from __future__ import annotations

import pytest

from truth_management_system.search.query_words import all_words, query_words, unspaced_pieces


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is the serial number?", ["serial", "number"]),
        ("the which and what", ["the", "which", "and", "what"]),
        ("Tomasz's workbench", ["tomasz", "workbench"]),
        ("I don’t ski", ["ski"]),
        ("l'eau d'or", ["eau", "or"]),
        ("ADR-117: F.28", ["adr", "117", "f", "28"]),
        ("prefer_morning_workouts_a3f2", ["prefer", "morning", "workouts", "a3f2"]),
        ("run Run RUN", ["run"]),
        ('"quoted" col:on (a* OR b)', ["quoted", "col", "b"]),
        ("café Ünal", ["café", "ünal"]),
        ("!?… 🍕 --", []),
        ("", []),
        ("\0\ud800", []),
    ],
)
def test_words_that_say_something_are_looked_for(text: str, words: list[str]):
    assert query_words(text) == words


def test_a_long_text_is_looked_for_by_its_first_words():
    words = query_words(" ".join(f"word{number}" for number in range(5_000)))
    assert words == [f"word{number}" for number in range(12)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("我的猫", ["我的", "的猫"]), ("猫", ["猫"]), ("my 猫 and 東京 trip", ["猫", "東京"]), ("cat", [])],
)
def test_what_is_written_without_spaces_is_looked_for_in_pairs(text: str, pieces: list[str]):
    assert unspaced_pieces(text) == pieces


def test_every_word_counts_where_a_reference_is_typed():
    assert all_words("What I don't know_yet") == ["what", "i", "don", "t", "know", "yet"]
