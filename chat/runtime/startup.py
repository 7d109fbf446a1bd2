"""A server process: its lock, its start-up work, and its background upkeep.

On SQLite one server works on a data folder, which it locks. On PostgreSQL several may share a database and the data
folder: each holds the database, and the first one puts it in order before it lets others in.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from chat.context.knowledge import KnowledgeAccess
from chat.processes.duties import EVERY_DUTY, Duties
from chat.processes.threads import in_thread
from chat.turns.runner import TurnRunner
from database.conversations.deletion import erase_incomplete
from database.duties import RENEW_SECONDS, forget_processes, processes_left, serve_folder
from database.engine.backend import ServerHold
from database.engine.database import Database
from database.engine.durability import flush_to_disk, replace_durably
from database.engine.errors import ConflictError, StorageFailedError, StoreError
from database.imports.repository import release_imports
from database.jobs import release_jobs
from database.maintenance.soundness import FileWatch, watch_store
from database.turns.recovery import ReportMaker, close_interrupted_turns
from language_models.file_lock import locked
from language_models.roles import ModelRoles

log = logging.getLogger(__name__)
_LOCK_FILE = "server.lock"
_CHECK_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_HELD_SECONDS, _AFTER_FAILURE = 1.0, 0.25
_OTHERS_SECONDS = RENEW_SECONDS + 0.5
"""Within this time every living server has taken the lock of the database again, and has renewed its leases."""
_FOLDER_FILE = "folder.id"
_DATABASE_TAKEN = "A command has the database of DATABASE_URL for itself. Wait until it has ended."
_OTHER_FOLDER = (
    "Another server uses the database of DATABASE_URL with another data folder. Give both the same ANAPHORA_DATA_DIR, "
    "or name another database."
)
_held: dict[Path, int] = {}
"""The process that holds each folder; a forked child inherits this variable."""


class ServerRunningError(Exception):
    """Another server holds this data folder. `message` is for clients, `str()` names the folder for the operator."""

    message = "Another server works on this data. Ask that one, or stop it."


class DataFolderError(StorageFailedError):
    """The data folder can't be used. `message` is for clients, `str()` names folder and reason for the operator."""

    def __init__(self, data_dir: Path, error: OSError) -> None:
        super().__init__("The data folder can't be used. See the server's log.")
        self.args = (f"The data folder {data_dir} can't be used: {error.strerror or error}.",)


@contextlib.contextmanager
def sole_process(data_dir: Path, *, database: Database) -> Iterator[None]:
    """Lock data folder and database for a command that no server may run beside.

    Raises ServerRunningError while a server holds either, DataFolderError, StoreError.
    """
    with held_data_folder(data_dir), database.backend.held_for_server() as hold:
        if not hold.is_alone():
            raise ServerRunningError("Another server uses the database of DATABASE_URL. Stop it.")
        yield


