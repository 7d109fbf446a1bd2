"""Files and folders that survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path

_FLUSHES_FOLDERS = os.name != "nt"
_ACCESS = os.O_RDONLY if _FLUSHES_FOLDERS else os.O_RDWR


def flush_to_disk(path: Path) -> None:
    """Flush a file's content, or the names in a folder, to disk. Raises OSError.

    Windows cannot flush a folder: there, this does nothing for one.
    """
    if not _FLUSHES_FOLDERS and path.is_dir():
        return
    descriptor = os.open(path, _ACCESS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_durably(draft: Path, file: Path) -> None:
    """Rename `draft` to `file`, flushed so that the new content is there after a power failure. Raises OSError."""
    flush_to_disk(draft)
    draft.replace(file)
    flush_to_disk(file.parent)
