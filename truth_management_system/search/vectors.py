"""Vectors of claims, tags and notes: made in the background in batches, one for each and model, as 16-bit floats.

A row of `claim_embeddings` stands for the text that its claim has now: a trigger deletes it when the text changes. Its
`embedding_seq` grows and is never used twice, so it names one vector for ever.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Table, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import insert

from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelRateLimitedError,
    ModelUnavailableError,
)
from language_models.ports import EmbeddingModel

from ..database import PKBDatabase, Prepared
from ..schema.tables import claim_embeddings, claims, note_embeddings, notes, tag_embeddings, tags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_LONGEST_TEXT = 8_000
_SHORTEST_TEXT = 200
_HARMLESS = "What is known?"
# They are long: each takes as much as ten claims.
_MOST_NOTES = 8


class EmbeddingIndexer:
    """Gives claims their vectors of one model."""

    def __init__(self, db: PKBDatabase, model: EmbeddingModel) -> None:
        self.db = db
        self.model = model
        self._refused: set[bytes] = set()
        self._failed_once: set[bytes] = set()
        self._served_last = ""

    def index_pending(self, user_email: str | None = None, batch: int = 64, budget_seconds: float | None = None) -> int:
        """Embed tags, notes and claims that have no vector yet, the newest claims first; how many of all it were.

        Tags, notes and each person's claims take turns. A text that the model refuses is passed over until it changes;
        this indexer does not try it again. user_email: whose; None: everybody's. budget_seconds: begin no further batch
        after so long. Other processes may do the same meanwhile. Raises the errors of `language_models.errors` where
        the model can embed nothing at all; what was embedded before stays.
        """
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        sources = self._sources(user_email, batch)
        waiting = deque(sources)
        if self._served_last in sources:
            waiting.rotate(-1 - list(sources).index(self._served_last))
        indexed = 0
        while waiting:
            name = self._served_last = waiting.popleft()
            count = next(sources[name], None)
            if count is None:
                continue
            waiting.append(name)
            indexed += count
            if indexed and _passed(deadline):
                break
        return indexed

    def _sources(self, user_email: str | None, batch: int) -> dict[str, Iterator[int]]:
        """What may have something to embed, by name: each embeds a batch and yields how many texts it were."""
        owners = [user_email] if user_email is not None else self._people_with_pending_claims()
        return {
            "tags": self._tags(user_email, batch),
            "notes": self._notes(user_email, min(batch, _MOST_NOTES)),
            **{owner: self._claims(owner, batch) for owner in owners},
        }

    def _people_with_pending_claims(self) -> list[str]:
        embedded = {row[0]: row[1] for row in self.db.rows(_EMBEDDED_BY_USER, model=self.model.name)}
        return [email for email, count in self.db.rows(_CLAIMS_BY_USER) if count > embedded.get(email, 0)]

    def pending_count(self, user_email: str | None = None) -> int:
        """How many claims have no vector yet: the user's, or everybody's for None."""
        row = self.db.row(_counting(claims, user_email is None), user=user_email)
        return int(row[0] if row else 0) - self.embedded_count(user_email)

    def embedded_count(self, user_email: str | None = None) -> int:
        """How many claims have a vector: the user's, or everybody's for None."""
        statement = _counting(claim_embeddings, user_email is None)
        row = self.db.row(statement, user=user_email, model=self.model.name)
        return int(row[0]) if row else 0

    def _claims(self, user_email: str, batch: int) -> Iterator[int]:
        pending, before = self.pending_count(user_email), 2**62
        given = {"user": user_email, "model": self.model.name}
        while pending > 0 and (
            rows := self.db.rows(_CLAIMS.pending(False), after=before, limit=min(batch, pending), **given)
        ):
            pending -= len(rows)
            before = rows[-1][0]
            texts = [embedded_text(statement, questions) for _, statement, questions in rows]
            yield self._index(rows, texts, _CLAIMS)

    def _tags(self, user_email: str | None, batch: int) -> Iterator[int]:
        after = ""
        given = {"user": user_email, "model": self.model.name, "limit": batch}
        while rows := self.db.rows(_TAGS.pending(user_email is None), after=after, **given):
            after = rows[-1][0]
            yield self._index(rows, [name for _, name in rows], _TAGS)

    def _notes(self, user_email: str | None, batch: int) -> Iterator[int]:
        after = -1
        given = {"user": user_email, "model": self.model.name, "limit": batch}
        while rows := self.db.rows(_NOTES.pending(user_email is None), after=after, **given):
            after = rows[-1][0]
            texts = ["\n".join(filter(None, [title, body]))[:_LONGEST_TEXT] for _, title, body in rows]
            yield self._index(rows, texts, _NOTES)

    def _index(self, rows: Sequence[Sequence[Any]], texts: Sequence[str], source: _Source) -> int:
        """Embed the texts of `rows` and store the vectors; how many."""
        wanted = [(row, text) for row, text in zip(rows, texts, strict=True) if _digest(text) not in self._refused]
        if not wanted:
            return 0
        vectors = self._vectors([text for _, text in wanted])
        values = [
            {"model": self.model.name, "vector": vector, **dict(zip(source.compared, row, strict=True))}
            for (row, _), vector in zip(wanted, vectors, strict=True)
            if vector is not None
        ]
        if values:
            self.db.run_each(source.insert, values)
        return len(values)

    def _vectors(self, texts: Sequence[str]) -> list[bytes | None]:
        """As `_embed`; a provider that is out of order has time to recover before a text is suspected."""
        batch = _digest("\0".join(texts))
        if batch in self._failed_once:
            return self._embed(texts)
        try:
            return self._embed(texts, suspects=False)
        except ModelUnavailableError:
            self._failed_once.add(batch)
            raise

    def _embed(self, texts: Sequence[str], *, suspects: bool = True) -> list[bytes | None]:
        """The vector of each text; None for a text that the model refuses, which is remembered.

        suspects: whether a provider that seems to be out of order may only have stumbled over a text.
        """
        try:
            return self._made(texts)
        except (ModelRateLimitedError, BadCredentialsError):
            raise
        except ModelError as error:
            if isinstance(error, ModelUnavailableError) and not suspects:
                raise
            if len(texts) == 1 or isinstance(error, ModelUnavailableError):
                # Some servers answer 500 for a text that they can't embed. One that can embed nothing is out of order.
                self.model.embed([_HARMLESS])
            if len(texts) == 1:
                self._refuse(texts[0], error.message)
                return [None]
            middle = len(texts) // 2
            halves = (texts[:middle], texts[middle:])
            return [vector for half in halves for vector in self._embed(half, suspects=suspects)]

    def _made(self, texts: Sequence[str]) -> list[bytes | None]:
        return [self._checked(vector, text) for vector, text in zip(self._asked(texts), texts, strict=True)]

    def _asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return self.model.embed(texts)
        except ContextTooLongError:
            longest = max(map(len, texts)) // 2
            if longest < _SHORTEST_TEXT:
                raise
            return self._asked([text[:longest] for text in texts])

    def _checked(self, vector: NDArray[np.float32], text: str) -> bytes | None:
        import numpy as np

        if np.isfinite(vector).all():
            return vector.astype("<f2").tobytes()
        self._refuse(text, "its vector holds something that is no number")
        return None

    def _refuse(self, text: str, why: str) -> None:
        self._refused.add(_digest(text))
        log.warning("%s can't embed a text of %d characters: %s", self.model.name, len(text), why)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def embedded_text(statement: str, possible_questions: str | None) -> str:
    """What is embedded of a claim: what it says, and the questions that it answers."""
    questions = json.loads(possible_questions or "[]")
    return "\n".join([statement, *questions])[:_LONGEST_TEXT]


def _passed(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


class _Source:
    """What is embedded: the `columns` of a table, whose vectors are in `vectors`, one for each row and model.

    key: names a row in both tables. newest_first: whether rows with a greater key come first.
    """

    def __init__(self, table: Table, vectors: Table, key: str, *columns: str, newest_first: bool = False) -> None:
        self._table, self._vectors, self._key = table, vectors, key
        self._newest_first = newest_first
        self.compared = (key, *columns)
        # The text is compared, since it may have changed while the model was at work.
        unchanged = (self._same(table.c[name], bindparam(name)) for name in self.compared)
        owner = [table.c.user_email] if "user_email" in vectors.c else []
        stored = select(table.c[key], *owner, bindparam("model"), bindparam("vector", type_=vectors.c.vector.type))
        names = [key, *(column.name for column in owner), "model", "vector"]
        self.insert = Prepared(insert(vectors).from_select(names, stored.where(*unchanged)).on_conflict_do_nothing())

    @cache  # noqa: B019 - there are three of them, for ever
    def pending(self, of_everybody: bool) -> Prepared:
        """The next `:limit` rows behind the key `:after` that have no vector of `:model`."""
        key, owner = self._table.c[self._key], self._table.c.user_email
        embedded = (self._vectors.c[self._key] == key) & (self._vectors.c.model == bindparam("model"))
        has_vector = select(literal_column("1")).where(embedded).exists()
        later = key < bindparam("after") if self._newest_first else key > bindparam("after")
        query = select(*(self._table.c[name] for name in self.compared)).where(later, ~has_vector)
        if not of_everybody:
            query = query.where(owner == bindparam("user"))
        return Prepared(query.order_by(key.desc() if self._newest_first else key).limit(bindparam("limit")))

    @staticmethod
    def _same(column: ColumnElement[Any], value: ColumnElement[Any]) -> ColumnElement[bool]:
        return column.is_not_distinct_from(value)


_CLAIMS = _Source(claims, claim_embeddings, "claim_rowid", "statement", "possible_questions", newest_first=True)
_TAGS = _Source(tags, tag_embeddings, "tag_id", "name")
_NOTES = _Source(notes, note_embeddings, "note_rowid", "title", "body")
_CLAIMS_BY_USER = Prepared(select(claims.c.user_email, func.count()).group_by(claims.c.user_email))
_EMBEDDED_BY_USER = Prepared(
    select(claim_embeddings.c.user_email, func.count())
    .where(claim_embeddings.c.model == bindparam("model"))
    .group_by(claim_embeddings.c.user_email)
)


@cache
def _counting(table: Table, of_everybody: bool) -> Prepared:
    """How many rows of claims, or of vectors of `:model`, there are: `:user`'s, or everybody's."""
    query = select(func.count()).select_from(table)
    if not of_everybody:
        query = query.where(table.c.user_email == bindparam("user"))
    return Prepared(query.where(table.c.model == bindparam("model")) if "model" in table.c else query)
