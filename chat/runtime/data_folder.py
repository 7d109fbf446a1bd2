"""Checks that the data folder gives the guarantees that one or several machines rely on.

Files are replaced by renaming: a reader gets the old content or the new, whole. A network file system that can't do
that, or can't flush, is found when a server starts, and not when it loses data.
"""

from __future__ import annotations

import errno
import secrets
from contextlib import suppress
from pathlib import Path

from database.engine.durability import flush_to_disk, replace_durably

from .startup import DataFolderError


def probe(data_dir: Path) -> None:
    """Write, flush and replace a file in the folder, which is created if missing. Raises DataFolderError."""
    token = secrets.token_hex(8)
    kept, draft = data_dir / f".probe-{token}", data_dir / f".probe-{token}.new"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        kept.write_text("former", encoding="ascii")
        flush_to_disk(kept)
        draft.write_text(token, encoding="ascii")
        replace_durably(draft, kept)
        if draft.exists() or kept.read_text(encoding="ascii") != token:
            raise OSError(errno.EIO, "a renamed file has another content than was written")
    except OSError as error:
        raise DataFolderError(data_dir, error) from error
    finally:
        for path in (kept, draft):
            with suppress(OSError):
                path.unlink()
