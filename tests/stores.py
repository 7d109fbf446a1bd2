"""Empty stores for tests: made once per run and copied, since making one costs ten times what copying it does."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from database.connection import close_store, open_store
from database.engine.database import Database


@cache
def _template() -> TemporaryDirectory[str]:
    """A folder with an empty store of today's schema, deleted when the run ends."""
    folder = TemporaryDirectory(prefix="store-template-")
    open_store(folder.name)
    close_store(folder.name)
    return folder


def restarted(database: Database) -> Database:
    """The same store as a new process would see it."""
    close_store(database.folder)
    return open_store(database.folder)


def put_empty_store(users_dir: str | Path) -> str:
    """Put an empty store into `users_dir`, which is made where it is missing. Returns `users_dir` as text."""
    target = Path(users_dir)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(_template().name) / "users.db", target)
    return str(target)
