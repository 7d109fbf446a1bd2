"""Two processes behind one port, on PostgreSQL and Valkey, beside one process on SQLite; a million messages on both."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from database.connection import open_database
from database.conversations.listing import list_conversations
from database.engine.database import Database
from database.history.reading import list_messages
from database.search.index import words
from database.search.indexing import index_pending
from database.transfer.copying import renew_statistics
from portability.engines import Place, transfer
from search.meaning import MessageVectors
from search.messages import search_messages
from search.patterns import Deadline, find_pattern
from search.query import parse_query
from setup.engines import LocalValkey
from tests.http_client import Client
from tests.live_server import LiveServer

from ..fake_model import running, settings_for
from ..figures import Figure, of_samples, percentile
from ..questions.scale import ask, fill_vectors, questions_asked
from ..seeded import DOMAIN, EMAIL, Bench
from .engines import Silent, local_postgresql
from .knowledge import packaged_model
from .turns import check, limits, put_on, stored, warm_up

_PROCESSES = 2
_ONE, _TWO = "one process on SQLite", "two processes on PostgreSQL and Valkey"
_ROUNDS, _QUICK_ROUNDS = 3, 1
_BUDGETED_ROUNDS = 9
_BUDGETED = 500
_SEED = 20260208
_COMMONEST = "the"
_WARM = 5
_EMAILS = ("ada@example.org", *(f"person-{number}@example.org" for number in range(1, 10)))
"""The first is the owner of the server, who makes the other accounts."""

_SECONDS, _SETTLED = 3.0, 0.5

Work = Callable[[Database, MessageVectors], None]


def burst(bench: Bench) -> Iterator[Figure]:
    """Many new conversations at once, 100 words each at 20 a second, in turn: all complete, all stored, first words.

    They are ten people's: one has as many turns at once as settings allow from the start, and no more. The ratio is the
    median of those of the rounds, each of which puts the same on one and on the other: a round takes half as long again
    as another on a machine that is shared.
    """
    with ExitStack() as stack:
        address = stack.enter_context(running())
        settings = settings_for(address, "ticking-100-20") | limits() | {"ANAPHORA_TURNS_PER_PERSON": ""}
        servers = {
            _ONE: LiveServer(bench.scratch("burst-of-one"), settings),
            _TWO: LiveServer(bench.scratch("burst-of-two"), settings | _shared(bench, stack)),
        }
        clients: dict[str, dict[str, Client]] = {}
        for name, server in servers.items():
            stack.callback(server.stop)
            server.start()
            _wait_for_all(server)
            clients[name] = {email: server.sign_up(email) for email in _EMAILS}
            for client in clients[name].values():  # each of two processes has answered then
                warm_up(client)
            put_on(server, [*clients[name].values()], bench.size.streams[0], spread=0.0)
        _renew_statistics(servers[_TWO])
        for count in bench.size.streams:
            first: dict[str, list[float]] = {name: [] for name in servers}
            ratios = []
            for _ in range(_rounds(bench, count)):
                slowest = {}
                for name, server in servers.items():
                    outcome = put_on(server, [*clients[name].values()], count, spread=0.0)
                    check(outcome, count)
                    for conversation_id, text in outcome.answers.items():
                        owner, _, _ = conversation_id.rpartition("_")
                        assert stored(clients[name][owner], conversation_id, text)
                    first[name] += outcome.first
                    slowest[name] = percentile(outcome.first, 95)
                ratios.append(slowest[_TWO] / slowest[_ONE])
            for name, samples in first.items():
                yield of_samples(f"first word of {count} turns at once, {name}", samples)
            budget = 1.0 if count == _BUDGETED else None
            name = f"first word of {count} turns at once, p95, two ÷ one, median of {len(ratios)}"
            yield Figure(name=name, value=statistics.median(ratios), unit="×", budget=budget)


def _rounds(bench: Bench, count: int) -> int:
    if bench.size.name == "quick":
        return _QUICK_ROUNDS
    return _BUDGETED_ROUNDS if count == _BUDGETED else _ROUNDS


def _wait_for_all(server: LiveServer) -> None:
    """Until the processes of a supervisor are there; a server without one has none."""
    assert server.process is not None
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    expected = int(server.environ.get("ANAPHORA_PROCESSES", "0"))
    while len(children.read_text().split()) < expected:
        time.sleep(_SETTLED)
    time.sleep(_SETTLED)


def _renew_statistics(server: LiveServer) -> None:
    """What PostgreSQL does by itself a minute after it has got its first rows; until then it plans for empty tables."""
    database = open_database(Path(server.users_dir), database_url=server.environ["DATABASE_URL"])
    try:
        renew_statistics(database)
    finally:
        database.close()


def _shared(bench: Bench, stack: ExitStack) -> dict[str, str]:
    """Settings of two processes on a database and a Valkey that are started for them."""
    postgresql = local_postgresql(bench, stack)
    postgresql.make_database("burst")
    valkey = LocalValkey(bench.scratch("valkey"))
    stack.callback(valkey.close)
    valkey.start()
    return {
        "DATABASE_URL": postgresql.url("burst"),
        "REDIS_URL": valkey.url,
        "ANAPHORA_PROCESSES": str(_PROCESSES),
    }


def searches(bench: Bench) -> Iterator[Figure]:
    """Words, questions and regular expressions over one person's messages, the same ones on both engines, in turn."""
    model = packaged_model(bench)
    with ExitStack() as stack:
        postgresql = local_postgresql(bench, stack)
        postgresql.make_database("searched")
        here = Place(bench.moved() / "data")
        there = Place(here.data_dir, postgresql.url("searched"))
        transfer(here, there, listener=Silent())
        stores: dict[str, Database] = {}
        for name, place in (("SQLite", here), ("PostgreSQL", there)):
            database = open_database(place.data_dir / "users", database_url=place.database_url)
            stack.callback(database.close)
            index_pending(database=database)
            stores[name] = database
        fill_vectors(list(stores.values()), model)
        for database in stores.values():
            renew_statistics(database)
        vectors = {name: MessageVectors(database=each, model=lambda: model) for name, each in stores.items()}
        for what, budget, work in _searches(stores["SQLite"], times=bench.times):
            measured: dict[str, list[float]] = {name: [] for name in stores}
            for number in range(_WARM + bench.times):
                for name, database in stores.items():
                    begun = time.perf_counter()
                    work[number](database, vectors[name])
                    if number >= _WARM:
                        measured[name].append((time.perf_counter() - begun) * 1_000)
            for name, samples in measured.items():
                yield of_samples(f"{what}, {name}", samples, budget_p95=budget)


