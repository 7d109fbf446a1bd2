"""The full-text indexes of the main store, kept in step with the rows that a transfer writes.

Those of documents and of passages of files follow row by row. That of messages is made behind the messages, as a server
makes it; what is in it already is taken out before a row changes, and put in again afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from sqlalchemy import Connection, select

from database.engine.database import Database
from database.schema import conversations, documents, file_passages, messages
from database.search.index import admit, forget
from database.search.indexing import index_slices
from database.search.owned import DOCUMENTS, PASSAGES, OwnedTexts
from database.search.vocabulary import forget_unsaid

from .ranges import Key

_SLICE_MS = 200

Step = Callable[[Connection, Sequence[Key]], None]


@dataclass(frozen=True, slots=True)
class Follower:
    """Keeps an index in step with a table: before rows are deleted or changed, and after they are written."""

    deleting: Step
    changing: Step
    written: Step


def _numbers(keys: Sequence[Key]) -> list[int]:
    return [int(key[0]) for key in keys]


def _forget_messages(connection: Connection, keys: Sequence[Key]) -> None:
    forget(connection, _numbers(keys))


def _admit_messages(connection: Connection, keys: Sequence[Key]) -> None:
    admit(connection, _numbers(keys))


def _forget_conversations(connection: Connection, keys: Sequence[Key]) -> None:
    """Their messages are deleted with them."""
    theirs = messages.c.conversation_id.in_([key[0] for key in keys])
    forget(connection, list(connection.execute(select(messages.c.seq).where(theirs)).scalars()))


def _nothing(_connection: Connection, _keys: Sequence[Key]) -> None:
    pass


def _owned(index: OwnedTexts) -> Follower:
    """Keeps an index of texts that belong to one person."""

    def those(connection: Connection, keys: Sequence[Key]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
        rows = connection.execute(index.stored(index.number.in_(_numbers(keys)))).all()
        owner = attrgetter("user_email")
        for user_email, theirs in groupby(sorted(rows, key=owner), key=owner):
            yield user_email, [(row.number, row.text) for row in theirs]

    def before(connection: Connection, keys: Sequence[Key]) -> None:
        for user_email, theirs in those(connection, keys):
            index.remove(connection, user_email, theirs)

    def after(connection: Connection, keys: Sequence[Key]) -> None:
        for user_email, theirs in those(connection, keys):
            index.put(connection, user_email, theirs)

    return Follower(deleting=before, changing=before, written=after)


FOLLOWERS: Mapping[str, Follower] = {
    conversations.name: Follower(deleting=_forget_conversations, changing=_nothing, written=_nothing),
    messages.name: Follower(deleting=_forget_messages, changing=_forget_messages, written=_admit_messages),
    documents.name: _owned(DOCUMENTS),
    file_passages.name: _owned(PASSAGES),
}
"""By table."""
NO_FOLLOWER = Follower(deleting=_nothing, changing=_nothing, written=_nothing)


def index_messages(database: Database, *, progress: Callable[[int], None]) -> None:
    """Index the messages that are not in the index yet. progress: gets how many more are."""
    for indexed, _ in index_slices(database=database, slice_ms=_SLICE_MS, queues_vectors=False):
        progress(indexed)
    forget_unsaid(database=database)