@contextlib.contextmanager
def held_data_folder(data_dir: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock the data folder for a server, or for a command that must not run beside one.

    shared: the servers of one database share the lock, which keeps out a server of another one. The lock ends with the
    process. Raises ServerRunningError while another process holds it, DataFolderError.
    """
    folder = data_dir.resolve()
    with contextlib.ExitStack() as stack:
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(data_dir / _LOCK_FILE, while_waiting=lambda: _refuse(data_dir), shared=shared))
        except OSError as error:
            raise DataFolderError(data_dir, error) from error
        _held[folder] = os.getpid()
        stack.callback(_held.pop, folder, None)
        yield


def is_held_here(data_dir: Path) -> bool:
    """Whether this process holds the data folder."""
    return _held.get(data_dir.resolve()) == os.getpid()


def _refuse(data_dir: Path) -> None:
    raise ServerRunningError(
        f"Another server is running on {data_dir}. Stop it, or set ANAPHORA_DATA_DIR to a folder of its own."
    )


class ServerProcess:
    """Makes this process the server of its data folder, under any WSGI or ASGI server.

    Commands and scripts never call `begin`. upkeep: runs until it is cancelled. tidy: removes leftovers of killed
    commands from the data folder.
    """

    def __init__(
        self,
        *,
        data_dir: Path,
        database: Database,
        turns: TurnRunner,
        models: ModelRoles,
        knowledge: KnowledgeAccess,
        upkeep: Callable[[], Coroutine[Any, Any, None]],
        tidy: Callable[[], object],
        duties: Duties = EVERY_DUTY,
    ) -> None:
        self._data_dir = data_dir
        self._database = database
        self._turns = turns
        self._models = models
        self._knowledge = knowledge
        self._upkeep = upkeep
        self._tidy = tidy
        self._duties = duties
        self._holding = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._hold: ServerHold | None = None
        self._lost_database = False
        self._begun_in: int | None = None
        self._running: Future[None] | None = None
        self._starts_upkeep = True
        self._awaits_check = False
        self._watches: tuple[FileWatch, ...] = ()

    def begin(self, *, upkeep: bool = True) -> None:
        """Lock the store until the process ends, recover from crashes, and start the upkeep. Idempotent.

        `python server.py` calls this before it listens; under another WSGI server the first request does. upkeep: start
        models and indexing in the background; False if the caller's event loop does that. Where the store has to be
        checked first, which takes long, the rest is done when that has ended; until then the store refuses to be read.
        Raises ServerRunningError, and StoreError if the store can't be written; it may be called again then.
        """
        if self._lost_database:
            raise ServerRunningError(_DATABASE_TAKEN)
        if self._begun_in == os.getpid() or self._is_store_held():
            return
        with self._lock:
            if self._begun_in != os.getpid():
                # Who asks later does not know whether the caller's event loop does the upkeep.
                self._starts_upkeep = self._starts_upkeep if self._awaits_check else upkeep
                self._begin()

    def _begin(self) -> None:
        if not is_held_here(self._data_dir):
            self._holding.enter_context(held_data_folder(self._data_dir, shared=self._database.backend.is_shared))
        hold = self._hold_database()
        self._prepare(hold)
        if self._database.check_ends_at is not None:
            self._awaits_check = True
            return
        self._begin_serving(hold)
        self._awaits_check = False

    def await_check(self) -> None:
        """Where `begin` left the check of the store to be waited for: wait for it, and end what was begun."""
        while self._is_store_held():
            time.sleep(_LOOK_SECONDS)
        self.begin()

    def _is_store_held(self) -> bool:
        return self._awaits_check and self._database.check_ends_at is not None

    def _begin_serving(self, hold: ServerHold) -> None:
        if hold.is_alone() and self._database.damage is None:
            bring_in_order(database=self._turns.database, report_of=self._turns.report_of)
        hold.share()
        self._duties.begin()  # from now on the others wait for what this one answers
        if self._starts_upkeep:
            self._running = self._turns.in_background(self._start())
        self._begun_in = os.getpid()

    def _after_check(self) -> None:
        """Go on with `begin`, where that did not wait for the check of the store, unless the server was ended since."""
        with self._lock:
            if not self._awaits_check:
                return
            try:
                self._begin()
            except (ServerRunningError, StoreError) as error:
                log.warning("the server has to wait: %s", error)  # the next request tries again

    def _hold_database(self) -> ServerHold:
        """Register as a server of the database, the only one during recovery. Raises ServerRunningError."""
        if self._hold is None:
            self._hold = self._holding.enter_context(self._database.backend.held_for_server())
        if self._database.backend.is_shared and self._hold.is_alone():
            self._wait_for_others(self._hold)
        if not self._hold.is_held():
            self._let_go()
            raise ServerRunningError(_DATABASE_TAKEN)
        return self._hold

    def _wait_for_others(self, hold: ServerHold) -> None:
        """Give the lock back to servers that lost it with their connections, as when PostgreSQL was restarted.

        Only where servers are noted that did not stop by themselves: they live, or were killed.
        """
        left = processes_left(database=self._database)
        if left:
            hold.take_again(after=_OTHERS_SECONDS)
            if processes_left(database=self._database) != left:
                hold.share()  # one has renewed its leases

    def _prepare(self, hold: ServerHold) -> None:
        """What comes before the store is read."""
        is_alone = hold.is_alone()
        if self._database.backend.is_shared:
            self._check_folder(is_alone=is_alone)
        if is_alone:
            self._tidy()
        self._watch_files()

    def _check_folder(self, *, is_alone: bool) -> None:
        """Raises ServerRunningError if other servers of the database use another data folder."""
        try:
            serve_folder(database=self._database, folder_id=_folder_id(self._data_dir), is_alone=is_alone)
        except ConflictError:
            self._let_go()
            raise ServerRunningError(_OTHER_FOLDER) from None

    def _let_go(self) -> None:
        self._hold = None
        self._holding.close()

    def check_database(self) -> None:
        """Refuse requests once a command has taken the database while this server's connection was broken.

        Requests are served again when that command has ended. Raises StoreError if the database can't be reached.
        """
        is_lost = self._hold is not None and not self._hold.is_held()
        if is_lost and not self._lost_database:
            log.critical("a command has the database of DATABASE_URL for itself: this server refuses all requests")
        self._lost_database = is_lost

    def end(self) -> None:
        """Release the data folder and stop the upkeep; a process that exits does so by itself.

        A start that goes on at this moment is waited for.
        """
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._running is not None:
            self._running.cancel()
        for watch in self._watches:
            watch.stop()
        self._watches = ()
        if self._begun_in is not None:
            self._release_duties()
        self._let_go()
        self._begun_in = self._running = None
        self._awaits_check = False

    def _release_duties(self) -> None:
        with contextlib.suppress(StoreError):
            self._duties.release()

    def _watch_files(self) -> None:
        """Check both files for damaged pages; the first request waits, up to a second for a large one."""
        if not self._watches:
            knowledge, file = self._knowledge, self._knowledge.file
            memories = None if file is None else FileWatch(file, told=knowledge.set_damage, held=knowledge.hold)
            store = watch_store(self._database, ended=self._after_check)
            self._watches = tuple(watch for watch in (store, memories) if watch is not None)
            for watch in self._watches:
                watch.begin(wait=_CHECK_SECONDS)

    async def keep_up(self) -> None:
        """Run the upkeep, and check every second that the database is still held; until it is cancelled.

        Nothing is done before the store may be read.
        """
        while self._awaits_check:  # noqa: ASYNC110 - a thread ends it
            await asyncio.sleep(_LOOK_SECONDS)
        try:
            await asyncio.gather(self._upkeep(), self._keep_checking())
        finally:
            self._release_duties()

    async def _keep_checking(self) -> None:
        wait = _HELD_SECONDS
        while True:
            await asyncio.sleep(wait)
            try:
                await in_thread(self.check_database)
            except StoreError:  # who asks for anything else is told of it
                wait = _AFTER_FAILURE
            else:
                wait = _HELD_SECONDS

    async def _start(self) -> None:
        self._models.start()
        await self.keep_up()


def _folder_id(data_dir: Path) -> str:
    """The name of a data folder, the same for all who share it. Raises DataFolderError."""
    file = data_dir / _FOLDER_FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            draft = data_dir / f"{_FOLDER_FILE}.{os.getpid()}"
            draft.write_text(secrets.token_hex(16), encoding="ascii")
            with contextlib.suppress(FileExistsError):
                os.link(draft, file)  # whoever comes first names it
            draft.unlink()
        return file.read_text(encoding="ascii")
    except OSError as error:
        raise DataFolderError(data_dir, error) from error


def bring_in_order(*, database: Database, report_of: ReportMaker | None = None) -> None:
    """Recover before the first request: close interrupted turns, and delete other unfinished work.

    report_of: resolves the references of a turn whose report was not stored yet.
    """
    closed = close_interrupted_turns(database=database, report_of=report_of)
    if closed:
        log.warning("%d answers were interrupted by the last stop; what was said is kept", closed)
    erase_incomplete(database=database)
    release_jobs(database=database)
    forget_processes(database=database)
    release_imports(database=database, owner="server-")


def probe(data_dir: Path) -> None:
    """Write, flush and replace a file in the folder, which is created if missing. Raises DataFolderError.

    Files are replaced by renaming: a reader gets the old content or the new, whole. A network file system that can't do
    that, or can't flush, is found when a server starts, and not when it loses data.
    """
    token = secrets.token_hex(8)
    kept, draft = data_dir / f".probe-{token}", data_dir / f".probe-{token}.new"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        kept.write_text("former", encoding="ascii")
        flush_to_disk(kept)
        draft.write_text(token, encoding="ascii")
        replace_durably(draft, kept)
        if draft.exists() or kept.read_text(encoding="ascii") != token:
            raise OSError(errno.EIO, "a renamed file has another content than was written")
    except OSError as error:
        raise DataFolderError(data_dir, error) from error
    finally:
        for path in (kept, draft):
            with suppress(OSError):
                path.unlink()
