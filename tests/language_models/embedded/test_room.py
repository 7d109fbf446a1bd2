"""Embedded models that people choose share a place in memory."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRoom, EmbeddedRuntime, model_file
from language_models.ports import ChatMessage, ModelState
from settings import load_settings

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


class Guest:
    """Takes up room, and leaves when it is asked to and is not busy."""

    def __init__(self, room: EmbeddedRoom, *, last_used: float, busy: bool = False) -> None:
        self.last_used = last_used
        self.busy = busy
        self.was_asked_to_leave = threading.Event()
        self._room = room

    def rest(self) -> bool:
        self.was_asked_to_leave.set()
        if not self.busy:
            self._room.leave(self)
        return not self.busy

    def enter(self) -> bool:
        return self._room.enter(self, stop=threading.Event())

    def is_in(self) -> bool:
        before = self._room.enter(self, stop=_set())
        return not before and self in self._room._guests


def _set() -> threading.Event:
    stop = threading.Event()
    stop.set()
    return stop


def test_whoever_comes_takes_the_place_of_the_one_that_was_not_used_for_longest() -> None:
    room = EmbeddedRoom(places=2)
    old, new, newest = (Guest(room, last_used=when) for when in (1.0, 2.0, 3.0))
    assert new.enter()
    assert old.enter()
    assert newest.enter()
    assert [guest.is_in() for guest in (old, new, newest)] == [False, True, True]


def test_one_that_is_in_use_keeps_its_place_until_it_is_idle() -> None:
    room = EmbeddedRoom()
    busy, other = Guest(room, last_used=1.0, busy=True), Guest(room, last_used=2.0)
    assert busy.enter()
    entered = threading.Event()
    thread = threading.Thread(target=lambda: other.enter() and entered.set())
    thread.start()
    assert busy.was_asked_to_leave.wait(60)
    assert busy.is_in()
    assert not entered.is_set()
    busy.busy = False
    assert entered.wait(60)
    thread.join(60)
    assert not busy.is_in()


def test_one_that_is_stopped_while_it_waits_gets_no_place() -> None:
    room = EmbeddedRoom()
    busy = Guest(room, last_used=1.0, busy=True)
    assert busy.enter()
    assert room.enter(Guest(room, last_used=2.0), stop=_set()) is False


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
    room = EmbeddedRoom()
    first = EmbeddedRuntime(small, room=room)
    second = EmbeddedRuntime(type(small)(twin), room=room)

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
