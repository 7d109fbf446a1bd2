"""What memories cost, at two sizes of knowledge base: naming them, finding them, adding many, taking that back.

Wall time and CPU time are measured side by side, all threads of the process together: on a busy machine the second says
more.
"""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from sqlalchemy import insert, select

from benchmarks.made_up.groups import ENTITY, TAG, TREE
from benchmarks.made_up.knowledge import DOMAIN, KnowledgePlan, seed_knowledge
from database.connection import close_store
from language_models.errors import ModelUnavailableError
from language_models.ports import EmbeddingModel
from language_models.roles import EmbeddingRole
from settings import load_settings
from tests.live_server import LiveServer
from truth_management_system import ActionResult, PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.database import Prepared
from truth_management_system.interface.structured_api import KnowledgeModels
from truth_management_system.schema import tables

from ..figures import Figure, of_samples
from ..load import resident_kb
from ..seeded import EMAIL, Bench
from .engines import WARM, Work, alone_and_among_many

_SEED = 20260208
_VECTORS_AT_ONCE = 5_000
_ROUNDS = 3
FULL_CROWD, QUICK_CROWD = (200, 500), (20, 100)
"""People, and memories of each but the one who is measured."""
_AT_ONCE = 50
_GROUPS = {
    "a tag of 200": ([TAG], 2.0),
    "an entity of 200": ([ENTITY], 2.0),
    "a domain of 200": ([f"{DOMAIN}_domain"], 2.0),
    "a tree of 111 contexts with 2,000": ([TREE], 15.0),
}
"""What is resolved: a reference to it, and its budget in ms."""


def knowledge(bench: Bench) -> Iterator[Figure]:
    """Everything, with few and with many claims."""
    model = packaged_model(bench)
    for claims in bench.size.claims:
        with ExitStack() as opened:
            db = opened.enter_context(
                get_database(PKBConfig(db_path=bench.knowledge(claims) / "data/users/pkb.sqlite"))
            )
            _give_random_vectors(db, model)
            api = StructuredAPI(db, {}, db.config, EMAIL, models=KnowledgeModels(embedding=model))
            among = f" among {claims:,} claims"
            yield from _naming(bench, api, among)
            yield from _first_search(api, among)
            yield from _finding(bench, api, among)
            yield from _adding(bench, api, among)
            yield from _importing(bench, api, among)
        yield from _listing(bench, claims, among)


