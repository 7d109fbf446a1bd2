"""The real small model chooses tools within bounds, which are counted in tokens: a busy machine has the same ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Unpack

import orjson
import pytest

from chat.tools.calling.choice import Chooser
from chat.tools.catalogue import all_tools
from endpoints.http.errors import code_of
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, model_file
from language_models.ports import ChatMessage, ChatOptions, Delta, Usage
from settings import load_settings

pytestmark = [pytest.mark.embedded, pytest.mark.proof]
MOST_READ = 2_000
"""Tokens of the examples, which are read once and kept."""
MOST_READ_WARM = 128
MOST_WRITTEN = 64


EVERYTHING = "Ask @agent_botanist about notes/plan.md, garden_talk_k2p9 and @sour_cherries, and find the regex a+b."
"""A message that names something for each tool which is called with a name."""


class Calling(EmbeddedChatModel):
    """The model, which may not choose to call nothing."""

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        asked = options.get("response_format") or {}
        calls = asked["json_schema"]["schema"]["anyOf"]
        calls.pop(next(n for n, call in enumerate(calls) if call["properties"]["tool"]["const"] == "none"))
        async with aclosing(super().stream(messages, **options)) as steps:
            async for step in steps:
                yield step


class Counting(EmbeddedChatModel):
    """The model, with the usage of each request."""

    def __init__(self, runtime: EmbeddedRuntime) -> None:
        super().__init__(runtime)
        self.used: list[Usage] = []

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        async with aclosing(super().stream(messages, **options)) as steps:
            async for step in steps:
                if step.usage:
                    self.used.append(step.usage)
                yield step


@pytest.fixture
def runtime() -> Iterator[EmbeddedRuntime]:
    runtime = EmbeddedRuntime(model_file("small", folder=load_settings().model_dir))
    yield runtime
    runtime.close()


@pytest.fixture
def model(runtime: EmbeddedRuntime) -> Counting:
    return Counting(runtime)


def test_every_tool_is_called_by_the_model_with_arguments_that_it_takes(runtime: EmbeddedRuntime) -> None:
    registry = all_tools(code_of=code_of)
    names = {*registry.names()} - {"read_file"}  # without a tool, the text of a file stays in the history
    model = Calling(runtime)
    called: dict[str, Any] = {}

    async def call_each() -> None:
        for name in sorted(names):
            calls: list[dict[str, Any]] = []
            chooser = Chooser(model=model, text=EVERYTHING, tools=[registry.get(name)], agents=["botanist"])
            async with aclosing(chooser.choose([], calls)) as statuses:
                async for _ in statuses:
                    pass
            for call in calls:
                called[call["function"]["name"]] = orjson.loads(call["function"]["arguments"])
        await model.aclose()

    asyncio.run(call_each())
    assert {*called} == names
    for name, arguments in called.items():
        takes = registry.get(name).arguments
        assert takes is not None
        takes.model_validate(arguments)


def test_a_choice_reads_and_writes_little(model: Counting) -> None:
    registry = all_tools(code_of=code_of)
    tools = [tool for tool in map(registry.get, registry.names()) if tool.is_offered(has_agents=False)]

    async def chosen(text: str) -> tuple[str, dict[str, Any]] | None:
        calls: list[dict[str, Any]] = []
        async with aclosing(chooser(text).choose([], calls)) as statuses:
            async for _ in statuses:
                pass
        functions = [call["function"] for call in calls]
        return next(((each["name"], orjson.loads(each["arguments"])) for each in functions), None)

    def chooser(text: str) -> Chooser:
        return Chooser(model=model, text=text, tools=tools)

    async def all_chosen() -> None:
        await chosen("Who wrote Hamlet, and when?")
        name, arguments = await chosen("What did I tell you about the berth of my boat?") or ("", {})
        assert name == "search_messages"
        assert "berth" in arguments["query"]
        await chosen(f"Explain this to me: {'a lot of words, and more of them, ' * 8}")
        await model.aclose()

    asyncio.run(all_chosen())
    assert len(model.used) == 3
    assert model.used[0].prompt_tokens <= MOST_READ
    assert all(usage.prompt_tokens - usage.cached_tokens <= MOST_READ_WARM for usage in model.used[1:])
    assert all(usage.completion_tokens <= MOST_WRITTEN for usage in model.used)
