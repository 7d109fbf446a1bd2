"""How fast history of another program comes in, beside reading the same file with `json`."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from database.connection import close_store, open_store
from database.imports.repository import get_import
from portability.imports.accepting import accept_file
from portability.imports.runner import ImportRunner
from tests.http_client import Client
from tests.live_server import LiveServer

from ..figures import Figure, of_samples
from ..load import resident_kb
from ..seeded import DATA, EMAIL, Bench

_IMPORTED = 100_000
_OF_CONVERSATION = 10
_CHARACTERS = 560
_WORDS = 20_000
_ASK_EVERY = 0.05
_LOOK_EVERY = 0.5
_PROGRESS = "progress.json"


def imports(bench: Bench) -> Iterator[Figure]:
    """An export of ChatGPT with 100,000 messages of 560 characters (10,000 in a quick run), stored and indexed.

    `--messages` says how many instead, `--characters` how long each is. The file is written and parsed conversation by
    conversation, so that the peak of memory is that of the import.
    """
    count = bench.messages or min(_IMPORTED, bench.size.messages // 5)
    folder = bench.scratch("imported")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "conversations.json"
    characters = bench.characters or _CHARACTERS
    write_export(file, messages=count, characters=characters)
    floor = _parse(file) * 1_000_000 / count
    users_dir = str(folder / "users")
    database = open_store(users_dir)
    which = accept_file(file, name=file.name, database=database, user_email=EMAIL, state="running")
    runner = ImportRunner(database=database, uploads=folder / "uploads", share=1.0)
    before = most = resident_kb(os.getpid(), "RssAnon")
    began, cpu = time.perf_counter(), time.process_time()
    while runner.run_due() is not None:
        most = max(most, resident_kb(os.getpid(), "RssAnon"))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    done = get_import(database=database, user_email=EMAIL, import_id=which.import_id)
    assert (done.state, done.done) == ("done", count)
    name = f"import 1,000 of {count:,} messages"
    yield Figure(name=name, value=took * 1_000_000 / count, budget=_budget(characters), floor=floor)
    yield Figure(name=f"{name}, CPU", value=used * 1_000_000 / count, floor=floor)
    yield Figure(name="memory of an import, unshared", value=(most - before) / 1_024, unit="MB", budget=200.0)
    yield Figure(
        name="peak memory of the process that imports", value=resident_kb(os.getpid(), "VmHWM") / 1_024, unit="MB"
    )
    close_store(users_dir)


def imports_served(bench: Bench) -> Iterator[Figure]:
    """The same export, uploaded to a server that somebody else asks for `/healthz` meanwhile.

    The memory is that of the server, all of its threads together. A run that was ended goes on where it was, if it is
    started again for as many messages of the same length: times go on, `/healthz` and memory are those of the last run.
    """
    count, characters = bench.messages or min(_IMPORTED, bench.size.messages // 5), bench.characters or _CHARACTERS
    run = _Run.of(bench, {"messages": count, "characters": characters})
    file = run.folder / "conversations.json"
    if "written" not in run.took:
        with run.timed("written"):
            write_export(file, messages=count, characters=characters)
    floor = _parse(file) * 1_000_000 / count
    server = LiveServer(run.folder / "server").start()
    try:
        yield from _served(server, file, run, count=count, characters=characters, floor=floor)
    finally:
        server.stop()


@dataclass(frozen=True, slots=True)
class _Run:
    """How far a run came. took: seconds by its steps, kept on the disk."""

    folder: Path
    asked: dict[str, int]
    took: dict[str, float]

    @classmethod
    def of(cls, bench: Bench, asked: dict[str, int]) -> _Run:
        """The run that was ended before, if it was asked for the same; else one that begins."""
        folder = DATA / "scratch" / "imports-served"
        with suppress(OSError, ValueError):
            told = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
            if told["asked"] == asked:
                return cls(folder, asked, told["took"])
        return cls(bench.scratch("imports-served"), asked, {})

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of the block to that of the step, if it ends well."""
        begun = time.perf_counter()
        yield
        self.took[step] = self.took.get(step, 0.0) + time.perf_counter() - begun
        told = json.dumps({"asked": self.asked, "took": self.took})
        (self.folder / _PROGRESS).write_text(told, encoding="utf-8")

    def is_over(self) -> None:
        """The next run begins anew."""
        (self.folder / _PROGRESS).unlink()


def _budget(characters: int) -> float | None:
    """100,000 messages of 560 characters in 60 s; longer ones have no budget."""
    return 600.0 if characters <= _CHARACTERS else None


