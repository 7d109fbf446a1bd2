"""Remembering what has been set up, by the content of the files that it was made from."""

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


def is_current(name: str, mark: str) -> bool:
    """Whether `name` was last set up under this `mark`."""
    stamp = WORK / "stamps" / name
    return stamp.exists() and stamp.read_text(encoding="ascii") == mark


def remember(name: str, mark: str) -> None:
    """Note that `name` is set up under `mark`."""
    stamp = WORK / "stamps" / name
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(mark, encoding="ascii")


def remove(folder: Path) -> None:
    """Delete a folder where it is there."""
    if folder.exists():
        shutil.rmtree(folder)
