"""A lock between processes, held on a file. The system releases it when its process dies."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(path: Path, *, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock on `path`. `while_waiting`, called until the lock is free, sleeps or raises."""
    with path.open("ab") as file:
        while True:
            try:
                _try_lock(file)
                break
            except OSError:
                while_waiting()
        # Closing the file releases the lock. The file stays: after removing it, two processes could hold two locks.
        yield
