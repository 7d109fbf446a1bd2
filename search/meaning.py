"""What messages and passages of files mean: vectors made behind the answers, newest first, and the nearest to a query.

A message is embedded alone and together with the one before it, since an answer says little without its question, and
the first one of a conversation with the title; the mean of both is kept. A long message is embedded in windows, each
with the beginning of the one before the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from database.engine.database import Database, Urgency
from database.messages.neighbours import before_on_branch
from database.schema import conversations, message_vectors, messages, unembedded_messages
from database.search import passages as store
from database.search.vectors import FILES, MESSAGES, queue_all_vectors
from language_models.ports import EmbeddingModel
from search import engine_of
from search.embedding import Embedder, PendingVectors, usable, windows
from search.relevance import Unrelated, unrelated_for
from search.vectors import SignCache, decoded, encoded, fitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PASSAGES_AT_ONCE = 8
_NEAREST = 160


class PassageVectors:
    """The vectors of the passages of one store's files."""

    def __init__(self, *, database: Database, model: Callable[[], EmbeddingModel | None]) -> None:
        """model: called each time; None while no model can embed."""
        self._database = database
        self._model = model
        self._cache = SignCache()
        self._pending = PendingVectors()

    def embed_pending(self, *, budget_seconds: float | None = None) -> int:
        """Make vectors that are missing, oldest passages first; of how many passages.

        Begins no further batch after `budget_seconds`. Vectors of another model are deleted first. Raises the
        errors of `language_models.errors` where the model can embed nothing; what was made before stays.
        """
        model = self._model()
        if model is None:
            return 0
        store.use_model(model.name, database=self._database)
        return self._pending.embed(model, self._embed_batch, budget_seconds=budget_seconds)

    def _embed_batch(self, embedder: Embedder) -> int:
        waiting = store.waiting_for_vectors(database=self._database, most=_PASSAGES_AT_ONCE)
        if waiting:
            store.store_vectors(self._made(waiting, embedder), database=self._database)
        return len(waiting)

    @staticmethod
    def _made(waiting: Iterable[tuple[int, str, str]], embedder: Embedder) -> dict[int, list[bytes]]:
        """The vectors of each passage, one a window; none of what the model refuses."""
        import numpy as np

        pieces = [(number, piece) for number, _, text in waiting for piece in windows(text)]
        made: dict[int, list[bytes]] = {number: [] for number, _, _ in waiting}
        for (number, _), vector in zip(pieces, embedder.embed([piece for _, piece in pieces]), strict=True):
            if vector is not None:
                made[number] += encoded(np.asarray(vector)[np.newaxis])
        return made

    def similarities(
        self,
        connection: Connection,
        *,
        user_email: str,
        model: EmbeddingModel,
        query: NDArray[np.float32],
        passages: Iterable[int],
    ) -> dict[int, float]:
        """The cosines of the person's passages nearest to `query`, roughly, and of `passages`, by id.

        Of several vectors of one passage the nearest counts.
        """
        import numpy as np

        if not FILES.is_current(connection, model.name):
            return {}

        def read(after: int) -> Iterable[tuple[int, bytes]]:
            return store.codes_after(connection, user_email, after)

        asked = list(passages)

        def fetch(ids: list[int]) -> dict[int, tuple[int, bytes]]:
            return store.vectors_with(connection, user_email, ids=ids, passages=asked)

        found, _ = self._cache.nearest((user_email, model.name), query, read, fetch, _NEAREST)
        if not found:
            return {}
        vectors = decoded([codes for _, codes in found.values()])
        cosines = np.vecdot(vectors, fitted(query, vectors.shape[1])).tolist()
        nearest: dict[int, float] = {}
        for (number, _), cosine in zip(found.values(), cosines, strict=True):
            nearest[number] = max(cosine, nearest.get(number, cosine))
        return nearest

    def forget(self, user_email: str) -> None:
        """Drop what is kept in memory of a person's vectors."""
        self._cache.forget(user_email)


