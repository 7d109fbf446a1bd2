"""Background upkeep of a server: indexing new messages and memories, purging what has expired."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from chat.context.knowledge import EmbeddingUpkeep, KnowledgeAccess, tell_changes
from chat.processes.duties import EVERY_DUTY, RENEW_SECONDS, Duties
from chat.processes.threads import WorkerThreads
from database.accounts.quotas import purge_usage
from database.agents.repository import purge_agents
from database.changes import purge_changes
from database.conversations.deletion import purge_bin, purge_temporary
from database.engine.backend import Outage
from database.engine.database import Database
from database.engine.errors import StoreClosedError, StoreError
from database.engine.sqlite import written_state
from database.jobs import purge_jobs
from database.maintenance.purging import is_clock_trusted, purge_expired
from database.maintenance.statistics import optimize
from database.proposals import expire_proposals
from database.search.indexing import clear_retired_index, index_pending
from database.search.owned import fill_pending
from database.turns.events import purge_events
from database.vault.summaries import purge_summaries
from language_models.errors import ModelError
from search.meaning import MessageVectors
from truth_management_system.ingestion.plans import purge_plans
from truth_management_system.interface.structured_api import KnowledgeUnavailableError
from truth_management_system.search.vector_cache import sweep_files
from vault.documents import Vaults
from vault.upkeep import VaultIndexing, VaultWatcher, pack_histories, purge_bins

from .jobs import JobKind, JobRunner, RecurringWork

log = logging.getLogger(__name__)
_Repeated = Coroutine[Any, Any, None]
_EVERY = 1.0
# What other windows are to see within a second.
_TELL_EVERY = 0.5
# What other processes have changed, and did not announce here.
_LOOK_FOR_OTHERS_EVERY = 0.2
# Leases last six seconds, and a turn of a process that was killed is to be closed within ten.
_CLOSE_EVERY = 0.5
# The first conversation of an import is to be seen at once.
_IMPORT_EVERY = 0.25
_EMBED_AFTER = 1.5
_EMBED_SECONDS = 0.5
_AFTER_FAILURE = 5.0
_DAY_SECONDS = 86_400.0
# While nobody writes to a store, most work has nothing to do: it is looked for this rarely.
_AT_REST, _SOON_AT_REST = 5.0, 2.0
_STATE_SECONDS = 0.1
_ENDING_SECONDS, _ENDING_STEP = 1.0, 0.02
_FAILED = object()


class InboxWork(Protocol):
    """Has agents answer their inboxes by themselves: `InboxWorker`."""

    def look(self) -> object:
        """Begin to answer pending items."""

    def close(self) -> None:
        """Begin no further answers."""


def _nothing() -> None:
    """For a part that has no such work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWork:
    """Recurring work that the parts of a server add to that of its stores.

    inboxes: makes the worker that has agents answer their inboxes.
    """

    erase_closed_accounts: Callable[[], object] = _nothing
    look_for_changes: Callable[[], object] = _nothing
    close_abandoned_turns: Callable[[], object] = _nothing
    stop_answers_of_disabled: Callable[[], object] = _nothing
    work_on_imports: Callable[[], object] = _nothing
    name_threads: Callable[[], object] = _nothing
    sweep_files: Callable[[], object] = _nothing
    purge_audit_log: Callable[[], object] = _nothing
    index_files: Callable[[], object] = _nothing
    inboxes: Callable[[], InboxWork] | None = None


_STORES_ALONE = ServerWork()


async def keep_up(
    *,
    database: Database,
    knowledge: KnowledgeAccess,
    vectors: MessageVectors,
    vaults: Vaults,
    work: ServerWork = _STORES_ALONE,
    duties: Duties = EVERY_DUTY,
) -> None:
    """Index new messages and memories, and purge expired rows. Runs until it is cancelled.

    Each job has its own thread: a hanging embedding model or a slow purge delays no other job and no turn. duties: the
    work that this process does for all servers of the store; work that each server does for itself is no duty.
    """
    is_alone = duties is EVERY_DUTY
    files = [each for each in (database.backend.file, knowledge.file) if each is not None] if is_alone else []
    stores = Stores(files)
    own, shared = Upkeep(stores=stores), Upkeep(duties, stores=stores)
    await asyncio.gather(
        *_of_each_server(own, work, vaults, look_every=_EVERY if is_alone else _LOOK_FOR_OTHERS_EVERY),
        *_of_one_server(shared, work, database, knowledge, vaults),
        *_embedding(shared, knowledge, vectors, vaults),
        _answer_inboxes(work.inboxes, shared),
        # Last, when all of the above have said what they are called.
        own.repeat(lambda: duties.keep(shared.names), what="duties", every=RENEW_SECONDS, after_failure=_EVERY),
    )


