"""Where the lines of each conversation lie in a file that is read part by part: a scratch index on disk."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from database.engine.errors import StorageFailedError
from database.engine.sqlite import open_scratch
from sentences import say

_TABLE = """CREATE TABLE places (conversation TEXT, first INTEGER, read INTEGER, offsets BLOB,
PRIMARY KEY (conversation, first)) WITHOUT ROWID"""
TOO_LARGE = -1
"""Instead of the number of lines that were read."""


class LineIndex:
    """The offsets of lines in bytes, by conversation. It takes little memory, however many they are.

    Raises StorageFailedError where the folder of temporary files can't be written.
    """

    def __init__(self) -> None:
        try:
            self._connection = open_scratch(_TABLE)
        except sqlite3.Error as error:
            raise _failed(error) from None

    def __enter__(self) -> LineIndex:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._connection.close()

    def has(self, conversation_id: str) -> bool:
        """Whether lines of this conversation were added before."""
        return bool(list(self._rows("SELECT 1 FROM places WHERE conversation = ? LIMIT 1", conversation_id)))

    def add(self, conversation_id: str, offsets: array[int], *, read: int) -> None:
        """Add the lines that a part of the file has of a conversation, at least one.

        read: as how many messages they were given out; 0 for none, TOO_LARGE where all of it is too large.
        """
        row = (conversation_id, offsets[0], read, offsets.tobytes())
        list(self._rows("INSERT INTO places VALUES (?, ?, ?, ?)", *row))

    def unfinished(self) -> Iterator[tuple[str, int]]:
        """The conversations of which there is more than was given out, and how much that was, in order."""
        for conversation_id, read in self._rows(
            "SELECT conversation, max(read) FROM places GROUP BY conversation "
            "HAVING min(read) >= 0 AND (count(*) > 1 OR max(read) = 0) ORDER BY min(first)"
        ):
            yield str(conversation_id), int(read)

    def offsets(self, conversation_id: str) -> Iterator[int]:
        """The offsets of all lines of a conversation, in order."""
        for (content,) in self._rows(
            "SELECT offsets FROM places WHERE conversation = ? ORDER BY first", conversation_id
        ):
            yield from array("q", content)

    def _rows(self, statement: str, *values: str | int | bytes) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise _failed(error) from None


def _failed(error: sqlite3.Error) -> StorageFailedError:
    return StorageFailedError(say("import_no_scratch", why=str(error)))
