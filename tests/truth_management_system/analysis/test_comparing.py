"""What a new statement is to a known one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truth_management_system.analysis.comparing import Comparison, Relation, compare, is_first_person
from truth_management_system.config import PKBConfig


def compared(new: str, known: str, cosine: float | None = None) -> Comparison:
    return compare(new, known, cosine=cosine, config=PKBConfig())


@pytest.mark.parametrize(
    ("new", "known", "cosine"),
    [
        ("I like tea", "i LIKE tea.", None),
        ("I live in Lisbon", "I live in Lisbon near the river", None),
        ("I live in Lisbon", "In Lisbon, I live", 0.9),
        ("I moved to Berlin in 2019", "I relocated to Berlin in 2019", 0.97),
    ],
)
def test_what_says_the_same_is_a_duplicate(new: str, known: str, cosine: float | None) -> None:
    assert compared(new, known, cosine).relation == Relation.DUPLICATE


@pytest.mark.parametrize(
    ("new", "known", "cosine"),
    [
        ("I am allergic to peanuts", "I'm not allergic to peanuts", 0.95),
        ("I never drink coffee", "I drink coffee", 0.9),
        ("Je mange de la viande", "Je ne mange pas de la viande", None),
        ("我喜欢猫", "我不喜欢猫", None),
        ("I have 2 cats", "I have 3 cats", 0.96),
        ("I moved to Berlin in 2019", "I moved to Berlin in 2020", None),
        ("My flight is on Monday", "My flight is on Tuesday", None),
        ("My rent is 900 euros", "My rent is 950 euros per month", 0.93),
        ("I like tea", "I hate tea", 0.8),
        ("I love dogs", "I hate dogs", 0.7),
        ("My dentist is Dr. Meier", "My dentist is Dr. Novak.", None),
        ("My favourite colour is blue", "My favourite colour is green", None),
        ("I live in Lisbon", "I live in Porto", 0.75),
        ("I prefer to run in the morning", "I prefer to run in the evening", 0.9),
    ],
)
def test_what_can_not_both_be_is_a_contradiction(new: str, known: str, cosine: float | None) -> None:
    comparison = compared(new, known, cosine)
    assert comparison.relation == Relation.CONTRADICTION
    assert comparison.reason.startswith("One says")


@pytest.mark.parametrize(
    ("new", "known", "cosine"),
    [
        ("My friend Anna lives in Berlin", "My friend Ben lives in Berlin", 0.95),
        ("My friend is Anna", "My friend is Ben", 0.8),
        ("I run in the morning", "I run in the evening", 0.9),
        ("Anna likes tea", "I like tea", 0.95),
        ("I ran 5 km on Monday", "I ran 7 km on Tuesday", 0.95),
        ("I hate to drink tea", "I drink tea", 0.95),
        ("I have a peanut allergy", "I am allergic to peanuts", 0.84),
    ],
)
def test_what_may_both_be_is_only_related(new: str, known: str, cosine: float) -> None:
    assert compared(new, known, cosine).relation == Relation.RELATED


def test_what_says_more_refines() -> None:
    comparison = compared("I live in Lisbon near the river", "I live in Lisbon")
    assert comparison.relation == Relation.REFINEMENT
    assert "river" in comparison.reason


def test_what_has_nothing_in_common_is_unrelated() -> None:
    assert compared("I prefer tea", "The sun is hot", 0.1) == Comparison(relation=Relation.UNRELATED, similarity=0.1)


def test_without_vectors_common_words_are_the_similarity() -> None:
    assert compared("My cat eats fish", "My cat drinks milk").similarity == pytest.approx(1 / 3, abs=0.01)
    assert compared("My cat eats fish", "My cat drinks milk", 0.7).similarity == 0.7


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert 0 <= compared(one, other).similarity <= 1
    assert compared(one, one).relation == Relation.DUPLICATE


@pytest.mark.parametrize("statement", ["I am", "Das ist mein Hund", "J'aime le thé", "Mi casa", "Моя кошка", "我是"])
def test_a_person_speaks_of_themselves(statement: str) -> None:
    assert is_first_person(statement)
    assert not is_first_person("Anna lives in Rome")
