"""Readable ids of what is remembered."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation_reference_utils import _extract_meaningful_words as words_of_references
from truth_management_system.utils import _extract_meaningful_words, generate_friendly_id


def test_words_are_taken_as_for_conversations() -> None:
    assert _extract_meaningful_words is words_of_references


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("I prefer morning workouts", "prefer_morning_workouts"),
        ("", "note"),
        ("What is it?", "note"),
        ("2026 budget", "about_2026_budget"),
        ("Conversation style", "about_conversation_style"),
        ("Claim limits", "about_claim_limits"),
        ("agent", "about_agent"),
        ("conv nets", "about_conv_nets"),
        ("Memory of summer", "about_memory_summer"),
        ("Memoirs", "about_memoirs"),
        ("Conventions differ", "conventions_differ"),
        ("Agents differ", "agents_differ"),
    ],
)
def test_an_id_begins_with_the_words_and_is_taken_for_nothing_else(text: str, beginning: str) -> None:
    assert re.fullmatch(rf"{beginning}_[a-z0-9]{{4}}", generate_friendly_id(text))


def test_equal_texts_get_ids_of_their_own() -> None:
    assert len({generate_friendly_id("I prefer morning workouts") for _ in range(20)}) > 15


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["memory", "conv", "tag", "x" * 40, "9" * 30]), max_size=4).map(" ".join)
)
def test_any_text_gives_a_well_formed_id(text: str) -> None:
    friendly_id = generate_friendly_id(text)
    assert len(friendly_id) <= 60
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_[a-z0-9]{4}", friendly_id)
    assert not friendly_id.startswith(("conversation_", "conv_", "claim_", "agent_", "mem"))
    assert not friendly_id.endswith(("_context", "_entity", "_tag", "_domain"))
