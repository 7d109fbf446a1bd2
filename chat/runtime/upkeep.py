"""Background upkeep of a server: indexing new messages and memories, purging what has expired."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from chat.turns.threads import WorkerThreads
from database.changes import purge_changes
from database.conversations.deletion import purge_bin
from database.engine.database import Database
from database.errors import StoreError
from database.maintenance.statistics import optimize
from database.search.indexing import clear_retired_index, index_pending
from database.turns.events import purge_events
from language_models.errors import ModelError
from search.meaning import MessageVectors
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .knowledge import EmbeddingUpkeep, KnowledgeAccess, tell_changes

log = logging.getLogger(__name__)
_EVERY = 1.0
_EMBED_AFTER = 1.5
_EMBED_SECONDS = 0.5
_PURGE_EVERY = 3600.0
_AFTER_FAILURE = 5.0
_PURGE_AFTER_FAILURE = 60.0


async def keep_up(
    *,
    database: Database,
    knowledge: KnowledgeAccess,
    vectors: MessageVectors,
    erase_closed_accounts: Callable[[], object] = lambda: None,
    look_for_changes: Callable[[], object] = lambda: None,
    close_abandoned_turns: Callable[[], object] = lambda: None,
) -> None:
    """Index new messages and memories, and purge what has expired. Runs until it is cancelled.

    Each job has its own thread: a hanging embedding model or a slow purge delays no other job and no turn.
    """

    def tell_and_erase() -> None:
        # In this order: a change must not be recorded again after its account was erased.
        tell_changes(database=database, knowledge=knowledge)
        erase_closed_accounts()

    quickly = partial(_keep_doing, every=_EVERY, after_failure=_AFTER_FAILURE)
    hourly = partial(_keep_doing, every=_PURGE_EVERY, after_failure=_PURGE_AFTER_FAILURE)
    await asyncio.gather(
        quickly(partial(index_pending, database=database), what="the search index"),
        quickly(look_for_changes, what="the streams of changes"),
        quickly(close_abandoned_turns, what="turns of processes that are gone"),
        hourly(partial(purge_changes, database=database), what="old changes"),
        hourly(partial(purge_events, database=database), what="events of old answers"),
        hourly(partial(purge_bin, database=database), what="the bin"),
        hourly(partial(clear_retired_index, database=database), what="an old search index"),
        hourly(partial(optimize, database=database), what="statistics"),
        hourly(lambda: knowledge.database().optimize(), what="statistics of memories"),
        quickly(tell_and_erase, what="memories"),
        # Loading the model must not delay the first page.
        quickly(EmbeddingUpkeep(knowledge).embed_pending, what="vectors of memories", begin_after=_EMBED_AFTER),
        quickly(
            partial(vectors.embed_pending, budget_seconds=_EMBED_SECONDS),
            what="vectors of messages",
            begin_after=_EMBED_AFTER,
        ),
    )


async def _keep_doing(
    work: Callable[[], object], *, what: str, every: float, after_failure: float, begin_after: float = 0.0
) -> None:
    """Repeat `work`, also after failures: a server that stopped indexing would grow stale."""
    thread = WorkerThreads(1, name=f"upkeep of {what}")
    try:
        await asyncio.sleep(begin_after)
        while True:
            succeeded = await _done(work, what=what, thread=thread)
            await asyncio.sleep(every if succeeded else after_failure)
    finally:
        thread.shutdown(cancel_futures=True)


async def _done(work: Callable[[], object], *, what: str, thread: WorkerThreads) -> bool:
    """Run `work` once; False where it failed. Failures are logged."""
    try:
        await asyncio.get_running_loop().run_in_executor(thread, work)
    except (StoreError, KnowledgeUnavailableError, ModelError) as error:
        log.warning("upkeep of %s has to wait: %s", what, error.message)
    except Exception:
        log.exception("upkeep of %s failed", what)
    else:
        return True
    return False
