"""Markers of completed set-up steps, kept inside the folder they describe, so that they are deleted with it."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".anaphora"
_removing = threading.Lock()  # there is one `waste`


@contextmanager
def set_up_alone() -> Iterator[None]:
    """Concurrent runs of set-up wait for each other."""
    WORK.mkdir(exist_ok=True)
    with (WORK / "setup.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fingerprint(*files: Path) -> str:
    """A digest of the files' content; missing files count as empty."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes() if file.exists() else b""
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()


def is_current(folder: Path, name: str, mark: str) -> bool:
    """Whether `name` was completely set up in `folder` under this `mark`."""
    stamp = _stamp(folder, name)
    return stamp.exists() and stamp.read_text(encoding="utf-8") == mark


def remember(folder: Path, name: str, mark: str) -> None:
    """Mark `name` as set up in `folder` under `mark`."""
    folder.mkdir(parents=True, exist_ok=True)
    _stamp(folder, name).write_text(mark, encoding="utf-8")


def forget(folder: Path, name: str) -> None:
    """Remove the marker, before anything of `name` is changed."""
    _stamp(folder, name).unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Delete a folder if it exists; it disappears atomically, even if the deletion is interrupted."""
    waste = WORK / "waste"
    with _removing:
        if waste.exists():
            shutil.rmtree(waste)
        if folder.exists():
            WORK.mkdir(exist_ok=True)
            folder.rename(waste)
            shutil.rmtree(waste)


def _stamp(folder: Path, name: str) -> Path:
    return folder / f".set-up-{name}"
