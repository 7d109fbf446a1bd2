"""Floors: the same jobs done by bare aiohttp and bare sqlite3, with nothing around them.

What the product does beyond (users, guards, validation, one writer, hashes, the index behind) is the ratio to these:
that is the figure to improve. Run as a module it is the server of two of them, a process of its own:
`python -m benchmarks.floors DATABASE UPSTREAM` prints its port when it is ready.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import aiohttp
import orjson
from aiohttp import web

from database.connection import close_store, open_store
from database.engine.clock import now_iso
from database.search.index import term_prefix
from tests.live_server import ROOT

from .fake_model import running
from .figures import timed
from .load import Load, from_a_process
from .seeded import DOMAIN, EMAIL, Bench

_PAGE = (
    'SELECT conversation_id, title, created_at, updated_at, conversation_friendly_id, message_count FROM "UserToConver'
    'sationId" WHERE user_email = ? AND domain = ? AND deleted_at IS NULL ORDER BY updated_at DESC LIMIT 50'
)
_NAMED = 'SELECT conversation_id FROM "UserToConversationId" WHERE user_email = ? AND conversation_friendly_id = ?'
_BY_HASH = "SELECT * FROM messages WHERE conversation_id = ? AND message_short_hash = ?"
_ACTIVITY = (
    "INSERT INTO activities (seq, activity_id, user_email, conversation_id, recipe, type, short_id, actor_type, "
    "payload, created_at) VALUES (?, ?, ?, '1', '', '', ?, '', '{}', ?)"
)
_MESSAGE = (
    "INSERT INTO messages (seq, message_id, user_email, conversation_id, ordinal, sender, text, config, report, "
    "created_at) VALUES (?, ?, ?, '1', ?, ?, ?, '{}', '[]', ?)"
)
_ANSWER = "UPDATE messages SET text = ?, message_short_hash = ? WHERE message_id = ?"
_DELTA = b'data: {"choices":[{"index":0,"delta":{"content"'
_STREAMS, _WORDS_A_SECOND = 50, 20


class _Running(NamedTuple):
    port: int
    pid: int


def list_page(bench: Bench) -> float:
    """Milliseconds of fifty conversations: one query, one JSON, one answer over a connection that is kept."""
    with _serving(bench.users_dir, upstream="") as server, closing(HTTPConnection("127.0.0.1", server.port)) as client:

        def ask() -> None:
            client.request("GET", "/list")
            assert client.getresponse().read()

        return statistics.median(timed(ask, times=bench.times))


def append_turn(bench: Bench) -> float:
    """Milliseconds of two transactions: question and empty answer with their activities, then the answer's text."""
    users_dir = str(bench.scratch("floor"))
    open_store(users_dir)
    close_store(users_dir)
    numbers = itertools.count(1)
    with closing(_opened(users_dir)) as connection:
        return statistics.median(timed(lambda: _append(connection, next(numbers)), times=bench.times))


def reference(bench: Bench) -> float:
    """Milliseconds of two lookups: the conversation by its friendly id, the message by its hash."""
    name = bench.references(1, conversations=1)[0].removeprefix("conversation_")
    friendly_id, _, short_hash = name.rpartition("_message_")
    with closing(_opened(bench.users_dir)) as connection:

        def look_up() -> None:
            found = connection.execute(_NAMED, (EMAIL, friendly_id)).fetchone()
            assert connection.execute(_BY_HASH, (found[0], short_hash)).fetchone()

        return statistics.median(timed(look_up, times=bench.times))


def search(bench: Bench) -> float:
    """Milliseconds of the newest twenty messages that say a common word, with their texts."""
    query = (
        "SELECT text FROM messages WHERE seq IN (SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? "
        "ORDER BY rowid DESC LIMIT 20)"
    )
    with closing(_opened(bench.users_dir)) as connection:
        work = partial(_all_rows, connection, query, (f"body : {term_prefix(EMAIL)}the",))
        return statistics.median(timed(work, times=bench.times))


def streamed_word(_bench: Bench) -> float:
    """CPU milliseconds of a word that is passed on from the model to a client, of fifty streams; nothing is stored."""
    with running() as upstream, _serving("", upstream=upstream) as server:
        load = Load(
            port=server.port,
            cookies=[""],
            conversation_ids=[str(number) for number in range(_STREAMS)],
            server_pid=server.pid,
        )
        return from_a_process(load).cpu_ms_a_word


FLOORS: Mapping[str, Callable[[Bench], float]] = {
    "first page of the conversations": list_page,
    "append a turn to 10 messages": append_turn,
    "one reference, from the store": reference,
    "search for the commonest word, CPU": search,
    "CPU of each streamed word at 50 streams": streamed_word,
}
"""By the name of the figure that does the same job."""


def _all_rows(connection: sqlite3.Connection, query: str, parameters: tuple[str, ...]) -> None:
    assert connection.execute(query, parameters).fetchall()


def _opened(users_dir: str) -> sqlite3.Connection:
    connection = sqlite3.connect(Path(users_dir) / "users.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _append(connection: sqlite3.Connection, turn: int) -> None:
    moment, answer = now_iso(), str(uuid.uuid4())
    text = "What follows from that for the window of the index, and what would it cost? " * 7
    connection.execute("BEGIN IMMEDIATE")
    for seq, message_id, sender in ((turn * 2, str(uuid.uuid4()), "user"), (turn * 2 + 1, answer, "model")):
        connection.execute(_ACTIVITY, (seq, message_id, EMAIL, message_id, moment))
        said = text if sender == "user" else ""
        connection.execute(_MESSAGE, (seq, message_id, EMAIL, seq, sender, said, moment))
    connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "UPDATE messages SET text = ?, message_short_hash = ? WHERE message_id = ?", (text, turn, answer)
    )
    connection.execute("COMMIT")


@contextmanager
def _serving(users_dir: str, *, upstream: str) -> Iterator[_Running]:
    command = [sys.executable, "-m", "benchmarks.floors", users_dir, upstream]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield _Running(int(process.stdout.readline()), process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class _Server:
    """The answers of the bare server."""

    def __init__(self, users_dir: str, upstream: str) -> None:
        self._connection = _opened(users_dir) if users_dir else sqlite3.connect(":memory:")
        self._upstream = upstream
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def page(self, _request: web.Request) -> web.Response:
        cursor = self._connection.execute(_PAGE, (EMAIL, DOMAIN))
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return web.Response(body=orjson.dumps(rows), content_type="application/json")

    async def health(self, _request: web.Request) -> web.Response:
        return web.json_response({})

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        body = {"model": f"ticking-240-{_WORDS_A_SECOND}", "stream": True}
        async with self._session.post(self._upstream, json=body) as said:
            async for line in said.content:
                if line.startswith(_DELTA):
                    text = orjson.loads(line[len(b"data: ") :])["choices"][0]["delta"]["content"]
                    await answer.write(orjson.dumps({"seq": 1, "text": text}) + b"\n")
        await answer.write(orjson.dumps({"seq": 2, "text": "", "done": True}) + b"\n")
        return answer


async def _serve(users_dir: str, upstream: str) -> None:
    server, application = _Server(users_dir, upstream), web.Application()
    application.add_routes([web.get("/list", server.page), web.get("/healthz", server.health)])
    application.add_routes([web.post("/send_message/{conversation}", server.pass_on)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    """Serve until killed."""
    users_dir, upstream = sys.argv[1:3]
    asyncio.run(_serve(users_dir, upstream))


if __name__ == "__main__":
    main()
