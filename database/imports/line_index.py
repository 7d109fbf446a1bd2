"""Where the lines of each conversation lie in a file that is read part by part: a scratch index on disk."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator
from types import TracebackType

_SCHEMA = (
    # Nothing of it outlives the process, so nothing has to be safe from a crash.
    "PRAGMA journal_mode=OFF",
    "PRAGMA synchronous=OFF",
    "PRAGMA cache_size=-8192",
    """CREATE TABLE places (conversation TEXT, first INTEGER, read INTEGER, offsets BLOB,
    PRIMARY KEY (conversation, first)) WITHOUT ROWID""",
    "BEGIN",
)
TOO_LARGE = -1
"""Instead of the number of lines that were read."""


class LineIndex:
    """The offsets of lines in bytes, by conversation. It takes 8 MB of memory at most; its file goes when it is closed.

    Raises sqlite3.Error where the folder of temporary files is full.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in _SCHEMA:
            self._connection.execute(statement)

    def __enter__(self) -> LineIndex:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._connection.close()

    def has(self, conversation_id: str) -> bool:
        """Whether lines of this conversation were added before."""
        query = "SELECT 1 FROM places WHERE conversation = ? LIMIT 1"
        return self._connection.execute(query, (conversation_id,)).fetchone() is not None

    def add(self, conversation_id: str, offsets: array[int], *, read: int) -> None:
        """Add the lines that a part of the file has of a conversation, at least one.

        read: as how many messages they were given out; 0 for none, TOO_LARGE where all of it is too large.
        """
        row = (conversation_id, offsets[0], read, offsets.tobytes())
        self._connection.execute("INSERT INTO places VALUES (?, ?, ?, ?)", row)

    def unfinished(self) -> Iterator[tuple[str, int]]:
        """The conversations of which there is more than was given out, and how much that was, in order."""
        yield from self._connection.execute(
            "SELECT conversation, max(read) FROM places GROUP BY conversation "
            "HAVING min(read) >= 0 AND (count(*) > 1 OR max(read) = 0) ORDER BY min(first)"
        )

    def offsets(self, conversation_id: str) -> Iterator[int]:
        """The offsets of all lines of a conversation, in order."""
        query = "SELECT offsets FROM places WHERE conversation = ? ORDER BY first"
        for (content,) in self._connection.execute(query, (conversation_id,)):
            yield from array("q", content)
