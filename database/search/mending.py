"""Full-text indexes of SQLite that are met damaged: they are made from rows, which are whole, and made anew from them.

Damage of an index (SQLITE_CORRUPT_VTAB) is no damage of the store. Who searches gets a SearchIndexDamagedError, or
searches again in the new index (`again_in_new_index`); who writes hears nothing of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlalchemy import Connection

from database.engine.database import Database
from database.engine.errors import SearchIndexDamagedError

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")
_PATIENCE = 5.0


class IndexMending:
    """Has damaged indexes of one store made anew.

    indexes: by the name by which statements name it, what begins an index anew. Called with a transaction.
    """

    def __init__(self, indexes: Mapping[str, Callable[[Connection], object]]) -> None:
        self._indexes = indexes
        self._mended_at: dict[str, float] = {}

    def __call__(self, connection: Connection, *, statement: str, since: float | None = None) -> None:
        """Begin those indexes anew that `statement` names, which met damage; all of them where it names none.

        since: the statement has read the state that was the newest then (of the monotonic clock), so that an index
        which was mended later is left alone; None: it has met the newest one.
        """
        named = [name for name in self._indexes if name in statement]
        for name in named or self._indexes:
            if since is not None and self._mended_at.get(name, since) > since:
                continue
            log.warning("A full-text index is damaged. %s is made anew.", name)
            self._indexes[name](connection)
            self._mended_at[name] = time.monotonic()


def again_in_new_index(search: Callable[P, T]) -> Callable[P, T]:
    """`search`, which takes `database` by keyword, and is done again where it met a damaged index.

    Raises SearchIndexDamagedError where the index can't be mended at once.
    """

    @wraps(search)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return search(*args, **kwargs)
        except SearchIndexDamagedError:
            database: Database = kwargs["database"]  # type: ignore[assignment]
            if not database.await_mending(seconds=_PATIENCE):
                raise
            return search(*args, **kwargs)

    return call
