"""How much a model takes, as far as it is known."""

from __future__ import annotations

import pytest

from language_models.context_windows import known_context_window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("o1-mini", 128_000),
        ("o1", 200_000),
        ("anthropic/Claude-Sonnet-4-5", 200_000),
        ("models/gemini-2.5-pro", 1_048_576),
        ("my-own-model", None),
    ],
)
def test_a_family_is_known_by_the_beginning_of_the_name(model: str, window: int | None) -> None:
    assert known_context_window(model) == window
