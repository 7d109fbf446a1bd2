"""How long others wait while one kind of work is asked for in masses: `/healthz`, a page, a list, a message."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import orjson

from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

from ..fake_model import running, settings_for
from ..figures import Figure, of_samples
from ..seeded import EMAIL, Bench, copy_data
from .imports import upload_export, write_export

_EVERY = 0.25
_SECONDS = {"quick": 10.0, "full": 30.0}
_SENDS_EVERY = 4
_LOGINS_A_SECOND = 40
_WAITING_PEOPLE = 8
_TURNS, _WORDS_A_SECOND = 200, 20
_IMPORTED_CLAIMS = 36_000
_IMPORTED_MESSAGES = 60_000
_LOOKED_AT = {
    "/healthz": "/healthz",
    "page": "/interface/",
    "list": "/list_conversation_by_user/assistant?limit=50",
}
_PROBES: dict[str, float] = {"/healthz": 50.0, "page": 100.0, "list": 100.0, "message to first event": 100.0}

Load = Callable[["Site", asyncio.Event], Awaitable[None]]


class Site:
    """A server under load, and the person who waits meanwhile."""

    def __init__(self, server: LiveServer, folder: Path, prober: Client, seconds: float) -> None:
        self.server = server
        self.folder = folder
        self.prober = prober
        self.seconds = seconds
        self.samples: dict[str, list[float]] = defaultdict(list)
        self.refused: list[int] = []

    async def ask(
        self, method: str, path: str, client: Client | None = None, body: object = None, *, until: bytes = b""
    ) -> tuple[int, float]:
        """Status of one request, 0 where it was cut, and milliseconds until its end, or until `until` came."""
        begun = time.perf_counter()
        async with self._connection() as (reader, writer):
            writer.write(_request(self.server.port, method, path, client, body))
            received = b""
            while piece := await reader.read(65_536):
                received += piece
                if until and until in received:
                    break
        status = int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/") else 0
        return status, (time.perf_counter() - begun) * 1_000

    async def hang_up(self, path: str, body: object) -> None:
        """Send a request and leave at once."""
        async with self._connection() as (_, writer):
            writer.write(_request(self.server.port, "POST", path, None, body))
            await writer.drain()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=2**22)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def probe(self, stop: asyncio.Event) -> None:
        """Ask as another person does, until `stop`; each sample is from sending to the end, or to the first event."""
        for number in itertools.count():
            if stop.is_set():
                return
            for name, path in _LOOKED_AT.items():
                await self._measured(name, self.ask("GET", path, self.prober))
            if number % _SENDS_EVERY == 0:
                created = await asyncio.to_thread(self.prober.create_conversation)
                send = self.ask(
                    "POST", f"/send_message/{created}", self.prober, {"messageText": "Tea?"}, until=b'"seq"'
                )
                await self._measured("message to first event", send)
            await asyncio.sleep(_EVERY)

    async def _measured(self, name: str, asking: Awaitable[tuple[int, float]]) -> None:
        status, milliseconds = await asking
        self.samples[name].append(milliseconds)
        if status != 200:
            self.refused.append(status)


def stalls(bench: Bench) -> Iterator[Figure]:
    """Each load for itself on a fresh server."""
    for name, load in _LOADS.items():
        with _site(bench, load) as site:
            asyncio.run(_run(site, load))
        for probe, budget in _PROBES.items():
            yield of_samples(f"{probe}, while {name}", site.samples[probe], budget_p95=budget)
        worst = max(itertools.chain.from_iterable(site.samples.values()))
        yield Figure(name=f"the longest wait, while {name}", value=worst)
        assert not site.refused, f"somebody else was refused while {name}: {sorted(set(site.refused))}"


async def _run(site: Site, load: Load) -> None:
    stop = asyncio.Event()
    probing = asyncio.create_task(site.probe(stop))
    with suppress(TimeoutError):
        async with asyncio.timeout(site.seconds):
            await load(site, stop)
            await stop.wait()
    stop.set()
    await probing


async def nothing(_site: Site, _stop: asyncio.Event) -> None:
    """No load: what a request costs by itself."""


async def logins(site: Site, stop: asyncio.Event) -> None:
    """40 log-ins a second with invented addresses; every second client hangs up at once."""
    async with asyncio.TaskGroup() as group:
        for number in itertools.count():
            if stop.is_set():
                return
            body = {"email": f"{uuid.uuid4().hex}@example.org", "password": "a guess at it"}
            asking = site.hang_up("/login", body) if number % 2 else site.ask("POST", "/login", None, body)
            group.create_task(_quietly(asking))
            await asyncio.sleep(1 / _LOGINS_A_SECOND)


async def hanging_model(site: Site, _stop: asyncio.Event) -> None:
    """Eight people have statements analysed by a model that never answers."""
    people = [await asyncio.to_thread(_person, site.server, f"waiting{n}@example.org") for n in range(_WAITING_PEOPLE)]
    await asyncio.gather(*(_for_ever(site, person) for person in people))


async def _for_ever(site: Site, person: Client) -> None:
    while True:
        await site.ask("POST", "/pkb/analyze_statement", person, {"statement": "I like green tea in the morning"})


async def large_import(site: Site, _stop: asyncio.Event) -> None:
    """One person imports about 32 MB of memories, and again what is there already."""
    person = await asyncio.to_thread(_person, site.server, "importing@example.org")
    payload = orjson.dumps({"payload": _memories(), "mode": "merge"})
    site.samples.clear()  # making the payload has held up the probes in this process
    while True:
        await site.ask("POST", "/pkb/import", person, payload)


async def large_history(site: Site, _stop: asyncio.Event) -> None:
    """One person imports a history of about 48 MB."""
    person = await asyncio.to_thread(_person, site.server, "moving@example.org")
    file = site.folder / "conversations.json"
    await asyncio.to_thread(write_export, file, messages=_IMPORTED_MESSAGES, characters=560)
    site.samples.clear()  # making the file has held up the probes in this process
    path = f"/imports/{await asyncio.to_thread(upload_export, person, file)}"
    while (now := (await asyncio.to_thread(person.get, path)).json())["state"] != "done":
        assert now["state"] in {"counting", "ready", "running"}, now
        if now["state"] == "ready":
            await asyncio.to_thread(person.post, f"{path}/start", {})
        await asyncio.sleep(0.5)


async def hanging_embeddings(site: Site, _stop: asyncio.Event) -> None:
    """The provider of embeddings never answers; a person's memories wait for it."""
    person = await asyncio.to_thread(_person, site.server, "remembering@example.org")
    for number in itertools.count():
        await site.ask("POST", "/pkb/claims", person, {"statement": f"Tea number {number} is good"})


