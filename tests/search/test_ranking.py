"""Words are marked the same in a text of ASCII characters alone, which is looked at in a quicker way, as in others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from search.ranking import snippet
from tests.tiers import examples

words = st.text(alphabet="abu1", min_size=1, max_size=4)
texts = st.lists(st.sampled_from(["a", "b", "ab", "aba", "u1", "A", "B1", " ", "-", "_", ". "]), max_size=60).map(
    "".join
)


@examples(300)
@given(text=texts, sought=st.lists(words, min_size=1, max_size=4), beginning=st.booleans())
def test_words_are_marked_alike_with_and_without_other_characters(
    text: str, sought: list[str], beginning: bool
) -> None:
    phrases = [(word,) for word in sought]
    plain = snippet(text, phrases, beginning=beginning)
    with_others = snippet(f"{text} é", phrases, beginning=beginning)
    assert plain.text == text
    assert plain.ranges == with_others.ranges