def _of_each_server(own: Upkeep, work: ServerWork, vaults: Vaults, *, look_every: float) -> Iterator[_Repeated]:
    """Work of every server: for what it keeps in memory, and for what needs an immediate response."""
    yield own.repeat(work.look_for_changes, what="the streams of changes", every=look_every)
    yield own.repeat(
        work.close_abandoned_turns,
        what="turns of processes that are gone",
        every=_CLOSE_EVERY,
        after_failure=_EVERY,
        at_rest=_SOON_AT_REST,
    )
    yield own.repeat(
        work.stop_answers_of_disabled, what="answers of disabled accounts", every=_EVERY, at_rest=_SOON_AT_REST
    )
    yield own.repeat(vaults.summaries.make_waiting, what="summaries of documents", at_rest=0)


def _of_one_server(
    shared: Upkeep, work: ServerWork, database: Database, knowledge: KnowledgeAccess, vaults: Vaults
) -> Iterator[_Repeated]:
    """Work that one of the servers of a store does for all."""

    def tell_and_erase() -> None:
        # In this order: a change must not be recorded again after its account was erased.
        tell_changes(database=database, knowledge=knowledge)
        work.erase_closed_accounts()

    def fill() -> None:
        for _ in fill_pending(database=database):
            pass

    watcher = VaultWatcher(vaults)
    jobs = JobRunner(
        database=database,
        kinds=[*_hourly(database, knowledge, vaults, watcher, work), VaultIndexing(vaults)],
    )
    yield shared.repeat(partial(index_pending, database=database), what="the search index")
    yield shared.repeat(fill, what="the words of documents and passages")
    yield shared.repeat(work.index_files, what="the words of files")
    yield shared.repeat(jobs.run_due, what="jobs")
    yield shared.repeat(work.work_on_imports, what="imports", every=_IMPORT_EVERY)
    yield shared.repeat(tell_and_erase, what="memories", every=_TELL_EVERY, at_rest=_SOON_AT_REST)
    yield shared.repeat(watcher.look, what="documents", at_rest=0)
    yield shared.repeat(partial(pack_histories, vaults), what="the histories of documents", every=_DAY_SECONDS)
    yield shared.repeat(work.name_threads, what="titles of threads")


def _embedding(
    shared: Upkeep, knowledge: KnowledgeAccess, vectors: MessageVectors, vaults: Vaults
) -> Iterator[_Repeated]:
    """Work that asks the embedding model. Loading the model must not delay the first page."""
    kinds: dict[str, Callable[[], object]] = {
        "vectors of memories": EmbeddingUpkeep(knowledge).embed_pending,
        "vectors of messages": partial(vectors.embed_pending, budget_seconds=_EMBED_SECONDS),
        "vectors of files": partial(vectors.files.embed_pending, budget_seconds=_EMBED_SECONDS),
        "vectors of documents": partial(vaults.vectors.embed_pending, budget_seconds=_EMBED_SECONDS),
    }
    for what, embed in kinds.items():
        yield shared.repeat(embed, what=what, begin_after=_EMBED_AFTER)


async def _answer_inboxes(make: Callable[[], InboxWork] | None, upkeep: Upkeep) -> None:
    """Poll the inboxes; stop beginning answers when cancelled."""
    if make is None:
        return
    inboxes = make()
    try:
        await upkeep.repeat(inboxes.look, what="inboxes")
    finally:
        inboxes.close()


