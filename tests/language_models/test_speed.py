"""How fast a model reads and writes: by its own timings where it tells them, else by the clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from language_models.ports import Speed, Usage
from language_models.speed import SpeedMeter, Stopwatch
from tests.language_models.loopback import DONE, QUESTION, answering, asking, ending, event, piece, streaming

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


def test_without_timings_the_clock_and_the_token_counts_tell() -> None:
    speed = speed_after(piece("Blue"), piece("."), ending(), usage(prompt_tokens=900, completion_tokens=40))
    assert speed.reading is not None
    assert speed.writing is not None


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
