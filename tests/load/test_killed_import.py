"""A server that dies in the middle of an import goes on with it when it is started again, and doubles nothing.

Meanwhile it answers: the work is cut into transactions, and other requests come in between.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import RecordingModel
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants
from tests.load.server_held_back import PROGRAM, Limit

pytestmark = pytest.mark.live
CONVERSATIONS = 1_000
RAW = {"Content-Type": "application/octet-stream"}


def lines() -> bytes:
    """An export of small conversations, each with a question and its answer."""
    said = [("user", "What is {}?"), ("assistant", "It is {}.")]
    rows = [
        {"conversation": f"c{number}", "title": f"Talk {number}", "role": role, "text": text.format(number)}
        for number in range(CONVERSATIONS)
        for role, text in said
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def started(client: Client) -> str:
    """Upload the file and start its import; the address of the import."""
    answer = client.request("POST", "/import?name=talks.jsonl", lines(), headers=RAW)
    assert answer.status == 201, answer.text
    path = f"/imports/{answer.json()['import_id']}"
    assert client.post(f"{path}/start").status == 200
    return path


def until(client: Client, path: str, holds: Any) -> list[dict[str, Any]]:
    """What the import said each time it was asked, until `holds` is true of it; /healthz is asked as well."""
    seen, deadline = [], time.monotonic() + 120
    while not seen or not holds(seen[-1]):
        assert time.monotonic() < deadline, seen[-1]
        assert client.get("/healthz").status == 200
        seen.append(client.get(path).json())
        assert seen[-1]["state"] not in {"failed", "cancelled"}, seen[-1]
    return seen


def texts_in(users_dir: str) -> Counter[str]:
    with closing(sqlite3.connect(Path(users_dir) / "users.db")) as connection:
        return Counter(text for (text,) in connection.execute("SELECT text FROM messages"))


@pytest.fixture
def limit(tmp_path: Path) -> Limit:
    """How many batches the server stores."""
    return Limit(tmp_path / "batches")


@pytest.fixture
def server(tmp_path: Path, recording_model: RecordingModel, joined_page: None, limit: Limit) -> Iterator[LiveServer]:
    environ = recording_model.environ | limit.environ
    server = LiveServer(tmp_path / "server", environ, program=PROGRAM, is_preloaded=True)
    yield server.start()
    limit.lift()
    server.stop()


def test_an_import_goes_on_after_a_kill_and_nothing_is_doubled(server: LiveServer, limit: Limit) -> None:
    client = server.sign_up()
    limit.allow(3)
    path = started(client)
    half_way = until(client, path, lambda given: given["imported"] > 0)[-1]
    assert half_way["imported"] < CONVERSATIONS
    server.kill()
    assert broken_invariants(server.users_dir) == {}
    assert 0 < len(texts_in(server.users_dir)) < 2 * CONVERSATIONS

    limit.lift()
    server.start()
    done = until(client, path, lambda given: given["state"] == "done")[-1]
    assert (done["imported"], done["updated"], done["failed"]) == (CONVERSATIONS, 0, 0)
    texts = texts_in(server.users_dir)
    assert len(texts) == 2 * CONVERSATIONS
    assert set(texts.values()) == {1}
    server.stop()
    assert broken_invariants(server.users_dir) == {}


def test_a_server_answers_between_the_transactions_of_an_import(server: LiveServer, limit: Limit) -> None:
    client = server.sign_up()
    limit.allow(3)
    path = started(client)
    seen = until(client, path, lambda given: given["done"] > 0)
    limit.allow(6)
    seen += until(client, path, lambda given: given["done"] > seen[-1]["done"])
    limit.lift()
    seen += until(client, path, lambda given: given["state"] == "done")
    between = {each["done"] for each in seen if 0 < each["done"] < 2 * CONVERSATIONS}
    assert len(between) >= 2  # of 13 transactions, or 25, each of which lets others in
