"""Moving an installation's stores from SQLite to PostgreSQL and back, beside a running server until the last step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from chat.runtime.startup import ServerRunningError, held_data_folder
from database.connection import open_database, unmigrated_database
from database.schema import messages
from database.transfer.copying import TableFinding, renew_statistics, transfer_round
from database.transfer.fulltext import index_messages
from database.transfer.mark import begin_transfer, end_transfer, source_of_transfer
from database.transfer.postgresql import drop_schema
from database.transfer.tables import StoreTables, count_of, main_tables, occupied_tables
from truth_management_system import PKBConfig, PKBDatabase, get_database
from truth_management_system.interface.structured_api import knowledge_tables

from .backup import ACCOUNTS, KNOWLEDGE, Progress
from .errors import BackupError, InTheWayError

_POSTGRESQL, _SQLITE = "postgresql+psycopg", "sqlite"
USERS = "users"
_ROUNDS = 6
_LOOK_SECONDS = 0.5
# What a first start makes in an empty store.
_MADE = ("search_state", "change_epoch", "purge_clock")


class TransferError(BackupError):
    """The stores can't be moved."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an installation's stores are: in a PostgreSQL database, else in the data folder."""

    data_dir: Path
    database_url: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What people and the mark of a transfer call the place; without user and password."""
        if self.database_url is None:
            return f"{_SQLITE}://{self.data_dir.resolve()}"
        parts = urlsplit(self.database_url)
        host = f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""
        given = [(name, value) for name, value in parse_qsl(parts.query) if name in ("host", "port")]
        sockets = f"?{urlencode(given, safe='/')}" if given else ""
        return f"{_POSTGRESQL}://{host}{parts.path}{sockets}"


def place_at(url: str, *, data_dir: Path) -> Place:
    """The place that `url` names: `postgresql+psycopg://…`, or `sqlite:///<data folder>`. Raises TransferError.

    data_dir: where the files are that belong to a PostgreSQL database.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme == _SQLITE and not parts.netloc and parts.path.strip("/"):
            return Place(_folder_named(unquote(parts.path)))
        if parts.scheme == _POSTGRESQL and parts.path.strip("/") and parts.port != 0:
            return Place(data_dir, url)
    except ValueError:
        pass
    # The text is not quoted: it may hold a password.
    raise TransferError(f"Name a place as {_POSTGRESQL}://<user>:<password>@<host>/<database> or sqlite:///<folder>.")


def _folder_named(path: str) -> Path:
    """The data folder of an address, always from the root. Raises TransferError.

    Elsewhere `sqlite:///back` is a folder in the present one. A new folder of the root is refused therefore, unless
    four slashes say that it is meant.
    """
    folder = Path("/" + path.lstrip("/"))
    if folder.parent == Path("/") and not path.startswith("//") and not folder.exists():
        raise TransferError(
            f"{_SQLITE}://{path} is the folder {folder}, which is not there. Give the whole path of the folder, as in "
            f"{_SQLITE}://{Path.cwd()}{path}; {_SQLITE}:///{path} makes one at {folder}."
        )
    return folder


@dataclass(frozen=True, slots=True)
class TableCount:
    """How many rows of a table are copied."""

    store: str
    table: str
    rows: int


class Listener(Protocol):
    """Hears how a transfer goes on."""

    def rows(self, step: str, table: str, count: int) -> None:
        """So many more rows of a table were compared ("compare"), copied ("copy") or indexed ("index")."""

    def round_begins(self, tables: Sequence[TableCount]) -> None:
        """A round over one store begins, which compares so many rows of these tables."""

    def waits(self) -> None:
        """All that was there has been copied. The rest comes once no server works on the source."""


class Unheard:
    """A listener that tells nobody."""

    def rows(self, step: str, table: str, count: int) -> None:
        """Nothing."""

    def round_begins(self, tables: Sequence[TableCount]) -> None:
        """Nothing."""

    def waits(self) -> None:
        """Nothing."""


def plan_transfer(source: Place, target: Place) -> list[TableCount]:
    """What a transfer would copy; nothing is written. Raises TransferError, InTheWayError, StoreError."""
    _check(source, target)
    _check_target(target, source)
    with opened_stores(source) as stores:
        return _counts(stores)


def transfer(source: Place, target: Place, *, listener: Listener) -> list[TableFinding]:
    """Make the stores at `target` equal to those at `source`; of each table, how many rows it has and their digest.

    A server may work on the source: everything is copied beside it, then the transfer waits until that server is
    stopped, and copies what came since. Nothing serves from the target meanwhile. A transfer that was interrupted goes
    on with the next call. Raises TransferError, InTheWayError, ServerRunningError, KnowledgeError and StoreError.
    """
    _check(source, target)
    with ExitStack() as stack:
        stack.enter_context(_alone(target))
        _check_target(target, source)
        ours = stack.enter_context(opened_stores(source))
        theirs = stack.enter_context(opened_stores(target))
        begin_transfer(theirs[0].database, source=source.name)
        with ExitStack() as trying:
            try:
                trying.enter_context(_alone(source))
            except ServerRunningError:
                _round(ours, theirs, listener)
                listener.waits()
                _wait_for(source, trying)
            findings = _until_equal(ours, theirs, listener)
        for store in theirs:
            renew_statistics(store.database)
        end_transfer(theirs[0].database)
    return findings


def copy_stores(source: Place, data_dir: Path, progress: Progress) -> None:
    """Write both stores at `source` into the empty `data_dir` as SQLite's files, each as it was at one moment.

    A server may go on working. The full-text index of messages is not in the copy: whoever opens it makes it anew.
    Raises StoreError, KnowledgeError.
    """
    with opened_stores(source, may_be_half_filled=False) as ours, opened_stores(Place(data_dir)) as theirs:
        whole, done = max(1, sum(each.rows for each in _counts(ours))), 0

        def report(step: str, _table: str, count: int) -> None:
            nonlocal done
            done += count if step == "copy" else 0
            progress(min(1.0, done / whole))

        # In the order of `backup.NAMES`.
        for store, copy in reversed(list(zip(ours, theirs, strict=True))):
            transfer_round(store, copy, progress=report)


def holds_data(place: Place) -> bool:
    """Whether the stores at `place` hold more than a first start makes. Raises StoreError."""
    with _looked_into(place) as stores:
        return any(table not in _MADE for store in stores for table in occupied_tables(store))


def is_half_filled(place: Place) -> bool:
    """Whether a transfer into the stores at `place` has not ended. Raises StoreError."""
    with _looked_into(place) as stores:
        return bool(stores) and source_of_transfer(stores[0].database) is not None


def drop_stores(place: Place, *, first: Callable[[], object]) -> None:
    """Drop the stores at `place`, a PostgreSQL database, after `first` was done, while no server works on them.

    Raises ServerRunningError, StoreError.
    """
    from database.engine.postgresql import SCHEMA
    from truth_management_system.schema.postgresql import SCHEMA as KNOWLEDGE_SCHEMA

    with _alone(place):
        first()
        with closing(unmigrated_database(place.data_dir / USERS, database_url=place.database_url)) as database:
            for schema in (KNOWLEDGE_SCHEMA, SCHEMA):
                database.write(partial(drop_schema, schema=schema))


def _check(source: Place, target: Place) -> None:
    if source.name == target.name:
        raise TransferError("Both places are the same one.")
    if source.database_url is None and not (source.data_dir / ACCOUNTS).exists():
        raise TransferError(f"There is no store in {source.data_dir}.")


def _check_target(target: Place, source: Place) -> None:
    """Raises InTheWayError where the target holds what no transfer from this source has brought."""
    with _looked_into(target) as stores:
        if stores and source_of_transfer(stores[0].database) == source.name:
            return
        held = [f"{store.name}: {table}" for store in stores for table in occupied_tables(store) if table not in _MADE]
    if held:
        raise InTheWayError(f"{target.name} holds data already ({', '.join(held[:3])}). Name an empty place.")


@contextmanager
def _looked_into(place: Place) -> Iterator[list[StoreTables]]:
    """The stores at `place` as they are; none where there are no files. Raises TransferError where none can be."""
    users = place.data_dir / USERS
    if place.database_url is None and not (place.data_dir / ACCOUNTS).exists():
        _check_folder(place.data_dir)
        yield []
        return
    with (
        closing(unmigrated_database(users, database_url=place.database_url)) as database,
        closing(PKBDatabase(_knowledge_config(place)).connect()) as knowledge,
    ):
        yield [main_tables(database), knowledge_tables(knowledge)]


def _check_folder(folder: Path) -> None:
    """Raises TransferError where `folder` is no folder that can be written, and can't be made."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise TransferError(f"{there} is not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TransferError(f"{there} can't be written. Check its permissions, or name another folder.")


