"""What it costs to ask a question over a million messages.

Some thousand messages are embedded; the others get vectors drawn near those, since embedding a million takes hours.
What is found is measured on real vectors alone (`measure`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from database.connection import open_store
from database.engine.database import Database
from database.schema import message_vectors, messages, search_state, unembedded_messages
from database.search.indexing import index_pending
from language_models.ports import EmbeddingModel
from search.meaning import MessageVectors
from search.messages import Asking, search_messages
from search.query import parse_query
from search.vectors import encoded

from ..figures import Figure, of_samples
from ..measures.knowledge import packaged_model
from ..seeded import EMAIL, Bench
from .generator import generated_histories

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEED = 20260208
_EMBEDDED_SHARE = 50
_NEAR = 0.02
_AT_ONCE = 20_000
_WARM = 5
_TODAY = date(2026, 6, 1)


def meaning(bench: Bench) -> Iterator[Figure]:
    """Questions in a person's own words, over all seeded messages; and how large the vectors are."""
    model = packaged_model(bench)
    database = open_store(bench.users_dir)
    index_pending(database=database)
    fill_vectors([database], model)
    with database.reading() as connection:
        size = connection.exec_driver_sql(
            "SELECT SUM(pgsize) FROM dbstat WHERE aggregate = TRUE AND name GLOB '*message_vectors*'"
        ).scalar_one()
    yield Figure(name="vectors of messages", value=size / 1e6, unit="MB", budget=400)
    vectors = MessageVectors(database=database, model=lambda: model)
    wall, cpu = list[float](), list[float]()
    for text in questions_asked(_WARM + bench.times):
        begun, begun_cpu = time.perf_counter(), time.thread_time()
        ask(database, text, vectors)
        cpu.append((time.thread_time() - begun_cpu) * 1_000)
        wall.append((time.perf_counter() - begun) * 1_000)
    yield of_samples("a question by meaning", wall[_WARM:], budget_p95=100)
    yield of_samples("a question by meaning, CPU", cpu[_WARM:])


def questions_asked(count: int) -> Iterator[str]:
    """So many questions in a person's own words."""
    asked = [question.text for history in generated_histories() for question in history.questions]
    return islice(cycle(asked), count)


def ask(database: Database, text: str, vectors: MessageVectors) -> None:
    """Search the seeded messages as for a question."""
    asking = Asking(text=text, today=_TODAY, vectors=vectors)
    search_messages(database=database, user_email=EMAIL, query=parse_query(text), mode="auto", asking=asking)


def fill_vectors(databases: Sequence[Database], model: EmbeddingModel) -> None:
    """Give each message a vector near one of some thousand that are embedded; the databases hold the same messages."""
    with databases[0].reading() as connection:
        every = select(messages.c.text).where(messages.c.seq % _EMBEDDED_SHARE == 0).limit(_AT_ONCE)
        texts = connection.execute(every).scalars().all()
    near = model.embed(texts)
    for database in databases:
        database.write(lambda connection: _fill(connection, near, model.name))


def _fill(connection: Connection, near: NDArray[np.float32], model: str) -> None:
    """Give each message a vector near one of `near`."""
    random = np.random.default_rng(_SEED)
    connection.execute(delete(message_vectors))
    connection.execute(delete(unembedded_messages))
    connection.execute(delete(search_state).where(search_state.c.name.startswith("vectors:", autoescape=True)))
    connection.execute(insert(search_state).values(name=f"vectors:{model}", indexed_seq=0))
    rows = connection.execute(select(messages.c.seq, messages.c.user_email)).all()
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        drawn = near[random.integers(0, len(near), len(some))]
        drawn = drawn + random.standard_normal(drawn.shape).astype(np.float32) * _NEAR
        connection.execute(insert(message_vectors), _rows(some, encoded(drawn)))


def _rows(messages_of: Sequence[tuple[int, str]], codes: Sequence[bytes]) -> list[dict[str, object]]:
    return [
        {"seq": seq, "user_email": user_email, "codes": code}
        for (seq, user_email), code in zip(messages_of, codes, strict=True)
    ]
