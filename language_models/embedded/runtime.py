"""Keeps an embedded chat model running: downloads its file, starts its process, restarts it after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from language_models.download.catalogue import CatalogueEntry, entry_named
from language_models.download.fetch import FetchCancelledError, Progress, fetch
from language_models.embedded.supervised_process import SLOTS, EmbeddedProcess
from language_models.errors import ModelUnavailableError
from language_models.ports import ModelState, Phase
from language_models.speed import SpeedMeter
from sentences import otherwise, say

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


log = logging.getLogger(__name__)
_CRASH_WINDOW = 300.0
_POLL_SECONDS = 0.2
_NOT_LOADED = say("model_not_loaded")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The location of a model's file, present or not. entry: its catalogue entry; None for a file of the operator's."""

    path: Path
    entry: CatalogueEntry | None = None

    @property
    def name(self) -> str:
        """The model's display name."""
        return self.entry.name if self.entry else self.path.stem

    def is_there(self) -> bool:
        """Whether the file exists with the right size."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return False
        return self.entry is None or size == self.entry.size

    def obtain(self, progress: Progress, stop: threading.Event) -> Path:
        """The file, downloaded if necessary. Raises ModelUnavailableError."""
        if self.entry is not None:
            return fetch(self.entry, folder=self.path.parent, progress=progress, cancelled=stop)
        if not self.path.is_file():
            raise ModelUnavailableError(say("no_model_file", path=str(self.path)))
        return self.path


def model_file(name: str, *, folder: Path) -> ModelFile:
    """The file that a setting names: a path, a name of the catalogue, or "" for the default. Raises ValueError."""
    if name.endswith(".gguf") or "/" in name or "\\" in name:
        return ModelFile(Path(name).expanduser().resolve())
    entry = entry_named(name, work="chat")
    return ModelFile(folder / entry.file, entry)


class Unloadable(Protocol):
    """A user of a `ProcessLimit`."""

    @property
    def last_used(self) -> float:
        """Time of the last use, on the monotonic clock."""

    def unload(self) -> bool:
        """End the process if it is idle; False while it is in use."""


class ProcessLimit:
    """At most `most` model processes at once, for the sake of memory: a new one replaces the least recently used."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._admitted: list[Unloadable] = []
        self._changed = threading.Condition()

    def acquire(self, user: Unloadable, *, stop: threading.Event) -> bool:
        """Wait until `user` may have a process. False when `stop` is set first."""
        with self._changed:
            while not stop.is_set():
                if len(self._admitted) < self._most:
                    self._admitted.append(user)
                    return True
                for other in sorted(self._admitted, key=lambda each: each.last_used):
                    if other.unload():
                        break
                # It calls `release` when its process has ended and the memory is free.
                self._changed.wait(_POLL_SECONDS)
        return False

    def release(self, user: Unloadable) -> None:
        """`user` has no process any more; a no-op if it had none."""
        with self._changed:
            if user in self._admitted:
                self._admitted.remove(user)
                self._changed.notify_all()