async def full_bin(site: Site, _stop: asyncio.Event) -> None:
    """A person empties a bin of 200 conversations with 20,000 messages."""
    owner = await asyncio.to_thread(site.server.sign_in, EMAIL)
    listed = await asyncio.to_thread(owner.get, "/list_conversation_by_user/assistant")
    ids = [row["conversation_id"] for row in listed.json()]
    for start in range(0, len(ids), 50):
        change = {"conversation_ids": ids[start : start + 50], "change": "delete"}
        await site.ask("POST", "/conversations/bulk", owner, change)
    await site.ask("POST", "/empty_bin/assistant", owner)


async def running_turns(site: Site, _stop: asyncio.Event) -> None:
    """200 running answers of 20 words a second, begun within five seconds."""
    people = [await asyncio.to_thread(_person, site.server, f"talking{n}@example.org") for n in range(_WAITING_PEOPLE)]
    async with asyncio.TaskGroup() as group:
        for number in range(_TURNS):
            person = people[number % len(people)]
            created = await asyncio.to_thread(person.create_conversation)
            body = {"messageText": "Tick, please."}
            group.create_task(_quietly(site.ask("POST", f"/send_message/{created}", person, body)))
        site.samples.clear()  # the beginning has a budget of its own


async def _quietly(asking: Awaitable[object]) -> None:
    with suppress(OSError):
        await asking


_LOADS: dict[str, Load] = {
    "nothing else happens": nothing,
    "40 strangers a second log in": logins,
    "8 people wait for a hanging model": hanging_model,
    "32 MB of memories are imported": large_import,
    "a history of 48 MB is imported": large_history,
    "the provider of embeddings hangs": hanging_embeddings,
    "a full bin is emptied": full_bin,
    "200 answers grow by 20 words a second": running_turns,
}


def _memories() -> dict[str, object]:
    """An export of about 32 MB."""
    words = random.Random(7)
    claims = [
        {
            "claim_id": str(uuid.uuid4()),
            "statement": f"Statement {number} says {' '.join(f'word{words.randrange(9_000)}' for _ in range(60))}.",
            "claim_type": "fact",
            "context_domain": "personal",
            "notes": "a note " * 20,
        }
        for number in range(_IMPORTED_CLAIMS)
    ]
    return {"pkb_export_version": 1, "data": {"claims": claims}}


def _request(port: int, method: str, path: str, client: Client | None, body: object) -> bytes:
    """body: None, what is sent as JSON, or the JSON itself: writing 32 MB of it would hold up the probes."""
    content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items()) if client else ""
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: http://127.0.0.1:{port}",
        "Accept: text/html" if path == "/interface/" else "Accept: */*",
        "Connection: close",
        *([f"Cookie: {cookies}"] if cookies else []),
        *(["Content-Type: application/json", f"Content-Length: {len(content)}"] if body is not None else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


@contextmanager
def _site(bench: Bench, load: Load) -> Iterator[Site]:
    folder = bench.scratch("stalls")
    copy_data(bench.small, folder)
    with running() as address:
        server = LiveServer(folder, _environ(address, load))
        try:
            server.start()
            prober = _person(server, "waits@example.org")
            prober.post("/pkb/claims", {"statement": "Tea is good in the morning"})
            yield Site(server, folder, prober, seconds=_SECONDS[bench.size.name])
        finally:
            server.stop(seconds=30)


def _environ(address: str, load: Load) -> dict[str, str]:
    words = 100_000 if load is running_turns else 5
    return settings_for(address, f"ticking-{words}-{_WORDS_A_SECOND}") | {
        "ANAPHORA_CHEAP_MODEL": "openai:hanging",
        "ANAPHORA_EMBEDDING_MODEL": "openai:hanging" if load is hanging_embeddings else "none",
        "ANAPHORA_CONTEXT_WINDOW": "32000",
    }


def _person(server: LiveServer, email: str) -> Client:
    """A client that has logged in to a new account, made by the owner of the seeded data."""
    made = server.sign_in(EMAIL).post("/users", {"email": email, "password": PASSWORD})
    assert made.status == 201, made.text
    return server.sign_in(email)
