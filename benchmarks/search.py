"""What it costs to find messages by their words: rare ones and the commonest, of who has all and of who has few.

Wall time and CPU time of the searching thread stand side by side: on a busy machine the second says more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from random import Random

from benchmarks.made_up.history import SeedPlan, seed
from database.messages.reading import list_messages
from database.search.index import words
from database.search.indexing import index_pending
from search.messages import search_messages
from search.query import parse_query

from .figures import Figure, of_samples
from .seeded import EMAIL, Bench

_SEED = 20260208
_COMMONEST = "the"
_BUDGET = 50.0
_WARM = 5
_FEW = "few@example.org"


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