_BEFORE = 300
_BATCH = 16
_SHORTLISTED = 500
_SHORTLISTED_OF_FEW = 2_000


class _Pending(NamedTuple):
    """A message that needs vectors, and the beginning of the one before it in its conversation."""

    seq: int
    user_email: str
    text: str
    before: str


class MessageVectors:
    """The vectors of one store's messages: made by `embed_pending`, compared by `nearness`.

    files: the vectors of what is attached to them.
    model: called each time, since models come and go; None where none is configured.
    """

    def __init__(self, *, database: Database, model: Callable[[], EmbeddingModel | None]) -> None:
        self.database = database
        self._model = model
        self._cache = SignCache()
        self._pending = PendingVectors()
        self.files = PassageVectors(database=database, model=self.model)

    def configured_model(self) -> EmbeddingModel | None:
        """The model, whether or not it can embed now."""
        return self._model()

    def model(self) -> EmbeddingModel | None:
        """The model, if it can embed now; one that is loaded when first needed is loaded by whoever asks it."""
        return usable(self._model())

    def embed_pending(self, *, budget_seconds: float | None = None) -> int:
        """Make vectors that are missing, newest messages first; of how many messages.

        Begins no further batch after `budget_seconds`. Vectors of another model are deleted first. Raises the
        errors of `language_models.errors` where the model can embed nothing; what was made before stays.
        """
        model = self.model()
        if model is None:
            return 0
        self._use(model)
        return self._pending.embed(model, self._embed_batch, budget_seconds=budget_seconds)

    def nearness(
        self,
        connection: Connection,
        *,
        user_email: str,
        model: EmbeddingModel,
        query: NDArray[np.float32],
        narrow: bool = False,
    ) -> Nearness | None:
        """How near the person's messages are to `query`, a vector of `model`; None where none of its are stored.

        narrow: whether filters will leave out many of them, so that more have to be compared.
        """
        if not MESSAGES.is_current(connection, model.name):
            return None
        v = message_vectors.c

        def read(after: int) -> Iterator[tuple[int, bytes]]:
            newer = select(v.vector_id, v.codes).where(v.user_email == user_email, v.vector_id > after)
            rows = connection.execute(newer.order_by(v.vector_id).execution_options(yield_per=10_000))
            return ((vector_id, codes) for vector_id, codes in rows)

        most = _SHORTLISTED_OF_FEW if narrow else _SHORTLISTED
        found = Nearness(connection, user_email=user_email, query=query, unrelated=unrelated_for(model))

        def fetch(ids: list[int]) -> Mapping[int, int]:
            return found.add(v.vector_id.in_(engine_of(connection).listed(ids)))

        _, found.total = self._cache.nearest((user_email, model.name), query, read, fetch, most)
        return found

    def forget(self, user_email: str) -> None:
        """Drop what is kept in memory of a person's vectors."""
        self._cache.forget(user_email)
        self.files.forget(user_email)

    def _use(self, model: EmbeddingModel) -> None:
        with self.database.reading() as connection:
            if MESSAGES.is_current(connection, model.name):
                return

        def begin(connection: Connection) -> None:
            MESSAGES.set(connection, model.name)
            queue_all_vectors(connection)

        self.database.write(begin, urgency=Urgency.INDEX)

    def _embed_batch(self, embedder: Embedder) -> int:
        """Embed the newest messages that need vectors; how many."""
        with self.database.reading() as connection:
            newest = select(unembedded_messages.c.seq).order_by(unembedded_messages.c.seq.desc()).limit(_BATCH)
            pending = _pending(connection, connection.execute(newest).scalars().all())
        if pending:
            rows = list(_rows(pending, embedder))
            self.database.write(partial(_keep, pending=pending, rows=rows), urgency=Urgency.INDEX)
        return len(pending)


