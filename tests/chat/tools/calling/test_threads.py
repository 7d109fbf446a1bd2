"""Tools that wait for long have threads of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from chat.agents import asking
from chat.tools.agents import ask_agent
from chat.tools.calling.loop import ToolLoop
from chat.tools.calling.threads import Stop, own_threads, result_for_program, result_in_time, threads_of
from chat.tools.catalogue import all_tools
from chat.tools.registry import Tool, ToolContext, ToolRegistry, ToolTimeoutError
from endpoints.http.errors import code_of
from language_models.testing import Reply, ScriptedChatModel, calling
from tests.chat.conftest import Talk, joined


def test_questions_to_agents_and_calls_of_other_servers_take_no_thread_of_other_tools() -> None:
    others = list(map(all_tools(code_of=code_of).get, all_tools(code_of=code_of).names()))
    assert {tool.name for tool in others if threads_of(tool) is not own_threads()} == {"ask_agent"}
    remote = threads_of(replace(others[0], is_remote=True))
    assert len({own_threads(), remote, threads_of(ask_agent)}) == 3


def test_there_is_a_thread_for_each_question_that_may_wait() -> None:
    assert threads_of(ask_agent)._count == asking._AT_ONCE


def test_a_tool_of_a_package_that_hangs_holds_up_no_other() -> None:
    others = list(map(all_tools(code_of=code_of).get, all_tools(code_of=code_of).names()))[:2]
    one, another = (threads_of(replace(each, is_installed=True)) for each in others)
    assert len({one, another, own_threads()}) == 3
    assert threads_of(replace(others[0], is_installed=True)) is one


@pytest.fixture
def ended() -> threading.Event:
    """Lets the calls that hang end."""
    return threading.Event()


@pytest.fixture
def busy(request: pytest.FixtureRequest, ended: threading.Event) -> Iterator[Tool]:
    """A tool of a package, all of whose threads are held by calls that hang."""
    name, begun = request.node.name, threading.Semaphore(0)
    tool = Tool(name=name, description="", parameters={}, run=lambda _: {}, is_installed=True, seconds=0.01)

    def hang() -> None:
        begun.release()
        ended.wait(60)

    for _ in range(threads_of(tool)._count):
        threads_of(tool).submit(hang)
        assert begun.acquire(timeout=60)
    yield tool
    ended.set()
    threads_of(tool).shutdown()


def test_a_call_that_has_not_begun_leaves_the_queue_and_says_that_the_threads_are_busy(busy: Tool) -> None:
    stop, stopped = Stop(), list[str]()
    stop.then(lambda: stopped.append("stopped"))
    with pytest.raises(ToolTimeoutError, match="all threads of this tool are busy") as told:
        asyncio.run(result_in_time(busy, dict, seconds=0.01, stop=stop))
    assert not told.value.has_begun
    assert (list(threads_of(busy)._jobs), stopped) == ([], ["stopped"])


def test_a_model_is_told_that_the_threads_are_busy_and_its_call_is_never_made(busy: Tool, talk: Talk) -> None:
    asked = Reply(calling((busy.name, "{}")), finish_reason="tool_calls")
    talk.models.main_model = model = ScriptedChatModel(replies=[asked, Reply("Well.")], calls_tools=True)
    talk.configure(tools=ToolLoop(ToolRegistry([busy], code_of=code_of)))
    assert joined(talk.say(talk.new(), "Do it")) == "Well."
    told = [orjson.loads(each["content"])["error"] for each in model.prompts[-1] if each["role"] == "tool"]
    message = f"{busy.name} was not called: all threads of this tool are busy with other calls."
    assert told == [{"code": "tool_timeout", "message": message}]
    assert list(threads_of(busy)._jobs) == []


class Patience(ToolRegistry):
    """Tools that are waited for as long as `seconds` says at that time."""

    seconds = 0.01

    def find(self, name: str) -> Tool | None:
        found = super().find(name)
        return found and replace(found, seconds=self.seconds)


@pytest.mark.parametrize("reads_only", [True, False])
def test_a_call_that_was_never_made_is_made_once_a_thread_is_free(
    busy: Tool, ended: threading.Event, talk: Talk, reads_only: bool
) -> None:
    tools = Patience([replace(busy, reads_only=reads_only, on_by_default=True)], code_of=code_of)
    call, asked = Reply(calling((busy.name, "{}")), finish_reason="tool_calls"), list[Any]()

    def reply(prompt: Any) -> Reply:
        asked.append(prompt)
        if len(asked) == 2:
            ended.set()
            tools.seconds = 60.0
        return call if len(asked) < 3 else Reply("Well.")

    talk.models.main_model = ScriptedChatModel(replies=reply, calls_tools=True)
    talk.configure(tools=ToolLoop(tools))
    assert joined(talk.say(talk.new(), "Do it")) == "Well."
    told = [orjson.loads(each["content"]).get("success", True) for each in asked[-1] if each["role"] == "tool"]
    assert told == [False, True]


def test_a_call_that_is_cancelled_before_it_has_begun_leaves_the_queue(busy: Tool) -> None:
    async def cancel() -> None:
        call = asyncio.create_task(result_in_time(busy, dict, seconds=60, stop=Stop()))
        while not threads_of(busy)._jobs:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancel())
    assert list(threads_of(busy)._jobs) == []


def test_a_call_of_a_program_that_has_not_begun_leaves_the_queue(busy: Tool, context: Any) -> None:
    with pytest.raises(ToolTimeoutError, match="all threads of this tool are busy"):
        result_for_program(busy, lambda _: {}, context())
    assert list(threads_of(busy)._jobs) == []


def test_a_program_is_told_when_a_tool_of_a_package_hangs_and_the_tool_learns_that_it_was_given_up(
    request: pytest.FixtureRequest, context: Any
) -> None:
    given_up, begun = threading.Event(), threading.Event()

    def hang(given: ToolContext) -> dict[str, Any]:
        assert given.on_stop is not None
        given.on_stop(given_up.set)
        begun.set()
        given_up.wait(60)
        return {}

    name = request.node.name
    tool = Tool(name=name, description="", parameters={}, run=hang, is_installed=True, seconds=0.2)
    # Were it slow to begin, it would be told of as one that has not.
    with pytest.raises(ToolTimeoutError, match=f"{name} "):
        result_for_program(tool, tool.run, context())
    assert not begun.is_set() or given_up.wait(60)
