"""The mark of a store that is being filled from another one: no server serves from it until it is whole."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, delete, insert, inspect, select

from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import StorageFailedError

MARK = "transfer_in_progress"
_mark = Table(
    MARK,
    MetaData(),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("source", Text, nullable=False),
    Column("begun_at", Text, nullable=False),
)


class StoreBeingFilledError(StorageFailedError):
    """A transfer into this store has not ended."""

    def __init__(self) -> None:
        super().__init__(
            "The database is being filled from another one. Run `flask --app server data migrate`, or `data restore` "
            "with --force, again until it says that everything is there."
        )


def source_of_transfer(database: Database) -> str | None:
    """The name of the store that this one is being filled from; None where none is."""
    with database.reading() as connection:
        if not _is_there(connection):
            return None
        found: str | None = connection.execute(select(_mark.c.source)).scalar()
        return found


def refuse_half_filled(database: Database) -> None:
    """Raises StoreBeingFilledError where a transfer into this store has not ended."""
    with database.reading() as connection:
        if _is_there(connection):
            raise StoreBeingFilledError


def begin_transfer(database: Database, *, source: str) -> None:
    """Mark the store as being filled from `source`."""

    def job(connection: Connection) -> None:
        _mark.create(connection, checkfirst=True)
        connection.execute(delete(_mark))
        connection.execute(insert(_mark).values(id=1, source=source, begun_at=now_iso()))

    database.write(job)


def end_transfer(database: Database) -> None:
    """Take the mark away: the store is whole."""
    database.write(lambda connection: _mark.drop(connection, checkfirst=True))


def _is_there(connection: Connection) -> bool:
    return inspect(connection).has_table(MARK)
