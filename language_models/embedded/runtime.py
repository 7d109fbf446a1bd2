"""Keeps one embedded model ready: fetches its file, holds its process, starts it again when it dies."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from language_models.download import fetch as fetching
from language_models.download.catalogue import CatalogueEntry, entry_named
from language_models.embedded.process import SLOTS, EmbeddedProcess
from language_models.embedded.slots import SlotGate
from language_models.errors import ModelUnavailableError
from language_models.ports import ModelState, Phase
from language_models.speed import SpeedMeter

log = logging.getLogger(__name__)
_CRASH_WINDOW = 300.0
_AT_REST = "The model is loaded when it is first needed."


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Where a model's file is, or will be.

    `entry`: what the catalogue knows of it; None for a file of the operator's.
    """

    path: Path
    entry: CatalogueEntry | None = None

    @property
    def name(self) -> str:
        """What people call the model."""
        return self.entry.name if self.entry else self.path.stem

    def is_there(self) -> bool:
        """Whether the file is there already, as far as its size tells."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return False
        return self.entry is None or size == self.entry.size

    def obtain(self, progress: fetching.Progress, stop: threading.Event) -> Path:
        """The file, fetched if need be. Raises ModelUnavailableError."""
        if self.entry is not None:
            return fetching.fetch(self.entry, folder=self.path.parent, progress=progress, cancelled=stop)
        if not self.path.is_file():
            raise ModelUnavailableError(f"There is no model file {self.path}. Check ANAPHORA_MAIN_MODEL.")
        return self.path


def model_file(name: str, *, folder: Path) -> ModelFile:
    """The file that a setting names: a path, a name of the catalogue, or "" for the default. Raises ValueError."""
    if name.endswith(".gguf") or "/" in name or "\\" in name:
        return ModelFile(Path(name).expanduser().resolve())
    entry = entry_named(name, work="chat")
    return ModelFile(folder / entry.file, entry)


class EmbeddedRuntime:
    """One model in one child process, shared by all roles that name its file.

    `start` returns at once; a thread fetches, loads and watches. `state` and `process` may be read from any thread.
    """

    def __init__(
        self, file: ModelFile, *, room: EmbeddedRoom | None = None, first_pause: float = 0.4, most_crashes: int = 5
    ) -> None:
        """Restart after a crash, `first_pause` seconds later, twice as long each time.

        After `most_crashes` within five minutes it is given up until somebody asks again. room: which its process needs
        a place in, and makes way in; None: it may always have one.
        """
        self.file = file
        self.gate = SlotGate(SLOTS)
        self.meter = SpeedMeter()
        self._first_pause = first_pause
        self._most_crashes = most_crashes
        self._room = room
        self._users = 0
        self._hint = ""
        self._resting = False
        self._last_used = time.monotonic()
        self._state = ModelState(name=file.name, phase="waiting", detail=_AT_REST)
        self._process: EmbeddedProcess | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.RLock()

    def start(self) -> None:
        """Begin to fetch and load, unless that has begun. After a failure, begin again."""
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._resting = False
            self._say("loading", "The model is being loaded.")
            self._thread = threading.Thread(target=self._keep_running, name="embedded-model", daemon=True)
            self._thread.start()

    def state(self) -> ModelState:
        """Whether it can answer."""
        return self._state

    @property
    def last_used(self) -> float:
        """When the last one who used it was done, on the monotonic clock."""
        return self._last_used

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it from resting for the block, also while it is still being loaded."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._last_used = time.monotonic()

    def rest(self) -> bool:
        """End the process until somebody asks again, unless somebody uses it; then False."""
        with self._lock:
            if self._users:
                return False
            self._say("waiting", _AT_REST)
            self._resting = True
        process = self._process
        if process is not None:
            process.kill()
        return True

    def process(self) -> EmbeddedProcess | None:
        """The process that answers now, or None."""
        return self._process if self._state.phase == "ready" else None

    def close(self) -> None:
        """End the process and the thread, for good; blocks for a moment."""
        with self._lock:
            self._resting = False
            self._say("failed", "The model was stopped, as the server stops.")
            self._stop.set()
        process = self._process
        if process is not None:
            process.kill()
        if self._thread is not None:
            self._thread.join(timeout=10.0)

    def _keep_running(self) -> None:
        try:
            path = self.file.obtain(self._note_progress, self._stop)
            if self._has_room():
                self._run(path)
        except fetching.FetchCancelledError:
            return
        except ModelUnavailableError as error:
            self._say("failed", error.message)
        except Exception as error:  # the thread must not end without a word
            log.exception("the embedded model could not be kept running")
            self._say("failed", f"The embedded model can't be used: {error}")
        finally:
            if self._room is not None:
                self._room.leave(self)

    def _has_room(self) -> bool:
        if self._room is None:
            return True
        self._say("loading", "The model waits for room in memory: another one is answering.")
        return self._room.enter(self, stop=self._stop)

    def _run(self, path: Path) -> None:
        crashes: deque[float] = deque(maxlen=self._most_crashes)
        while not self._is_over():
            self._run_once(path)
            if self._is_over():
                return
            crashes.append(time.monotonic())
            if len(crashes) == self._most_crashes and crashes[-1] - crashes[0] < _CRASH_WINDOW:
                advice = self._hint or "The server's log has the last lines of its process."
                raise ModelUnavailableError(f"{self.file.name} has crashed {self._most_crashes} times. {advice}")
            self._stop.wait(self._first_pause * 2 ** (len(crashes) - 1))

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._resting

    def _run_once(self, path: Path) -> None:
        self._say("loading", "The model is being loaded.")
        process = self._process = EmbeddedProcess()
        try:
            if self._is_over():
                return
            process.load(path)
            self._say("ready", "")
            log.info("%s is ready", self.file.name)
            code = process.wait()
            if not self._is_over():
                process.log_last_words()
                self._hint = process.hint()
            self._say("loading", "The model has crashed and is being started again.")
        finally:
            self._process = None
            process.close()
        if not self._is_over():
            log.warning("the embedded model's process ended with %s; it is started again", code)

    def _note_progress(self, done: int, total: int) -> None:
        share = done / total if total else None
        percent = f"{int(100 * share)} %" if share is not None else f"{done >> 20} MB"
        self._say("fetching", f"The model is being fetched: {percent}", share)

    def _say(self, phase: Phase, detail: str, progress: float | None = None) -> None:
        progress = 1.0 if phase == "ready" else progress
        with self._lock:
            # What was said at the end stands.
            if not self._is_over():
                self._state = ModelState(name=self.file.name, phase=phase, progress=progress, detail=detail)


_LOOK_AGAIN = 0.2


class Guest(Protocol):
    """What takes up room, and can be asked to make some."""

    @property
    def last_used(self) -> float:
        """When it was last of use, on the monotonic clock."""
        ...

    def rest(self) -> bool:
        """End its process if nobody uses it; False where somebody does."""
        ...


class EmbeddedRoom:
    """Room for `places` processes at once: whoever comes has the idle one end that was not used for longest."""

    def __init__(self, places: int = 1) -> None:
        self._places = places
        self._guests: list[Guest] = []
        self._changed = threading.Condition()

    def enter(self, guest: Guest, *, stop: threading.Event) -> bool:
        """Wait for a place, as long as all guests are in use. False when `stop` is set first."""
        with self._changed:
            while not stop.is_set():
                if len(self._guests) < self._places:
                    self._guests.append(guest)
                    return True
                for other in sorted(self._guests, key=lambda each: each.last_used):
                    if other.rest():
                        break
                # One that rests leaves when its process has ended, and its memory is free.
                self._changed.wait(_LOOK_AGAIN)
        return False

    def leave(self, guest: Guest) -> None:
        """Give the place back; nothing happens where there is none."""
        with self._changed:
            if guest in self._guests:
                self._guests.remove(guest)
                self._changed.notify_all()
