"""Empty stores for tests: made once per run and copied, since making one costs ten times what copying it does."""

from __future__ import annotations

import shutil
import sqlite3
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from database.connection import close_store, open_store
from database.engine.database import Database
from truth_management_system import PKBConfig, PKBDatabase, get_database, get_memory_database


@cache
def _template() -> TemporaryDirectory[str]:
    """A folder with an empty store of today's schema, deleted when the run ends."""
    folder = TemporaryDirectory(prefix="store-template-")
    open_store(folder.name)
    close_store(folder.name)
    get_database(PKBConfig(db_path=Path(folder.name) / "pkb.sqlite")).close()
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


def put_empty_knowledge_base(users_dir: str | Path) -> None:
    """Put an empty knowledge base beside the store in `users_dir`; what lies there already stays."""
    target = Path(users_dir) / "pkb.sqlite"
    if not target.exists():
        shutil.copy(Path(_template().name) / target.name, target)


def memory_image(base: PKBDatabase) -> bytes:
    """All that a knowledge base in memory holds, for `opened_image`."""
    return _connection(base).serialize()


def opened_image(image: bytes) -> PKBDatabase:
    """A knowledge base in memory that holds what another one held."""
    base = PKBDatabase(PKBConfig(db_path=":memory:")).connect()
    _connection(base).deserialize(image)
    return base


@cache
def _empty_image() -> bytes:
    with get_memory_database() as base:
        return memory_image(base)


def empty_memory_knowledge_base() -> PKBDatabase:
    """An empty knowledge base that ends with the process, as `get_memory_database` makes it."""
    return opened_image(_empty_image())


def _connection(base: PKBDatabase) -> sqlite3.Connection:
    """The one connection of a knowledge base in memory, between two transactions."""
    with base.store.writing(timeout=10) as connection:
        return cast(sqlite3.Connection, connection.connection.driver_connection)
