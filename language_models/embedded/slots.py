"""Who may use the embedded model's slots: answers first, one small job at most, and only when no answer waits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

Urgency = Literal["answer", "job"]


@dataclass(slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    admitted: bool = False


class SlotGate:
    """`slots` places for requests of any event loop, fair within each urgency."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._jobs_running = 0
        self._waiting: dict[Urgency, deque[_Waiter]] = {"answer": deque(), "job": deque()}
        self._lock = threading.Lock()
        self._slots = slots
        self._held_for: float | None = None

    @contextlib.asynccontextmanager
    async def slot(self, urgency: Urgency) -> AsyncIterator[None]:
        """Hold a slot for the block. Leaving it, also by cancellation, lets the next one in."""
        await self._enter(urgency)
        begun = time.monotonic()
        try:
            yield
        finally:
            if urgency == "answer":
                self.note_answer(time.monotonic() - begun)
            self._leave(urgency)

    def note_answer(self, seconds: float) -> None:
        """Note how long an answer held its slot; the latest ones count most."""
        before = seconds if self._held_for is None else self._held_for
        self._held_for = (before + seconds) / 2

    def ahead(self, urgency: Urgency) -> int:
        """How many would be let in before one who came now."""
        with self._lock:
            answers = len(self._waiting["answer"])
            return answers if urgency == "answer" else answers + len(self._waiting["job"])

    def estimated_wait(self, urgency: Urgency) -> float | None:
        """Seconds until one who came now would be let in, by how long answers took lately; None: none was measured."""
        if self._held_for is None:
            return None
        # Those who hold a slot are half through, on average.
        return self._held_for * (self.ahead(urgency) + 0.5) / self._slots

    def waiting(self, urgency: Urgency) -> int:
        """How many wait."""
        with self._lock:
            return len(self._waiting[urgency])

    def is_free_for(self, urgency: Urgency) -> bool:
        """Whether one who came now would not have to wait."""
        with self._lock:
            return not self._waiting[urgency] and self._admits(urgency)

    async def _enter(self, urgency: Urgency) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._waiting[urgency] and self._admits(urgency):
                self._take(urgency)
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting[urgency].append(waiter)
        try:
            await waiter.turn
        except BaseException:
            self._withdraw(urgency, waiter)
            raise

    def _leave(self, urgency: Urgency) -> None:
        with self._lock:
            self._give_back(urgency)
            self._admit_next()

    def _withdraw(self, urgency: Urgency, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.admitted:
                self._give_back(urgency)  # the slot came in the same moment
            elif waiter in self._waiting[urgency]:
                self._waiting[urgency].remove(waiter)
            self._admit_next()

    def _admits(self, urgency: Urgency) -> bool:
        if urgency == "answer":
            return self._free > 0
        return self._free > 0 and self._jobs_running == 0 and not self._waiting["answer"]

    def _take(self, urgency: Urgency) -> None:
        self._free -= 1
        self._jobs_running += urgency == "job"

    def _give_back(self, urgency: Urgency) -> None:
        self._free += 1
        self._jobs_running -= urgency == "job"

    def _admit_next(self) -> None:
        for urgency in ("answer", "job"):
            queue = self._waiting[urgency]
            while queue and self._admits_from_queue(urgency):
                waiter = queue.popleft()
                # A loop that was closed with somebody waiting on it takes nothing.
                with contextlib.suppress(RuntimeError):
                    waiter.loop.call_soon_threadsafe(_let_in, waiter.turn)
                    waiter.admitted = True
                    self._take(urgency)

    def _admits_from_queue(self, urgency: Urgency) -> bool:
        return self._free > 0 and (urgency == "answer" or (self._jobs_running == 0 and not self._waiting["answer"]))


def _let_in(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
