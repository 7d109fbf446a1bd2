"""What an answer takes: tokens of every request to the model, and CPU time of this process and the model's."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, ModelState, Price, Speed, Usage

from ..load import cpu_ms


class MeteredModel(ChatModel):
    """A model that notes the usage of each request, also of those that choose a tool."""

    def __init__(self, model: ChatModel, *, reading: float | None = None) -> None:
        """reading: the speed that the product is told, in tokens a second; None: as it is measured meanwhile."""
        self._model = model
        self._reading = reading
        self.used: list[Usage] = []

    @property
    def name(self) -> str:
        """See `ChatModel`."""
        return self._model.name

    @property
    def context_window(self) -> int:
        """See `ChatModel`."""
        return self._model.context_window

    @property
    def answer_limit(self) -> int | None:
        """See `ChatModel`."""
        return self._model.answer_limit

    @property
    def price(self) -> Price | None:
        """See `ChatModel`."""
        return self._model.price

    @property
    def calls_tools(self) -> bool | None:
        """See `ChatModel`."""
        return self._model.calls_tools

    def count_tokens(self, text: str) -> int:
        """See `ChatModel`."""
        return self._model.count_tokens(text)

    def state(self) -> ModelState:
        """See `ChatModel`."""
        return self._model.state()

    def speed(self) -> Speed:
        """See `ChatModel`."""
        speed = self._model.speed()
        return speed if self._reading is None else replace(speed, reading=self._reading)

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel`."""
        usage = Usage()
        answer = cast("AsyncGenerator[Delta, None]", self._model.stream(messages, **options))
        try:
            async with aclosing(answer) as steps:
                async for step in steps:
                    usage = step.usage or usage
                    yield step
        finally:
            self.used.append(usage)

    async def aclose(self) -> None:
        """See `ChatModel`."""
        await self._model.aclose()

    def figures(self) -> dict[str, Any]:
        """Requests and tokens since the last call."""
        used, self.used = self.used, []
        return {
            "requests": len(used),
            "prompt_tokens": sum(usage.prompt_tokens for usage in used),
            "cached_tokens": sum(usage.cached_tokens for usage in used),
            "completion_tokens": sum(usage.completion_tokens for usage in used),
        }


def cpu_seconds() -> float:
    """CPU time of this process and of the processes that it has started, in seconds."""
    children = [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
    return time.process_time() + sum(cpu_ms(int(pid)) for pid in children) / 1_000
