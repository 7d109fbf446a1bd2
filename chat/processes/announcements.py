"""Announcements: hints that one process sends to all others, so that they read the store sooner.

A hint may be lost, late, repeated or wrong without harm: the receiver reads the store, which it also polls from time to
time. Only the events of ephemeral turns are sent themselves, since no store has them; a receiver that misses some asks
for them again.

Several processes announce by Valkey (or Redis), which also counts their shared limits. The store is the source of
truth: everything in Valkey is renewed constantly, so that it may be killed and restarted empty at any time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import PubSub


log = logging.getLogger(__name__)
Heard = Callable[[bytes], None]
"""What is called with the payload of an announcement. It must not block, and may be called from any thread."""

CHANGES = "changes"
"""The topic of committed changes; payload: a JSON array of the emails of the people whose things changed."""

WATCHED = "watched"
"""The topic of turns that are watched in another process than their own; payload: a JSON array of message ids."""
EVENTS = "events"
"""The topic of committed events of such turns; payload: a JSON array of the message ids of their streams."""
STOPS = "stops"
"""The topic of turns that another process has to stop; payload: a JSON array of the names of those processes."""
UNKEPT = "unkept"
"""The topic of turns that are not kept and whose events a process has in memory; payload: a JSON object."""
ASKED = "asked"
"""The topic of such turns that are watched in another process than their own; payload: a JSON array of objects."""
TOLD = "told"
"""The topic of the events of such turns, which are in no store; payload: a line of JSON, then a line each event."""


class Announcements(Protocol):
    """Calls the subscribers of a topic: those of this process before `announce` returns, those of others soon after."""

    @property
    def reaches_others(self) -> bool:
        """Whether announcements pass between this process and others at the moment."""

    def announce(self, topic: str, payload: bytes) -> None:
        """Tell the subscribers of `topic`. Never waits for another process, and never raises."""

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; returns a function that unsubscribes."""


class LocalAnnouncements:
    """Announcements within one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[str, list[Heard]] = {}

    @property
    def reaches_others(self) -> bool:
        """Never."""
        return False

    def announce(self, topic: str, payload: bytes) -> None:
        """Call the subscribers of `topic` in this thread; their exceptions are logged."""
        with self._lock:
            subscribers = list(self._subscribers.get(topic, ()))
        for heard in subscribers:
            try:
                heard(payload)
            except Exception:
                log.exception("a subscriber of %s failed", topic)

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; returns a function that unsubscribes."""
        with self._lock:
            self._subscribers.setdefault(topic, []).append(heard)
        return partial(self._unsubscribe, topic, heard)

    def _unsubscribe(self, topic: str, heard: Heard) -> None:
        with self._lock:
            if heard in self._subscribers.get(topic, ()):
                self._subscribers[topic].remove(heard)


T = TypeVar("T")
MOST_WAITING = 10_000
"""Announcements that wait to be sent; further ones are dropped, as they are while Valkey is gone."""

_BATCH = 500
_CONNECT_SECONDS = 1.0
_ANSWER_SECONDS = 0.5
_LISTEN_SECONDS = 0.5
_PING_SECONDS = 2.0
_SILENT_SECONDS = 6.0
"""So long a ping may be unanswered."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_GONE = "Valkey at REDIS_URL can't be reached (%s): processes learn of each other from the store, limits count locally"


class BrokerGoneError(Exception):
    """Valkey can't be reached."""


