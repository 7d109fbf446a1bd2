"""The embedded models that people choose share a limit of processes."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, ProcessLimit, model_file
from language_models.ports import ChatMessage, ModelState
from settings import load_settings

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


class Process:
    """A process that ends when it is asked to and is not busy."""

    def __init__(self, limit: ProcessLimit, *, last_used: float, busy: bool = False) -> None:
        self.last_used = last_used
        self.busy = busy
        self.was_asked_to_unload = threading.Event()
        self._limit = limit

    def unload(self) -> bool:
        self.was_asked_to_unload.set()
        if not self.busy:
            self._limit.release(self)
        return not self.busy

    def enter(self) -> bool:
        return self._limit.acquire(self, stop=threading.Event())

    def is_in(self) -> bool:
        before = self._limit.acquire(self, stop=_set())
        return not before and self in self._limit._admitted


def _set() -> threading.Event:
    stop = threading.Event()
    stop.set()
    return stop


def test_a_new_process_replaces_the_least_recently_used() -> None:
    limit = ProcessLimit(most=2)
    old, new, newest = (Process(limit, last_used=when) for when in (1.0, 2.0, 3.0))
    assert new.enter()
    assert old.enter()
    assert newest.enter()
    assert [process.is_in() for process in (old, new, newest)] == [False, True, True]


def test_a_process_in_use_stays_until_it_is_idle() -> None:
    limit = ProcessLimit()
    busy, other = Process(limit, last_used=1.0, busy=True), Process(limit, last_used=2.0)
    assert busy.enter()
    entered = threading.Event()
    thread = threading.Thread(target=lambda: other.enter() and entered.set())
    thread.start()
    assert busy.was_asked_to_unload.wait(60)
    assert busy.is_in()
    assert not entered.is_set()
    busy.busy = False
    assert entered.wait(60)
    thread.join(60)
    assert not busy.is_in()


def test_a_process_that_is_stopped_while_it_waits_is_not_admitted() -> None:
    limit = ProcessLimit()
    busy = Process(limit, last_used=1.0, busy=True)
    assert busy.enter()
    assert limit.acquire(Process(limit, last_used=2.0), stop=_set()) is False


async def _phase(runtime: EmbeddedRuntime, phase: str) -> ModelState:
    async with asyncio.timeout(120):
        while runtime.state().phase != phase:
            await asyncio.sleep(0.02)
    return runtime.state()


@pytest.mark.embedded
@pytest.mark.proof
def test_of_two_models_that_were_chosen_one_has_a_process_and_the_other_comes_back_when_asked(tmp_path: Path) -> None:
    small = model_file("small", folder=load_settings().model_dir)
    assert small.is_there(), "No model is set up: run `make test`, or `.ci/run model`."
    # The same bytes under another name are another model.
    twin = tmp_path / "twin.gguf"
    twin.symlink_to(small.path)
    limit = ProcessLimit()
    first = EmbeddedRuntime(small, limit=limit)
    second = EmbeddedRuntime(type(small)(twin), limit=limit)

    async def by_turns() -> tuple[str, str, str]:
        models = EmbeddedChatModel(first), EmbeddedChatModel(second)
        try:
            await models[0].complete(HELLO, max_tokens=1)
            stream = models[0].stream(HELLO, max_tokens=64)
            await anext(stream)
            second.start()
            await _phase(second, "loading")
            kept = first.state().phase
            await stream.aclose()
            await _phase(second, "ready")
            rested = first.state().phase
            await models[0].complete(HELLO, max_tokens=1)
            return kept, rested, second.state().phase
        finally:
            for model in models:
                await model.aclose()

    try:
        assert asyncio.run(by_turns()) == ("ready", "waiting", "waiting")
    finally:
        first.close()
        second.close()