def _hourly(
    database: Database, knowledge: KnowledgeAccess, vaults: Vaults, watcher: VaultWatcher, work: ServerWork
) -> list[JobKind]:
    """Hourly upkeep of the store, one job after the other, so that a slow one delays only the others."""
    purges: dict[str, Callable[[], object]] = {
        "purge_bin": partial(purge_bin, database=database),
        "purge_document_bins": partial(purge_bins, vaults),
        "sweep_files": work.sweep_files,
        "purge_agents": partial(purge_agents, database=database),
        "expire_proposals": partial(expire_proposals, database=database),
        "purge_usage": partial(purge_usage, database=database),
        "purge_audit_log": work.purge_audit_log,
    }
    # What a wrong clock can do no harm to, too.
    others: dict[str, Callable[[], object]] = {
        "purge_changes": partial(purge_changes, database=database),
        "purge_events": partial(purge_events, database=database),
        "purge_jobs": partial(purge_jobs, database=database),
        "purge_expired": partial(purge_expired, database=database),
        "purge_plans": lambda: purge_plans(knowledge.database()),
        "purge_temporary": partial(purge_temporary, database=database),
        "scan_vaults": watcher.scan,
        "purge_summaries": partial(purge_summaries, database=database),
        "clear_retired_index": partial(clear_retired_index, database=database),
        "optimize": partial(optimize, database=database),
        "optimize_memories": lambda: knowledge.database().optimize(),
        "sweep_vectors": lambda: sweep_files(knowledge.database()),
    }
    guarded = {name: partial(_purge, database, purge) for name, purge in purges.items()}
    return [RecurringWork(name=name, work=each) for name, each in (guarded | others).items()]


def _purge(database: Database, purge: Callable[[], object]) -> object:
    """Delete what is old, unless the clock may be wrong."""
    return purge() if is_clock_trusted(database=database) else 0


class Stores:
    """Says whether anybody has written to the files of the stores. Without files, nothing is known."""

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._files = files
        self._looked_at, self._state = -math.inf, object()

    def state(self) -> object:
        """Equal to an earlier one if nobody has written since; a tenth of a second old at most, less than any pause."""
        moment = time.monotonic()
        if not self._files:
            return object()
        if moment - self._looked_at >= _STATE_SECONDS:
            self._looked_at, self._state = moment, [written_state(file) for file in self._files]
        return self._state


class Upkeep:
    """Repeats work, also after failures: a server that stopped indexing would become outdated.

    duties: which of the work this process does; other servers do the rest. stores: what the work reads. names: of the
    repeated work.
    """

    def __init__(self, duties: Duties = EVERY_DUTY, *, stores: Stores | None = None) -> None:
        self._duties = duties
        self._stores = stores or Stores()
        self.names: list[str] = []

    async def repeat(
        self,
        work: Callable[[], object],
        *,
        what: str,
        every: float = _EVERY,
        after_failure: float = _AFTER_FAILURE,
        begin_after: float = 0.0,
        at_rest: float = _AT_REST,
    ) -> None:
        """Run `work` in its own thread every so many seconds, until it is cancelled.

        Work that returns True has more to do, and goes on at once. at_rest: so many seconds after it ended, work is run
        although nobody has written to the stores meanwhile.
        """
        self.names.append(what)
        thread, outage = WorkerThreads(1, name=f"upkeep of {what}"), Outage(log, what=f"upkeep of {what} goes on")
        done, ended_at = object(), -math.inf
        try:
            await asyncio.sleep(begin_after)
            while True:
                # Looked at before the work, which may overlook what is written meanwhile.
                state, result = self._stores.state(), None
                is_due = state != done or time.monotonic() - ended_at >= at_rest
                if is_due and self._duties.holds(what):
                    result = await _result(work, what=what, thread=thread, outage=outage)
                    ended_at = time.monotonic()
                    done = object() if result is _FAILED or result is True else state
                await asyncio.sleep(after_failure if result is _FAILED else 0 if result is True else every)
        finally:
            thread.shutdown(cancel_futures=True)
            await _until_idle(thread)


async def _until_idle(thread: WorkerThreads) -> None:
    """Wait for work that has begun, as long as it is short: what still reads a store keeps it from being closed."""
    for _ in range(round(_ENDING_SECONDS / _ENDING_STEP)):
        if not thread.is_working:
            return
        await asyncio.sleep(_ENDING_STEP)


async def _result(work: Callable[[], object], *, what: str, thread: WorkerThreads, outage: Outage) -> object:
    """What `work` returned, `_FAILED` if it failed.

    That it has to wait is logged once until it goes on. That the store is closed is not: the server is stopping.
    """
    try:
        result = await asyncio.get_running_loop().run_in_executor(thread, work)
    except StoreClosedError:
        return _FAILED
    except (StoreError, KnowledgeUnavailableError, ModelError) as error:
        outage.failed(f"upkeep of {what} has to wait: {error.message}")
    except Exception:
        log.exception("upkeep of %s failed", what)
    else:
        outage.over()
        return result
    return _FAILED