def among_many(bench: Bench) -> Iterator[Figure]:
    """The memories of one person alone and among many who remember as much, on both engines, in turn with each other.

    CPU time of the process; on PostgreSQL, where another process does the work, wall time.
    """
    people, claims = QUICK_CROWD if bench.size.name == "quick" else FULL_CROWD
    model, own = packaged_model(bench), bench.size.claims[0]
    clocks = {"SQLite": time.process_time, "PostgreSQL": time.perf_counter}
    with ExitStack() as opened:

        def prepare(folder: Path, url: str | None, people: int) -> dict[str, list[Work]]:
            config = PKBConfig(db_path=folder / "pkb.sqlite", database_url=url)
            db = opened.enter_context(get_database(config))
            _remember(db, people=people, claims=claims, own=own)
            _give_random_vectors(db, model)
            api = StructuredAPI(db, {}, config, _email(people // 2), models=KnowledgeModels(embedding=model))
            return _finding_and_naming(api, times=bench.times)

        among = f"{people * claims + own - claims:,} of {people}"
        yield from alone_and_among_many(bench, people=people, among=among, prepare=prepare, clocks=clocks)


def _remember(db: PKBDatabase, *, people: int, claims: int, own: int) -> None:
    """So many people with as many memories each, and one in their middle with `own`, in the same time."""
    plans = [KnowledgePlan(claims=claims, at_once=_AT_ONCE)] * people
    plans[people // 2] = KnowledgePlan(claims=own, at_once=max(1, own * _AT_ONCE // claims))
    seeding = [seed_knowledge(db, user_email=_email(number), plan=plan) for number, plan in enumerate(plans)]
    for _ in itertools.zip_longest(*seeding):
        pass
    db.optimize()


def _email(number: int) -> str:
    return f"person-{number}@example.org"


def _finding_and_naming(api: StructuredAPI, *, times: int) -> dict[str, list[Work]]:
    random = Random(_SEED)
    some = random.choices(api.claims.list(limit=-1), k=WARM + times)
    queries = [_query(random, claim.statement) for claim in some]
    beginnings = [" ".join(query.split()[:2])[: random.randint(2, 9)] for query in queries]
    named = {
        "a memory by its id": [claim.friendly_id for claim in some],
        "a memory by its number": [f"claim_{claim.claim_number}" for claim in some],
        **{what: names * len(some) for what, (names, _) in _GROUPS.items()},
    }
    return {
        "full-text search of memories": [partial(_done, api.search, query, strategy="fts", k=20) for query in queries],
        "hybrid search of memories": [partial(_done, api.search, query, strategy="hybrid", k=20) for query in queries],
        "autocomplete of memories": [partial(_done, api.autocomplete, beginning) for beginning in beginnings],
        "memories, first page": [partial(api.claims.list, limit=50)] * len(some),
        **{
            f"resolve {what}": [partial(_done, api.resolve_reference, name) for name in names]
            for what, names in named.items()
        },
    }


def _naming(bench: Bench, api: StructuredAPI, among: str) -> Iterator[Figure]:
    some = api.claims.list(limit=-1, order_by="claim_number")[:: max(1, api.claims.count() // bench.times)]
    numbers, names = [f"claim_{claim.claim_number}" for claim in some], [claim.friendly_id for claim in some]
    for what, references, budget in (
        ("a claim by its id", names, 0.15),
        ("a claim by its number", numbers, 0.15),
        *((what, names, budget) for what, (names, budget) in _GROUPS.items()),
    ):
        work = [partial(_done, api.resolve_reference, reference) for reference in references]
        yield from _figures(f"resolve {what}{among}", work, times=bench.times, budget=budget)


def _first_search(api: StructuredAPI, among: str) -> Iterator[Figure]:
    """Random vectors: what they say takes no part in what it costs."""
    for what in ("from the store", "from their file"):
        # Another view of the store has no vectors in memory yet.
        with get_database(api.db.config) as db:
            other = StructuredAPI(db, {}, db.config, EMAIL, models=api.llm.models)
            gc.collect()
            before, anonymous = (resident_kb(os.getpid(), kind) for kind in ("VmRSS", "RssAnon"))
            begun = time.perf_counter()
            _done(other.search, "sourdough", strategy="embedding")
            took = (time.perf_counter() - begun) * 1_000
            after, own = (resident_kb(os.getpid(), kind) for kind in ("VmRSS", "RssAnon"))
        yield Figure(name=f"first search by meaning, vectors {what}{among}", value=took)
    yield Figure(name=f"memory of a mapped matrix{among}", value=(after - before) / 1_024, unit="MB")
    yield Figure(name=f"memory of a mapped matrix, unshared{among}", value=(own - anonymous) / 1_024, unit="MB")


def _finding(bench: Bench, api: StructuredAPI, among: str) -> Iterator[Figure]:
    random = Random(_SEED)
    statements = [claim.statement for claim in random.sample(api.claims.list(limit=-1), bench.times)]
    queries = [_query(random, statement) for statement in statements]
    beginnings = [" ".join(query.split()[:2])[: random.randint(2, 9)] for query in queries]
    for strategy, what, budget in (
        ("fts", "full-text search", 10.0),
        ("hybrid", "hybrid search, random vectors, real query", 45.0),
    ):
        work = [partial(_done, api.search, query, strategy=strategy, k=20) for query in queries]
        yield from _figures(f"{what}{among}", work, times=bench.times, budget_p95=budget)
    work = [partial(_done, api.autocomplete, beginning) for beginning in beginnings]
    yield from _figures(f"autocomplete{among}", work, times=bench.times, budget_p95=5.0)


def _adding(bench: Bench, api: StructuredAPI, among: str) -> Iterator[Figure]:
    numbers = itertools.count(1)

    def add() -> None:
        said = f"I counted {next(numbers)} herons on the way to work"
        entities = [{"name": "Herons", "type": "topic", "role": "subject"}]
        _done(api.add_claim, said, "observation", "personal", tags=["birds"], entities=entities, auto_extract=False)

    yield from _figures(f"add a claim{among}", [add], times=bench.times)


def _importing(bench: Bench, api: StructuredAPI, among: str) -> Iterator[Figure]:
    """What somebody else remembers, taken in by somebody who remembers nothing, and taken back."""
    smallest = bench.knowledge(bench.size.claims[0]) / "data/users/pkb.sqlite"
    with get_database(PKBConfig(db_path=smallest)) as db:
        payload = _done(StructuredAPI(db, {}, db.config, EMAIL).export_data).data
    count = len(payload["data"]["claims"])
    imports, undos = list[tuple[float, float]](), list[tuple[float, float]]()
    for number in range(_ROUNDS):
        newcomer = api.for_user(f"newcomer.{number}@example.org")
        begun = _now()
        imported = _done(newcomer.import_data, payload)
        imports.append(_since(begun))
        begun = _now()
        _done(newcomer.undo, imported.metadata["audit_id"])
        undos.append(_since(begun))
    for what, samples in ((f"import {count:,} claims", imports), (f"undo the import of {count:,} claims", undos)):
        yield of_samples(f"{what}{among}", [wall for wall, _ in samples])
        yield of_samples(f"{what}{among}, CPU", [cpu for _, cpu in samples])


def _listing(bench: Bench, claims: int, among: str) -> Iterator[Figure]:
    server = LiveServer(bench.knowledge(claims)).start()
    try:
        client = server.sign_in(EMAIL)
        for what, path in (
            ("first page of claims", "/pkb/claims?limit=50"),
            ("page of a search", "/pkb/claims?query=tea"),
        ):
            reply = client.get(path)
            assert reply.status == 200, reply.text
            samples = [wall for wall, _ in _measured([partial(client.get, path)], times=bench.times)]
            yield of_samples(f"{what} over HTTP{among}", samples)
    finally:
        server.stop()
        close_store(server.users_dir)


def _query(random: Random, statement: str) -> str:
    """Two to five neighbouring words of what is remembered."""
    words = statement.rstrip(".").split()
    begin = random.randrange(max(1, len(words) - 3))
    return " ".join(words[begin : begin + random.randint(2, 5)])


def packaged_model(bench: Bench) -> EmbeddingModel:
    """The packaged model, fetched where it has not been, and loaded. Raises ModelUnavailableError if it can't be."""
    settings = load_settings({"ANAPHORA_DATA_DIR": str(bench.scratch("settings"))})
    role = EmbeddingRole(
        "embedded",
        openai_base_url="",
        openai_api_key=None,
        model_dir=settings.model_dir,
        timeout=settings.embedding_timeout,
    )
    model = role.model()
    assert model is not None
    with suppress(ModelUnavailableError):
        model.count_tokens(["begins to fetch it"])
    while model.state().phase == "fetching":
        time.sleep(0.1)
    model.embed(["warm"])
    return model


def _give_random_vectors(db: PKBDatabase, model: EmbeddingModel) -> None:
    """A vector of length 1 for each claim: embedding a hundred thousand would take an hour."""
    random = np.random.default_rng(_SEED)
    owners = db.rows(
        Prepared(select(*tables.claims.c["claim_rowid", "user_email"]).order_by(tables.claims.c.claim_rowid))
    )
    inserted = Prepared(insert(tables.claim_embeddings), columns=["claim_rowid", "user_email", "model", "vector"])
    for start in range(0, len(owners), _VECTORS_AT_ONCE):
        some = owners[start : start + _VECTORS_AT_ONCE]
        vectors = random.standard_normal((len(some), model.dimensions))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        given = zip(some, vectors.astype("<f2"), strict=True)
        rows = [
            {"claim_rowid": rowid, "user_email": owner, "model": model.name, "vector": vector.tobytes()}
            for (rowid, owner), vector in given
        ]
        db.run_each(inserted, rows)


def _figures(
    name: str, work: Sequence[Work], *, times: int, budget: float | None = None, budget_p95: float | None = None
) -> Iterator[Figure]:
    samples = _measured(work, times=times)
    yield of_samples(name, [wall for wall, _ in samples], budget=budget, budget_p95=budget_p95)
    yield of_samples(f"{name}, CPU", [cpu for _, cpu in samples])


def _measured(work: Sequence[Work], *, times: int) -> list[tuple[float, float]]:
    """Milliseconds (wall, CPU) of each of `times` calls that take turns, after some that nobody counts."""
    turns = itertools.cycle(work)
    for one in itertools.islice(turns, WARM):
        one()
    samples = []
    for one in itertools.islice(turns, times):
        begun = _now()
        one()
        samples.append(_since(begun))
    return samples


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(begun: tuple[float, float]) -> tuple[float, float]:
    wall, cpu = ((now - before) * 1_000 for now, before in zip(_now(), begun, strict=True))
    return wall, cpu


def _done(action: Callable[..., ActionResult], *args: object, **kwargs: object) -> ActionResult:
    result = action(*args, **kwargs)
    assert result.success, result.errors
    return result
