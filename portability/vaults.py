"""The files of people's vaults in a backup: which ones they are, and which names a backup may give them."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

log = logging.getLogger(__name__)
VAULTS = "users/vaults"
_REFUSED = re.compile(r"[\\\x00\ud800-\udfff]")


def is_vault_file(name: str) -> bool:
    """Whether `name`, a path below the data folder, is that of a file in an account's own vault."""
    parts = name.split("/")
    inside = len(parts) > len(VAULTS.split("/")) + 1 and name.startswith(f"{VAULTS}/")
    return inside and not _REFUSED.search(name) and not any(part in ("", ".", "..") for part in parts)


def vault_files(data_dir: Path) -> Iterator[str]:
    """The files of all vaults below `data_dir`, hidden ones too (the bin, a git repository).

    Passed over are symbolic links, what is no regular file, and names that no other system may be able to hold.
    Raises OSError for a folder that can't be read.
    """
    for folder, folders, names in os.walk(data_dir / VAULTS, onerror=_refuse):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            stored = path.relative_to(data_dir).as_posix()
            if not _is_regular(path):
                continue
            if is_vault_file(stored):
                yield stored
            else:
                log.warning("a file is not backed up because of its name: %r", stored)


def open_vault_file(file: Path) -> tuple[IO[bytes], os.stat_result] | None:
    """A file of a vault, opened for reading, and its state; None where it was deleted or replaced by another thing."""
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
