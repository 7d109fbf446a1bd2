"""A disk that is full, a store that is locked, read-only or broken: said clearly, nothing lost, over by itself."""

from __future__ import annotations

import itertools
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from database.connection import open_store
from database.engine import sqlite
from tests.endpoints.conftest import Person
from tests.fakes import RecordingModel, saying
from tests.http_client import Client, told
from tests.live_server import ROOT, LiveServer, free_port
from tests.load.crash import messages_of
from tests.load.invariants import broken_invariants
from tests.preloaded import start_preloaded

_WRITTEN_AT_LEAST = 16_384
"""Bytes of the log of changes, in mid-answer; no log for people is as long."""
PIECES = tuple(f"piece {number}, " for number in range(20))
WHOLE = "".join(PIECES)


@pytest.fixture
def owner(live_server: LiveServer) -> Client:
    """The person of the real server."""
    return live_server.sign_up()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores opened from now on wait a short time only for others who hold a lock."""
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 30)


@contextmanager
def full_disk(server: LiveServer) -> Iterator[None]:
    """While the context lasts no file of the server may be written behind its beginning, as little as that is.

    Its log of changes may begin anew in a file that is long already: what it has by now is no limit.
    """
    assert server.process is not None
    size = _WRITTEN_AT_LEAST
    assert (Path(server.users_dir) / "users.db-wal").stat().st_size > size
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def locked(users_dir: str) -> Iterator[None]:
    """While the context lasts another program holds the store's only lock for writing."""
    with closing(sqlite3.connect(Path(users_dir) / "users.db", isolation_level=None, timeout=60)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def eventually(condition: Callable[[], Any], *, seconds: float = 600.0) -> None:
    """Generous, since a machine that does much else takes its time: only what never comes true fails."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def assert_says_little(body: str) -> None:
    """An answer for people: no traceback, no SQL, no path."""
    assert not any(word in body.lower() for word in ("traceback", "sqlite", "select ", "insert ", "users.db", "/data/"))


def test_a_full_disk_in_mid_answer_is_said_and_over_when_there_is_room_again(
    live_server: LiveServer, owner: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id, other = owner.create_conversation(), owner.create_conversation()
    events = told(owner.send(conversation_id, "Go on"))
    seen = list(itertools.islice(events, 2))
    while "piece 4" not in seen[-1]["text"]:
        seen.append(next(events))
    with full_disk(live_server):
        recording_model.release()
        farewell = list(events)
        assert [event["error"]["code"] for event in farewell if "error" in event] == ["storage_failed"]
        assert farewell[-1]["done"] is True
        refused = owner.post(f"/send_message/{other}", {"messageText": "And me?"})
        assert (refused.status, refused.json()["code"]) == (503, "storage_failed")
        assert_says_little(refused.text)
        assert messages_of(owner, other) == []
        assert owner.get("/healthz").status == 200
    eventually(lambda: messages_of(owner, conversation_id)[1]["status"] != "streaming")
    assert "writing users.db failed" in live_server.log()
    assert "Traceback" not in live_server.log()
    stored = messages_of(owner, conversation_id)[1]
    assert stored["status"] == "interrupted"
    assert WHOLE.startswith(stored["text"])
    assert stored["text"].startswith("".join(event["text"] for event in seen))
    again = list(told(owner.stream(f"/stream/{stored['message_id']}?after=0")))
    assert again[: len(seen)] == seen
    assert "".join(event["text"] for event in again) == stored["text"]
    for each in (conversation_id, other):
        assert "".join(event["text"] for event in owner.send(each, "Once more")) == WHOLE
    assert broken_invariants(live_server.users_dir) == {}


def test_while_another_program_holds_the_store_answers_wait_and_reading_goes_on(
    live_server: LiveServer, owner: Client, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying(*PIECES, pause_after=5)
    conversation_id = owner.create_conversation()
    events = told(owner.send(conversation_id, "Go on"))
    seen = [next(events), next(events)]
    with locked(live_server.users_dir):
        recording_model.release()
        recording_model.wait_until(lambda model: model.running == 0)
        assert messages_of(owner, conversation_id)[1]["status"] == "streaming"
        assert owner.get("/healthz").status == 200
    seen += events
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert "".join(event["text"] for event in seen) == messages_of(owner, conversation_id)[1]["text"] == WHOLE


def test_a_store_that_stays_locked_is_busy_and_says_when_to_come_again(
    impatient: None, app: Flask, ada: Person
) -> None:
    conversation_id = ada.new_conversation()
    with locked(app.extensions["anaphora"].settings.users_dir):
        refused = ada.post(f"/send_message/{conversation_id}", json={"messageText": "Hello"})
        assert (refused.status_code, refused.json["code"]) == (503, "storage_busy")
        assert int(refused.headers["Retry-After"]) >= 1
        assert_says_little(refused.get_data(as_text=True))
        assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []
    assert ada.say(conversation_id, "Hello")[-1]["done"] is True


def test_a_store_that_can_only_be_read_says_so_and_goes_on_when_it_can_be_written(app: Flask, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    store = open_store(app.extensions["anaphora"].settings.users_dir)
    # Root may write whatever its permissions say, so it is SQLite that refuses.
    writer = store.write(lambda connection: connection.connection.driver_connection)
    writer.execute("PRAGMA query_only = ON")
    refused = ada.post(f"/send_message/{conversation_id}", json={"messageText": "Hello"})
    assert (refused.status_code, refused.json["code"]) == (503, "storage_failed")
    assert "can't be written" in refused.json["message"]
    assert ada.get(f"/get_conversation_details/{conversation_id}").status_code == 200
    writer.execute("PRAGMA query_only = OFF")
    assert ada.say(conversation_id, "Hello")[-1]["done"] is True


def test_a_store_that_turns_to_garbage_says_so_and_is_read_again_when_it_is_put_right(
    live_server: LiveServer, owner: Client
) -> None:
    conversations = [owner.create_conversation() for _ in range(30)]
    live_server.stop()
    file = live_server.file("users.db")
    sound = file.read_bytes()
    live_server.start()
    file_end = len(sound)
    with file.open("r+b") as broken:
        broken.seek(4096)
        broken.write(b"\xff" * (file_end - 4096))
    refused = owner.get("/list_conversation_by_user/assistant")
    assert (refused.status, refused.json()["code"]) == (503, "storage_damaged")
    assert_says_little(refused.text)
    assert owner.get("/healthz").status == 200
    with file.open("r+b") as mended:
        mended.write(sound)
    eventually(lambda: owner.get("/readyz").json()["store"] == "ok")
    listed = owner.get("/list_conversation_by_user/assistant").json()
    assert {each["conversation_id"] for each in listed} == set(conversations)


@pytest.mark.live
@pytest.mark.parametrize("trouble", ["garbage", "a bad byte", "a file in its place", "from the future"])
def test_a_server_that_cannot_use_its_data_says_why_in_one_line_and_leaves_the_data_alone(
    tmp_path: Path, trouble: str
) -> None:
    server = LiveServer(tmp_path / "server", is_preloaded=True)
    database = Path(server.users_dir) / "users.db"
    if trouble == "a file in its place":
        server.folder.mkdir()
        server.data_dir.write_text("not a folder")
    else:
        server.start()
        server.stop()
        assert server.file("users.db") == database
        if trouble == "garbage":
            database.write_bytes(b"not a database " * 1_000)
        elif trouble == "a bad byte":
            database.write_bytes(database.read_bytes().replace(b"CREATE TABLE messages", b"CREATE TABLE \xffessages"))
        else:
            with closing(sqlite3.connect(database)) as connection:
                connection.execute("INSERT INTO schema_version SELECT 9999, applied_at FROM schema_version LIMIT 1")
                connection.commit()
    before = database.read_bytes() if database.exists() else b""
    environ = LiveServer(server.folder, port=free_port())._environ()
    ended = start_preloaded(ROOT / "server.py", folder=server.folder, environ=environ).ended()
    assert ended.returncode in (1, 2)
    said = [line for line in ended.stderr.splitlines() if line.startswith("anaphora: ")]
    assert len(said) == 1, ended.stderr
    assert ended.stderr.rstrip().splitlines()[-1] == said[0]
    assert "Traceback" not in ended.stderr
    assert (database.read_bytes() if database.exists() else b"") == before


def mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@dataclass
class Disk:
    """A data folder whose disk can be filled, and made read-only."""

    folder: Path
    is_mounted: bool
    data_dir: str = ""
    limits: tuple[int, int] | None = None

    def fill(self) -> None:
        """Leave no room; without a disk of our own, no file of the process may grow."""
        if not self.is_mounted:
            self.limits = (0, 0)
            return
        with suppress(OSError), (self.folder / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))

    def make_read_only(self) -> None:
        """Nothing can be written; without a disk of our own the folder is one of the system's, where nobody can."""
        if not self.is_mounted:
            self.data_dir = "/sys/anaphora"
        else:
            assert mount("-o", "remount,ro", str(self.folder))

    def start(self, server: LiveServer) -> subprocess.CompletedProcess[str]:
        """What becomes of a server that starts now; an empty log file would need room too, so it writes into a pipe."""

        def limit() -> None:
            if self.limits is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)

        environ = LiveServer(server.folder, port=free_port())._environ()
        environ |= {"ANAPHORA_DATA_DIR": self.data_dir} if self.data_dir else {}
        if self.limits is None:
            return start_preloaded(ROOT / "server.py", folder=server.folder, environ=environ).ended()
        return subprocess.run(
            [sys.executable, str(ROOT / "server.py")],
            cwd=server.folder,
            env=environ,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk of its own, or where this user may mount none, the nearest that can be had."""
    folder = tmp_path / "server" / "data"
    folder.mkdir(parents=True)
    disk = Disk(folder, is_mounted=mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)))
    yield disk
    if disk.is_mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("lived_in", [False, True], ids=["at its first start", "with data"])
@pytest.mark.parametrize("trouble", [Disk.fill, Disk.make_read_only])
def test_a_server_that_starts_on_a_disk_it_cannot_write_says_so_in_its_last_line(
    tmp_path: Path, disk: Disk, trouble: Callable[[Disk], None], lived_in: bool
) -> None:
    server = LiveServer(tmp_path / "server", is_preloaded=True)
    if lived_in:
        server.start()
        server.stop()
    trouble(disk)
    ended = disk.start(server)
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    last = ended.stderr.rstrip().splitlines()[-1]
    assert last.startswith("anaphora: ")
    assert any(word in last for word in ("full", "No space left", "Read-only", "can't be written", "can't be used"))
