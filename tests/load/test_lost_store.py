"""A server whose store was lost while the files of people are still there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from attachments.storage import INCOMING
from tests.live_server import LiveServer
from tests.load.test_failing_storage import eventually
from tests.load.test_killed_import import RAW

pytestmark = [pytest.mark.live, pytest.mark.only_sqlite]
TEN_DAYS = 10 * 86_400


def test_without_its_store_a_server_erases_no_file_of_anybody(start_server: Callable[..., LiveServer]) -> None:
    server = start_server()
    reply = server.sign_up().post("/attachments?name=notes.txt", b"What was attached.", **RAW)
    assert reply.status == 201, reply.text
    server.stop()
    for file in Path(server.users_dir).glob("users.db*"):
        file.unlink()
    uploads = Path(server.users_dir) / "attachments" / INCOMING
    uploads.mkdir(exist_ok=True)
    (uploads / "interrupted.part").write_bytes(b"half of it")

    # By its clock all files are old.
    later = LiveServer(server.folder, {**server.environ, "CLOCK_OFF": str(TEN_DAYS)})
    later.program = "tests/load/server_off_clock.py"
    try:
        later.start()
        refused = later.client().post("/setup", {"email": "eve@example.org", "password": "correct horse battery"})
        assert (refused.status, refused.json()["code"]) == (409, "store_incomplete")
        eventually(lambda: has_swept(later))
    finally:
        later.stop()
    assert list(uploads.iterdir()) == []
    originals = list((Path(server.users_dir) / "attachments").rglob("original"))
    assert [original.read_bytes() for original in originals] == [b"What was attached."]


def has_swept(server: LiveServer) -> bool:
    """Whether a sweep of the files has ended."""
    with closing(sqlite3.connect(Path(server.users_dir) / "users.db")) as connection:
        return connection.execute("SELECT status FROM jobs WHERE kind = 'sweep_files'").fetchone() == ("done",)
