"""What moving costs between SQLite and PostgreSQL, and what is measured on both in turn.

The same work alternates between the stores, so that all of them meet the same other work of the machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from portability.engines import Place, TableCount, transfer
from setup.engines import LocalPostgreSQL

from ..figures import Figure, of_samples, ratio
from ..seeded import Bench
from .turns import QUESTION, handed_over, made_references, serving

_BUDGET_POSTGRESQL = 1.5
_FLUSHED = "SQLite with flushed commits"
_REFERRING = "with 3 references"
_SENT = (_REFERRING, "without references")
WARM = 5
_BUDGET_AMONG_MANY = 1.5
_OPTIONS = {
    "max_connections": "100",
    # A quarter of the memory, as PostgreSQL's documentation and ours recommend.
    "shared_buffers": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2**22}MB",
    "max_wal_size": "2GB",
}


def to_model(bench: Bench) -> Iterator[Figure]:
    """From sending a message until the model has the request, over HTTP, on both engines in turn.

    With three references to other conversations, as the row of accepting has it whose ratio has a budget, and with
    none. PostgreSQL flushes each commit to the disk, SQLite by default none: it runs once more with commits that are
    flushed.
    """
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        postgresql.make_database("served")
        kinds = {
            "SQLite": {},
            _FLUSHED: {"ANAPHORA_SYNCHRONOUS": "full"},
            "PostgreSQL": {"DATABASE_URL": postgresql.url("served")},
        }
        samples: dict[tuple[str, str], list[float]] = {(name, how): [] for how in _SENT for name in kinds}
        served = {
            name: stack.enter_context(serving(bench.scratch(f"served-{number}"), "ticking-1-1000", **settings))
            for number, (name, settings) in enumerate(kinds.items())
        }
        told = {name: made_references(client, count=3) for name, (_, client) in served.items()}
        rooms = {each: served[each[0]][1].create_conversation() for each in samples}
        for number in range(WARM + bench.times):
            for (name, how), taken in samples.items():
                text = f"{QUESTION} {number}" + (f" {told[name]}" if how == _REFERRING else "")
                took = handed_over(*served[name], rooms[name, how], text)
                if number >= WARM:
                    taken.append(took)
    for (name, how), taken in samples.items():
        yield of_samples(f"message {how} to model, {name}", taken)
    for how in _SENT:
        for other in ("SQLite", _FLUSHED):
            budget = _BUDGET_POSTGRESQL if (how, other) == (_REFERRING, "SQLite") else None
            pair = samples["PostgreSQL", how], samples[other, how]
            yield ratio(f"message {how} to model, PostgreSQL ÷ {other}", *pair, budget=budget)


def moves(bench: Bench) -> Iterator[Figure]:
    """The seeded messages moved to PostgreSQL and back: all tables have the same digests."""
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        postgresql.make_database("moved")
        here, back = Place(bench.moved() / "data"), Place(bench.scratch("moved-back"))
        there = Place(here.data_dir, postgresql.url("moved"))
        went, came = _Move(here, there), _Move(there, back)
        what = f"{went.messages:,} messages"
        assert went.digests == came.digests
        yield from went.figures(f"to PostgreSQL, {what}")
        yield from came.figures(f"to SQLite, {what}")


class _Move:
    """A transfer that was made: what it copied, and how long the whole of it took."""

    def __init__(self, source: Place, target: Place) -> None:
        self.source, self.target = source, target
        begun, begun_cpu = time.perf_counter(), time.process_time()
        found = transfer(source, target, listener=Silent())
        self.seconds, self.cpu = time.perf_counter() - begun, time.process_time() - begun_cpu
        self.rows = sum(each.rows for each in found)
        self.messages = sum(each.rows for each in found if each.table == "messages")
        self.digests = [each.digest for each in found]

    def figures(self, what: str) -> Iterator[Figure]:
        """Rows a second, copied, indexed and compared; CPU time of the command alone; room in SQLite."""
        yield Figure(name=what, value=self.rows / self.seconds, unit="rows/s")
        yield Figure(name=f"{what}, CPU of the command", value=self.cpu, unit="s")
        for place in (self.source, self.target):
            if place.database_url is None:
                size = (place.data_dir / "users" / "users.db").stat().st_size
                yield Figure(name=f"{what}, size in SQLite", value=size / self.messages, unit="bytes a message")


class Silent:
    """A `portability.engines.Listener`: the whole of a transfer is timed, not its steps."""

    def round_begins(self, tables: Sequence[TableCount]) -> None:
        """Say nothing."""

    def rows(self, step: str, table: str, count: int) -> None:
        """Say nothing."""

    def waits(self) -> None:
        """Say nothing: no server runs on a benchmark's store."""


def local_postgresql(bench: Bench, stack: ExitStack) -> LocalPostgreSQL:
    """A server of its own, with an empty cluster, until `stack` ends."""
    server = LocalPostgreSQL(bench.scratch("postgresql"), options=_OPTIONS)
    stack.callback(server.close)
    server.start()
    return server


Work = Callable[[], object]
Prepare = Callable[[Path, str | None, int], Mapping[str, Sequence[Work]]]
"""Fills a database, below a folder or at an address, with what so many people have; the work of one of them by name."""


def alone_and_among_many(
    bench: Bench, *, people: int, among: str, prepare: Prepare, clocks: Mapping[str, Callable[[], float]]
) -> Iterator[Figure]:
    """The work of one person alone and among many, on both engines, in turn with each other.

    among: what all of them have together. clocks: by engine; the first pieces of work are warm-up.
    """
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        for engine, clock in clocks.items():
            work = {}
            for count in (1, people):
                url = None
                if engine == "PostgreSQL":
                    postgresql.make_database(f"people{count}")
                    url = postgresql.url(f"people{count}")
                work[count] = prepare(bench.scratch(f"{engine}-{count}"), url, count)
            for what in work[1]:
                alone, many = _in_turn(work[1][what], work[people][what], clock=clock)
                yield of_samples(f"{what}, alone, {engine}", alone)
                yield of_samples(f"{what}, among {among}, {engine}", many)
                yield ratio(f"{what}, many ÷ alone, {engine}", many, alone, budget=_BUDGET_AMONG_MANY)


def _in_turn(
    some: Sequence[Work], others: Sequence[Work], *, clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each, the warm ones left out."""
    samples: tuple[list[float], list[float]] = ([], [])
    for pair in zip(some, others, strict=True):
        for work, measured in zip(pair, samples, strict=True):
            begun = clock()
            work()
            measured.append((clock() - begun) * 1_000)
    return samples[0][WARM:], samples[1][WARM:]
