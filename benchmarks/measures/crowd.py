"""One person alone and among many, on both engines: whatever has a budget and could grow with how many there are.

The same people are made up on both engines. What is measured alternates between the four stores, so that all of them
meet the same other work of the machine: first in this process, then by a server on each.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, update

from benchmarks.made_up.crowd import seed_crowd
from benchmarks.made_up.history import SeedPlan
from database.accounts.passwords import hash_password
from database.connection import open_database
from database.conversations.friendly_ids import backfill_friendly_ids
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.reading import list_messages
from database.schema import conversations
from database.search.index import words
from database.transfer.copying import renew_statistics
from database.turns.turns import accept_turn, finish_turn
from search.messages import search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

from ..fake_model import running, settings_for
from ..figures import Figure, of_samples, percentile, ratio
from ..load import resident_kb
from ..seeded import DOMAIN, Bench, mark_as_left
from .engines import local_postgresql
from .history import conversation_cache, gathered
from .turn_cpu import wait_until_idle
from .turns import QUESTION, check, handed_over, limits, made_references, put_on, warm_up

FULL_CROWD, QUICK_CROWD = (1_000, 1_000), (30, 150)
"""People, and conversations of each. ANAPHORA_BENCH_CROWD="200x200" asks for others."""
BUDGET_AMONG_MANY = 1.5
_ALONE, _AMONG_MANY = "alone", "among many"
_ENGINES = ("SQLite", "PostgreSQL")
_MESSAGES_OF_A_CONVERSATION, _CHARS_OF_A_MESSAGE = 3, 240
_BUDGETS = {
    "search for a word": 50.0,
    "search for two words": 50.0,
    "search for the commonest word": 50.0,
    "search by a pattern": 500.0,
}
_SEED = 20260208
_COMMONEST = "the"
_WARM = 5
_SECONDS = 3.0
_READ_AT_ONCE = 2**20
_TWENTY = 20
_UNNAMED = 100
_ROUNDS, _STREAMS = 4, 50
_MOST_TIMES = 60

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


@dataclass(frozen=True, slots=True)
class Home:
    """Where a store is. database_url: None for SQLite, whose file is in `data/users` below the folder."""

    folder: Path
    database_url: str | None
    user_email: str

    def open(self) -> Database:
        """The store, for this process."""
        return open_database(self.folder / "data" / "users", database_url=self.database_url)

    def server(self, model: str, address: str) -> LiveServer:
        """A server on the store, whose answers come from the fake model of this name."""
        own = {} if self.database_url is None else {"DATABASE_URL": self.database_url}
        return LiveServer(self.folder, settings_for(address, model) | limits() | own)


@dataclass(slots=True)
class Measured:
    """Milliseconds (or another unit) by what was measured and by store, which is called `SQLite, alone` and so on."""

    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, what: str, store: str, sample: float) -> None:
        """One more."""
        self.samples.setdefault(what, {}).setdefault(store, []).append(sample)

    def figures(self, *, unit: str = "ms") -> Iterator[Figure]:
        """Each of them, and the ratios, of which those among many ÷ alone have a budget."""
        for what, by_store in self.samples.items():
            for store, samples in by_store.items():
                budget = _BUDGETS.get(what) if store.endswith(_AMONG_MANY) else None
                yield of_samples(f"{what}, {store}", samples, unit=unit, budget_p95=budget)
            for engine in _ENGINES:
                among, alone = (by_store[f"{engine}, {how}"] for how in (_AMONG_MANY, _ALONE))
                yield ratio(f"{what} on {engine}, among many ÷ alone", among, alone, budget=BUDGET_AMONG_MANY)
            pair = (by_store[f"{engine}, {_AMONG_MANY}"] for engine in reversed(_ENGINES))
            yield ratio(f"{what}, PostgreSQL ÷ SQLite", *pair, budget=None)


def crowd(bench: Bench) -> Iterator[Figure]:
    """One person alone and among many, on both engines: what is measured, and the ratios that have budgets."""
    people, count = _size(bench)
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        homes: dict[str, Home] = {}
        for name, number in ((_ALONE, 1), (_AMONG_MANY, people)):
            postgresql.make_database(f"crowd{number}")
            for engine, address in zip(_ENGINES, (None, postgresql.url(f"crowd{number}")), strict=True):
                folder = bench.scratch(f"crowd-{engine}-{number}")
                homes[f"{engine}, {name}"] = Home(folder, address, _email(number // 2))
        with ThreadPoolExecutor() as side_by_side:
            made = [
                side_by_side.submit(_crowded, home, store, people=1 if store.endswith(_ALONE) else people, each=count)
                for store, home in homes.items()
            ]
            yield from (each.result() for each in made)
        times = min(_MOST_TIMES, bench.times)
        yield from _in_this_process(homes, times=times).figures()
        address = stack.enter_context(running())
        asked, held = _asked(homes, address, times=times)
        yield from asked.figures()
        yield from held.figures(unit="MB")
        yield from _streamed(homes, address)
        yield from _started(homes, address)


def _size(bench: Bench) -> tuple[int, int]:
    if asked := os.environ.get("ANAPHORA_BENCH_CROWD"):
        people, _, count = asked.partition("x")
        return int(people), int(count)
    return QUICK_CROWD if bench.size.name == "quick" else FULL_CROWD


def _email(number: int) -> str:
    return f"person-{number}@example.org"


def _crowded(home: Home, store: str, *, people: int, each: int) -> Figure:
    """So many people with as many conversations each, stored and indexed; how many messages a second."""
    plan = SeedPlan(conversations=each, messages=each * _MESSAGES_OF_A_CONVERSATION, chars=_CHARS_OF_A_MESSAGE)
    made_as: dict[str, Any] = {"plan": plan, "email": _email, "password_hash": hash_password(PASSWORD)}
    begun = told_at = time.monotonic()
    database = home.open()
    for made in seed_crowd(database=database, people=people, **made_as):
        if time.monotonic() - told_at > 10:
            told_at = time.monotonic()
            print(f"  {store}: {made:,} of {people:,} people", file=sys.stderr, flush=True)
    renew_statistics(database)
    database.close()
    if home.database_url is None:
        mark_as_left(home.folder)
    speed = people * plan.messages / (time.monotonic() - begun)
    return Figure(name=f"{people:,} × {each:,} conversations made up beside others, {store}", value=speed, unit="1/s")


def _in_this_process(homes: Mapping[str, Home], *, times: int) -> Measured:
    """What the parts of the program do, without a server."""
    measured = Measured()
    with ExitStack() as stack:
        for home in homes.values():
            _read_again(home)
        people = {name: Person(home.open(), home.user_email) for name, home in homes.items()}
        for person in people.values():
            stack.callback(person.database.close)
        for number in range(_WARM + _ROUNDS):
            for name, person in people.items():
                _forget_names(person)
                name_them = partial(_named, person)
                _take(measured, f"name {_UNNAMED} old conversations", name, name_them, is_warm=number >= _WARM)
        rows = {name: _rows(person, times=times) for name, person in people.items()}
        for what in next(iter(rows.values())):
            for number in range(_WARM + times):
                for name in homes:
                    _take(measured, what, name, rows[name][what][number], is_warm=number >= _WARM)
    return measured


def _take(measured: Measured, what: str, store: str, work: Work, *, is_warm: bool) -> None:
    begun = time.perf_counter()
    work()
    if is_warm:
        measured.add(what, store, (time.perf_counter() - begun) * 1_000)


def _read_again(home: Home) -> None:
    """Into the memory of the machine what making the other stores has pushed out of it: the rows of 10 are warm.

    PostgreSQL's files were written last, and it holds parts of them itself.
    """
    if home.database_url is None:
        with (home.folder / "data" / "users" / "users.db").open("rb", buffering=0) as file:
            while file.read(_READ_AT_ONCE):
                pass


def _rows(person: Person, *, times: int) -> dict[str, list[Work]]:
    """What is measured, by name: one piece of work for each sample."""
    listed, _ = list_conversations(**person.own, domain=DOMAIN, limit=200)
    random = Random(_SEED)
    count = _WARM + times
    some = [random.choice(listed).conversation_id for _ in range(count)]
    said = [words(list_messages(**person.own, conversation_id=each, after=0, limit=2)[0].text) for each in some]
    queries = [random.sample(each, 2) for each in said]
    patterns = [r"(?i)" + r"\W+".join(each[4:8]) for each in said]
    references = [_reference(person, random.choice(listed)) for _ in range(count)]
    twenties = [random.sample(references, min(_TWENTY, len(references))) for _ in range(count)]
    return {
        "first page of the conversations": [partial(list_conversations, **person.own, domain=DOMAIN, limit=50)] * count,
        "all conversations": [partial(list_conversations, **person.own, domain=DOMAIN)] * count,
        "first window of a conversation": [
            partial(list_messages, **person.own, conversation_id=each, after=0, limit=50) for each in some
        ],
        "one message reference, from the store": [partial(_resolved, person, [each]) for each in references],
        "20 message references, from the store": [partial(_resolved, person, each) for each in twenties],
        "search for a word": [partial(_found, person, query[0]) for query in queries],
        "search for two words": [partial(_found, person, " ".join(query)) for query in queries],
        "search for the commonest word": [partial(_found, person, _COMMONEST)] * count,
        "search by a pattern": [partial(_matched, person, pattern) for pattern in patterns],
        "search by a pattern without a literal": [partial(_not_matched, person)] * count,
        "accept a turn": [partial(_accepted, person, each) for each in _new_conversations(person, count)],
        "accept and finish a turn": [partial(_answered, person, each) for each in _new_conversations(person, count)],
    }


def _reference(person: Person, row: Any) -> str:
    (message, *_) = list_messages(**person.own, conversation_id=row.conversation_id, after=0, limit=1)
    return f"conversation_{row.conversation_friendly_id}_message_{message.message_short_hash}"


def _resolved(person: Person, names: list[str]) -> None:
    gathered(person.own, names, conversation_cache(person.own))


def _found(person: Person, query: str) -> None:
    assert search_messages(**person.own, query=parse_query(query)).messages, query


def _matched(person: Person, pattern: str) -> None:
    assert find_pattern(pattern, **person.own, limit=20, deadline=Deadline(_SECONDS)).matches, pattern


def _not_matched(person: Person) -> None:
    assert not find_pattern("[0-9]{9}", **person.own, limit=20, deadline=Deadline(_SECONDS)).matches


def _new_conversations(person: Person, count: int) -> list[str]:
    return [create_conversation(**person.own, domain=DOMAIN).conversation_id for _ in range(count)]


def _accepted(person: Person, conversation_id: str) -> None:
    accept_turn(**person.own, conversation_id=conversation_id, text="What follows from this?", config={})


def _answered(person: Person, conversation_id: str) -> None:
    own: dict[str, Any] = {**person.own, "conversation_id": conversation_id}
    turn = accept_turn(**own, text="What follows from this?", config={})
    ending: dict[str, Any] = {"text": "Nothing. " * 60, "status": "complete", "config": {}, "title": "What follows"}
    finish_turn(**own, response_message_id=turn.response_message_id, **ending)


def _forget_names(person: Person) -> None:
    """Their newest conversations are as those of before there were any names."""
    listed, _ = list_conversations(**person.own, domain=DOMAIN, limit=_UNNAMED)
    ids = [row.conversation_id for row in listed]

    def forget(connection: Connection) -> None:
        own = conversations.c.user_email == person.user_email, conversations.c.conversation_id.in_(ids)
        connection.execute(update(conversations).where(*own).values(conversation_friendly_id=None))

    person.database.write(forget)


def _named(person: Person) -> None:
    assert backfill_friendly_ids(**person.own, domain=DOMAIN) == _UNNAMED


def _asked(homes: Mapping[str, Home], address: str, *, times: int) -> tuple[Measured, Measured]:
    """Over HTTP: what the page asks for, a search of all kinds, and a message until the model has it; idle memory."""
    measured, held = Measured(), Measured()
    with ExitStack() as stack:
        served = {name: _serving(stack, home, "ticking-1-1000", address) for name, home in homes.items()}
        for name, (server, _) in served.items():
            assert server.process is not None
            held.add("idle memory", name, resident_kb(server.process.pid) / 1_024)
        pages = {name: _pages(client, times) for name, (_, client) in served.items()}
        for what in next(iter(pages.values())):
            for number in range(_WARM + times):
                for name, (_, client) in served.items():
                    path = pages[name][what][number]
                    _take(measured, what, name, partial(_got, client, path), is_warm=number >= _WARM)
        told = {name: made_references(client, count=3) for name, (_, client) in served.items()}
        rooms = {name: client.create_conversation() for name, (_, client) in served.items()}
        for number in range(_WARM + times):
            for name, (server, client) in served.items():
                took = handed_over(server, client, rooms[name], f"{QUESTION} {number} {told[name]}")
                if number >= _WARM:
                    measured.add("message with 3 references to model", name, took)
    return measured, held


def _serving(stack: ExitStack, home: Home, model: str, address: str) -> tuple[LiveServer, Client]:
    """A server that has checked its store, and the person at it."""
    server = home.server(model, address)
    stack.callback(server.stop)
    server.start()
    assert server.process is not None
    client = server.sign_in(home.user_email)
    wait_until_idle(server.process.pid)
    return server, client


def _pages(client: Client, times: int) -> dict[str, list[str]]:
    """What is asked for, by name: an address for each sample."""
    random = Random(_SEED)
    count = _WARM + times
    listed = client.get(f"/list_conversation_by_user/{DOMAIN}?limit=200").json()
    some = [random.choice(listed)["conversation_id"] for _ in range(count)]
    said = [words(client.get(_window(each)).json()[0]["text"]) for each in some]
    return {
        "GET the page of a conversation": [f"/interface/{each}" for each in some],
        "GET the first page of the conversations": [f"/list_conversation_by_user/{DOMAIN}?limit=50"] * count,
        "GET all conversations": [f"/list_conversation_by_user/{DOMAIN}"] * count,
        "GET the workspaces": [f"/list_workspaces/{DOMAIN}"] * count,
        "GET the first window of a conversation": [_window(each) for each in some],
        "GET a search of all kinds for two words": [
            f"/search?q={quote(' '.join(random.sample(each, 2)))}" for each in said
        ],
    }


def _window(conversation_id: str) -> str:
    return f"/list_messages_by_conversation/{conversation_id}?limit=50"


def _got(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 200, reply.text


def _streamed(homes: Mapping[str, Home], address: str) -> Iterator[Figure]:
    """50 new conversations at once, 100 words each at 20 a second: first words, delay, CPU and memory of each."""
    measured, used, held = Measured(), Measured(), Measured()
    with ExitStack() as stack:
        served = {name: _serving(stack, home, "ticking-100-20", address) for name, home in homes.items()}
        for _, client in served.values():
            warm_up(client)
        for number in range(_ROUNDS + 1):
            for name, (server, client) in served.items():
                assert server.process is not None
                wait_until_idle(server.process.pid)
                idle = resident_kb(server.process.pid, "RssAnon")
                outcome = put_on(server, [client], _STREAMS, spread=0.0)
                check(outcome, _STREAMS)
                if number:
                    measured.add(f"first word of {_STREAMS} turns at once, p95", name, percentile(outcome.first, 95))
                    measured.add(f"delay of each word at {_STREAMS} streams, p95", name, percentile(outcome.lags, 95))
                    used.add(f"CPU of each streamed word at {_STREAMS} streams", name, outcome.cpu_ms_a_word)
                else:
                    held.add(f"memory of each of {_STREAMS} streams", name, (outcome.peak_kb - idle) / _STREAMS)
    yield from measured.figures()
    yield from used.figures()
    yield from held.figures(unit="KB")


def _started(homes: Mapping[str, Home], address: str) -> Iterator[Figure]:
    """From starting a server to its first page."""
    measured = Measured()
    for number in range(_ROUNDS + 1):
        for name, home in homes.items():
            server = home.server("ticking-1-1000", address)
            begun = time.perf_counter()
            server.start()
            try:
                assert server.client().get("/login").status == 200
                if number:
                    measured.add("start to first page", name, time.perf_counter() - begun)
            finally:
                server.stop()
    yield from measured.figures(unit="s")