def _searches(database: Database, *, times: int) -> Iterator[tuple[str, float, list[Work]]]:
    """What is searched for: its name, the budget in ms and a piece of work for each sample."""
    random = Random(_SEED)
    own: dict[str, Any] = {"database": database, "user_email": EMAIL}
    count = _WARM + times
    listed, _ = list_conversations(**own, domain=DOMAIN, limit=200)
    rooms = [random.choice(listed).conversation_id for _ in range(count)]
    said = [list_messages(**own, conversation_id=each, after=0, limit=1)[0].text for each in rooms]
    texts = [words(each) for each in said]
    two = [" ".join(random.sample(text, 2)) for text in texts]
    yield "search for a word", 50.0, [partial(_found, random.choice(text)) for text in texts]
    yield "search for two words", 50.0, [partial(_found, each) for each in two]
    yield "search for the commonest word", 50.0, [partial(_found, _COMMONEST)] * count
    yield "a question by meaning", 100.0, [partial(_asked, text) for text in questions_asked(count)]
    patterns = [" ".join(map(re.escape, text.split()[4:8])) for text in said]
    yield "search by a pattern", 500.0, [partial(_matched, each) for each in patterns]


def _found(query: str, database: Database, vectors: MessageVectors) -> None:
    del vectors
    assert search_messages(database=database, user_email=EMAIL, query=parse_query(query)).messages, query


def _asked(text: str, database: Database, vectors: MessageVectors) -> None:
    ask(database, text, vectors)


def _matched(pattern: str, database: Database, vectors: MessageVectors) -> None:
    del vectors
    found = find_pattern(pattern, database=database, user_email=EMAIL, limit=20, deadline=Deadline(_SECONDS))
    assert found.matches or found.is_partial, pattern
