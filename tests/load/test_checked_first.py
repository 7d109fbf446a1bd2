"""A large store, of a server that is stopped, killed, or whose file something else has changed in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from database.engine.stamp import FileStamp
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.server_slow_check import GO, PROGRAM
from tests.load.test_failing_storage import eventually

pytestmark = [pytest.mark.live, pytest.mark.only_sqlite]
PAGE = 4096
LISTED = "/list_conversation_by_user/assistant"


def test_only_a_file_that_something_else_has_changed_is_checked_before_the_first_answer(
    tmp_path: Path, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying("So be it.")
    server = LiveServer(tmp_path / "server", recording_model.environ, program=PROGRAM, is_preloaded=True)
    server.data_dir.mkdir(parents=True)
    go, file = server.data_dir / GO, Path(server.users_dir) / "users.db"
    try:
        assert_held(server.start().client())
        go.touch()
        eventually(lambda: server.client().get("/readyz").json()["store"] == "ok")
        ada = server.sign_up()
        conversation_id = ada.create_conversation()
        eventually(FileStamp(file).is_checked)
        list(ada.send(conversation_id, "A whale sings"))
        for number, end in enumerate((server.kill, server.stop, server.kill)):
            end()
            go.unlink(missing_ok=True)  # from now on no check ends
            server.start()
            list(ada.send(conversation_id, f"Whale {number}"))
            messages = ada.get(f"/list_messages_by_conversation/{conversation_id}")
            assert (messages.status, len(messages.json())) == (200, 4 + 2 * number)
        server.kill()
        with file.open("r+b") as opened:  # the same bytes, and yet nobody can know it
            first = opened.read(1)
            opened.seek(0)
            opened.write(first)
        server.start()
        refused = ada.get(LISTED)
        assert (refused.status, refused.json()["code"]) == (503, "storage_checking")
        assert_held(server.client())
        go.touch()
        eventually(lambda: ada.get(LISTED).status == 200)
        server.stop()
        damage(file, "A whale sings")
        go.unlink()
        server.start()
        assert ada.get(LISTED).json()["code"] == "storage_checking"
        go.touch()
        eventually(lambda: ada.get(LISTED).json()["code"] == "storage_damaged")
        assert server.client().get("/readyz").json()["store"] == "damaged"
    finally:
        server.kill()
    assert "Traceback" not in server.log()
    assert "has to wait: The stored data is being checked" not in server.log(), "upkeep begins after the check"


def assert_held(client: Client) -> None:
    ready = client.get("/readyz")
    assert (ready.status, ready.json()["store"]) == (503, "checking")
    assert client.get("/healthz").status == 200
    assert client.get("/login").status == 503


def damage(file: Path, text: str) -> None:
    """Overwrite the first page that holds `text`, and set the time of change back."""
    status = file.stat()
    with file.open("r+b") as opened:
        opened.seek(opened.read().index(text.encode()) // PAGE * PAGE)
        opened.write(b"\x07" * PAGE)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
