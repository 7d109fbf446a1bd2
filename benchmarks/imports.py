"""How fast history of another program comes in, beside reading the same file with `json`."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from database.connection import close_store, open_store
from database.imports.repository import get_import
from portability.imports.accepting import accept_file
from portability.imports.runner import ImportRunner

from .figures import Figure
from .load import resident_kb
from .seeded import EMAIL, Bench

_IMPORTED = 100_000
_OF_CONVERSATION = 10
_CHARACTERS = 560
_WORDS = 20_000


def imports(bench: Bench) -> Iterator[Figure]:
    """An export of ChatGPT with 100,000 messages of 560 characters (10,000 in a quick run), stored and indexed.

    `--messages` says how many instead. The file is written and parsed conversation by conversation, so that the peak of
    memory is that of the import.
    """
    count = bench.messages or min(_IMPORTED, bench.size.messages // 5)
    folder = bench.scratch("imported")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "conversations.json"
    _write_export(file, messages=count)
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
    # 100,000 in 60 s.
    yield Figure(name=name, value=took * 1_000_000 / count, budget=600.0, floor=floor)
    yield Figure(name=f"{name}, CPU", value=used * 1_000_000 / count, floor=floor)
    yield Figure(name="memory of an import, unshared", value=(most - before) / 1_024, unit="MB", budget=200.0)
    yield Figure(
        name="peak memory of the process that imports", value=resident_kb(os.getpid(), "VmHWM") / 1_024, unit="MB"
    )
    close_store(users_dir)


def _parse(file: Path) -> float:
    """Seconds of CPU that `json` takes to parse the conversations of the file, one by one."""
    began = time.process_time()
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            json.loads(line.strip("[],\n"))
    return time.process_time() - began


def _write_export(file: Path, *, messages: int) -> None:
    """A file as ChatGPT exports it, conversation by conversation."""
    rng = random.Random(1)
    words = [f"word{number}" for number in range(_WORDS)]
    with file.open("w", encoding="utf-8") as out:
        for number in range(messages // _OF_CONVERSATION):
            texts = [" ".join(rng.choices(words, k=80))[:_CHARACTERS] for _ in range(_OF_CONVERSATION)]
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
