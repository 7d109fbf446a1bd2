"""Long texts are cut where they pause."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from truth_management_system.analysis.statements import chunks


def test_a_text_is_cut_after_paragraphs_before_lines_before_sentences() -> None:
    assert chunks("One two.\n\nThree four.\nFive six.", longest=20) == ["One two.\n\n", "Three four.\n", "Five six."]
    assert chunks("One two. Three four. Five six.", longest=22) == ["One two. Three four. ", "Five six."]
    assert chunks("我住在北京。我喜欢猫。", longest=8) == ["我住在北京。", "我喜欢猫。"]


def test_what_has_no_end_is_cut_all_the_same() -> None:
    assert chunks("x" * 25, longest=10) == ["x" * 10, "x" * 10, "x" * 5]


@given(st.text(max_size=300), st.integers(1, 40))
def test_nothing_is_lost_and_no_part_is_too_long(text: str, longest: int) -> None:
    parts = chunks(text, longest=longest)
    assert all(0 < len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
