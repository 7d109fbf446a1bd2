"""How much a model takes, as far as it is known."""

from __future__ import annotations

import pytest

from language_models.ports import Usage
from language_models.tokens import ASSUMED, ContextWindow, known_answer_limit, known_context_window


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


def test_how_long_an_answer_may_be_is_known_by_the_family_too() -> None:
    assert [known_answer_limit(model) for model in ("gpt-4.1-mini", "o3", "my-own")] == [32_768, 100_000, None]


def window_after(*answers: tuple[int, int], given: int | None = None, model: str = "my-own") -> int:
    """The window after prompts of so many tokens by our count, of which the provider says it read so many."""
    window = ContextWindow(model, given=given)
    for estimated, read in answers:
        window.note_answer(Usage(prompt_tokens=read), estimated=estimated)
    return window.tokens


@pytest.mark.parametrize(
    ("answers", "window"),
    [
        ([], ASSUMED),
        pytest.param([(900, 700)], ASSUMED, id="a short prompt proves nothing"),
        pytest.param([(6_000, 4_200)], 16_384, id="a long one that was read whole does"),
        pytest.param([(6_000, 4_200), (12_000, 8_400)], 32_768, id="and again"),
        pytest.param([(100, 20_000)], 20_000, id="more was used than was thought possible"),
        pytest.param([(12_000, 4_096)], 4_096, id="the beginning was dropped"),
        pytest.param([(6_000, 4_096), (12_000, 4_096), (6_000, 4_000)], 4_096, id="what was dropped is remembered"),
        pytest.param([(6_000, 0)], ASSUMED, id="nothing was counted"),
    ],
)
def test_an_unknown_window_is_small_until_it_proves_larger(answers: list[tuple[int, int]], window: int) -> None:
    assert window_after(*answers) == window


def test_an_open_model_may_be_served_with_a_smaller_window_than_it_was_released_with() -> None:
    assert window_after(model="qwen2.5:7b") == 32_768
    assert window_after((20_000, 14_000), model="qwen2.5:7b") == 32_768
    assert window_after((12_000, 4_096), model="qwen2.5:7b") == 4_096
    listed = ContextWindow("llama-3.1-8b")
    listed.note_list({"data": [{"id": "llama-3.1-8b", "max_model_len": 8_000}]})
    assert listed.tokens == 8_000


@pytest.mark.parametrize(
    ("model", "given", "listed", "window"),
    [
        ("anthropic/claude-sonnet-4.5", None, 1_000_000, 1_000_000),
        ("gpt-4o", None, 64_000, 64_000),
        pytest.param("gpt-4o", None, None, 128_000, id="the provider says nothing"),
        pytest.param("gpt-4o", 50_000, 64_000, 50_000, id="the operator says otherwise"),
    ],
)
def test_what_a_provider_states_counts_more_than_what_is_known_of_the_family(
    model: str, given: int | None, listed: int | None, window: int
) -> None:
    found = ContextWindow(model, given=given)
    assert found.may_be_stated is (given is None)
    found.note_list({"data": [{"id": model, "context_length": listed}]})
    assert (found.tokens, found.may_be_stated) == (window, False)


def test_what_a_provider_states_counts_less_than_what_it_refuses() -> None:
    found = ContextWindow("gpt-4o")
    assert found.note_refusal("maximum context length is 32768 tokens")
    found.note_list({"data": [{"id": "gpt-4o", "context_length": 128_000}]})
    assert found.tokens == 32_768


@pytest.mark.parametrize(
    ("model", "given", "told"),
    [("qwen2.5:7b", None, True), ("qwen2.5:7b", 32_000, True), ("my-own", 32_000, True), ("gpt-4.1", None, False)],
)
def test_a_prompt_of_which_a_part_was_dropped_is_told_of(model: str, given: int | None, told: bool) -> None:
    window = ContextWindow(model, given=given)
    assert window.note_answer(Usage(prompt_tokens=4_096), estimated=12_000) is told
    assert not window.note_answer(Usage(prompt_tokens=900), estimated=3_000)


def test_a_window_that_is_known_or_set_is_not_guessed_at() -> None:
    assert window_after((6_000, 4_200), model="gpt-4") == 8_192
    assert window_after((6_000, 9_000), model="gpt-4") == 9_000
    assert window_after((6_000, 9_000), given=5_000) == 5_000


@pytest.mark.parametrize(
    ("message", "window"),
    [
        ("This model's maximum context length is 4096 tokens. However, you requested 5,120 tokens", 4_096),
        ("the request (9000 tokens) exceeds the available context size (6144 tokens), try increasing it", 6_144),
        ("prompt is too long: 205634 tokens > 7000 maximum", 7_000),
        ("the input token count (9000) exceeds the maximum number of tokens allowed (5000)", 5_000),
        ("maximum context length is 131072 tokens", ASSUMED),
        ("too long", ASSUMED),
    ],
)
def test_a_refusal_that_names_a_smaller_window_is_believed(message: str, window: int) -> None:
    learned = ContextWindow("my-own")
    assert learned.note_refusal(message) is (window < ASSUMED)
    assert learned.tokens == window
