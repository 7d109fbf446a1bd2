"""The same work on SQLite and on PostgreSQL, and for one person alone and among many, each in turn with the other.

The same people are made up on both engines; `moves` measures moving from one to the other. What is measured alternates
between the stores, so that all of them meet the same other work of the machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from benchmarks.made_up.crowd import seed_crowd
from benchmarks.made_up.history import SeedPlan
from database.accounts.passwords import hash_password
from database.connection import open_database
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.search.index import words
from database.transfer.copying import renew_statistics
from database.turns.turns import accept_turn, finish_turn
from portability.engines import Place, TableCount, transfer
from search.messages import search_messages
from search.patterns.expressions import Deadline
from search.patterns.messages import find_pattern
from search.query import parse_query
from setup.engines import LocalPostgreSQL
from tests.live_server import PASSWORD

from ..figures import Figure, of_samples, percentile
from ..seeded import DOMAIN, Bench
from .turns import QUESTION, handed_over, made_references, serving

FULL_CROWD, QUICK_CROWD = (1_000, 1_000), (50, 40)
"""People, and conversations of each. ANAPHORA_BENCH_CROWD="200x200" asks for others."""
_MESSAGES_OF_A_CONVERSATION, _CHARS_OF_A_MESSAGE = 3, 240
_BUDGET_AMONG_MANY, _BUDGET_POSTGRESQL = 1.5, 1.5
_FLUSHED = "SQLite with flushed commits"
_REFERRING = "with 3 references"
_SENT = (_REFERRING, "without references")
_SEARCHES = {"search for a word": 50.0, "search for two words": 50.0, "search by a pattern": 500.0}
_SEED = 20260208
_WARM = 5
_SECONDS = 3.0
_READ_AT_ONCE = 2**20
_OPTIONS = {
    "max_connections": "100",
    # A quarter of the memory, as PostgreSQL's documentation and ours recommend.
    "shared_buffers": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 2**22}MB",
    "max_wal_size": "2GB",
}

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whose requests are measured, and the store that holds their things."""

    database: Database
    user_email: str

    @property
    def own(self) -> Mapping[str, Any]:
        """As the functions of the store take it."""
        return {"database": self.database, "user_email": self.user_email}


