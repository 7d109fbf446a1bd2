"""What a server does beside answering: it puts the store in order at its start, and keeps it in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from database.clones import remove_unfinished_clones
from database.errors import StoreError
from database.fulltext import index_pending
from database.erasure import purge_bin
from database.turn_recovery import close_interrupted_turns
from database.stream_events import purge_events

log = logging.getLogger("anaphora.server")
_INDEX_SECONDS = 1.0
_PURGE_EVERY = 3600


class AnotherServerError(Exception):
    """Another server runs on this data folder."""


@contextmanager
def only_server_of(data_dir: Path) -> Iterator[None]:
    """Hold the data folder's lock; the system lets go of it when this process ends, however it ends.

    Raises AnotherServerError while another server holds it.
    """
    with (data_dir / "server.lock").open("a+") as file:
        try:
            _lock(file.fileno())
        except OSError as error:
            raise AnotherServerError(
                f"Another server is running on {data_dir}. One data folder has one server: stop the other one, or set "
                "ANAPHORA_DATA_DIR to another folder."
            ) from error
        yield


def tidy_up(users_dir: str) -> None:
    """Close what a crash has interrupted; a server does so before it answers."""
    closed = close_interrupted_turns(users_dir=users_dir)
    if closed:
        log.warning("%d answers were interrupted when the server last stopped; what was said is kept.", closed)
    remove_unfinished_clones(users_dir=users_dir)


class Housekeeping:
    """Indexes what was written and removes what has expired, behind everything else."""

    def __init__(self, users_dir: str) -> None:
        self._users_dir = users_dir
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._keep_house(), name="housekeeping")

    async def stop(self) -> None:
        """Stop after what is being done now."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _keep_house(self) -> None:
        rounds = 0
        while True:
            await self._quietly(index_pending)
            if rounds % _PURGE_EVERY == 0:
                await self._quietly(purge_bin)
                await self._quietly(purge_events)
            rounds += 1
            await asyncio.sleep(_INDEX_SECONDS)

    async def _quietly(self, work: Callable[..., object]) -> None:
        try:
            await asyncio.to_thread(work, users_dir=self._users_dir)
        except StoreError:
            log.exception("housekeeping failed; it is tried again")


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
