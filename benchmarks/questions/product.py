"""Histories in a store of the product, and its own search over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, insert

from database.connection import close_store, open_store
from database.engine.clock import iso
from database.engine.database import Database
from database.schema import activities, conversations, messages
from database.search.indexing import index_pending
from language_models.ports import EmbeddingModel
from search.meaning import MessageVectors
from search.messages import Asking, Mode, search_messages
from search.query import parse_query

from .histories import History, HistoryMessage

EMAIL = "asker@example.org"
_BEGIN = datetime(2024, 1, 1, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductSearch:
    """`GET /search` without HTTP, over the messages of one history."""

    database: Database
    history: History
    vectors: MessageVectors

    def ask(self, question: str, *, mode: Mode) -> list[str]:
        """Ids of the first ten messages found."""
        asked_at = self.history.asked_at or datetime.now(UTC)
        asking = Asking(text=question, today=asked_at.date(), vectors=self.vectors)
        query = parse_query(question)
        found = search_messages(
            database=self.database, user_email=EMAIL, query=query, limit=10, mode=mode, asking=asking
        )
        return [hit.message.message_id for hit in found.messages]


@contextmanager
def stored(history: History, *, model: EmbeddingModel) -> Iterator[ProductSearch]:
    """A store that holds this history alone, indexed and embedded; removed afterwards."""
    with TemporaryDirectory() as folder:
        users_dir = str(Path(folder) / "users")
        database = open_store(users_dir)
        database.write(lambda connection: _store(connection, history))
        index_pending(database=database)
        vectors = MessageVectors(database=database, model=lambda: model)
        vectors.embed_pending()
        try:
            yield ProductSearch(database=database, history=history, vectors=vectors)
        finally:
            close_store(users_dir)


def _store(connection: Connection, history: History) -> None:
    """All conversations and messages, as turns would have left them."""
    by_conversation: dict[str, list[HistoryMessage]] = {}
    for message in history.messages:
        by_conversation.setdefault(message.conversation_id, []).append(message)
    connection.execute(insert(conversations), [_conversation_row(name, said) for name, said in by_conversation.items()])
    places = {
        message.message_id: place for said in by_conversation.values() for place, message in enumerate(said, start=1)
    }
    ordered = sorted(enumerate(history.messages), key=lambda one: (_time(*one), one[0]))
    rows = [
        _message_row(seq, places[message.message_id], message, _time(number, message))
        for seq, (number, message) in enumerate(ordered, start=1)
    ]
    connection.execute(insert(activities), [_activity_row(row) for row in rows])
    connection.execute(insert(messages), rows)


def _time(number: int, message: HistoryMessage) -> datetime:
    return message.created_at.replace(tzinfo=UTC) if message.created_at else _BEGIN + timedelta(minutes=number)


def _conversation_row(name: str, said: Sequence[HistoryMessage]) -> dict[str, Any]:
    begin = iso(_time(0, said[0]))
    return {
        "conversation_id": name,
        "user_email": EMAIL,
        "created_at": begin,
        "updated_at": begin,
        "settings": {},
        "memory": {},
        "message_count": len(said),
        "last_ordinal": len(said),
    }


def _message_row(seq: int, ordinal: int, message: HistoryMessage, time: datetime) -> dict[str, Any]:
    return {
        "seq": seq,
        "message_id": message.message_id,
        "user_email": EMAIL,
        "conversation_id": message.conversation_id,
        "ordinal": ordinal,
        "sender": message.sender if message.sender in {"user", "model"} else "user",
        "text": message.text,
        "config": {},
        "report": [],
        "created_at": iso(time),
    }


def _activity_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "seq": row["seq"],
        "activity_id": row["message_id"],
        "user_email": EMAIL,
        "conversation_id": row["conversation_id"],
        "recipe": "message",
        "type": "message",
        "short_id": f"{row['seq']:06}",
        "actor_type": "user" if row["sender"] == "user" else "assistant",
        "payload": {},
        "created_at": row["created_at"],
    }
