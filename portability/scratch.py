"""Working folders that are removed when they are no longer used; those of killed processes by the next process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from language_models.file_lock import locked

_IN_USE = "in_use"


@contextmanager
def scratch_folder(parent: Path, *, prefix: str) -> Iterator[Path]:
    """A new folder in `parent`, whose name begins with `prefix`, locked while it is used."""
    with tempfile.TemporaryDirectory(dir=parent, prefix=prefix, ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        with locked(scratch / _IN_USE, while_waiting=_give_up):
            yield scratch


def remove_abandoned(parent: Path, *, prefix: str) -> None:
    """Remove the working folders of killed processes in `parent`; those that are used are locked."""
    for lock in parent.glob(f"{prefix}*/{_IN_USE}"):
        with suppress(OSError), locked(lock, while_waiting=_give_up):
            shutil.rmtree(lock.parent)


def _give_up() -> None:
    raise BlockingIOError
