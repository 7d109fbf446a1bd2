"""What it costs to find messages by their words: rare ones and the commonest, of who has all and of who has few.

Wall time and CPU time of the searching thread stand side by side: on a busy machine the second says more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from urllib.parse import quote

from benchmarks.made_up.history import SeedPlan, seed
from database.messages.reading import list_messages
from database.search.index import words
from database.search.indexing import index_pending
from search.messages import search_messages
from search.query import parse_query
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer

from .figures import Figure, of_samples
from .seeded import EMAIL, Bench
from .turn_cpu import cpu_ms

_SEED = 20260208
_COMMONEST = "the"
_BUDGET = 50.0
_WARM = 5
_FEW = "few@example.org"
_BUDGET_ALL_KINDS = 15.0
_TRIES = 3


def search(bench: Bench) -> Iterator[Figure]:
    """Words, phrases and the commonest word; then the same word for somebody who owns a thousandth of the messages."""
    index_pending(database=bench.database)
    said = _said(bench)
    random = Random(_SEED)
    texts = [words(random.choice(said)) for _ in range(bench.times)]
    two = [" ".join(random.sample(text, 2)) for text in texts]
    side_by_side = [_neighbours(random, text) for text in texts]
    for what, queries, budget in (
        ("one word", [random.choice(text) for text in texts], _BUDGET),
        ("two words", two, _BUDGET),
        ("the commonest word", [_COMMONEST], _BUDGET),
        ("two words side by side", side_by_side, None),
        ("two words that the user said", [f"{query} sender:user" for query in two], None),
    ):
        yield from _figures(bench, f"search for {what}", queries, budget=budget)
    plan = SeedPlan(conversations=10, messages=max(100, bench.size.messages // 1_000))
    for _ in seed(database=bench.database, user_email=_FEW, plan=plan):
        pass
    index_pending(database=bench.database)
    name = "search for the commonest word, 0.1 % of the messages"
    yield from _figures(bench, name, [_COMMONEST], budget=_BUDGET, user_email=_FEW)


def all_kinds(bench: Bench) -> Iterator[Figure]:
    """CPU time of the whole server for `GET /search` of all kinds together, by words; of each query the least of three.

    Beside another state of the code, both are asked in turn.
    """
    states = {"": ROOT} if bench.beside is None else {"": ROOT, f" in {bench.beside.name}": bench.beside}
    with ExitStack() as stack:
        clients = [stack.enter_context(_searching(bench, root, number)) for number, root in enumerate(states.values())]
        for what, queries in _queries(clients[0][1], bench.times).items():
            asked = [[_cost_of_search(*client, query) for client in clients] for query in queries]
            for name, costs in zip(states, zip(*asked, strict=True), strict=True):
                yield of_samples(f"CPU of GET /search for {what}{name}", costs, budget=_BUDGET_ALL_KINDS)
            if bench.beside is not None:
                ratios = [mine / other for mine, other in asked]
                yield Figure(name=f"the same for {what}, of the other state's", value=median(ratios), unit="×")


@contextmanager
def _searching(bench: Bench, root: Path, number: int) -> Iterator[tuple[int, Client]]:
    """The process id of a server over the data that is searched, and its owner."""
    server = LiveServer(bench.searched(f"searched-{number}"), root=root).start()
    try:
        assert server.process is not None
        yield server.process.pid, server.sign_in(EMAIL)
    finally:
        server.stop()


def _queries(client: Client, count: int) -> dict[str, list[str]]:
    """Queries of words that messages say."""
    random = Random(_SEED)
    rows = client.get("/list_conversation_by_user/assistant?limit=20").json()
    listed = [client.get(f"/list_messages_by_conversation/{row['conversation_id']}?limit=20").json() for row in rows]
    said = [words(message["text"]) for messages in listed for message in messages]
    texts = [random.choice(said) for _ in range(count)]
    two = [" ".join(random.sample(text, 2)) for text in texts]
    return {"one word": [random.choice(text) for text in texts], "two words": two}


def _cost_of_search(pid: int, client: Client, query: str) -> float:
    """Milliseconds."""
    costs = []
    for _ in range(_TRIES):
        before = cpu_ms(pid)
        assert client.get(f"/search?q={quote(query)}").json()["results"], query
        costs.append(cpu_ms(pid) - before)
    return min(costs)


def _said(bench: Bench) -> list[str]:
    """Texts to take words of."""
    some = bench.conversations[1:20]
    rows = [list_messages(**bench.own, conversation_id=row.conversation_id, after=0, limit=20) for row in some]
    return [row.text for conversation in rows for row in conversation]


def _neighbours(random: Random, text: Sequence[str]) -> str:
    begin = random.randrange(len(text) - 1)
    return f'"{text[begin]} {text[begin + 1]}"'


def _figures(
    bench: Bench, name: str, queries: Sequence[str], *, budget: float | None, user_email: str = EMAIL
) -> Iterator[Figure]:
    wall, cpu = list[float](), list[float]()
    for query in islice(cycle(queries), _WARM + bench.times):
        begun, begun_cpu = time.perf_counter(), time.thread_time()
        found = search_messages(database=bench.database, user_email=user_email, query=parse_query(query))
        cpu.append((time.thread_time() - begun_cpu) * 1_000)
        wall.append((time.perf_counter() - begun) * 1_000)
        assert found.messages, query
    yield of_samples(name, wall[_WARM:], budget_p95=budget)
    yield of_samples(f"{name}, CPU", cpu[_WARM:])
