"""The model that says what a test wants, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest

from language_models.errors import ModelFailedError, ModelRateLimitedError
from language_models.ports import ChatMessage, Delta, ModelState, Usage
from language_models.testing import Hold, Pause, Reply, ScriptedChatModel

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello there"}]


def steps_of(model: ScriptedChatModel) -> list[Delta]:
    async def ask() -> list[Delta]:
        return [step async for step in model.stream(HELLO)]

    return asyncio.run(ask())


def test_it_says_its_steps_and_ends_with_a_count() -> None:
    model = ScriptedChatModel.saying("Hello ", "world")
    steps = steps_of(model)
    assert [step.text for step in steps] == ["Hello ", "world", ""]
    assert steps[-1].usage == Usage(prompt_tokens=4, completion_tokens=4)
    assert steps[-1].finish_reason == "stop"
    assert (model.started_streams, model.finished_streams, model.closed_streams) == (1, 1, 0)


def test_each_call_has_its_reply_and_the_last_goes_on() -> None:
    model = ScriptedChatModel(replies=[Reply("one"), Reply("two")])
    answers = [asyncio.run(model.complete(HELLO)).text for _ in range(3)]
    assert answers == ["one", "two", "two"]


def test_a_reply_may_depend_on_the_prompt() -> None:
    model = ScriptedChatModel(replies=lambda prompt: Reply(prompt[-1]["content"].upper()))
    assert asyncio.run(model.complete(HELLO)).text == "HELLO THERE"
    assert asyncio.run(ScriptedChatModel.echoing().complete(HELLO)).text == "Hello there"


def test_every_call_is_remembered_with_all_it_asked_for() -> None:
    model = ScriptedChatModel.saying("ok")
    asyncio.run(model.complete(HELLO, max_tokens=3, temperature=0.1, stop=["."], response_format={"type": "regex"}))
    assert model.prompts == [tuple(HELLO)]
    (call,) = model.calls
    assert (call.max_tokens, call.temperature, call.stop, call.tools) == (3, 0.1, ["."], None)
    assert call.response_format == {"type": "regex"}


@pytest.mark.parametrize(
    "model",
    [
        ScriptedChatModel.failing(ModelFailedError("broke off"), after=["Hel"]),
        ScriptedChatModel(replies=[Reply("Hel", "lo", fail_after=1, error=ModelFailedError("broke off"))]),
        ScriptedChatModel(replies=[Reply("Hel", ModelFailedError("broke off"), "lo")]),
    ],
)
def test_it_fails_where_the_script_says(model: ScriptedChatModel) -> None:
    async def ask() -> str:
        said = ""
        stream = model.stream(HELLO)
        said += (await anext(stream)).text
        with pytest.raises(ModelFailedError, match="broke off"):
            await anext(stream)
        return said

    assert asyncio.run(ask()) == "Hel"
    assert (model.finished_streams, model.closed_streams) == (1, 0)


def test_it_hangs_until_it_is_closed_or_cancelled() -> None:
    model = ScriptedChatModel.hanging("Once ")

    async def leave() -> None:
        async with aclosing(model.stream(HELLO)) as stream:
            await anext(stream)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.complete(HELLO), 0.01)

    asyncio.run(leave())
    assert (model.started_streams, model.finished_streams, model.closed_streams) == (2, 0, 2)


def test_statuses_tools_and_pauses_are_part_of_a_script() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    reply = Reply(
        Delta(status="Looking"), Pause(0.0), Delta(tool_calls=(call,)), finish_reason="tool_calls", delay=0.0001
    )
    steps = steps_of(ScriptedChatModel(replies=[reply]))
    assert [step.status for step in steps] == ["Looking", None, None]
    assert steps[1].tool_calls == (call,)
    assert steps[-1].finish_reason == "tool_calls"


def test_a_usage_may_be_given() -> None:
    reply = Reply("x", usage=Usage(prompt_tokens=100, completion_tokens=200))
    assert steps_of(ScriptedChatModel(replies=[reply]))[-1].usage == Usage(prompt_tokens=100, completion_tokens=200)


def test_it_is_as_large_and_as_ready_as_it_is_told_to_be() -> None:
    state = ModelState(name="slow", phase="loading")
    model = ScriptedChatModel(replies=[Reply()], name="slow", context_window=100, state=state)
    assert (model.name, model.context_window, model.state(), model.count_tokens("four")) == ("slow", 100, state, 2)
    assert ScriptedChatModel.saying().state().phase == "ready"


def test_a_script_without_replies_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one reply"):
        ScriptedChatModel(replies=[])


def test_a_hold_is_let_go_from_another_thread() -> None:
    hold = Hold()
    model = ScriptedChatModel(replies=[Reply("Hello ", hold, "world")])
    said: list[str] = []
    asking = threading.Thread(target=lambda: said.append(asyncio.run(model.complete(HELLO)).text))
    asking.start()
    assert hold.wait_until_reached()
    assert said == []
    hold.release()
    asking.join(60)
    assert said == ["Hello world"]
    assert asyncio.run(model.complete(HELLO)).text == "Hello world"  # it stays open


def test_letting_go_of_those_who_have_left_harms_nobody() -> None:
    hold = Hold()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hold.wait(), 0.001)

    asyncio.run(leave())

    async def leave_and_release() -> bool:
        waiting = asyncio.create_task(hold.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        hold.release()
        await hold.wait()
        return waiting.cancelled()

    assert asyncio.run(leave_and_release())


def test_errors_carry_what_a_person_is_told() -> None:
    error = ModelRateLimitedError("Slow down", model="m", retry_after=3.0)
    assert (error.message, error.code, error.model, error.retry_after) == ("Slow down", "model_rate_limited", "m", 3.0)
    assert str(error) == "Slow down"
