"""Vectors of claims, tags and notes: made in the background in batches, one for each and model, as 16-bit floats.

A row of `claim_embeddings` stands for the text that its claim has now: a trigger deletes it when the text changes. Its
`embedding_seq` grows and is never used twice, so it names one vector for ever.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from language_models.errors import ContextTooLongError
from language_models.ports import EmbeddingModel

from ..database import PKBDatabase

_LONGEST_TEXT = 8_000
_SHORTEST_TEXT = 200
# They are long: each takes as much as ten claims.
_MOST_NOTES = 8
_COLUMNS = "claim_rowid, claims.user_email, statement, possible_questions"


class EmbeddingIndexer:
    """Gives claims their vectors of one model."""

    def __init__(self, db: PKBDatabase, model: EmbeddingModel) -> None:
        self.db = db
        self.model = model

    def index_pending(self, user_email: str | None = None, batch: int = 64, budget_seconds: float | None = None) -> int:
        """Embed tags, notes and claims that have no vector yet, the newest claims first; how many of all it were.

        user_email: whose; None: everybody's. budget_seconds: begin no further batch after so long. Other processes may
        do the same meanwhile. Raises the errors of `language_models.errors`; what was embedded before stays.
        """
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        indexed, before = 0, None
        for index in (self._index_tags, self._index_notes):
            while count := index(user_email, batch):
                indexed += count
                if _passed(deadline):
                    return indexed
        pending = self.pending_count(user_email)
        while pending > 0:
            rows = self._next(user_email, before, min(batch, pending))
            if not rows:
                break
            indexed += self._index(rows)
            pending -= len(rows)
            before = rows[-1][0]
            if _passed(deadline):
                break
        return indexed

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

    def _next(self, user_email: str | None, before: int | None, count: int) -> Sequence[Sequence[Any]]:
        owner, values = _owner(user_email)
        sql = (
            f"SELECT {_COLUMNS} FROM claims WHERE {owner} AND claim_rowid < ? AND NOT EXISTS (SELECT 1 FROM "
            "claim_embeddings WHERE claim_embeddings.claim_rowid = claims.claim_rowid AND model = ?) "
            "ORDER BY claim_rowid DESC LIMIT ?"
        )
        newest = before if before is not None else 2**62
        return self.db.select(sql, [*values, newest, self.model.name, count])

    def _index_tags(self, user_email: str | None, batch: int) -> int:
        """Embed the names of up to `batch` tags that have no vector yet; how many it were."""
        owner, values = _owner(user_email)
        sql = (
            f"SELECT tag_id, name FROM tags WHERE {owner} AND NOT EXISTS (SELECT 1 FROM tag_embeddings "
            "WHERE tag_embeddings.tag_id = tags.tag_id AND model = ?) LIMIT ?"
        )
        rows = self.db.select(sql, [*values, self.model.name, batch])
        if rows:
            vectors = self._embed([name for _, name in rows])
            inserted = (
                "INSERT OR IGNORE INTO tag_embeddings (tag_id, model, vector) "
                "SELECT tag_id, ?, ? FROM tags WHERE tag_id = ? AND name = ?"
            )
            named = zip(vectors, rows, strict=True)
            self.db.execute_many(inserted, [[self.model.name, vector, *row] for vector, row in named])
        return len(rows)

    def _index_notes(self, user_email: str | None, batch: int) -> int:
        """Embed some notes that have no vector yet; how many it were."""
        owner, values = _owner(user_email)
        sql = (
            f"SELECT note_rowid, user_email, title, body FROM notes WHERE {owner} AND NOT EXISTS (SELECT 1 FROM "
            "note_embeddings WHERE note_embeddings.note_rowid = notes.note_rowid AND model = ?) LIMIT ?"
        )
        rows = self.db.select(sql, [*values, self.model.name, min(batch, _MOST_NOTES)])
        if rows:
            vectors = self._embed(["\n".join(filter(None, [title, body]))[:_LONGEST_TEXT] for *_, title, body in rows])
            inserted = (
                "INSERT OR IGNORE INTO note_embeddings (note_rowid, user_email, model, vector) "
                "SELECT note_rowid, user_email, ?, ? FROM notes "
                "WHERE note_rowid = ? AND user_email = ? AND title IS ? AND body = ?"
            )
            named = zip(vectors, rows, strict=True)
            self.db.execute_many(inserted, [[self.model.name, vector, *row] for vector, row in named])
        return len(rows)

    def _index(self, rows: Sequence[Sequence[Any]]) -> int:
        texts = [embedded_text(statement, questions) for _, _, statement, questions in rows]
        vectors = self._embed(texts)
        # The text is compared, since it may have changed while the model was at work.
        sql = (
            "INSERT OR IGNORE INTO claim_embeddings (claim_rowid, user_email, model, vector) "
            "SELECT claim_rowid, user_email, ?, ? FROM claims "
            "WHERE claim_rowid = ? AND user_email = ? AND statement = ? AND possible_questions IS ?"
        )
        values = [[self.model.name, vector, *row] for vector, row in zip(vectors, rows, strict=True)]
        self.db.execute_many(sql, values)
        return len(rows)

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        try:
            return [vector.tobytes() for vector in self.model.embed(texts).astype("<f2")]
        except ContextTooLongError:
            longest = max(map(len, texts)) // 2
            if longest < _SHORTEST_TEXT:
                raise
            return self._embed([text[:longest] for text in texts])


def embedded_text(statement: str, possible_questions: str | None) -> str:
    """What is embedded of a claim: what it says, and the questions that it answers."""
    questions = json.loads(possible_questions or "[]")
    return "\n".join([statement, *questions])[:_LONGEST_TEXT]


def _passed(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _owner(user_email: str | None) -> tuple[str, list[str]]:
    return ("user_email = ?", [user_email]) if user_email is not None else ("1 = 1", [])
