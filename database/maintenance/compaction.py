"""Making sure that what was deleted is not in the files any more.

SQLite leaves deleted bytes in free pages and in its log, and FTS5 leaves deleted words in its index until it merges.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from database.engine.database import Database, Urgency
from database.engine.errors import StorageBusyError
from database.engine.sqlite import BUSY_TIMEOUT_MS, DRIVER_ERRORS, connect_sqlite, store_error
from database.engine.stamp import FileStamp
from database.search.vocabulary import forget_unsaid

_PAGES_A_MERGE = 200
_UNCHANGED = 2
"""A merge that changes fewer rows than this had nothing to do."""

Run = Callable[[str, tuple[Any, ...]], int]
"""Runs a statement in a transaction of its own; how many rows the transaction changed."""


def merge_fulltext(index: str, run: Run) -> None:
    """Merge an FTS5 index into one segment, which holds no deleted words, in short transactions."""
    statement = f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)"  # noqa: S608 - a name of ours
    changed = run(statement, (-_PAGES_A_MERGE,))
    while changed >= _UNCHANGED:
        changed = run(statement, (_PAGES_A_MERGE,))


def merge_word_indexes(*, database: Database) -> None:
    """Forget the words that no message says any more, and `merge_fulltext` all indexes of words.

    A database server clears its indexes by itself.
    """
    forget_unsaid(database=database)
    if database.backend.file is None:
        return

    def run(statement: str, parameters: tuple[Any, ...]) -> int:
        def job(connection: Connection) -> int:
            before = _total_changes(connection)
            connection.exec_driver_sql(statement, parameters)
            return _total_changes(connection) - before

        return database.write(job, urgency=Urgency.INDEX)

    for index in ("messages_fts", "document_terms", "passage_terms"):
        merge_fulltext(index, run)


def compact_file(path: Path) -> None:
    """Rewrite a SQLite file without its free space, and empty its log.

    Writers wait meanwhile: about a second for 100 MB. It needs room for the file once more. Raises StoreError, also
    where the log can't be emptied, since somebody reads for long.
    """
    try:
        with FileStamp(path).moving(), closing(connect_sqlite(path)) as connection:
            # The rewritten file is built beside, which may take more than fits into memory.
            connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            _empty_log(connection)
    except DRIVER_ERRORS as error:
        raise store_error(error) from error


def _empty_log(connection: sqlite3.Connection) -> None:
    # Whoever makes a checkpoint at this moment is not waited for by SQLite.
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > until:
            raise StorageBusyError("The log can't be emptied while others read it. Try again in a moment.")
        time.sleep(0.01)


def _total_changes(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())
