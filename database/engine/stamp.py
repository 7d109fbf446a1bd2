"""The stamp beside a SQLite file: in which state this program left it, and whether SQLite's check has passed on it.

A file whose state is that of its stamp was changed by this program alone since the check. Any other program that
writes, copies or replaces the file leaves another state, and so does a killed checkpoint. What was not yet moved out of
the log changes nothing in the file. Damage below the file system (a failing disk) leaves no trace in the state.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .sqlite import LogMoved, connect_for_checkpoints, move_log

log = logging.getLogger(__name__)
_SALTS = slice(16, 24)
"""Of the log: two random numbers, which change whenever the log begins anew."""
_locks: dict[Path, threading.Lock] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """What is stored. salts: of the log, "" without one. moved: how many of the log's pages the file has got."""

    state: tuple[int, ...]
    salts: str
    moved: int
    is_checked: bool


class Move:
    """How far the log was moved into the file; unknown until `note` is called."""

    def __init__(self, log_file: Path) -> None:
        self._log = log_file
        self.salts = ""
        self.moved: int | None = None

    def note(self, made: LogMoved | None) -> LogMoved | None:
        """Remember what `move_log` returned. Best called while nobody can begin the log anew."""
        self.moved = None if made is None else made.moved
        self.salts = _salts(self._log)
        return made


class FileStamp:
    """The stamp of one file, used by one thread at a time. Where a file can't be read, the stamp is not right."""

    def __init__(self, file: Path) -> None:
        # SQLite keeps the log beside the file that a link leads to.
        real = file.resolve()
        self._file = real
        self._log = real.with_name(f"{real.name}-wal")
        self._stamp = real.with_name(f"{real.name}-checked")
        self._lock = _locks.setdefault(real, threading.Lock())

    def is_checked(self) -> bool:
        """Whether the file has passed the check, and only this program has changed it since."""
        with self._lock:
            stamp = self._right()
        return stamp is not None and stamp.is_checked

    @contextmanager
    def moving(self, *, begins: bool = False) -> Iterator[Move]:
        """Around what moves the log into the file: the stamp stays right if it was right before.

        begins: make a stamp that is not checked where none is right.
        """
        move = Move(self._log)
        with self._lock:
            stamp = self._right()
            yield move
            if stamp is None and begins:
                stamp = _Stamp(state=(), salts="", moved=0, is_checked=False)
            if stamp is not None:
                self._renew(stamp, move)

    def begin_check(self) -> None:
        """Stamp the file as one that is being checked: from now on, changes by others are noticed."""
        with self._lock:
            is_right = self._right() is not None
        if not is_right:
            with suppress(OSError, sqlite3.Error):
                self._move(begins=True)

    def end_check(self) -> bool:
        """The check has passed: whether only this program has changed the file since it began."""
        with self._lock:
            stamp = self._right()
            if stamp is not None and not stamp.is_checked:
                self._write(replace(stamp, is_checked=True))
            return stamp is not None

    def remove(self) -> None:
        """The file is not to be trusted."""
        with suppress(OSError):
            self._stamp.unlink(missing_ok=True)

    def remove_if_log_is_cut(self) -> None:
        """Remove the stamp where the log has lost pages whose successors the file has got: the two don't fit together.

        To be called before the store is written: new pages would fill the gap.
        """
        with self._lock:
            stamp = self._right()
        if stamp is None or not stamp.moved or stamp.salts != _salts(self._log):
            return
        try:
            made = self._move()
        except (OSError, sqlite3.Error):
            self.remove()
        else:
            if made is not None and made.pages < stamp.moved:
                self.remove()

    def _move(self, *, begins: bool = False) -> LogMoved | None:
        with self.moving(begins=begins) as move, closing(connect_for_checkpoints(self._file)) as connection:
            return move.note(move_log(connection))

    def _renew(self, stamp: _Stamp, move: Move) -> None:
        if move.moved is not None:
            self._write(replace(stamp, state=self._state(), salts=move.salts, moved=move.moved))
        elif not _salts(self._log):  # all was moved, and the log is gone
            self._write(replace(stamp, state=self._state(), salts="", moved=0))

    def _right(self) -> _Stamp | None:
        """The stamp, if the file is in its state."""
        try:
            stored = json.loads(self._stamp.read_bytes())
            stamp = _Stamp(**{**stored, "state": tuple(stored["state"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None
        state = self._state()
        return stamp if state and stamp.state == state else None

    def _write(self, stamp: _Stamp) -> None:
        # Not flushed to the disk: a stamp that a power cut took is one that is not right.
        draft = self._stamp.with_name(f"{self._stamp.name}.{os.getpid()}")
        try:
            draft.write_text(json.dumps(asdict(stamp)), encoding="ascii")
            draft.replace(self._stamp)
        except OSError as error:
            log.warning("%s can't be written, so the next start checks the file first: %s", self._stamp.name, error)
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def _state(self) -> tuple[int, ...]:
        """What tells one state of the file from others; () where it can't be read.

        The file is not opened: to close it again would take from this process SQLite's locks of it, as POSIX has it
        (https://sqlite.org/howtocorrupt.html, 2.2), and whoever reads it next would move the log away from under us.
        """
        try:
            status = self._file.stat()
        except OSError:
            return ()
        # The system alone sets `st_ctime`: who sets the time of change back changes this one.
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _salts(log_file: Path) -> str:
    try:
        with log_file.open("rb") as file:
            return file.read(_SALTS.stop)[_SALTS].hex()
    except OSError:
        return ""
