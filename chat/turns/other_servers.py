"""Turns across servers that share a store: stopping another server's turns, and letting other servers watch ours.

Events of ephemeral turns are in no store. Their server announces every two seconds which ones it runs, sends their
events on request, and sends new ones while requests continue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from chat.exchange.errors import TooManyTurnsError
from chat.processes.announcements import ASKED, EVENTS, STOPS, TOLD, UNKEPT, WATCHED, Announcements
from chat.processes.threads import in_thread
from database.engine.database import Database
from database.engine.errors import StoreError
from database.turns.idempotency import another_message
from database.turns.leases import ask_to_stop, running_turns, take_stop_requests

from .following import FOLLOW_SECONDS, WATCHED_SECONDS
from .idempotency import Key, SentMessage
from .streams import LiveStream

HOLD_SECONDS = 30.0
"""So long the events of a turn that is not kept can be watched again after its end."""


@dataclass(frozen=True, slots=True)
class _Unkept:
    """An ephemeral turn of another server. sent: key and digest of the message, or None. until: monotonic time."""

    messages: tuple[str, ...]
    user_email: str
    sent: tuple[Key, str] | None
    until: float


class OtherServers:
    """The other servers, as seen by the one named `owner`. Thread-safe.

    exist: whether there may be any.
    """

    def __init__(self, *, database: Database, owner: str, announcements: Announcements) -> None:
        self._database = database
        self._owner = owner
        self._announcements = announcements
        self.exist = database.backend.is_shared
        self._hearing: asyncio.AbstractEventLoop | None = None
        self._stop_asked = asyncio.Event()
        # Streams that others watch, and until when (monotonic seconds).
        self._watched: dict[str, float] = {}
        # Turns that are not kept: those of this server, with what opened them, and those of others.
        self._shown: dict[LiveStream, SentMessage | None] = {}
        self._elsewhere: dict[str, _Unkept] = {}
        if self.exist:
            announcements.subscribe(UNKEPT, self._note_unkept)
            announcements.subscribe(ASKED, self._answer_asked)
            announcements.subscribe(WATCHED, self._note_watched)
            announcements.subscribe(STOPS, self._wake)

    def ask_to_stop(self, *, user_email: str, conversation_id: str | None = None) -> bool:
        """Ask the other servers to stop a person's answers, or those of one conversation; returns whether they run any.

        Raises StoreError.
        """
        if not self.exist:
            return False
        owners = ask_to_stop(
            database=self._database, asking=self._owner, user_email=user_email, conversation_id=conversation_id
        )
        if owners:
            self._announcements.announce(STOPS, orjson.dumps(list(owners)))
        return bool(owners)

    async def hear_stops(self, stop: Callable[[str], None], *, is_needed: Callable[[], bool]) -> None:
        """While `is_needed`, call `stop` on this loop for each answer of this server that another one wants stopped.

        It looks into the store when another server says so, and every `FOLLOW_SECONDS`; not at once: the turn that has
        just begun is on its way to its model.
        """
        self._hearing = asyncio.get_running_loop()
        while is_needed():
            with suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await self._stop_asked.wait()
            self._stop_asked.clear()
            with suppress(StoreError):
                for message_id in await in_thread(take_stop_requests, database=self._database, owner=self._owner):
                    stop(message_id)
        self._hearing = None

    def announce_events(self, stored: asyncio.Future[None], rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Send events (message_id, seq, event) to their watchers at other servers, once they are `stored`."""
        names = {name for name, _, _ in rows} & self._watched.keys() if self._watched else ()
        if names:
            stored.add_done_callback(lambda _: self._announcements.announce(EVENTS, orjson.dumps(list(names))))

    def show(self, stream: LiveStream, sent: SentMessage | None) -> None:
        """Let other servers watch an ephemeral turn, until `hide`. sent: the request that began it."""
        if self.exist:
            self._shown[stream] = sent
            stream.on_news = partial(self._tell_news, stream)
            self.tell_unkept()

    def hide(self, stream: LiveStream) -> None:
        """Forget a stream given to `show`; a no-op for any other stream."""
        self._shown.pop(stream, None)

    def tell_unkept(self) -> None:
        """Announce which ephemeral turns run here, or have just ended."""
        running = [_described(stream, sent) for stream, sent in list(self._shown.items()) if not stream.closed]
        if running:
            self._announcements.announce(UNKEPT, orjson.dumps({"owner": self._owner, "turns": running}))

    def has_unkept(self, message_id: str, *, user_email: str) -> bool:
        """Whether another server announced a moment ago that it runs the ephemeral turn of this answer."""
        known = self._elsewhere.get(message_id)
        return known is not None and known.user_email == user_email and known.until > time.monotonic()

    def unkept_answer(self, sent: SentMessage) -> str | None:
        """The message id of another server's ephemeral answer to a message that is sent again.

        Raises ConflictError if a different message had the same client id.
        """
        for known in list(self._elsewhere.values()):
            if known.sent is not None and known.sent[0] == sent.key and known.until > time.monotonic():
                if known.sent[1] != sent.digest:
                    raise another_message()
                return known.messages[0]
        return None

    def ask_for_room(self, connection: Any, user_email: str, *, most: int | None) -> Callable[[], None]:
        """Count a person's turns over all servers, within the transaction that accepts a new one.

        Returns a function that reads the count, and raises TooManyTurnsError at the limit. No statement is sent if this
        server knows the answer by itself.
        """
        if most is None or not self.exist:
            return lambda: None
        running = running_turns(connection, user_email=user_email, most=most)

        def refuse_beyond() -> None:
            if running() >= most:
                raise TooManyTurnsError(limit=most)

        return refuse_beyond

    def _wake(self, owners: bytes) -> None:
        loop = self._hearing
        if loop is not None and self._owner in orjson.loads(owners):
            loop.call_soon_threadsafe(self._stop_asked.set)

    def _note_watched(self, streams: bytes) -> None:
        """Announce the events of these streams, if this server writes them, for the next seconds."""
        now = time.monotonic()
        kept = {name: until for name, until in self._watched.items() if until > now}
        self._watched = kept | dict.fromkeys(orjson.loads(streams), now + WATCHED_SECONDS)

    def _note_unkept(self, announced: bytes) -> None:
        now, said, told = time.monotonic(), orjson.loads(announced), dict[str, _Unkept]()
        if said["owner"] == self._owner:
            return
        for turn in said["turns"]:
            sent = turn["sent"] and ((turn["user_email"], turn["sent"][0]), turn["sent"][1])
            unkept = _Unkept(tuple(turn["messages"]), turn["user_email"], sent, now + HOLD_SECONDS)
            told |= dict.fromkeys(unkept.messages, unkept)
        self._elsewhere = {name: each for name, each in self._elsewhere.items() if each.until > now} | told

    def _answer_asked(self, turns: bytes) -> None:
        """Send the events that others ask for; sent even without new ones, as proof that this server is alive."""
        asked = {turn["message_id"]: turn for turn in orjson.loads(turns)}
        for stream in list(self._shown):
            wanted = [asked[name] for name in stream.answers if name in asked]
            for turn in wanted:
                if turn["user_email"] == stream.user_email:
                    self._note_watched(orjson.dumps([stream.message_id]))
                    self._tell(stream, after=turn["after"])

    def _tell_news(self, stream: LiveStream, before: int) -> None:
        if self._watched.get(stream.message_id, 0.0) > time.monotonic():
            self._tell(stream, after=before)

    def _tell(self, stream: LiveStream, *, after: int) -> None:
        head = {"messages": stream.answers, "user_email": stream.user_email, "first": after + 1}
        self._announcements.announce(TOLD, b"\n".join([orjson.dumps(head), *stream.beyond(after)]))


def _described(stream: LiveStream, sent: SentMessage | None) -> dict[str, Any]:
    """An ephemeral turn, in the form that `_note_unkept` reads."""
    opened = None if sent is None else [sent.client_message_id, sent.digest]
    return {"messages": stream.answers, "user_email": stream.user_email, "sent": opened}
