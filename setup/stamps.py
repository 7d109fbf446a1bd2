"""Remembering what has been set up: inside of it, so that nothing is remembered of what somebody has deleted."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".anaphora"


def fingerprint(*files: Path) -> str:
    """A digest of the files' content; files that are not there count as empty."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes() if file.exists() else b""
        digest.update(b"%d:" % len(content) + content)
    return digest.hexdigest()


def is_current(folder: Path, name: str, mark: str) -> bool:
    """Whether `name` was last set up in `folder` under this `mark`, and to its end."""
    stamp = _stamp(folder, name)
    return stamp.exists() and stamp.read_text(encoding="utf-8") == mark


def remember(folder: Path, name: str, mark: str) -> None:
    """Note in `folder` that `name` is set up there under `mark`."""
    folder.mkdir(parents=True, exist_ok=True)
    _stamp(folder, name).write_text(mark, encoding="utf-8")


def forget(folder: Path, name: str) -> None:
    """Take the note back, before anything of `name` is changed."""
    _stamp(folder, name).unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Delete a folder where it is there; to others it is gone at once, also when the deleting is broken off."""
    waste = WORK / "waste"
    if waste.exists():
        shutil.rmtree(waste)
    if folder.exists():
        WORK.mkdir(exist_ok=True)
        folder.rename(waste)
        shutil.rmtree(waste)


def _stamp(folder: Path, name: str) -> Path:
    return folder / f".set-up-{name}"
