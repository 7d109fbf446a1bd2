"""Filling the full-text index asynchronously, and rebuilding it while people write and search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from sqlalchemy import Connection, func, select

from database.engine.database import Database, Urgency
from database.schema import messages
from database.search.mending import IndexMending

from . import index as fulltext_index
from . import lengths, postgresql, vocabulary
from .index import IndexedText, indexed_text
from .owned import INDEXES


def index_pending(*, database: Database, slice_ms: float = 20) -> int:
    """Index pending messages, in slices that hold the writer for about `slice_ms`; returns how many messages.

    Messages after an answer that is still being written wait for it; searches read this tail directly. Words that no
    message contains any more are deleted.
    """
    indexed = sum(indexed for indexed, _ in index_slices(database=database, slice_ms=slice_ms))
    vocabulary.forget_unsaid(database=database)
    return indexed


def index_slices(*, database: Database, slice_ms: float = 20, queues_vectors: bool = True) -> Iterator[tuple[int, int]]:
    """The same slice by slice: how many messages each indexed, and up to which `seq` the index reaches after it.

    queues_vectors: whether the vectors are made that these messages lack.
    """
    job, more = partial(_index_slice, seconds=slice_ms / 1000, queues_vectors=queues_vectors), True
    while more:
        indexed, mark, more = database.write(job, urgency=Urgency.INDEX)
        yield indexed, mark


def _index_slice(connection: Connection, *, seconds: float, queues_vectors: bool) -> tuple[int, int, bool]:
    """(how many were indexed, the new mark, whether more may be waiting)."""
    # Half of the time goes into cutting words, the other half into the index itself.
    deadline = time.perf_counter() + seconds / 2
    mark = fulltext_index.indexed_seq(connection)
    # An old answer that is being made again is indexed already, and holds nothing up.
    new_and_running = (messages.c.status == "streaming") & (messages.c.seq > mark)
    running = select(func.min(messages.c.seq)).where(new_and_running).scalar_subquery()
    pending = (
        select(
            messages.c.seq, messages.c.user_email, messages.c.conversation_id, messages.c.text, messages.c.deleted_at
        )
        .where(messages.c.seq > mark, messages.c.seq < func.coalesce(running, 2**62))
        .order_by(messages.c.seq)
        .execution_options(yield_per=16)
    )
    texts: list[IndexedText] = []
    last, more = mark, False
    rows = connection.execute(pending)
    for row in rows:
        if last > mark and time.perf_counter() > deadline:
            more = True
            break
        last = row.seq
        if row.deleted_at is None:
            texts.append(
                indexed_text(seq=row.seq, user_email=row.user_email, conversation_id=row.conversation_id, text=row.text)
            )
    rows.close()
    if last > mark:
        fulltext_index.advance(connection, texts, up_to=last, queues_vectors=queues_vectors)
    if connection.dialect.name == "sqlite":
        more |= lengths.pack_next(connection, up_to=last)
    return len(texts), last, more


_RETIRED = "messages_fts_retired"
# FTS5 opens no index whose list of segments (row 10) is damaged, not even to rename or drop it: it gets an empty list.
_NO_SEGMENTS = "INSERT OR REPLACE INTO messages_fts_data (id, block) VALUES (10, zeroblob(7))"
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


def reindex_messages(*, database: Database, slice_ms: float = 20) -> Iterator[tuple[int, int]]:
    """Fill a new index, or resume an earlier run.

    Yields for each slice how many messages it indexed and up to which `seq` the index reaches; a slice holds the writer
    for about 20 ms.
    """
    with database.reading() as connection:
        is_stopped_half_way = fulltext_index.waiting_behind(connection) is not None
    if not is_stopped_half_way:
        clear_retired_index(database=database)  # of an earlier run, or an update, which have filled the new one
    database.write(_begin, urgency=Urgency.INDEX)
    yield from index_slices(database=database, slice_ms=slice_ms)
    clear_retired_index(database=database)


def clear_retired_index(*, database: Database) -> None:
    """Delete the rest of an old index, slice by slice; a no-op without one."""
    store = database
    with store.reading() as connection:
        left = _has_retired(connection)
    while left:
        left = store.write(_clear_slice, urgency=Urgency.INDEX)


def newest_seq(*, database: Database) -> int:
    """The `seq` of the newest message, up to which a complete index reaches; 0 without messages."""
    with database.reading() as connection:
        return connection.execute(select(func.max(messages.c.seq))).scalar() or 0


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        postgresql.empty(connection)
        vocabulary.empty(connection)
        fulltext_index.advance(connection, [], up_to=0)
    elif not _has_retired(connection):
        replace_index(connection)


def replace_index(connection: Connection) -> None:
    """Put an empty index in the place of SQLite's, damaged or not; `index_slices` fills it."""
    retire = f"ALTER TABLE messages_fts RENAME TO {_RETIRED}"
    if _has_retired(connection):  # then this one was being filled in its place
        retire = "DROP TABLE messages_fts"
    connection.exec_driver_sql(_NO_SEGMENTS)
    connection.exec_driver_sql(retire)
    fulltext_index.create_table(connection)
    lengths.forget(connection)
    vocabulary.empty(connection)
    fulltext_index.advance(connection, [], up_to=0)


def _clear_slice(connection: Connection) -> bool:
    """Whether anything may be left."""
    if not _has_retired(connection):
        return False  # another process was first
    if not any(connection.exec_driver_sql(part).rowcount for part in _PARTS):
        connection.exec_driver_sql(f"DROP TABLE {_RETIRED}")
    return True


def _has_retired(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite" and bool(connection.exec_driver_sql(_IS_THERE, (_RETIRED,)).scalar())


def index_mending() -> IndexMending:
    """Has the indexes of SQLite's store made anew where they are met damaged; upkeep fills them again."""
    return IndexMending({"messages_fts": replace_index} | {texts.table: texts.empty for texts in INDEXES})