@contextmanager
def opened_stores(place: Place, *, may_be_half_filled: bool = True) -> Iterator[list[StoreTables]]:
    """The stores at `place`, migrated; made where there are none."""
    users, url = place.data_dir / USERS, place.database_url
    with (
        closing(open_database(users, database_url=url, may_be_half_filled=may_be_half_filled)) as database,
        closing(get_database(_knowledge_config(place))) as knowledge,
    ):
        yield [main_tables(database), knowledge_tables(knowledge)]


def _knowledge_config(place: Place) -> PKBConfig:
    return PKBConfig(db_path=place.data_dir / KNOWLEDGE, database_url=place.database_url, write_timeout=60.0)


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Keep servers away from the stores at `place`. Raises ServerRunningError while one works on them."""
    if place.database_url is None:
        with held_data_folder(place.data_dir):
            yield
        return
    with (
        closing(unmigrated_database(place.data_dir / USERS, database_url=place.database_url)) as database,
        database.backend.held_for_server() as hold,
    ):
        if not hold.is_alone():
            raise ServerRunningError(f"A server works on {place.name}. Stop it.")
        yield


def _wait_for(place: Place, holding: ExitStack) -> None:
    while True:
        try:
            holding.enter_context(_alone(place))
        except ServerRunningError:
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _counts(stores: Sequence[StoreTables]) -> list[TableCount]:
    counts = []
    for store in stores:
        with store.database.reading() as connection:
            counts += [TableCount(store.name, table.name, count_of(connection, store, table)) for table in store.tables]
    return counts


def _until_equal(ours: Sequence[StoreTables], theirs: Sequence[StoreTables], listener: Listener) -> list[TableFinding]:
    """Rounds until one finds nothing that differs; its findings."""
    findings = list[TableFinding]()
    for _ in range(_ROUNDS):
        findings = _round(ours, theirs, listener)
        if not any(finding.wrong for finding in findings):
            return findings
    wrong = ", ".join(finding.table for finding in findings if finding.wrong)
    raise TransferError(f"The copy differs from its source in {wrong}. Does anybody write to one of them?")


def _round(ours: Sequence[StoreTables], theirs: Sequence[StoreTables], listener: Listener) -> list[TableFinding]:
    findings = list[TableFinding]()
    for source, target in zip(ours, theirs, strict=True):
        listener.round_begins(_counts([source]))
        findings += transfer_round(source, target, progress=listener.rows)
        if target is theirs[0]:
            index_messages(target.database, progress=lambda count: listener.rows("index", messages.name, count))
    return findings
