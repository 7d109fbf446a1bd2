"""What it costs to find messages by their words, and messages and documents by regular expressions.

Wall time and CPU time of the searching thread stand side by side: on a busy machine the second says more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from urllib.parse import quote

from benchmarks.made_up.documents import make_documents
from benchmarks.made_up.history import SeedPlan, seed
from chat.exchange.ports import TurnServices
from chat.exchange.services import limits_of, models_from
from chat.tools.catalogue import all_tools
from chat.tools.registry import ToolContext
from Conversation import Conversation
from database.history.reading import list_messages
from database.search.index import words
from database.search.indexing import index_pending
from database.vault.documents import erase_documents
from endpoints.http.errors import code_of
from search.messages import search_messages
from search.query import parse_query
from settings import MappedFolder, load_settings
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer
from vault.documents import Vaults

from ..figures import Figure, of_samples
from ..seeded import EMAIL, Bench
from .turn_cpu import cpu_ms

_SEED = 20260208
_COMMONEST = "the"
_BUDGET = 50.0
_WARM = 5
_FEW = "few@example.org"
_BUDGET_ALL_KINDS = 15.0
_TRIES = 3
_BUDGET_LITERAL = 500.0
_WORDS_SAID = 8


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


def patterns(bench: Bench) -> Iterator[Figure]:
    """Regular expressions over all messages, and over the documents of a vault, by the tool `regex_search`."""
    index_pending(database=bench.database)
    with ExitStack() as stack:
        tools = all_tools(code_of=code_of)
        context = _with_documents(bench, stack)
        random = Random(_SEED)
        said = [text for text in map(words, _said(bench)) if len(text) > _WORDS_SAID]
        texts = [random.choice(said) for _ in range(max(_WARM, bench.times // 10))]
        for what, made, budget in _patterns(random, texts):
            wall, cpu = list[float](), list[float]()
            for pattern in made:
                begun, begun_cpu = time.perf_counter(), time.thread_time()
                found = tools.call("regex_search", {"pattern": pattern}, context)
                cpu.append((time.thread_time() - begun_cpu) * 1_000)
                wall.append((time.perf_counter() - begun) * 1_000)
                assert found["success"], pattern
            yield of_samples(f"regex: {what}", wall, budget_p95=budget)
            yield of_samples(f"regex: {what}, CPU", cpu)


def _patterns(random: Random, texts: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str], float | None]]:
    """What is measured: patterns, and the budget of the 95th percentile; None where the deadline of 3 s ends them."""
    places = [random.randrange(1, len(text) - _WORDS_SAID) for text in texts]
    some = [[*text[place : place + 4]] for text, place in zip(texts, places, strict=True)]
    yield "four words that were said", [" ".join(four) for four in some], _BUDGET_LITERAL
    yield (
        "words with gaps between them",
        [rf"\b{one}\s+{two}\b.*\b{three}\b" for one, two, three, _ in some],
        _BUDGET_LITERAL,
    )
    yield "a word that nobody says", [rf"\b{one}{two}\b" for one, two, *_ in some], _BUDGET_LITERAL
    yield (
        "a word that nobody says, in any case",
        [rf"(?i)\b{one}{two}\b" for one, two, *_ in some],
        _BUDGET_LITERAL,
    )
    yield "a part of a word that nobody says", [f"q{one}{two}" for one, two, *_ in some], _BUDGET_LITERAL
    yield "no literal, and no match, ended", [f"[0-9]{{{9 + number}}}" for number in range(_TRIES)], None
    yield "hostile, and no match, ended", [f"({letter}+)+[0-9]{{9}}$" for letter in "abc"], None


def _with_documents(bench: Bench, stack: ExitStack) -> ToolContext:
    """Calls of the person who owns the messages, with a vault beside them."""
    folder = bench.scratch("patterns")
    (folder / "vault").mkdir()
    mapped = MappedFolder(folder=folder / "vault", read_only=True)
    make_documents(mapped.folder, documents=bench.size.documents, characters=3_000)
    vaults = Vaults(database=bench.database, mapped={EMAIL: mapped})
    for _ in vaults.of(EMAIL).refresh():
        pass
    stack.callback(erase_documents, database=bench.database, user_email=EMAIL)
    settings = load_settings({"ANAPHORA_DATA_DIR": str(folder), "ANAPHORA_MAIN_MODEL": "none"})
    services = TurnServices(models=models_from(settings), vaults=vaults, **limits_of(settings))
    load = partial(Conversation, EMAIL, bench.database)
    return ToolContext(user_email=EMAIL, database=bench.database, services=services, load=load)
