"""Background upkeep of a server: indexing new messages and memories, purging what has expired."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from chat.processes.duties import EVERY_DUTY, RENEW_SECONDS, Duties
from chat.turns.threads import WorkerThreads
from database.accounts.quotas import purge_usage
from database.agents.repository import purge_agents
from database.changes import purge_changes
from database.conversations.deletion import purge_bin
from database.engine.database import Database
from database.errors import StoreError
from database.jobs import purge_jobs
from database.maintenance.statistics import optimize
from database.proposals import expire_proposals
from database.search.indexing import clear_retired_index, index_pending
from database.turns.events import purge_events
from language_models.errors import ModelError
from search.meaning import MessageVectors
from truth_management_system.interface.structured_api import KnowledgeUnavailableError
from vault.documents import Vaults
from vault.upkeep import VaultIndexing, VaultWatcher

from .jobs import JobKind, JobRunner, RecurringWork
from .knowledge import EmbeddingUpkeep, KnowledgeAccess, tell_changes

log = logging.getLogger(__name__)
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


class InboxWork(Protocol):
    """Has agents answer their inboxes by themselves: `InboxWorker`."""

    def look(self) -> object:
        """Begin to answer what waits."""
        ...

    def close(self) -> None:
        """Begin nothing more."""
        ...


async def keep_up(
    *,
    database: Database,
    knowledge: KnowledgeAccess,
    vectors: MessageVectors,
    vaults: Vaults,
    erase_closed_accounts: Callable[[], object] = lambda: None,
    look_for_changes: Callable[[], object] = lambda: None,
    close_abandoned_turns: Callable[[], object] = lambda: None,
    work_on_imports: Callable[[], object] = lambda: None,
    name_threads: Callable[[], object] = lambda: None,
    sweep_files: Callable[[], object] = lambda: None,
    purge_audit_log: Callable[[], object] = lambda: None,
    index_files: Callable[[], object] = lambda: None,
    inboxes: Callable[[], InboxWork] | None = None,
    duties: Duties = EVERY_DUTY,
) -> None:
    """Index new messages and memories, and purge what has expired. Runs until it is cancelled.

    Each job has its own thread: a hanging embedding model or a slow purge delays no other job and no turn. inboxes:
    makes what has agents answer their inboxes. duties: which of it this process does, where several servers share the
    store; what each server has to do for itself is no duty.
    """

    def tell_and_erase() -> None:
        # In this order: a change must not be recorded again after its account was erased.
        tell_changes(database=database, knowledge=knowledge)
        erase_closed_accounts()

    own = Upkeep()
    shared = Upkeep(duties)
    watcher = VaultWatcher(vaults)
    jobs = JobRunner(
        database=database,
        kinds=[*_hourly(database, knowledge, watcher, sweep_files, purge_audit_log), VaultIndexing(vaults)],
    )
    look_every = _EVERY if duties is EVERY_DUTY else _LOOK_FOR_OTHERS_EVERY
    await asyncio.gather(
        own.repeat(look_for_changes, what="the streams of changes", every=look_every),
        own.repeat(
            close_abandoned_turns, what="turns of processes that are gone", every=_CLOSE_EVERY, after_failure=_EVERY
        ),
        own.repeat(vaults.summaries.make_waiting, what="summaries of documents"),
        shared.repeat(partial(index_pending, database=database), what="the search index"),
        shared.repeat(index_files, what="the words of files"),
        shared.repeat(jobs.run_due, what="jobs"),
        shared.repeat(work_on_imports, what="imports", every=_IMPORT_EVERY),
        shared.repeat(tell_and_erase, what="memories", every=_TELL_EVERY),
        # Loading the model must not delay the first page.
        shared.repeat(EmbeddingUpkeep(knowledge).embed_pending, what="vectors of memories", begin_after=_EMBED_AFTER),
        shared.repeat(
            partial(vectors.embed_pending, budget_seconds=_EMBED_SECONDS),
            what="vectors of messages",
            begin_after=_EMBED_AFTER,
        ),
        shared.repeat(
            partial(vectors.files.embed_pending, budget_seconds=_EMBED_SECONDS),
            what="vectors of files",
            begin_after=_EMBED_AFTER,
        ),
        shared.repeat(watcher.look, what="documents"),
        shared.repeat(name_threads, what="titles of threads"),
        _answer_inboxes(inboxes, shared),
        shared.repeat(
            partial(vaults.vectors.embed_pending, budget_seconds=_EMBED_SECONDS),
            what="vectors of documents",
            begin_after=_EMBED_AFTER,
        ),
        # Last, when all of the above have said what they are called.
        own.repeat(lambda: duties.keep(shared.names), what="duties", every=RENEW_SECONDS, after_failure=_EVERY),
    )


async def _answer_inboxes(make: Callable[[], InboxWork] | None, upkeep: Upkeep) -> None:
    """Look into the inboxes again and again; begin nothing more at the end."""
    if make is None:
        return
    inboxes = make()
    try:
        await upkeep.repeat(inboxes.look, what="inboxes")
    finally:
        inboxes.close()


def _hourly(
    database: Database,
    knowledge: KnowledgeAccess,
    watcher: VaultWatcher,
    sweep_files: Callable[[], object],
    purge_audit_log: Callable[[], object],
) -> list[JobKind]:
    """What every store needs once an hour; one after the other, so that a slow one delays only the others."""
    work: dict[str, Callable[[], object]] = {
        "purge_changes": partial(purge_changes, database=database),
        "purge_events": partial(purge_events, database=database),
        "purge_bin": partial(purge_bin, database=database),
        "sweep_files": sweep_files,
        "purge_agents": partial(purge_agents, database=database),
        "expire_proposals": partial(expire_proposals, database=database),
        "purge_jobs": partial(purge_jobs, database=database),
        "purge_usage": partial(purge_usage, database=database),
        "purge_audit_log": purge_audit_log,
        "scan_vaults": watcher.scan,
        "clear_retired_index": partial(clear_retired_index, database=database),
        "optimize": partial(optimize, database=database),
        "optimize_memories": lambda: knowledge.database().optimize(),
    }
    return [RecurringWork(name=name, work=each) for name, each in work.items()]


class Upkeep:
    """Repeats work, also after failures: a server that stopped indexing would grow stale.

    duties: of what this process does; the rest it leaves to other servers. names: of what is repeated.
    """

    def __init__(self, duties: Duties = EVERY_DUTY) -> None:
        self._duties = duties
        self.names: list[str] = []

    async def repeat(
        self,
        work: Callable[[], object],
        *,
        what: str,
        every: float = _EVERY,
        after_failure: float = _AFTER_FAILURE,
        begin_after: float = 0.0,
    ) -> None:
        """Do `work` in a thread of its own every so many seconds, until it is cancelled."""
        self.names.append(what)
        thread = WorkerThreads(1, name=f"upkeep of {what}")
        try:
            await asyncio.sleep(begin_after)
            while True:
                succeeded = not self._duties.holds(what) or await _done(work, what=what, thread=thread)
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
