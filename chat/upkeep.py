"""What a server does beside answering: puts things in order at its start, and keeps indexes up with what is said."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from database.clones import remove_unfinished_clones
from database.erasure import purge_bin
from database.errors import StoreError
from database.fulltext import index_pending
from database.reindexing import clear_retired_index
from database.stream_events import purge_events
from database.turn_recovery import ReportMaker, close_interrupted_turns
from language_models.errors import ModelError
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .knowledge_access import KnowledgeAccess
from .knowledge_upkeep import EmbeddingUpkeep, tell_changes
from .threads import in_thread

log = logging.getLogger(__name__)
_LOCK_FILE = "server.lock"
_EVERY = 1.0
_EMBED_AFTER = 1.5
_PURGE_EVERY = 3600.0
_AFTER_FAILURE = 5.0
_PURGE_AFTER_FAILURE = 60.0


class ServerRunningError(Exception):
    """Another server works on this data folder."""


@contextlib.contextmanager
def sole_server(data_dir: Path) -> Iterator[None]:
    """Hold the data folder for one server. Raises ServerRunningError while another one does; a crash lets go of it."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / _LOCK_FILE).open("a+") as file:
        if not _lock(file.fileno()):
            raise ServerRunningError(
                f"Another server is running on {data_dir}. Stop it, or set ANAPHORA_DATA_DIR to a folder of its own."
            )
        yield


def bring_in_order(*, users_dir: str, report_of: ReportMaker | None = None) -> None:
    """Before the first request: close turns that a crash interrupted, and clear away other unfinished work.

    report_of: what the references of a turn mean that had not told yet.
    """
    closed = close_interrupted_turns(users_dir=users_dir, report_of=report_of)
    if closed:
        log.warning("%d answers were interrupted by the last stop; what was said is kept", closed)
    remove_unfinished_clones(users_dir=users_dir)


async def keep_up(
    *, users_dir: str, knowledge: KnowledgeAccess, erase_closed_accounts: Callable[[], object] = lambda: None
) -> None:
    """Index what was said and is known, and throw away what is kept for a time only. Runs until it is cancelled.

    Side by side, so that a model that hangs keeps no change from being told, and nothing from being found.
    """

    def tell_and_erase() -> None:
        # One after the other: a change that is being told must not come back after its account was erased.
        tell_changes(users_dir=users_dir, knowledge=knowledge)
        erase_closed_accounts()

    quickly = partial(_keep_doing, every=_EVERY, after_failure=_AFTER_FAILURE)
    hourly = partial(_keep_doing, every=_PURGE_EVERY, after_failure=_PURGE_AFTER_FAILURE)
    await asyncio.gather(
        quickly(partial(index_pending, users_dir=users_dir), what="the search index"),
        hourly(partial(purge_events, users_dir=users_dir), what="events of old answers"),
        hourly(partial(purge_bin, users_dir=users_dir), what="the bin"),
        hourly(partial(clear_retired_index, users_dir=users_dir), what="an old search index"),
        quickly(tell_and_erase, what="memories"),
        # The first page is not to wait while a model is loaded.
        quickly(EmbeddingUpkeep(knowledge).embed_pending, what="memories", begin_after=_EMBED_AFTER),
    )


async def _keep_doing(
    work: Callable[[], object], *, what: str, every: float, after_failure: float, begin_after: float = 0.0
) -> None:
    """Do `work` again and again, whatever becomes of it: a server that gave up would go on ever staler."""
    await asyncio.sleep(begin_after)
    while True:
        seconds = after_failure
        try:
            await in_thread(work)
            seconds = every
        except (StoreError, KnowledgeUnavailableError, ModelError) as error:
            log.warning("upkeep of %s has to wait: %s", what, error.message)
        except Exception:
            log.exception("upkeep of %s failed", what)
        await asyncio.sleep(seconds)


if os.name == "nt":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
