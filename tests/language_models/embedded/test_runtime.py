"""What an embedded model says before there is one: fetching it, and not finding it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from language_models.download.catalogue import CatalogueEntry, HubSource
from language_models.embedded import supervised_process as embedded_process
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, ModelFile, model_file
from language_models.errors import ModelUnavailableError
from language_models.ports import ChatMessage

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
BODY = b"no model, but bytes of one" * 40_000


class Hub:
    """A publisher that sends half of a file, and the rest when it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(BODY)))
                self.end_headers()
                self.wfile.write(BODY[: len(BODY) // 2])
                self.wfile.flush()
                hub.go_on.wait(60)
                self.wfile.write(BODY[len(BODY) // 2 :])

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/model.gguf"


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    thread = threading.Thread(target=hub.server.serve_forever)
    thread.start()
    yield hub
    hub.go_on.set()
    hub.server.shutdown()
    hub.server.server_close()
    thread.join(60)


def published(hub: Hub, folder: Path) -> ModelFile:
    entry = CatalogueEntry(
        name="bytes-of-one",
        aliases=(),
        file="model.gguf",
        size=len(BODY),
        sha256=hashlib.sha256(b"another file").hexdigest(),
        licence="Apache-2.0",
        ram_gib=0.1,
        sources=(HubSource(url=hub.url),),
    )
    return ModelFile(folder / entry.file, entry)


def test_one_who_asks_while_the_model_is_fetched_sees_how_far_it_is(hub: Hub, tmp_path: Path) -> None:
    runtime = EmbeddedRuntime(published(hub, tmp_path))

    async def ask() -> tuple[list[str | None], str]:
        statuses = []
        try:
            async for step in EmbeddedChatModel(runtime).stream(HELLO):
                statuses.append(step.status)
                if step.status == "The model is being fetched: 50 %":
                    assert runtime.state().phase == "fetching"
                    assert runtime.state().progress == pytest.approx(0.5, abs=0.01)
                    hub.go_on.set()
        except ModelUnavailableError as error:
            return statuses, error.message
        raise AssertionError("it is no model")

    statuses, said = asyncio.run(ask())
    assert "The model is being fetched: 50 %" in statuses
    assert "bytes-of-one could not be fetched" in said
    assert runtime.state().phase == "failed"
    runtime.close()


@pytest.mark.parametrize(
    ("last", "hint"),
    [
        ("sys.stderr.write('failed to allocate buffer\\n'); sys.exit(3)", "too little memory"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "too little memory"),
        ("os.kill(os.getpid(), signal.SIGILL)", "lacks instructions"),
        ("sys.exit(3)", "whole GGUF file"),
    ],
)
def test_the_last_lines_of_a_process_that_ends_badly_are_in_the_log_and_the_error_has_a_hint(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, last: str, hint: str
) -> None:
    said = "for number in range(150): print('line', number, file=sys.stderr, flush=True)"
    script = f"import os, signal, sys\n{said}\n{last}"
    monkeypatch.setattr(embedded_process, "_COMMAND", [sys.executable, "-c", script])
    monkeypatch.setattr(embedded_process, "_LISTEN_SECONDS", 60.0)
    process = embedded_process.EmbeddedProcess()
    with pytest.raises(ModelUnavailableError, match=hint):
        process.load(tmp_path / "model.gguf", threads=1)
    process.close()
    logged = caplog.text
    assert "line 149" in logged
    assert "line 49\n" not in logged
    assert len(process.last_lines()) == 100


@pytest.mark.parametrize(("servers", "threads"), [(1, 6), (2, 3), (4, 1), (8, 1)])
def test_models_of_several_server_processes_share_the_cores(
    servers: int, threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    told = tmp_path / "told.json"
    script = f"import pathlib, sys; pathlib.Path({str(told)!r}).write_text(sys.stdin.readline())"
    monkeypatch.setattr(embedded_process, "_COMMAND", [sys.executable, "-c", script])
    (tmp_path / "model.gguf").touch()
    runtime = EmbeddedRuntime(
        model_file(str(tmp_path / "model.gguf"), folder=tmp_path), servers=servers, most_crashes=1
    )
    with pytest.raises(ModelUnavailableError):
        asyncio.run(EmbeddedChatModel(runtime).complete(HELLO))
    runtime.close()
    assert json.loads(told.read_text())["threads"] == threads


def test_a_fetch_is_called_off_when_the_server_stops(hub: Hub, tmp_path: Path) -> None:
    runtime = EmbeddedRuntime(published(hub, tmp_path))

    async def stop() -> None:
        runtime.start()
        while runtime.state().progress is None:
            await asyncio.sleep(0.01)
        closing = asyncio.create_task(asyncio.to_thread(runtime.close))
        while runtime.state().phase == "fetching":
            await asyncio.sleep(0.01)
        hub.go_on.set()
        await closing

    asyncio.run(stop())
    assert runtime.state().detail == "The model was stopped, as the server stops."
    assert not (tmp_path / "model.gguf").exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    runtime = EmbeddedRuntime(model_file(str(tmp_path / "gone.gguf"), folder=tmp_path))
    with pytest.raises(ModelUnavailableError, match=r"There is no model file .*gone\.gguf"):
        asyncio.run(EmbeddedChatModel(runtime).complete(HELLO))
    runtime.close()


def test_making_one_starts_nothing(tmp_path: Path) -> None:
    runtime = EmbeddedRuntime(model_file("small", folder=tmp_path))
    model = EmbeddedChatModel(runtime)
    assert model.state().phase == "waiting"
    assert (model.name, model.context_window) == ("qwen2.5-coder-0.5b-instruct", 8192)
    assert model.count_tokens("four") == 2
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_closed_is_not_started_again(tmp_path: Path) -> None:
    runtime = EmbeddedRuntime(model_file("small", folder=tmp_path))
    runtime.close()
    with pytest.raises(ModelUnavailableError, match="stopped"):
        asyncio.run(EmbeddedChatModel(runtime).complete(HELLO))
    assert list(tmp_path.iterdir()) == []
