"""How people ask for something to be remembered."""

from __future__ import annotations

import pytest

from truth_management_system.analysis.statements import Request, without_request


@pytest.mark.parametrize(
    ("message", "wish", "rest"),
    [
        ("remember this: my hint is  the blue door", "my hint is  the blue door", ""),
        ("Please remember that I hate coriander.", "I hate coriander.", ""),
        ("/memory I moved to Porto\n\nand like it", "I moved to Porto\n\nand like it", ""),
        ("/remember: tea", "tea", ""),
        (
            "Hi! Remember this please: Anna was born in May.\n\nTell a joke.",
            "Anna was born in May.",
            "Hi!\n\nTell a joke.",
        ),
        ("Note the following: x is y", "x is y", ""),
    ],
)
def test_the_wish_is_taken_word_for_word(message: str, wish: str, rest: str) -> None:
    assert without_request(message) == Request(wish=wish, rest=rest)


def test_a_request_without_words_means_what_stands_elsewhere() -> None:
    request = without_request("I moved to Lisbon in May. Remember this!")
    assert request == Request(wish="", rest="I moved to Lisbon in May.", refers_back=True)


@pytest.mark.parametrize("message", ["I remember this place", "do you remember this: song?", "memory is odd", ""])
def test_what_is_no_request_stays_as_it_is(message: str) -> None:
    assert without_request(message) == Request(wish="", rest=message)
