"""Regular expressions over messages: what narrows a search is certain, and no pattern takes long."""

from __future__ import annotations

import re
import warnings

import pytest

from search.patterns import InvalidPatternError, compiled, preview, required_literal, required_part, required_phrases


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("tomatoes", "tomatoes"),
        (r"\btomato(es)?\b", "tomato"),
        ("(the big )+tomato", "the big "),
        ("to+mato", "mato"),
        ("a{3}bcd", "bcd"),
        ("^begin$", "begin"),
        ("(?:yes|no)thing", "thing"),
        ("x*yz", ""),
        ("tomato|potato", ""),
        ("(?i)tomato", ""),
        ("(?i:tomato)soup", "soup"),
        ("[[:alpha:]]tomato", ""),
        (r"\pLtomato", ""),
        ("ab", ""),
        (r"\.\*\(", ".*("),
        ("", ""),
    ],
)
def test_what_each_match_must_say_is_found(pattern: str, literal: str) -> None:
    assert required_literal(pattern) == literal


def test_a_literal_is_in_every_match() -> None:
    texts = ["a tomato soup", "tomatoes", "the big the big tomato", "nothing", "yes thing", "soup.*(", "xyz bcd aaabcd"]
    patterns = [r"\btomato(es)?\b", "(the big )+tomato", "(?:yes|no| )thing", "a{3}bcd", r"soup\.\*", "t(oma)+to"]
    for pattern in patterns:
        for text in texts:
            if compiled(pattern).search(text):
                assert required_literal(pattern) in text


@pytest.mark.parametrize(
    ("pattern", "phrases", "goes_on"),
    [
        ("the big-red tomato", [("big", "red", "tomato")], True),
        (r"the big-red tomato\.", [("big", "red", "tomato")], False),
        ("the big red to", [("big", "red")], False),
        ("tomato", [], False),
        ("die süße Tomate und", [("suße", "tomate", "und")], True),
        (r"\bTomato\b|x", [], False),
        (r"\bTomato\b", [("tomato",)], False),
        (r"\btomato(es)?\b", [("tomato",)], True),
        (r"(?i)\bripe\s+tomato soup$", [("ripe", "tomato", "soup")], False),
        (r"\bripe\s*tomato\b", [("ripe",)], True),
        (r"^ripe\s(?:tomato soup )+\Bx", [("ripe",), ("soup",)], False),
        (r"\bone\b.*\bthree\b.+\bfour", [("one",), ("three",), ("four",)], True),
        (r"\btomato\x00soup\b", [("tomato", "soup")], False),
        ("[[:alpha:]] tomato soup", [], False),
        ("番茄汤", [("番", "茄", "汤")], False),
        ("(?i)süße Tomate", [("tomate",)], True),
    ],
)
def test_words_that_each_match_holds_side_by_side_are_found(
    pattern: str, phrases: list[tuple[str, ...]], goes_on: bool
) -> None:
    assert required_phrases(pattern) == (tuple(phrases), goes_on)


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("tomato", ("tomato", False)),
        (r"(?i)Tomato\b", ("tomato", True)),
        ("tomato soup", ("tomato", True)),
        ("(to|ma)|tomato", None),
        (r"\btomato", None),
        ("to", None),
        ("(?:kato)+ (?:potato)+", ("potato", False)),
        ("über", ("uber", False)),
        ("(?i)über", ("ber", False)),
        ("ΣΙΣΥΦΟΣ", ("υφο", False)),
        ("番茄汤", None),
        ("番tomato", None),
    ],
)
def test_a_part_of_a_word_that_each_match_holds_is_found(pattern: str, part: tuple[str, bool] | None) -> None:
    assert required_part(pattern) == part


HOSTILE = [
    "(a+)+$",
    "(a|aa)+$",
    "(a|a?)+$",
    "(.*a){20}$",
    "([a-zA-Z]+)*$",
    r"(\w+\s?)*!",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(x+x+)+y",
    "a?" * 30 + "a" * 30,
    "(.*)*" * 10,
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_pattern_is_slow(pattern: str) -> None:
    # A backtracking engine would not come to an end with these: that this test does is what it says.
    compiled(pattern).search("a" * 5_000 + "!")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        required_literal(pattern)
        required_phrases(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=ahead)", "looking ahead"),
        ("(?<!behind)x", "looking ahead"),
        (r"(a)\1", "references to groups"),
        ("(", "missing"),
        ("", "1 to 200"),
        ("a" * 201, "1 to 200"),
        ("((a{100}){100}){100}", "repetition"),
    ],
)
def test_what_can_not_be_used_says_why(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=re.escape(reason)):
        compiled(pattern)


def test_a_preview_is_the_line_around_the_match() -> None:
    text = "first\n" + "x " * 300 + "needle" + " y" * 300 + "\nlast"
    begin = text.index("needle")
    shown = preview(text, (begin, begin + 6))
    assert "needle" in shown
    assert len(shown) <= 200
    assert preview("one\ntwo three\nfour", (4, 7)) == "two three"
