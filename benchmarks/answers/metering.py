"""What an answer takes: tokens of every request to the model, and CPU time of this process and the model's."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, ForwardingModel, Speed, Usage

from ..load import cpu_ms


class MeteredModel(ForwardingModel):
    """A model that notes the usage of each request, also of those that choose a tool."""

    def __init__(self, model: ChatModel, *, reading: float | None = None) -> None:
        """reading: the speed that the product is told, in tokens a second; None: as it is measured meanwhile."""
        super().__init__(model)
        self._reading = reading
        self.used: list[Usage] = []

    def speed(self) -> Speed:
        """See `ChatModel`."""
        speed: Speed = super().speed()
        return speed if self._reading is None else replace(speed, reading=self._reading)

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel`."""
        usage = Usage()
        try:
            async with aclosing(super().stream(messages, **options)) as steps:
                async for step in steps:
                    usage = step.usage or usage
                    yield step
        finally:
            self.used.append(usage)

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
