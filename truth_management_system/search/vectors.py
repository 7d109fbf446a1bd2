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
from typing import TYPE_CHECKING, Any

from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelRateLimitedError,
    ModelUnavailableError,
)
from language_models.ports import EmbeddingModel

from ..database import PKBDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_LONGEST_TEXT = 8_000
_SHORTEST_TEXT = 200
_HARMLESS = "What is known?"
# They are long: each takes as much as ten claims.
_MOST_NOTES = 8
_COLUMNS = "claim_rowid, claims.user_email, statement, possible_questions"


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
        claims = self.db.select("SELECT user_email, COUNT(*) FROM claims GROUP BY user_email")
        sql = "SELECT user_email, COUNT(*) FROM claim_embeddings WHERE model = ? GROUP BY user_email"
        embedded = {row[0]: row[1] for row in self.db.select(sql, [self.model.name])}
        return [email for email, count in claims if count > embedded.get(email, 0)]

    def pending_count(self, user_email: str | None = None) -> int:
        """How many claims have no vector yet: the user's, or everybody's for None."""
        owner, values = _owner(user_email)
        claims = f"SELECT COUNT(*) FROM claims WHERE {owner}"
        return int(self.db.select(claims, values)[0][0]) - self.embedded_count(user_email)

    def embedded_count(self, user_email: str | None = None) -> int:
        """How many claims have a vector: the user's, or everybody's for None."""
        owner, values = _owner(user_email)
        sql = f"SELECT COUNT(*) FROM claim_embeddings WHERE {owner} AND model = ?"
        return int(self.db.select(sql, [*values, self.model.name])[0][0])

    def _claims(self, user_email: str, batch: int) -> Iterator[int]:
        sql = (
            f"SELECT {_COLUMNS} FROM claims WHERE user_email = ? AND claim_rowid < ? AND NOT EXISTS (SELECT 1 FROM "
            "claim_embeddings WHERE claim_embeddings.claim_rowid = claims.claim_rowid AND model = ?) "
            "ORDER BY claim_rowid DESC LIMIT ?"
        )
        # The text is compared, since it may have changed while the model was at work.
        inserted = (
            "INSERT OR IGNORE INTO claim_embeddings (claim_rowid, user_email, model, vector) "
            "SELECT claim_rowid, user_email, ?, ? FROM claims "
            "WHERE claim_rowid = ? AND user_email = ? AND statement = ? AND possible_questions IS ?"
        )
        pending, before = self.pending_count(user_email), 2**62
        while pending > 0 and (rows := self.db.select(sql, [user_email, before, self.model.name, min(batch, pending)])):
            pending -= len(rows)
            before = rows[-1][0]
            yield self._index(
                rows, [embedded_text(statement, questions) for *_, statement, questions in rows], inserted
            )

    def _tags(self, user_email: str | None, batch: int) -> Iterator[int]:
        owner, values = _owner(user_email)
        sql = (
            f"SELECT tag_id, name FROM tags WHERE {owner} AND tag_id > ? AND NOT EXISTS (SELECT 1 FROM tag_embeddings "
            "WHERE tag_embeddings.tag_id = tags.tag_id AND model = ?) ORDER BY tag_id LIMIT ?"
        )
        inserted = (
            "INSERT OR IGNORE INTO tag_embeddings (tag_id, model, vector) "
            "SELECT tag_id, ?, ? FROM tags WHERE tag_id = ? AND name = ?"
        )
        after = ""
        while rows := self.db.select(sql, [*values, after, self.model.name, batch]):
            after = rows[-1][0]
            yield self._index(rows, [name for _, name in rows], inserted)

    def _notes(self, user_email: str | None, batch: int) -> Iterator[int]:
        owner, values = _owner(user_email)
        sql = (
            f"SELECT note_rowid, user_email, title, body FROM notes WHERE {owner} AND note_rowid > ? AND NOT EXISTS "
            "(SELECT 1 FROM note_embeddings WHERE note_embeddings.note_rowid = notes.note_rowid AND model = ?) "
            "ORDER BY note_rowid LIMIT ?"
        )
        inserted = (
            "INSERT OR IGNORE INTO note_embeddings (note_rowid, user_email, model, vector) "
            "SELECT note_rowid, user_email, ?, ? FROM notes "
            "WHERE note_rowid = ? AND user_email = ? AND title IS ? AND body = ?"
        )
        after = -1
        while rows := self.db.select(sql, [*values, after, self.model.name, batch]):
            after = rows[-1][0]
            texts = ["\n".join(filter(None, [title, body]))[:_LONGEST_TEXT] for *_, title, body in rows]
            yield self._index(rows, texts, inserted)

    def _index(self, rows: Sequence[Sequence[Any]], texts: Sequence[str], inserted: str) -> int:
        """Embed the texts of `rows` and store the vectors by the statement `inserted`; how many."""
        wanted = [(row, text) for row, text in zip(rows, texts, strict=True) if _digest(text) not in self._refused]
        if not wanted:
            return 0
        vectors = self._vectors([text for _, text in wanted])
        values = [
            [self.model.name, vector, *row]
            for (row, _), vector in zip(wanted, vectors, strict=True)
            if vector is not None
        ]
        if values:
            self.db.execute_many(inserted, values)
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


def _owner(user_email: str | None) -> tuple[str, list[str]]:
    return ("user_email = ?", [user_email]) if user_email is not None else ("1 = 1", [])