class Broker:
    """Announcements by publish and subscribe, and scripts. Thread-safe.

    Within this process announcements need no Valkey. Servers call `begin`: before it, and while Valkey is unreachable,
    other processes hear nothing and find changes by polling the store. It reconnects by itself.
    """

    def __init__(self, url: str, *, installation: str) -> None:
        """url: REDIS_URL. installation: a secret that all its processes share; only its digest is sent."""
        digest = hashlib.sha256(f"anaphora {installation}".encode()).hexdigest()[:16]
        self._url = url
        self._prefix = f"anaphora:{digest}:"
        self._sender = secrets.token_hex(8).encode()
        self._local = LocalAnnouncements()
        self._waiting: queue.Queue[tuple[str, bytes] | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._up = threading.Event()
        self._ended = threading.Event()
        self._begun_in: int | None = None
        self._threads: list[threading.Thread] = []
        self._client: Redis | None = None
        self._told_gone = False
        self._was_up = False

    @property
    def is_starting(self) -> bool:
        """Whether the first connection since the start has neither been made nor failed yet."""
        return not (self._was_up or self._told_gone)

    @property
    def is_up(self) -> bool:
        """Whether announcements of other processes arrive."""
        return self._up.is_set()

    @property
    def reaches_others(self) -> bool:
        """As of Announcements."""
        return self.is_up

    def begin(self) -> None:
        """Connect in the background. Idempotent; a forked process connects again."""
        if self._begun_in == os.getpid():
            return
        with self._lock:
            if self._begun_in == os.getpid():
                return
            self._begun_in = os.getpid()
            self._sender = secrets.token_hex(8).encode()
            self._client = None
            self._threads = [
                threading.Thread(target=self._listen, name="broker-listener", daemon=True),
                threading.Thread(target=self._send, name="broker-sender", daemon=True),
            ]
            for thread in self._threads:
                thread.start()

    def close(self) -> None:
        """Disconnect; later announcements stay within this process."""
        self._ended.set()
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        for thread in self._threads:
            thread.join(_SILENT_SECONDS)
        if self._client is not None:
            self._client.close()

    def wait_until_up(self, *, seconds: float) -> bool:
        """Whether Valkey was reached within `seconds`."""
        return self._up.wait(seconds)

    def announce(self, topic: str, payload: bytes) -> None:
        """Call the subscribers of this process, and send to the others without waiting."""
        self._local.announce(topic, payload)
        if self.is_up:
            with suppress(queue.Full):
                self._waiting.put_nowait((topic, payload))

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with each announcement of `topic` by any process; returns a function that unsubscribes."""
        return self._local.subscribe(topic, heard)

    def key(self, *names: str) -> str:
        """The key of this installation for `names`."""
        return self._prefix + ":".join(names)

    def ask(self, call: Callable[[Redis], T]) -> T:
        """The result of `call` with the client, within half a second. Raises BrokerGoneError."""
        from redis.exceptions import RedisError

        if not self.is_up:
            raise BrokerGoneError
        try:
            return call(self._shared_client())
        except (RedisError, OSError) as error:
            raise BrokerGoneError from error

    def _shared_client(self) -> Redis:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Redis:
        """A client without retries of its own. It connects on first use."""
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return Redis.from_url(
            self._url,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            client_name="anaphora",
        )

    def _send(self) -> None:
        """Publish queued announcements in batches, until `close`."""
        while (first := self._waiting.get()) is not None:
            batch = [first]
            with suppress(queue.Empty):
                while len(batch) < _BATCH and (further := self._waiting.get_nowait()) is not None:
                    batch.append(further)
            with suppress(BrokerGoneError):  # the listener finds out and says so
                self.ask(lambda client, batch=batch: self._publish(client, batch))  # type: ignore[misc]
            if self._ended.is_set():
                return

    def _publish(self, client: Redis, batch: Iterable[tuple[str, bytes]]) -> None:
        pipeline = client.pipeline(transaction=False)
        for topic, payload in batch:
            pipeline.publish(self.key("announcements"), b"%b %b\n%b" % (self._sender, topic.encode(), payload))
        pipeline.execute()

    def _listen(self) -> None:
        """Stay subscribed until `close`; reconnect after failures."""
        from redis.exceptions import RedisError

        pause = _FIRST_PAUSE
        while not self._ended.is_set():
            client = self._connect()
            try:
                with client.pubsub() as subscription:  # type: ignore[no-untyped-call]
                    self._hear(subscription)
            except (RedisError, OSError) as error:
                self._say_gone(error)
                pause = _FIRST_PAUSE if self._up.is_set() else min(2 * pause, _LONGEST_PAUSE)
            finally:
                self._up.clear()
                client.close()
            self._ended.wait(pause)

    def _hear(self, subscription: PubSub) -> None:
        """Pass on announcements of other processes. Raises RedisError, OSError if the connection is lost or silent.

        Silence is a ping that was unanswered for too long before the last look: this process may have stood still.
        """
        subscription.subscribe(self.key("announcements"))
        heard_at = pinged_at = time.monotonic()
        while not self._ended.is_set():
            looked_at = time.monotonic()
            message = subscription.get_message(timeout=_LISTEN_SECONDS)
            if message is not None:
                heard_at = time.monotonic()
                self._take(message)
            elif pinged_at <= heard_at:
                if looked_at - heard_at > _PING_SECONDS:
                    pinged_at = time.monotonic()
                    subscription.ping()
            elif looked_at - pinged_at > _SILENT_SECONDS:
                raise ConnectionError("it is silent")

    def _take(self, message: dict[str, object]) -> None:
        data = message["data"]
        if message["type"] == "subscribe":
            self._say_back()
        elif message["type"] == "message" and isinstance(data, bytes):
            head, _, payload = data.partition(b"\n")
            sender, _, topic = head.partition(b" ")
            if sender != self._sender:
                self._local.announce(topic.decode(), payload)

    def _say_gone(self, error: Exception) -> None:
        if not self._told_gone:
            log.warning(_GONE, error)
        self._told_gone = True

    def _say_back(self) -> None:
        if self._told_gone:
            log.info("Valkey at REDIS_URL is reached again")
        self._told_gone, self._was_up = False, True
        self._up.set()
