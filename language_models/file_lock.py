"""A lock between processes, held on a file. The system releases it when its process dies."""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes], *, shared: bool) -> None:
        if not shared:  # this system knows no shared locks
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(file: IO[bytes], *, shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_LOOK_EVERY = 0.02
_UNKNOWN = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
"""Errors by which a file system says that it has no locks, rather than that another holds this one."""


@contextlib.contextmanager
def locked(path: Path, *, while_waiting: Callable[[], None], shared: bool = False) -> Iterator[None]:
    """Hold the lock on `path`. `while_waiting`, called until the lock is free, sleeps or raises.

    shared: with others who share it, who keep out whoever doesn't. Raises OSError where the file system knows no locks.
    """
    with path.open("ab+") as file:  # network file systems share the lock of a file that can be read
        while True:
            try:
                _try_lock(file, shared=shared)
                break
            except OSError as error:
                if error.errno in _UNKNOWN:
                    raise
                while_waiting()
        # Closing the file releases the lock. The file stays: after removing it, two processes could hold two locks.
        yield


@contextlib.contextmanager
def locked_within(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold the lock on `path`, whose folder is made. Raises OSError, TimeoutError where others hold it for longer."""
    until = time.monotonic() + seconds

    def wait() -> None:
        if time.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, "another process is writing for long")
        time.sleep(_LOOK_EVERY)

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(path, while_waiting=wait):
        yield
