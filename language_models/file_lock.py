"""A lock between processes, held on a file and freed by the system when its holder dies."""

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
    """Hold the lock on `path`; `while_waiting` is called again and again until it is free, and must pause."""
    with path.open("ab") as file:
        while True:
            try:
                _try_lock(file)
                break
            except OSError:
                while_waiting()
        # Closing the file frees the lock. The file itself stays: removing it would let two processes hold two locks.
        yield
