"""The embedded chat model: waits until it is loaded and a slot is free, then sends the request to its process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Unpack

import orjson

from language_models.embedded.runtime import EmbeddedRuntime, Urgency
from language_models.embedded.supervised_process import CONTEXT, EmbeddedProcess
from language_models.errors import ModelFailedError, ModelUnavailableError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts
from language_models.openai.failures import RetryPolicy
from language_models.openai.wire import request_body
from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, Speed, forwarded, json_format
from language_models.speed import in_steps
from sentences import say, together

# Small models ramble at the usual 0.8, and repeat themselves at 0.
_TEMPERATURE = 0.3
# At the usual one, one of eight answers quoted other lines of a document that had been read; at 0.1 none of forty.
_EXACT_TEMPERATURE = 0.1
_REPEAT_PENALTY = 1.05
# Tokens per second of the default model on two cores, assumed until they are measured.
_USUAL_READING, _USUAL_WRITING = 60.0, 28.0
_POLL_SECONDS = 0.2
_CONNECT_SECONDS = 5.0


class EmbeddedChatModel(ChatModel):
    """A `ChatModel` in a child process. urgency: "job" for requests that give way to answers."""

    def __init__(
        self,
        runtime: EmbeddedRuntime,
        *,
        urgency: Urgency = "answer",
        answer_tokens: int | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`answer_tokens`: the operator's limit of an answer; None: what the prompt leaves of the slot."""
        self._runtime = runtime
        self._answer_tokens = answer_tokens
        self._timeouts = replace(timeouts or Timeouts(), connect=_CONNECT_SECONDS)
        self._urgency: Urgency = urgency
        # Requests of several loops may see a new process at once, and the replaced client has to be closed.
        self._lock = threading.Lock()
        self._client: ProviderChatModel | None = None
        self._client_process: EmbeddedProcess | None = None

    # In the catalogue, or the stem of its file's name.
    name = forwarded("_runtime.file.name")
    # Of one slot.
    context_window = CONTEXT
    # The operator's; None: what the prompt leaves of the slot.
    answer_limit = forwarded("_answer_tokens")
    # What keeps a small model to the lines that were read for it.
    exact_temperature = _EXACT_TEMPERATURE
    state = forwarded("_runtime.state")

    def speed(self) -> Speed:
        """By the runtime's timings of its latest requests, of all roles; before the first, that of two cores."""
        measured = self._runtime.meter.speed()
        return Speed(reading=measured.reading or _USUAL_READING, writing=measured.writing or _USUAL_WRITING)

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """The answer, after a status for each stage of waiting.

        Honours a regex response format. Raises ModelUnavailableError when the model cannot be loaded.
        """
        response_format = options.get("response_format")
        is_quoted = response_format is not None and response_format.get("type") == "regex"
        options["response_format"] = _constraint(response_format)
        options["max_tokens"] = options.get("max_tokens") or self._answer_tokens
        if options.get("temperature") is None:
            options["temperature"] = _TEMPERATURE
        body = request_body(self.name, messages, options)
        # The runtime notices a closed connection when it writes; with progress events it writes while reading, too.
        # What has a form repeats it: the penalty also counts the end of the prompt, and forbids what stands there.
        penalty = _REPEAT_PENALTY if response_format is None else 1.0
        body |= {"repeat_penalty": penalty, "cache_prompt": True, "return_progress": True}
        # From here on the model is not unloaded for another one.
        with self._runtime.in_use():
            async for status in self._until_ready():
                yield Delta(status=status)
            if not self._runtime.gate.is_free_for(self._urgency):
                yield Delta(status=self._why_waiting())
            async with self._runtime.gate.slot(self._urgency), aclosing(self._answer(body)) as steps:
                async for step in _unquoted(steps) if is_quoted else steps:
                    yield step

    async def aclose(self) -> None:
        """Close the connections; the runtime closes the process."""
        if self._client is not None:
            await self._client.aclose()

    def _why_waiting(self) -> str:
        gate = self._runtime.gate
        ahead, seconds = gate.ahead(self._urgency), gate.estimated_wait(self._urgency)
        return together(
            say("model_busy"),
            say("ahead_of_you", count=ahead) if ahead else "",
            say("takes_about", seconds=in_steps(seconds)) if seconds is not None else "",
        )

    async def _until_ready(self) -> AsyncGenerator[str, None]:
        status = ""
        self._runtime.start()
        while (state := self._runtime.state()).phase != "ready":
            if state.phase == "waiting":
                self._runtime.start()  # it was unloaded just before this request
            if state.phase == "failed":
                raise ModelUnavailableError(state.detail, model=self.name)
            if state.detail != status:
                status = state.detail
                yield status
            await asyncio.sleep(_POLL_SECONDS)

    async def _answer(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        async for status in self._until_ready():
            yield Delta(status=status)  # it crashed while this request waited for a slot
        process = self._runtime.process()
        if process is None:
            raise ModelFailedError(say("model_crashed"))
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
            if self._client is not None and self._client_process is process:
                return self._client
            stale, self._client_process = self._client, process
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
    """The response format for the runtime, which knows no regex format but JSON strings with a pattern."""
    if response_format is None or response_format.get("type") != "regex":
        return response_format
    pattern = str(response_format["pattern"]).removeprefix("^").removesuffix("$")
    return json_format("text", {"type": "string", "pattern": f"^({pattern})$"})


async def _unquoted(steps: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
    """The text inside a JSON string, as one step; of a string that max_tokens cut, the part there is."""
    quoted, last = [], Delta()
    async for step in steps:
        quoted.append(step.text)
        last = step
    text = "".join(quoted).strip()
    try:
        unquoted = str(orjson.loads(text))
    except orjson.JSONDecodeError:
        unquoted = text.strip('"')
    yield Delta(text=unquoted, usage=last.usage, finish_reason=last.finish_reason)
