"""The embedded model as a `ChatModel`: waits until it is ready, takes a slot, and speaks to its process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import orjson

from language_models.embedded.process import CONTEXT, EmbeddedProcess
from language_models.embedded.runtime import EmbeddedRuntime, ModelFile, model_file
from language_models.embedded.slots import Urgency
from language_models.errors import ModelFailedError, ModelUnavailableError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts
from language_models.openai.wire import RetryPolicy, request_body
from language_models.ports import ChatMessage, Completion, Delta, ModelState, Speed, collected
from language_models.speed import in_steps
from language_models.tokens import estimated_tokens

__all__ = ["EmbeddedChatModel", "EmbeddedRuntime", "ModelFile", "model_file"]

# Small models ramble at the usual 0.8, and repeat themselves at 0.
_TEMPERATURE = 0.3
_REPEAT_PENALTY = 1.05
# Tokens per second of the default model on two cores: what to expect of this machine until it is measured.
_USUAL_READING, _USUAL_WRITING = 60.0, 28.0
_LOOK_AGAIN = 0.2
_CONNECT_SECONDS = 5.0


class EmbeddedChatModel:
    """See `language_models.ports.ChatModel`. urgency: "job" for what gives way to answers."""

    def __init__(
        self,
        runtime: EmbeddedRuntime,
        *,
        urgency: Urgency = "answer",
        answer_tokens: int | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`answer_tokens`: what the operator allows an answer; None: what the prompt leaves of the slot."""
        self._runtime = runtime
        self._answer_tokens = answer_tokens
        self._timeouts = replace(timeouts or Timeouts(), connect=_CONNECT_SECONDS)
        self._urgency: Urgency = urgency
        # Requests of several loops may find a new process at once, and a client that is replaced has to be closed.
        self._lock = threading.Lock()
        self._client: ProviderChatModel | None = None
        self._client_speaks_to: EmbeddedProcess | None = None

    @property
    def name(self) -> str:
        """The model's name in the catalogue, or its file's."""
        return self._runtime.file.name

    @property
    def context_window(self) -> int:
        """Tokens of one slot."""
        return CONTEXT

    @property
    def answer_limit(self) -> int | None:
        """What the operator allows; None: what the prompt leaves of the slot."""
        return self._answer_tokens

    def count_tokens(self, text: str) -> int:
        """Characters / 3, rounded up."""
        return estimated_tokens(text)

    def state(self) -> ModelState:
        """Whether it is there, being fetched or loaded, or failed."""
        return self._runtime.state()

    def speed(self) -> Speed:
        """As the runtime timed its latest calls, those of other roles too; before the first, what two cores do."""
        measured = self._runtime.meter.speed()
        return Speed(reading=measured.reading or _USUAL_READING, writing=measured.writing or _USUAL_WRITING)

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> AsyncGenerator[Delta, None]:
        """The answer, step by step; before it, a status for each stage of waiting.

        A regex response format is honoured. Raises ModelUnavailableError when the model is not to be had.
        """
        body = request_body(
            self.name,
            messages,
            tools=tools,
            response_format=_constraint(response_format),
            max_tokens=max_tokens or self._answer_tokens,
            temperature=_TEMPERATURE if temperature is None else temperature,
            stop=stop,
        )
        # The runtime sees when it writes that nobody listens any more: so it is to write while it reads the prompt too.
        body |= {"repeat_penalty": _REPEAT_PENALTY, "cache_prompt": True, "return_progress": True}
        is_quoted = response_format is not None and response_format.get("type") == "regex"
        # From here on the model makes no way for another one.
        with self._runtime.in_use():
            async for status in self._until_ready():
                yield Delta(status=status)
            if not self._runtime.gate.is_free_for(self._urgency):
                yield Delta(status=self._why_waiting())
            async with self._runtime.gate.slot(self._urgency), aclosing(self._answer(body)) as steps:
                async for step in _unquoted(steps) if is_quoted else steps:
                    yield step

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> Completion:
        """The whole answer at once."""
        return await collected(
            self.stream(
                messages,
                response_format=response_format,
                max_tokens=max_tokens,
                temperature=temperature,
                stop=stop,
            )
        )

    async def aclose(self) -> None:
        """Close the connections; the process is the runtime's."""
        if self._client is not None:
            await self._client.aclose()

    def _why_waiting(self) -> str:
        gate = self._runtime.gate
        ahead, seconds = gate.ahead(self._urgency), gate.estimated_wait(self._urgency)
        place = f", and {ahead} more {'waits' if ahead == 1 else 'wait'} before you" if ahead else ""
        estimate = f" (about {in_steps(seconds)} s)" if seconds is not None else ""
        return f"Waiting for the model: it is answering others{place}{estimate}."

    async def _until_ready(self) -> AsyncGenerator[str, None]:
        said = ""
        self._runtime.start()
        while (state := self._runtime.state()).phase != "ready":
            if state.phase == "waiting":
                self._runtime.start()  # it had just gone to rest when it was asked
            if state.phase == "failed":
                raise ModelUnavailableError(state.detail, model=self.name)
            if state.detail != said:
                said = state.detail
                yield said
            await asyncio.sleep(_LOOK_AGAIN)

    async def _answer(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        async for status in self._until_ready():
            yield Delta(status=status)  # it crashed while we waited for a slot
        process = self._runtime.process()
        if process is None:
            raise ModelFailedError("The model has just crashed and is being started again. Try once more.")
        client = await self._client_of(process)
        try:
            async with aclosing(client.stream_request(body)) as steps:
                async for step in steps:
                    yield step
        except ModelUnavailableError as error:
            message = "The model crashed in the middle of this answer and is being started again. Try once more."
            raise ModelFailedError(message, model=self.name) from error

    async def _client_of(self, process: EmbeddedProcess) -> ProviderChatModel:
        with self._lock:
            if self._client is not None and self._client_speaks_to is process:
                return self._client
            stale, self._client_speaks_to = self._client, process
            client = self._client = ProviderChatModel(
                base_url=f"{process.url}/v1",
                api_key=process.api_key,
                model=self.name,
                context_window=CONTEXT,
                answer_tokens=self._answer_tokens,
                timeouts=self._timeouts,
                retries=RetryPolicy(attempts=1),
                meter=self._runtime.meter,
            )
        if stale is not None:
            await stale.aclose()
        return client


def _constraint(response_format: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The runtime has no regex format, but a JSON string may have a pattern."""
    if response_format is None or response_format.get("type") != "regex":
        return response_format
    pattern = str(response_format["pattern"]).removeprefix("^").removesuffix("$")
    schema = {"type": "string", "pattern": f"^({pattern})$"}
    return {"type": "json_schema", "json_schema": {"name": "text", "schema": schema}}


async def _unquoted(steps: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
    """The text out of a JSON string, as one step; cut off by max_tokens, as far as it goes."""
    quoted, last = [], Delta()
    async for step in steps:
        quoted.append(step.text)
        last = step
    text = "".join(quoted).strip()
    try:
        said = str(orjson.loads(text))
    except orjson.JSONDecodeError:
        said = text.strip('"')
    yield Delta(text=said, usage=last.usage, finish_reason=last.finish_reason)
