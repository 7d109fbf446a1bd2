"""Repeated requests while their turn runs: each gets the stream that the first request opened."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from database.turns.idempotency import another_message

from .accept import ANSWER_AGAIN
from .streams import LiveStream

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """A message as the client sent it. what: the conversation, the answer to regenerate (or None), the text."""

    user_email: str
    client_message_id: str
    what: tuple[str, str | None, str]

    @property
    def key(self) -> Key:
        """The key under which this person's client knows the message."""
        return (self.user_email, self.client_message_id)

    @property
    def digest(self) -> str:
        """A digest of `what`, by which other processes recognise the message."""
        return hashlib.sha256(orjson.dumps(self.what)).hexdigest()


def sent_message(query: Mapping[str, Any], *, user_email: str, conversation_id: str) -> SentMessage | None:
    """The message in `query`; None if the client gave no id for it."""
    client_message_id = query.get("client_message_id")
    if client_message_id is None:
        return None
    return SentMessage(
        user_email=user_email,
        client_message_id=str(client_message_id),
        what=(conversation_id, query.get(ANSWER_AGAIN), str(query.get("messageText", ""))),
    )


@dataclass(slots=True)
class _Gate:
    """A lock for the requests of one key. users: how many hold it or wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class SentMessages:
    """The messages whose streams are in memory, by the ids that clients gave them. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: dict[Key, _Gate] = {}
        self._streams: dict[Key, tuple[SentMessage, LiveStream]] = {}

    @contextmanager
    def one_at_a_time(self, sent: SentMessage) -> Iterator[None]:
        """Serialise the requests under one id: the second waits until the first is accepted and has its stream."""
        with self._lock:
            gate = self._gates.setdefault(sent.key, _Gate())
            gate.users += 1
        try:
            with gate.lock:
                yield
        finally:
            with self._lock:
                gate.users -= 1
                if gate.users == 0:
                    del self._gates[sent.key]

    def stream_of(self, sent: SentMessage) -> LiveStream | None:
        """The stream that this request opened before. Raises ConflictError if its id was used for another message."""
        with self._lock:
            known, stream = self._streams.get(sent.key, (sent, None))
        if known.what != sent.what:
            raise another_message()
        return stream

    def remember(self, sent: SentMessage, stream: LiveStream) -> None:
        """Keep `stream` for repetitions of this request."""
        with self._lock:
            self._streams[sent.key] = (sent, stream)

    def forget(self, stream: LiveStream) -> None:
        """Drop the stream; from now on only the store knows what was sent."""
        with self._lock:
            for key in [key for key, (_, known) in self._streams.items() if known is stream]:
                del self._streams[key]
