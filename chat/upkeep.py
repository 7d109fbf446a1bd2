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
from database.stream_events import purge_events
from database.turn_recovery import close_interrupted_turns
from language_models.errors import ModelError
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .knowledge_access import KnowledgeAccess
from .knowledge_upkeep import EmbeddingUpkeep, tell_changes
from .threads import in_thread

log = logging.getLogger(__name__)
_LOCK_FILE = "server.lock"
_INDEX_EVERY = 1.0
_EMBED_AFTER = 1.5
_PURGE_EVERY = 3600.0
_AFTER_FAILURE = 5.0


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


def bring_in_order(*, users_dir: str) -> None:
    """Before the first request: close turns that a crash interrupted, and clear away other unfinished work."""
    closed = close_interrupted_turns(users_dir=users_dir)
    if closed:
        log.warning("%d answers were interrupted by the last stop; what was said is kept", closed)
    remove_unfinished_clones(users_dir=users_dir)


async def keep_up(*, users_dir: str, knowledge: KnowledgeAccess) -> None:
    """Index what was said and is known, and throw away what is kept for a time only. Runs until it is cancelled."""
    await asyncio.gather(
        _keep_up_conversations(users_dir=users_dir),
        # Side by side, so that a model that hangs keeps no change from being told.
        _keep_up_knowledge(partial(tell_changes, users_dir=users_dir, knowledge=knowledge)),
        # The first page is not to wait while a model is loaded.
        _keep_up_knowledge(EmbeddingUpkeep(knowledge).embed_pending, begin_after=_EMBED_AFTER),
    )


async def _keep_up_conversations(*, users_dir: str) -> None:
    purged_at = float("-inf")
    loop = asyncio.get_running_loop()
    while True:
        try:
            await in_thread(index_pending, users_dir=users_dir)
            if loop.time() - purged_at >= _PURGE_EVERY:
                purged_at = loop.time()
                await in_thread(purge_events, users_dir=users_dir)
                await in_thread(purge_bin, users_dir=users_dir)
        except StoreError as error:
            log.warning("upkeep has to wait: %s", error)
        await asyncio.sleep(_INDEX_EVERY)


async def _keep_up_knowledge(work: Callable[[], object], *, begin_after: float = 0.0) -> None:
    await asyncio.sleep(begin_after)
    while True:
        seconds = _AFTER_FAILURE
        try:
            await in_thread(work)
            seconds = _INDEX_EVERY
        except (StoreError, KnowledgeUnavailableError, ModelError) as error:
            log.warning("memories have to wait: %s", error.message)
        except Exception:
            # Something in the memories themselves; a server without this would go on ever staler.
            log.exception("memories can't be kept up")
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
