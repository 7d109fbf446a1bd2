"""Checks that the data folder gives the guarantees that one or several machines rely on.

Files are replaced by renaming: a reader gets the old content or the new, whole. A network file system that can't do
that, or can't flush, is found when a server starts, and not when it loses data.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from .startup import DataFolderError


def probe(data_dir: Path) -> None:
    """Write, flush and replace a file in the folder, which is created if missing. Raises DataFolderError."""
    token = secrets.token_hex(8)
    kept, draft = data_dir / f".probe-{token}", data_dir / f".probe-{token}.new"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        _write(kept, "former")
        _write(draft, token)
        draft.replace(kept)
        _flush_folder(data_dir)
        if draft.exists() or kept.read_text(encoding="ascii") != token:
            raise OSError(errno.EIO, "a renamed file has another content than was written")
    except OSError as error:
        raise DataFolderError(data_dir, error) from error
    finally:
        for path in (kept, draft):
            with suppress(OSError):
                path.unlink()


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
