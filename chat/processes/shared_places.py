"""A concurrency limit over all processes: how many requests of a kind one client may run at once.

A script in Valkey counts them. A place is a lease that its process renews, so that a dead process holds none. While
Valkey is unreachable each process counts for itself; afterwards the renewals restore the common count.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from chat.processes.announcements import Broker, BrokerGoneError

from .threads import WorkerThreads

if TYPE_CHECKING:
    from redis import Redis

LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
_THREADS = 2
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
_RENEW = """
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], ends, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""


class NoPlaceError(Exception):
    """The client already uses all its places."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A running request. key: of its kind and client, in Valkey."""

    key: str
    name: str = field(default_factory=partial(secrets.token_hex, 12))


class SharedPlaces:
    """The places of one process among several. Thread-safe."""

    def __init__(self, broker: Broker, *, lease: float = LEASE_SECONDS) -> None:
        """lease: after so many seconds the places of a dead process are free."""
        self._broker = broker
        self._lease = round(lease * 1000)
        self._lock = threading.Lock()
        self._held: set[_Place] = set()
        self._threads = WorkerThreads(_THREADS, name="shared-places")
        self._renewing: threading.Thread | None = None
        self._ended = threading.Event()

    @asynccontextmanager
    async def place(self, kind: str, client: str, *, most: int) -> AsyncIterator[None]:
        """Hold one of the `most` places of `client` for this kind of request. Raises NoPlaceError. For the loop."""
        taking = self._threads.on_loop(partial(self.take, kind, client, most=most))
        try:
            place = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back_soon)
            raise
        try:
            yield
        finally:
            if place is not None:
                self._threads.submit(self.give_back, place)

    def take(self, kind: str, client: str, *, most: int) -> _Place | None:
        """A place, which the caller must free; None while Valkey is unreachable. Raises NoPlaceError."""
        digest = hashlib.sha256(client.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        place = _Place(self._broker.key("under-way", kind, digest))
        try:
            taken = self._broker.ask(lambda redis: redis.eval(_TAKE, 1, place.key, most, place.name, self._lease))
        except BrokerGoneError:
            return None
        if not taken:
            raise NoPlaceError
        with self._lock:
            self._held.add(place)
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._keep_renewing, name="shared-places-renewal", daemon=True)
                self._renewing.start()
        return place

    def give_back(self, place: _Place) -> None:
        """Free the place."""
        with self._lock:
            self._held.discard(place)
        with suppress(BrokerGoneError):  # its lease ends
            self._broker.ask(lambda redis: redis.zrem(place.key, place.name))

    def renew(self) -> None:
        """Renew the leases of all held places; also restores them in a Valkey that was restarted empty."""
        with self._lock:
            held = list(self._held)
        if held:
            with suppress(BrokerGoneError):
                self._broker.ask(partial(self._renew, held))

    def close(self) -> None:
        """Stop renewing."""
        self._ended.set()
        self._threads.shutdown()

    def _give_back_soon(self, taking: asyncio.Future[_Place | None]) -> None:
        """Free a place that was granted after its client had disconnected."""
        if not taking.cancelled() and taking.exception() is None and (place := taking.result()) is not None:
            self._threads.submit(self.give_back, place)

    def _renew(self, held: list[_Place], redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        for place in held:
            pipeline.eval(_RENEW, 1, place.key, place.name, self._lease)
        pipeline.execute()
        with self._lock:
            given_back = [place for place in held if place not in self._held]
        for place in given_back:  # meanwhile, and taken again by the renewal
            redis.zrem(place.key, place.name)

    def _keep_renewing(self) -> None:
        while not self._ended.wait(RENEW_SECONDS):
            self.renew()