def engines(bench: Bench) -> Iterator[Figure]:
    """One person alone and among many, on both engines: what is measured, and the ratios that have budgets."""
    people, conversations = _crowd(bench)
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        stores: dict[str, Person] = {}
        for name, count in (("alone", 1), ("among many", people)):
            folder = bench.scratch(f"engines-{count}")
            postgresql.make_database(f"crowd{count}")
            for engine, address in (("SQLite", None), ("PostgreSQL", postgresql.url(f"crowd{count}"))):
                database = open_database(folder / "users", database_url=address)
                stack.callback(database.close)
                what = f"{count:,} × {conversations:,} conversations made up on {engine}"
                yield from _crowded(database, what, people=count, conversations=conversations)
                stores[f"{engine}, {name}"] = Person(database, _email(count // 2))
        for person in stores.values():
            _read_again(person.database)
        yield from _compared(stores, times=bench.times)


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
        for number in range(_WARM + bench.times):
            for (name, how), taken in samples.items():
                text = f"{QUESTION} {number}" + (f" {told[name]}" if how == _REFERRING else "")
                took = handed_over(*served[name], rooms[name, how], text)
                if number >= _WARM:
                    taken.append(took)
    for (name, how), taken in samples.items():
        yield of_samples(f"message {how} to model, {name}", taken)
    for how in _SENT:
        for other in ("SQLite", _FLUSHED):
            budget = _BUDGET_POSTGRESQL if (how, other) == (_REFERRING, "SQLite") else None
            pair = samples["PostgreSQL", how], samples[other, how]
            yield _ratio(f"message {how} to model, PostgreSQL ÷ {other}", *pair, budget=budget)


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


def _crowd(bench: Bench) -> tuple[int, int]:
    if asked := os.environ.get("ANAPHORA_BENCH_CROWD"):
        people, _, conversations = asked.partition("x")
        return int(people), int(conversations)
    return QUICK_CROWD if bench.size.name == "quick" else FULL_CROWD


def local_postgresql(bench: Bench, stack: ExitStack) -> LocalPostgreSQL:
    """A server of its own, with an empty cluster, until `stack` ends."""
    server = LocalPostgreSQL(bench.scratch("postgresql"), options=_OPTIONS)
    stack.callback(server.close)
    server.start()
    return server


def _read_again(database: Database) -> None:
    """Into the memory of the machine what making the other stores has pushed out of it: the rows of 10 are warm.

    PostgreSQL's files were written last, and it holds parts of them itself.
    """
    if database.backend.file is not None:
        with database.backend.file.open("rb", buffering=0) as file:
            while file.read(_READ_AT_ONCE):
                pass


def _email(number: int) -> str:
    return f"person-{number}@example.org"


def _crowded(database: Database, what: str, *, people: int, conversations: int) -> Iterator[Figure]:
    """So many people with as many conversations each, stored and indexed; how many messages a second."""
    count = conversations * _MESSAGES_OF_A_CONVERSATION
    plan = SeedPlan(conversations=conversations, messages=count, chars=_CHARS_OF_A_MESSAGE)
    crowd: dict[str, Any] = {"plan": plan, "email": _email, "password_hash": hash_password(PASSWORD)}
    begun = told_at = time.monotonic()
    for made in seed_crowd(database=database, people=people, **crowd):
        if time.monotonic() - told_at > 10:
            told_at = time.monotonic()
            print(f"  {made:,} of {people:,} people", file=sys.stderr, flush=True)
    renew_statistics(database)
    yield Figure(name=what, value=people * plan.messages / (time.monotonic() - begun), unit="messages/s")


def _compared(stores: Mapping[str, Person], *, times: int) -> Iterator[Figure]:
    rows = {name: _rows(person, times=times) for name, person in stores.items()}
    measured: dict[tuple[str, str], list[float]] = {}
    for what in next(iter(rows.values())):
        for number in range(_WARM + times):
            for name in stores:
                begun = time.perf_counter()
                rows[name][what][number]()
                if number >= _WARM:
                    measured.setdefault((what, name), []).append((time.perf_counter() - begun) * 1_000)
        for name in stores:
            budget = _SEARCHES.get(what) if name.endswith("many") else None
            yield of_samples(f"{what}, {name}", measured[what, name], budget_p95=budget)
        for engine in ("SQLite", "PostgreSQL"):
            among, alone = measured[what, f"{engine}, among many"], measured[what, f"{engine}, alone"]
            yield _ratio(f"{what} on {engine}, among many ÷ alone", among, alone, budget=_BUDGET_AMONG_MANY)
        pair = measured[what, "PostgreSQL, among many"], measured[what, "SQLite, among many"]
        yield _ratio(f"{what}, PostgreSQL ÷ SQLite", *pair, budget=None)


def _ratio(name: str, some: Sequence[float], others: Sequence[float], *, budget: float | None) -> Figure:
    ratio = statistics.median(some) / statistics.median(others)
    p95 = percentile(some, 95) / percentile(others, 95)
    return Figure(name=name, value=ratio, unit="×", p95=p95, budget=budget, samples=len(some))


def _rows(person: Person, *, times: int) -> dict[str, list[Work]]:
    """What is measured, by name: one piece of work for each sample."""
    listed, _ = list_conversations(**person.own, domain=DOMAIN, limit=200)
    random = Random(_SEED)
    count = _WARM + times
    some = [random.choice(listed).conversation_id for _ in range(count)]
    said = [words(list_messages(**person.own, conversation_id=each, after=0, limit=2)[0].text) for each in some]
    queries = [random.sample(each, 2) for each in said]
    patterns = [r"(?i)" + r"\W+".join(each[4:8]) for each in said]
    return {
        "first page of the conversations": [partial(list_conversations, **person.own, domain=DOMAIN, limit=50)] * count,
        "first window of a conversation": [
            partial(list_messages, **person.own, conversation_id=each, after=0, limit=50) for each in some
        ],
        "search for a word": [partial(_found, person, query[0]) for query in queries],
        "search for two words": [partial(_found, person, " ".join(query)) for query in queries],
        "search by a pattern": [partial(_matched, person, pattern) for pattern in patterns],
        "accept a turn": [partial(_accepted, person, each) for each in _new_conversations(person, count)],
        "accept and finish a turn": [partial(_answered, person, each) for each in _new_conversations(person, count)],
    }


def _found(person: Person, query: str) -> None:
    assert search_messages(**person.own, query=parse_query(query)).messages, query


def _matched(person: Person, pattern: str) -> None:
    assert find_pattern(pattern, **person.own, limit=20, deadline=Deadline(_SECONDS)).matches, pattern


def _new_conversations(person: Person, count: int) -> list[str]:
    return [create_conversation(**person.own, domain=DOMAIN).conversation_id for _ in range(count)]


def _accepted(person: Person, conversation_id: str) -> None:
    accept_turn(**person.own, conversation_id=conversation_id, text="What follows from this?", config={})


def _answered(person: Person, conversation_id: str) -> None:
    own: dict[str, Any] = {**person.own, "conversation_id": conversation_id}
    turn = accept_turn(**own, text="What follows from this?", config={})
    ending: dict[str, Any] = {"text": "Nothing. " * 60, "status": "complete", "config": {}, "title": "What follows"}
    finish_turn(**own, response_message_id=turn.response_message_id, **ending)
