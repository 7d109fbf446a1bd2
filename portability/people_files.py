"""The files of people in a backup, of vaults and of messages: which ones they are, and which names they may have."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

log = logging.getLogger(__name__)
VAULTS = "users/vaults"
ATTACHMENTS = "users/attachments"
_FOLDERS = (VAULTS, ATTACHMENTS)
_UNFINISHED = f"{ATTACHMENTS}/incoming/"
"""Where files lie that are being uploaded."""
_REFUSED = re.compile(r"[\\\x00\ud800-\udfff]")


def is_own_file(name: str) -> bool:
    """Whether `name`, a path below the data folder, is that of a file of a person, in a folder of their own."""
    parts = name.split("/")
    inside = name.startswith(tuple(f"{folder}/" for folder in _FOLDERS)) and not name.startswith(_UNFINISHED)
    return (
        inside and len(parts) > 3 and not _REFUSED.search(name) and not any(part in ("", ".", "..") for part in parts)
    )


def own_files(data_dir: Path) -> Iterator[str]:
    """The files of all people below `data_dir`, hidden ones of vaults too (the bin, a git repository).

    Passed over are symbolic links, what is no regular file, and names that no other system may be able to hold.
    Raises OSError for a folder that can't be read.
    """
    for each in _FOLDERS:
        for folder, folders, names in os.walk(data_dir / each, onerror=_refuse):
            folders.sort()
            yield from _storable(data_dir, [Path(folder, name) for name in sorted(names)])


def _storable(data_dir: Path, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        stored = path.relative_to(data_dir).as_posix()
        if stored.startswith(_UNFINISHED) or not _is_regular(path):
            continue
        if is_own_file(stored):
            yield stored
        else:
            log.warning("a file is not backed up because of its name: %r", stored)


def open_own_file(file: Path) -> tuple[IO[bytes], os.stat_result] | None:
    """A file of a person, opened for reading, and its state; None where it was deleted or replaced by another thing."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    opened = os.fdopen(descriptor, "rb")
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return opened, status
    opened.close()
    return None


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
