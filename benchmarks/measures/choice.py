"""What choosing a tool costs a turn that uses none, with the real embedded model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

from benchmarks.answers.metering import cpu_seconds
from chat.tools.calling.choice import Chooser
from chat.tools.catalogue import all_tools
from endpoints.http.errors import code_of
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, model_file
from settings import load_settings

from ..figures import Figure, of_samples
from ..seeded import QUICK, Bench

_BUDGET = 2.0
_WARMING = 3
_MESSAGES = (
    "Who wrote Hamlet, and when?",
    "Explain how a rainbow comes about, in a few words.",
    "Translate this into German: the train leaves at half past nine.",
    "Write a haiku about autumn leaves.",
    "What is the difference between a list and a tuple in Python?",
    "Give me three ideas for a birthday party of a ten-year-old.",
    "How much is 17 times 23?",
    "Summarise the plot of Romeo and Juliet in two sentences.",
    "Make this sentence politer: send me the file now.",
    "Which colours go well with dark blue?",
    "How do I sharpen a kitchen knife?",
    "Why is the sky dark at night?",
)


def choice(bench: Bench) -> Iterator[Figure]:
    """Messages that need no tool, each asked of the model that has read the examples before.

    The default model, or with `--quick` the small one; the calls that it chose all the same are counted.
    """
    name = "small" if bench.size is QUICK else "default"
    seconds, cpu, called = asyncio.run(_asked(name))
    yield of_samples(f"choosing no tool, {name} model", seconds, unit="s", budget_p95=_BUDGET)
    yield of_samples(f"choosing no tool, {name} model, CPU", cpu, unit="s")
    yield Figure(name="tools chosen where none was needed", value=called, unit="", samples=len(seconds))


async def _asked(name: str) -> tuple[list[float], list[float], int]:
    """Seconds and CPU seconds of each choice, and how many of them chose a tool."""
    model = EmbeddedChatModel(EmbeddedRuntime(model_file(name, folder=load_settings().model_dir)))
    registry = all_tools(code_of=code_of)
    tools = [tool for tool in map(registry.get, registry.names()) if tool.is_offered(has_agents=False)]
    seconds, cpu, called = list[float](), list[float](), 0
    try:
        for text in (*_MESSAGES[:_WARMING], *_MESSAGES):
            calls: list[dict[str, Any]] = []
            began, used = time.monotonic(), cpu_seconds()
            async with aclosing(Chooser(model=model, text=text, tools=tools).choose([], calls)) as statuses:
                async for _ in statuses:
                    pass
            seconds.append(time.monotonic() - began)
            cpu.append(cpu_seconds() - used)
            called += bool(calls)
    finally:
        await model.aclose()
    return seconds[_WARMING:], cpu[_WARMING:], called