class EmbeddedRuntime:
    """One model in one child process, shared by all roles that name its file.

    `start` returns at once; a thread downloads, loads and watches. `state` and `process` may be read from any thread.
    """

    def __init__(
        self,
        file: ModelFile,
        *,
        limit: ProcessLimit | None = None,
        servers: int = 1,
        first_pause: float = 0.4,
        most_crashes: int = 5,
    ) -> None:
        """servers: how many processes on this machine have such a model, each its own; they share the cores.

        After a crash, restart in `first_pause` seconds, doubled each time.

        After `most_crashes` within five minutes the model fails until it is requested again. limit: admits the process
        and may have it unloaded; None: it stays loaded.
        """
        self.file = file
        self.gate = SlotGate(SLOTS)
        self.meter = SpeedMeter()
        self._first_pause = first_pause
        self._most_crashes = most_crashes
        self._limit = limit
        self._threads = max(1, (os.cpu_count() or 1) // servers)
        self._users = 0
        self._hint = ""
        self._unloading = False
        self._last_used = time.monotonic()
        self._state = ModelState(name=file.name, phase="waiting", detail=_NOT_LOADED)
        self._process: EmbeddedProcess | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.RLock()

    def start(self) -> None:
        """Begin to download and load, unless that has begun. After a failure, begin again."""
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._unloading = False
            self._set_state("loading", say("model_loading"))
            self._thread = threading.Thread(target=self._keep_running, name="embedded-model", daemon=True)
            self._thread.start()

    def state(self) -> ModelState:
        """Whether the model can answer."""
        return self._state

    @property
    def last_used(self) -> float:
        """Time when the last request ended, on the monotonic clock."""
        return self._last_used

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Prevent unloading within the block, also while the model is still being loaded."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._last_used = time.monotonic()

    def unload(self) -> bool:
        """End the process until the next request; False while it is in use."""
        with self._lock:
            if self._users:
                return False
            self._set_state("waiting", _NOT_LOADED)
            self._unloading = True
        self._kill()
        return True

    def process(self) -> EmbeddedProcess | None:
        """The process that serves requests now, or None."""
        return self._process if self._state.phase == "ready" else None

    def close(self) -> None:
        """End the process and the thread for good; blocks briefly."""
        with self._lock:
            self._unloading = False
            self._set_state("failed", say("model_closing"))
            self._stop.set()
        self._kill()
        if self._thread is not None:
            self._thread.join(timeout=10.0)

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()

    def _keep_running(self) -> None:
        try:
            path = self.file.obtain(self._note_progress, self._stop)
            if self._is_admitted():
                self._run(path)
        except FetchCancelledError:
            return
        except ModelUnavailableError as error:
            self._set_state("failed", error.message)
        except Exception as error:  # the thread must not end without a state that says so
            log.exception("the embedded model could not be kept running")
            self._set_state("failed", f"The embedded model can't be used: {error}")
        finally:
            if self._limit is not None:
                self._limit.release(self)

    def _is_admitted(self) -> bool:
        if self._limit is None:
            return True
        self._set_state("loading", say("model_waits_for_memory"))
        return self._limit.acquire(self, stop=self._stop)

    def _run(self, path: Path) -> None:
        crashes: deque[float] = deque(maxlen=self._most_crashes)
        while not self._is_over():
            self._run_once(path)
            if self._is_over():
                return
            crashes.append(time.monotonic())
            if len(crashes) == self._most_crashes and crashes[-1] - crashes[0] < _CRASH_WINDOW:
                advice = self._hint or "The server's log has the last lines of its process."
                sentence = f"{self.file.name} has crashed {self._most_crashes} times. {advice}"
                raise ModelUnavailableError(otherwise(sentence, "model_keeps_crashing"))
            self._stop.wait(self._first_pause * 2 ** (len(crashes) - 1))

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._unloading

    def _run_once(self, path: Path) -> None:
        self._set_state("loading", say("model_loading"))
        process = self._process = EmbeddedProcess()
        try:
            if self._is_over():
                return
            process.load(path, threads=self._threads)
            self._set_state("ready", "")
            log.info("%s is ready", self.file.name)
            code = process.wait()
            if not self._is_over():
                process.log_last_lines()
                self._hint = process.hint()
            self._set_state("loading", say("model_restarting"))
        finally:
            self._process = None
            process.close()
        if not self._is_over():
            log.warning("the embedded model's process ended with %s; it is started again", code)

    def _note_progress(self, done: int, total: int) -> None:
        share = done / total if total else None
        known = share is not None
        detail = (
            say("model_fetching", percent=int(100 * (share or 0)))
            if known
            else say("model_fetching_megabytes", megabytes=done >> 20)
        )
        self._set_state("fetching", detail, share)

    def _set_state(self, phase: Phase, detail: str, progress: float | None = None) -> None:
        progress = 1.0 if phase == "ready" else progress
        with self._lock:
            # `unload` and `close` have set the final state.
            if not self._is_over():
                self._state = ModelState(name=self.file.name, phase=phase, progress=progress, detail=detail)
