"""Turns and the other servers of the same store: having them stop theirs, and letting them watch and stop ours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import orjson

from chat.processes.announcements import EVENTS, STOPS, WATCHED, Announcements
from database.engine.database import Database
from database.errors import StoreError
from database.turns.identity import Admission
from database.turns.watching import ask_to_stop, running_turns, take_stop_requests

from .errors import TooManyTurnsError
from .following import FOLLOW_SECONDS, WATCHED_SECONDS
from .threads import in_thread


class OtherServers:
    """The other servers, as the one named `owner` sees them. Safe to use from any thread.

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
        if self.exist:
            announcements.subscribe(WATCHED, self._note_watched)
            announcements.subscribe(STOPS, self._wake)

    def ask_to_stop(self, *, user_email: str, conversation_id: str | None = None) -> bool:
        """Have them stop what they answer for a person, or in one conversation; whether they answer anything.

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
        """Call `stop` with each answer of this server that others want stopped, on this loop, while `is_needed`."""
        self._hearing = asyncio.get_running_loop()
        while is_needed():
            self._stop_asked.clear()
            with suppress(StoreError):
                for message_id in await in_thread(take_stop_requests, database=self._database, owner=self._owner):
                    stop(message_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await self._stop_asked.wait()
        self._hearing = None

    def announce_events(self, stored: Future[None], rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Tell those who watch these events (message_id, seq, event) elsewhere, once they are `stored`."""
        names = {name for name, _, _ in rows} & self._watched.keys() if self._watched else ()
        if names:
            stored.add_done_callback(lambda _: self._announcements.announce(EVENTS, orjson.dumps(list(names))))

    def admission(self, user_email: str, *, most: int | None) -> Admission | None:
        """What refuses a turn where a person has as many written, by all servers together, as one may.

        None where this server knows by itself. It raises TooManyTurnsError.
        """
        if most is None or not self.exist:
            return None

        def admit(connection: Any) -> None:
            if running_turns(connection, user_email=user_email) >= most:
                raise TooManyTurnsError(limit=most)

        return admit

    def _wake(self, owners: bytes) -> None:
        loop = self._hearing
        if loop is not None and self._owner in orjson.loads(owners):
            loop.call_soon_threadsafe(self._stop_asked.set)

    def _note_watched(self, streams: bytes) -> None:
        """Announce the events of these streams, where they are written here, for the next seconds."""
        now = time.monotonic()
        kept = {name: until for name, until in self._watched.items() if until > now}
        self._watched = kept | dict.fromkeys(orjson.loads(streams), now + WATCHED_SECONDS)
