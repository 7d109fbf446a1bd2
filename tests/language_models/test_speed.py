"""How fast a model reads and writes: by its own timings where it tells them, else by the clock."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from language_models.ports import Speed, Usage
from language_models.speed import SpeedMeter, Stopwatch
from tests.language_models.openai.loopback import DONE, QUESTION, answering, asking, ending, event, piece, streaming

TIMINGS = {"prompt_n": 120, "prompt_ms": 2_000.0, "predicted_n": 50, "predicted_ms": 2_500.0}


def speed_after(*chunks: bytes) -> Speed:
    """What a model at a provider that streams `chunks` is found to do."""

    async def asked() -> Speed:
        async with answering(streaming(*chunks, DONE)) as server, asking(server) as model:
            assert model.speed() == Speed()
            await model.complete(QUESTION)
            return model.speed()

    return asyncio.run(asked())


def usage(**counts: Any) -> bytes:
    return event({"choices": [], "usage": counts})


def test_a_model_that_tells_its_timings_is_believed() -> None:
    speed = speed_after(piece("Blue."), ending(), event({"choices": [], "timings": TIMINGS}))
    assert speed == Speed(reading=60.0, writing=20.0)


@pytest.mark.parametrize("timings", [[1], {"prompt_n": "many"}, {"prompt_n": None}, {"prompt_ms": 3}, 7])
def test_timings_in_another_shape_are_passed_over(timings: Any) -> None:
    assert speed_after(piece("Blue."), ending(), event({"choices": [], "timings": timings})) == Speed()


def test_without_timings_the_clock_and_the_token_counts_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 11.0, 11.5, 20.0, 24.0, 25.0])
    monkeypatch.setattr("language_models.speed.time", SimpleNamespace(monotonic=lambda: next(now)))
    meter = SpeedMeter()
    for prompt_tokens in (2_000, 8_000):
        stopwatch = Stopwatch()
        stopwatch.tick()
        stopwatch.tick()
        stopwatch.tell(meter, Usage(prompt_tokens=prompt_tokens, completion_tokens=40))
    assert meter.speed() == Speed(reading=2_000.0, writing=60.0, latency=0.0)


def test_the_clock_of_a_streamed_request_is_heard() -> None:
    speed = speed_after(piece("Blue"), piece("."), ending(), usage(prompt_tokens=9_000_000, completion_tokens=40))
    assert speed.reading is not None
    assert speed.reading > 100_000
    assert speed.writing is not None


def measured(*requests: tuple[int, float]) -> Speed:
    """What a provider does whose first tokens came so many seconds after prompts of so many tokens."""
    meter = SpeedMeter()
    for tokens, seconds in requests:
        meter.note_first_token(tokens=tokens, seconds=seconds)
    return meter.speed()


def test_titles_say_nothing_of_how_fast_a_distant_model_reads() -> None:
    assert measured(*[(60, 0.512)] * 20).reading is None
    assert measured(*[(300, 0.6), (60, 0.5)] * 20).reading is None


def test_one_long_prompt_among_titles_tells_speed_and_latency_apart() -> None:
    titles = [(60, 0.512)] * 10
    speed = measured(*titles, (4_000, 1.3), *titles)
    assert speed.reading == pytest.approx(5_000, rel=0.01)
    assert speed.latency == pytest.approx(0.5, rel=0.01)


def test_a_slow_model_without_timings_is_found_to_be_slow() -> None:
    slow = [(tokens, 0.5 + tokens / 100) for tokens in (60, 700, 60, 150, 60)]
    assert measured(*slow).reading == pytest.approx(100, rel=0.01)
    assert measured(*slow).latency == pytest.approx(0.5, rel=0.01)
    assert measured(*[(2_000, 20.5)] * 3).reading == pytest.approx(97.6, rel=0.01)


def test_long_prompts_of_one_size_show_how_fast_a_model_reads_at_least() -> None:
    assert measured((1_500, 0.8), (1_600, 0.8)).reading == pytest.approx(1_937.5)


def test_a_latency_that_changes_makes_no_fast_model_slow() -> None:
    jittering = [(60, 0.3), (250, 0.9), (60, 1.1), (3_000, 1.4), (120, 0.4), (60, 0.6)]
    assert (measured(*jittering).reading or 0) > 2_000
    # A long prompt that was answered sooner than the short ones says no more than how long it took.
    assert measured((60, 0.9), (4_000, 0.8)).reading == pytest.approx(5_000)
    assert 0 <= measured((60, 0.01), (600, 2.0), (8_000, 16.0)).latency < 1


def test_a_prompt_that_was_cached_says_nothing_of_reading() -> None:
    cached = usage(prompt_tokens=900, completion_tokens=2, prompt_tokens_details={"cached_tokens": 890})
    assert speed_after(piece("Blue"), piece("."), ending(), cached) == Speed()


def test_time_spent_on_thinking_is_no_time_spent_on_reading() -> None:
    thought = usage(prompt_tokens=900, completion_tokens=400, completion_tokens_details={"reasoning_tokens": 390})
    assert speed_after(piece("Blue"), piece("."), ending(), thought) == Speed()


def test_a_call_of_which_nothing_came_says_nothing() -> None:
    meter = SpeedMeter()
    Stopwatch().tell(meter, Usage(prompt_tokens=900, completion_tokens=900))
    assert meter.speed() == Speed()


def test_the_latest_calls_count_most() -> None:
    meter = SpeedMeter()
    meter.note_reading(tokens=100, seconds=1)
    meter.note_reading(tokens=200, seconds=1)
    assert meter.speed().reading == pytest.approx(150.0)
    meter.note_reading(tokens=200, seconds=1)
    assert meter.speed().reading == pytest.approx(175.0)


def progress(done: int, *, total: int = 1_000, cache: int = 0, seconds: float = 1.0) -> bytes:
    """What llama.cpp's server tells while it reads a prompt."""
    told = {"total": total, "cache": cache, "processed": done, "time_ms": seconds * 1000}
    return event({"choices": [{"delta": {"role": "assistant", "content": None}}], "prompt_progress": told})


def statuses_after(*chunks: bytes) -> list[str]:
    async def asked() -> list[str]:
        async with answering(streaming(*chunks, piece("Blue."), ending(), DONE)) as server, asking(server) as model:
            return [step.status async for step in model.stream(QUESTION) if step.status]

    return asyncio.run(asked())


def test_one_who_waits_while_a_long_prompt_is_read_is_told_how_long_it_takes() -> None:
    chunks = [progress(0, seconds=0.0), progress(200), progress(210), progress(600, seconds=3.0), progress(1_000)]
    assert statuses_after(*chunks) == [
        "The model is reading your message and what goes with it.",
        "The model is reading 1,000 tokens: about 5 s left.",
    ]
    assert statuses_after(progress(100, seconds=2.0)) == ["The model is reading 1,000 tokens: about 20 s left."]
    # What it knows from before is not read.
    told = progress(700, total=2_000, cache=600, seconds=2.0)
    assert statuses_after(told) == ["The model is reading 1,400 tokens: about 30 s left."]
    assert statuses_after(progress(900, cache=800, seconds=2.0)) == []


@pytest.mark.parametrize("told", [3, [1], {"total": "many"}, {"total": 1_000, "cache": 0, "processed": 5}])
def test_progress_in_another_shape_is_passed_over(told: Any) -> None:
    assert statuses_after(event({"choices": [{"delta": {}}], "prompt_progress": told})) == []
