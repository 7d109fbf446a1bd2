"""Priority queue for the embedded model's slots: answers first; one job at most, and only while no answer waits."""

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
    """Admits `slots` requests at once, of any event loop, in order of arrival within each urgency."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._jobs_running = 0
        self._waiting: dict[Urgency, deque[_Waiter]] = {"answer": deque(), "job": deque()}
        self._lock = threading.Lock()
        self._slots = slots
        self._held_for: float | None = None

    @contextlib.asynccontextmanager
    async def slot(self, urgency: Urgency) -> AsyncIterator[None]:
        """Hold a slot within the block. Leaving it, also by cancellation, admits the next request."""
        await self._enter(urgency)
        begun = time.monotonic()
        try:
            yield
        finally:
            if urgency == "answer":
                self.note_answer(time.monotonic() - begun)
            self._leave(urgency)

    def note_answer(self, seconds: float) -> None:
        """Record how long an answer held its slot, for a moving average."""
        before = seconds if self._held_for is None else self._held_for
        self._held_for = (before + seconds) / 2

    def ahead(self, urgency: Urgency) -> int:
        """How many waiting requests would be admitted before a new one."""
        with self._lock:
            answers = len(self._waiting["answer"])
            return answers if urgency == "answer" else answers + len(self._waiting["job"])

    def estimated_wait(self, urgency: Urgency) -> float | None:
        """Seconds until a new request would be admitted, by the average of recent answers; None: not measured yet."""
        if self._held_for is None:
            return None
        # Running requests are half done, on average.
        return self._held_for * (self.ahead(urgency) + 0.5) / self._slots

    def waiting(self, urgency: Urgency) -> int:
        """How many requests wait."""
        with self._lock:
            return len(self._waiting[urgency])

    def is_free_for(self, urgency: Urgency) -> bool:
        """Whether a new request would be admitted at once."""
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
                self._give_back(urgency)  # it was admitted in the same moment
            elif waiter in self._waiting[urgency]:
                self._waiting[urgency].remove(waiter)
            self._admit_next()

    def _admits(self, urgency: Urgency) -> bool:
        is_job_allowed = self._jobs_running == 0 and not self._waiting["answer"]
        return self._free > 0 and (urgency == "answer" or is_job_allowed)

    def _take(self, urgency: Urgency) -> None:
        self._free -= 1
        self._jobs_running += urgency == "job"

    def _give_back(self, urgency: Urgency) -> None:
        self._free += 1
        self._jobs_running -= urgency == "job"

    def _admit_next(self) -> None:
        for urgency in ("answer", "job"):
            queue = self._waiting[urgency]
            while queue and self._admits(urgency):
                waiter = queue.popleft()
                # The loop of a waiting request may have been closed.
                with contextlib.suppress(RuntimeError):
                    waiter.loop.call_soon_threadsafe(_let_in, waiter.turn)
                    waiter.admitted = True
                    self._take(urgency)


def _let_in(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
