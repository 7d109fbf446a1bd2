"""Making the full-text index over messages anew while people write and search.

The old index is put aside by renaming and a new one is filled behind the answers, as ever; until then searches read
the newest of what is not indexed yet themselves. A run that was killed is gone on with by the next one, and by any
server: what is to be indexed stands behind the mark, and the old index goes bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from . import fulltext_index
from .connection import open_store
from .fulltext import index_slices
from .schema import messages
from .store import Urgency

_RETIRED = "messages_fts_retired"
_IS_THERE = "SELECT COUNT(*) FROM sqlite_master WHERE name = ?"
# FTS5's own tables; what an index needs to be opened and dropped stays to the last.
_PARTS = tuple(
    f"DELETE FROM {_RETIRED}_{part} WHERE ({key}) IN (SELECT {key} FROM {_RETIRED}_{part} {rows} LIMIT 200)"  # noqa: S608
    for part, key, rows in (
        ("docsize", "id", ""),
        ("idx", "segid, term", ""),
        ("data", "id", "WHERE id > 10"),
    )
)


def reindex_messages(*, users_dir: str, slice_ms: float = 20) -> Iterator[tuple[int, int]]:
    """Fill a new index, or go on where an earlier run was stopped.

    Yields, for each slice, how many messages it indexed and up to which `seq` the index reaches after it; a slice holds
    the writer for about 20 ms.
    """
    open_store(users_dir).write(_begin, urgency=Urgency.INDEX)
    yield from index_slices(users_dir=users_dir, slice_ms=slice_ms)
    clear_retired_index(users_dir=users_dir)


def clear_retired_index(*, users_dir: str) -> None:
    """Remove what is left of an old index, slice by slice; a no-op where there is nothing."""
    store = open_store(users_dir)
    with store.reading() as connection:
        left = _has_retired(connection)
    while left:
        left = store.write(_clear_slice, urgency=Urgency.INDEX)


def newest_seq(*, users_dir: str) -> int:
    """The `seq` of the newest message, up to which an index reaches that is complete; 0 where there is none."""
    with open_store(users_dir).reading() as connection:
        return connection.execute(select(func.max(messages.c.seq))).scalar() or 0


def _begin(connection: Connection) -> None:
    if not _has_retired(connection):
        connection.exec_driver_sql(f"ALTER TABLE messages_fts RENAME TO {_RETIRED}")
        fulltext_index.create_table(connection)
        fulltext_index.advance(connection, [], up_to=0)


def _clear_slice(connection: Connection) -> bool:
    """Whether anything may be left."""
    if not _has_retired(connection):
        return False  # another process was first
    if not any(connection.exec_driver_sql(part).rowcount for part in _PARTS):
        connection.exec_driver_sql(f"DROP TABLE {_RETIRED}")
    return True


def _has_retired(connection: Connection) -> bool:
    return bool(connection.exec_driver_sql(_IS_THERE, (_RETIRED,)).scalar())
