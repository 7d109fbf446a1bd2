"""The one thing tests replace: the language model behind an OpenAI-compatible address. It is a real HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.served_application import served


@dataclass(frozen=True)
class Answer:
    """What the model says, and how.

    calls: tools that it calls after its pieces, each a name and the arguments as JSON. deltas: the pieces it streams;
    delay: seconds before each. pause_after: after so many pieces it waits for
    `RecordingModel.release`. break_after: after so many it drops the connection. hang: it never says a thing.
    status: another than 200 is answered as an error, `retry_after` (seconds) with it. reading: so many tokens its
    prompt has; it tells, as llama.cpp's server does, that it read a tenth of them within two seconds. finish_reason:
    why it ends.
    """

    deltas: tuple[str, ...] = ("Understood.",)
    delay: float = 0.0
    pause_after: int | None = None
    break_after: int | None = None
    hang: bool = False
    status: int = 200
    retry_after: int | None = None
    calls: tuple[tuple[str, str], ...] = ()
    reading: int = 0
    finish_reason: str = "stop"


def saying(*deltas: str, **how: Any) -> Answer:
    """An answer that streams these pieces."""
    return Answer(deltas=deltas, **how)


def calling(*calls: tuple[str, str], saying: Sequence[str] = ()) -> Answer:
    """An answer that calls these tools, each a name and the arguments as JSON."""
    return Answer(deltas=tuple(saying), calls=calls)


Script = Answer | Callable[[dict[str, Any]], Answer]


def _first_scripts() -> dict[str, Script]:
    return {"main": saying("Understood."), "cheap": saying("A Short Title")}


@dataclass
class RecordingModel:
    """An OpenAI-compatible service on loopback that keeps every request body and answers by script.

    scripts: by model name, what to answer; a function is given the request body. Models: `main` and `cheap`.
    hung_up: how often somebody hung up, by the name of the model that was asked.
    """

    scripts: dict[str, Script] = field(default_factory=_first_scripts)
    context_window: int = 32_000
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    running: int = 0
    hung_up: Counter[str] = field(default_factory=Counter)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _loop: asyncio.AbstractEventLoop | None = None
    _gates: dict[int, tuple[Script, asyncio.Event]] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL is to be."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environ(self) -> dict[str, str]:
        """Settings of a server that uses this model for everything."""
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": "sk-loopback",
            "ANAPHORA_MAIN_MODEL": "openai:main",
            "ANAPHORA_CHEAP_MODEL": "openai:cheap",
            "ANAPHORA_CONTEXT_WINDOW": str(self.context_window),
            "ANAPHORA_PRICES": "openai:main=1/10",
        }

    def requests_to(self, model: str) -> list[dict[str, Any]]:
        """The bodies sent to one model, oldest first."""
        return [body for body in self.requests if body["model"] == model]

    def prompt(self, number: int = -1, *, model: str = "main") -> str:
        """All text of one request, its messages joined by a blank line."""
        return "\n\n".join(message["content"] for message in self.requests_to(model)[number]["messages"])

    def release(self) -> None:
        """Let paused answers go on, and later ones by today's scripts. A script that is set afterwards pauses again."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._open_gates, tuple(self.scripts.values()))

    def reset(self) -> None:
        """Be as new for the next test: nothing asked yet, one thing to say, nothing paused."""
        self.release()
        assert self._loop is not None
        # What the last test began is not the next one's, as long as it ends soon.
        with self._changed:
            self._changed.wait_for(lambda: not self.running, 0.5)
        self._loop.call_soon_threadsafe(self._gates.clear)
        with self._changed:
            self.scripts = _first_scripts()
            self.requests.clear()
            self.headers.clear()
            self.hung_up.clear()

    def wait_until(self, condition: Callable[[RecordingModel], bool], *, seconds: float = 60.0) -> None:
        """Wait until `condition` holds; it is asked again whenever a request comes, ends or is hung up on."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self), seconds), "the model never came to that state"

    @contextlib.contextmanager
    def serving(self) -> Iterator[RecordingModel]:
        """Serve from a thread of its own while the context lasts."""
        ready = threading.Event()
        stop = asyncio.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready, stop)), name="recording-model")
        thread.start()
        assert ready.wait(120)
        try:
            yield self
        finally:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(stop.set)
            thread.join(120)

    async def _serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        self._loop = asyncio.get_running_loop()
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._list_models)
        async with served(app) as self.port:
            ready.set()
            await stop.wait()

    async def _list_models(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {"data": [{"id": name, "context_length": self.context_window} for name in self.scripts]}
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        script = self.scripts[body["model"]]
        answer = script(body) if callable(script) else script
        self._note(body=body, headers=dict(request.headers), running=1)
        try:
            return await self._answered(request, body, answer, released=self._gate(script))
        except (asyncio.CancelledError, ConnectionResetError):
            self._note(hung_up=[body["model"]])
            raise asyncio.CancelledError from None  # either way the client has gone, which is no error of ours
        finally:
            self._note(running=-1)

    def _gate(self, script: Script) -> asyncio.Event:
        # The script is kept beside its event, so that no other gets its id.
        return self._gates.setdefault(id(script), (script, asyncio.Event()))[1]

    def _open_gates(self, scripts: Sequence[Script]) -> None:
        for script in scripts:
            self._gate(script)
        for _, released in self._gates.values():
            released.set()

    async def _answered(
        self, request: web.Request, body: dict[str, Any], answer: Answer, *, released: asyncio.Event
    ) -> web.StreamResponse:
        if answer.hang:
            await asyncio.Event().wait()
        if answer.status != 200:
            headers = {"Retry-After": str(answer.retry_after)} if answer.retry_after is not None else None
            error = {"error": {"message": "refused by the script", "type": "scripted"}}
            return web.json_response(error, status=answer.status, headers=headers)
        if not body.get("stream"):
            return web.json_response(_whole("".join(answer.deltas)))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if answer.reading:
            progress = {"total": answer.reading, "cache": 0, "processed": answer.reading // 10, "time_ms": 2000}
            await response.write(_event({"choices": [{"index": 0, "delta": {}}], "prompt_progress": progress}))
        async for piece in self._pieces(answer, released):
            if piece is None:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(_event({"choices": [{"index": 0, "delta": {"content": piece}}]}))
        for delta in _called(answer.calls):
            await response.write(_event({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]}))
        reason = "tool_calls" if answer.calls else answer.finish_reason
        await response.write(_event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": _USAGE}))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _pieces(self, answer: Answer, released: asyncio.Event) -> AsyncIterator[str | None]:
        for number, piece in enumerate(answer.deltas):
            if number == answer.break_after:
                yield None
            if number == answer.pause_after:
                await released.wait()
            if answer.delay:
                await asyncio.sleep(answer.delay)
            yield piece
        if answer.break_after is not None and answer.break_after >= len(answer.deltas):
            yield None
        if answer.pause_after is not None and answer.pause_after >= len(answer.deltas):
            await released.wait()

    def _note(
        self,
        *,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        running: int = 0,
        hung_up: Sequence[str] = (),
    ) -> None:
        with self._changed:
            if body is not None:
                self.requests.append(body)
                self.headers.append(headers or {})
            self.running += running
            self.hung_up.update(hung_up)
            self._changed.notify_all()


_USAGE = {"prompt_tokens": 7, "completion_tokens": 5}


def _called(calls: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The deltas of tool calls: the name first, then the arguments in two pieces."""
    for index, (name, arguments) in enumerate(calls):
        middle = len(arguments) // 2
        yield {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield {"index": index, "function": {"arguments": arguments[:middle]}}
        yield {"index": index, "function": {"arguments": arguments[middle:]}}


def _whole(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": _USAGE}


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