class Nearness:
    """How near messages of one person are to a question, in standard deviations above unrelated texts.

    total: how many vectors the person has.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        user_email: str,
        query: NDArray[np.float32],
        unrelated: Unrelated,
    ) -> None:
        self._connection = connection
        self._user_email = user_email
        self._query = query
        self._expected, self._spread = unrelated.expected(query), unrelated.spread
        self._known: dict[int, float] = {}
        self.total = 0

    def ordered(self) -> list[int]:
        """`seq` of the nearest messages, nearest first, those that nobody sees any more among them."""
        return sorted(self._known, key=lambda seq: (-self._known[seq], -seq))

    def of(self, seqs: Iterable[int]) -> Mapping[int, float]:
        """How near these messages are, and some others; one without a vector is missing."""
        if missing := set(seqs) - self._known.keys():
            self.add(message_vectors.c.seq.in_(engine_of(self._connection).listed(missing)))
        return self._known

    def add(self, which: ColumnElement[bool]) -> Mapping[int, int]:
        """Compare more vectors; of several of one message the nearest counts. `seq` by the ids of those vectors."""
        import numpy as np

        v = message_vectors.c
        # Whose they are is compared here: SQLite would read all vectors of a person for it.
        found = self._connection.execute(select(v.vector_id, v.seq, v.codes, v.user_email).where(which))
        rows = [row for row in found.all() if row.user_email == self._user_email]
        if not rows:
            return {}
        vectors = decoded([row.codes for row in rows])
        cosines = np.vecdot(vectors, fitted(self._query, vectors.shape[1]))
        for row, nearness in zip(rows, ((cosines - self._expected) / self._spread).tolist(), strict=True):
            self._known[row.seq] = max(nearness, self._known.get(row.seq, nearness))
        return {row.vector_id: row.seq for row in rows}


def _pending(connection: Connection, seqs: Sequence[int]) -> list[_Pending]:
    """Those of these messages that are live, as they are now."""
    m, c = messages.c, conversations.c
    before = before_on_branch(lambda beside: func.substr(beside.c.text, 1, _BEFORE))
    title = select(c.title).where(c.conversation_id == m.conversation_id).correlate(messages).scalar_subquery()
    columns = select(m.seq, m.user_email, m.text, func.coalesce(before, title, ""))
    rows = connection.execute(columns.where(m.seq.in_(seqs), m.deleted_at.is_(None)))
    return [_Pending(*row) for row in rows]


def _rows(pending: Sequence[_Pending], embedder: Embedder) -> Iterator[Mapping[str, object]]:
    """The rows of vectors of these messages; none of a message that says nothing, or that the model refuses."""
    import numpy as np

    pieces = [(message, piece) for message in pending for piece in windows(message.text)]
    alone = embedder.embed([piece for _, piece in pieces])
    together = embedder.embed([f"{message.before}\n{piece}" if message.before else piece for message, piece in pieces])
    for (message, _), one, other in zip(pieces, alone, together, strict=True):
        given = [vector for vector in (one, other) if vector is not None]
        if given:
            (codes,) = encoded(np.mean(given, axis=0, keepdims=True))
            yield {"seq": message.seq, "user_email": message.user_email, "codes": codes}


def _keep(connection: Connection, *, pending: Sequence[_Pending], rows: Sequence[Mapping[str, object]]) -> None:
    """Store the vectors of those messages that still say what was embedded, and take these from the queue."""
    seqs = [message.seq for message in pending]
    unchanged = {message.seq for message in _pending(connection, seqs) if message in pending}
    connection.execute(delete(message_vectors).where(message_vectors.c.seq.in_(unchanged)))
    if kept := [row for row in rows if row["seq"] in unchanged]:
        connection.execute(insert(message_vectors), kept)
    gone = set(seqs) - {message.seq for message in _pending(connection, seqs)}
    connection.execute(delete(unembedded_messages).where(unembedded_messages.c.seq.in_(unchanged | gone)))