def _served(
    server: LiveServer, file: Path, run: _Run, *, count: int, characters: int, floor: float
) -> Iterator[Figure]:
    if "account" not in run.took:
        with run.timed("account"):
            server.sign_up(EMAIL)
    client = server.sign_in(EMAIL)
    assert server.process is not None
    process, megabytes = server.process.pid, file.stat().st_size / 1_000_000
    before = most = resident_kb(process, "RssAnon")
    with _asked(server.client()) as waits:
        if "upload" not in run.took:
            with run.timed("upload"):
                upload_export(client, file)
        path = f"/imports/{client.get('/imports').json()[0]['import_id']}"
        now = client.get(path).json()
        while now["state"] != "done":
            assert now["state"] in {"counting", "ready", "running"}, now
            if now["state"] == "ready":
                assert client.post(f"{path}/start", {}).status == 200
            with run.timed("counting" if now["state"] == "counting" else "running"):
                most = max(most, resident_kb(process, "RssAnon"))
                time.sleep(_LOOK_EVERY)
                now = client.get(path).json()
    assert (now["messages"], now["done"]) == (count, count), now
    took = run.took
    run.is_over()
    name = f"{count:,} messages ({megabytes:,.0f} MB) by a server"
    yield Figure(name=f"upload {name}", value=took["upload"], unit="s")
    yield Figure(name=f"count {name}", value=took.get("counting", 0.0), unit="s")
    value = took["running"] * 1_000_000 / count
    yield Figure(name=f"import 1,000 of {name}", value=value, budget=_budget(characters), floor=floor)
    yield of_samples("/healthz, while a history is imported", waits, budget_p95=50.0)
    yield Figure(name="memory of an import by a server", value=(most - before) / 1_024, unit="MB", budget=200.0)
    peak = resident_kb(process, "VmHWM") / 1_024
    yield Figure(name="peak memory of a server that imports", value=peak, unit="MB")


@contextmanager
def _asked(client: Client) -> Iterator[list[float]]:
    """The milliseconds that `/healthz` took, asked all the time until the block ends."""
    waits, ended = list[float](), threading.Event()

    def ask() -> None:
        while not ended.wait(_ASK_EVERY):
            begun = time.perf_counter()
            assert client.get("/healthz").status == 200
            waits.append((time.perf_counter() - begun) * 1_000)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waits
    finally:
        ended.set()
        asking.join()


def upload_export(client: Client, file: Path) -> str:
    """Send a file as it lies there; the id of its import."""
    headers = {
        "Origin": client.origin,
        "Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items()),
        "Content-Type": "application/octet-stream",
        "Content-Length": str(file.stat().st_size),
    }
    with closing(HTTPConnection(client.host, client.port, timeout=600.0)) as connection, file.open("rb") as content:
        connection.request("POST", f"/import?name={file.name}", content, headers)
        response = connection.getresponse()
        told: dict[str, Any] = json.loads(response.read())
    assert response.status == 201, told
    return str(told["import_id"])


def _parse(file: Path) -> float:
    """Seconds of CPU that `json` takes to parse the conversations of the file, one by one."""
    began = time.process_time()
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            json.loads(line.strip("[],\n"))
    return time.process_time() - began


def write_export(file: Path, *, messages: int, characters: int) -> None:
    """A file as ChatGPT exports it, conversation by conversation."""
    rng = random.Random(1)
    words = [f"word{number}" for number in range(_WORDS)]
    with file.open("w", encoding="utf-8") as out:
        for number in range(messages // _OF_CONVERSATION):
            texts = [" ".join(rng.choices(words, k=characters // 7))[:characters] for _ in range(_OF_CONVERSATION)]
            out.write("[" if number == 0 else ",\n")
            json.dump(_conversation(number, texts), out)
        out.write("]")


def _conversation(number: int, texts: list[str]) -> dict[str, object]:
    began = 1_700_000_000.0 + 600 * number
    mapping: dict[str, object] = {"root": {"id": "root", "parent": None, "children": ["0"], "message": None}}
    for place, text in enumerate(texts):
        message = {
            "id": str(place),
            "author": {"role": "assistant" if place % 2 else "user"},
            "create_time": began + place,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {"model_slug": "a-model"} if place % 2 else {},
        }
        parent = str(place - 1) if place else "root"
        mapping[str(place)] = {"id": str(place), "parent": parent, "children": [str(place + 1)], "message": message}
    current = str(len(texts) - 1)
    times = {"create_time": began, "update_time": began + len(texts)}
    return {"id": f"c{number}", "title": f"Talk {number}", "current_node": current, "mapping": mapping, **times}
