"""One server works on a data folder, however it is started, and it does what servers do beside answering."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from chat.runtime.startup import ServerProcess, ServerRunningError, held_data_folder, is_held_here
from database.connection import close_store, create_connection, open_store
from database.conversations.repository import create_conversation
from database.engine.backend import Backend, ServerHold
from database.history.reading import list_messages
from database.search.index import indexed_seq
from database.turns.turns import accept_turn
from endpoints.http.scope import EXTENSION
from server import create_app
from settings import Settings, load_settings
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer, free_port

pytestmark = pytest.mark.thorough

ADA = "ada@example.org"
FLASK = (sys.executable, "-m", "flask", "--app", "server", "run", "--port")
WSGIREF = """
import sys
from wsgiref.simple_server import make_server
from server import create_app
make_server("127.0.0.1", int(sys.argv[1]), create_app()).serve_forever()
"""


@contextmanager
def serving(server: LiveServer, *command: str) -> Iterator[Client]:
    """A process that serves the data folder of `server` in another way, as soon as it answers anything."""
    port = free_port()
    environ = server._environ() | {"ANAPHORA_PORT": str(port), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*command, str(port)], cwd=ROOT, env=environ, stderr=subprocess.PIPE) as process:
        try:
            client, until = Client(port), time.monotonic() + 120
            while True:
                assert process.poll() is None
                try:
                    client.get("/healthz")
                    break
                except OSError:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            yield client
        finally:
            process.terminate()
            process.communicate()


def refused_at_start(server: LiveServer, *command: str) -> str:
    """What a further server says that ends at its start."""
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env=server._environ() | {"ANAPHORA_PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended.stderr.rstrip().splitlines()[-1]


def test_under_any_wsgi_server_one_process_serves_and_all_others_are_refused_with_the_reason(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "server")
    server.folder.mkdir()
    with serving(server, *FLASK) as first:
        assert first.get("/healthz").status == 200
        with serving(server, sys.executable, "-c", WSGIREF) as second:
            refused = second.get("/healthz")
            assert (refused.status, refused.json()["code"]) == (503, "server_running")
            assert str(tmp_path) not in refused.text
        assert "Another server is running" in refused_at_start(server, *FLASK, str(free_port()))
        assert "Another server is running" in refused_at_start(server, sys.executable, str(ROOT / "server.py"))
        assert first.get("/healthz").status == 200
    with serving(server, sys.executable, "-c", WSGIREF) as next_one:
        assert next_one.get("/healthz").status == 200


def test_a_server_that_is_stopped_while_it_migrates_ends_at_once_and_the_next_one_migrates(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "server")
    users = Path(server.users_dir)
    users.mkdir(parents=True)
    with closing(create_connection(users / "users.db")) as other:
        other.execute("BEGIN IMMEDIATE")  # the first migration has to wait
        command, environ = (
            [sys.executable, str(ROOT / "server.py")],
            server._environ() | {"ANAPHORA_PORT": str(free_port())},
        )
        with subprocess.Popen(command, cwd=server.folder, env=environ, stderr=subprocess.PIPE) as starting:
            while not (server.data_dir / "server.lock").exists():
                assert starting.poll() is None
                time.sleep(0.02)
            starting.terminate()
            _, said = starting.communicate(timeout=30)
        other.execute("ROLLBACK")
    assert starting.returncode == -signal.SIGTERM
    assert b"Traceback" not in said
    assert server.start().client().get("/readyz").json()["store"] == "ok"
    server.stop()


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    environ["ANAPHORA_DATA_DIR"] = str(tmp_path)
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    yield settings
    close_store(settings.users_dir)


@pytest.fixture
def serving_app(settings: Settings) -> Iterator[Callable[[], ServerProcess]]:
    """Make an application and send it its first request."""
    begun: list[ServerProcess] = []

    def first_request() -> ServerProcess:
        app = create_app(settings)
        begun.append(app.extensions[EXTENSION].server)
        assert app.test_client().get("/healthz").status_code == 200
        return begun[-1]

    yield first_request
    for each in begun:
        each.end()


def test_the_first_request_closes_interrupted_turns_and_begins_to_index(
    settings: Settings, serving_app: Callable[[], ServerProcess]
) -> None:
    users_dir = settings.users_dir
    own = {"database": open_store(users_dir), "user_email": ADA}
    own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
    accept_turn(**own, text="What do whales sing?", config={})
    serving_app()
    assert list_messages(**own)[1].status == "interrupted"
    assert is_held_here(settings.data_dir)
    store, until = open_store(users_dir), time.monotonic() + 120
    while True:
        with store.reading() as connection:
            if indexed_seq(connection):
                break
        assert time.monotonic() < until
        time.sleep(0.02)


def test_an_application_that_is_asked_nothing_holds_nothing(settings: Settings) -> None:
    create_app(settings)
    with held_data_folder(settings.data_dir):
        assert is_held_here(settings.data_dir)
    assert not is_held_here(settings.data_dir)


def test_servers_of_a_database_share_its_folder_and_keep_out_all_others(tmp_path: Path) -> None:
    with (
        held_data_folder(tmp_path, shared=True),
        held_data_folder(tmp_path, shared=True),
        pytest.raises(ServerRunningError, match="Another server is running on"),
        held_data_folder(tmp_path),
    ):
        pass
    with held_data_folder(tmp_path), pytest.raises(ServerRunningError), held_data_folder(tmp_path, shared=True):
        pass


def test_who_was_refused_begins_when_the_other_has_ended(
    settings: Settings, serving_app: Callable[[], ServerProcess]
) -> None:
    holder = "from tests.chat.runtime.test_startup import hold; hold()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(settings.data_dir)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        app = create_app(settings)
        refused = app.test_client().get("/login", headers={"Accept": "application/json"})
        assert (refused.status_code, refused.json["code"]) == (503, "server_running")
        with pytest.raises(ServerRunningError):
            app.extensions[EXTENSION].server.begin()
        other.communicate()
    assert serving_app()._begun_in == os.getpid()


class TakenByACommand:
    """A database that a command may take for itself while our connection is broken."""

    is_ours = True
    is_shared = False

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    @contextmanager
    def held_for_server(self) -> Iterator[ServerHold]:
        yield self

    def is_held(self) -> bool:
        return self.is_ours

    def is_alone(self) -> bool:
        return True

    def share(self) -> None:
        pass


def test_a_server_whose_database_a_command_took_refuses_requests_until_it_has_ended(settings: Settings) -> None:
    app = create_app(settings)
    server, client = app.extensions[EXTENSION].server, app.test_client()
    database = server._database
    database.backend = backend = TakenByACommand(database.backend)
    try:
        assert client.get("/healthz").status_code == 200
        backend.is_ours = False
        server.check_database()
        refused = client.get("/login", headers={"Accept": "application/json"})
        assert (refused.status_code, refused.json["code"]) == (503, "server_running")
        backend.is_ours = True
        server.check_database()
        assert client.get("/healthz").status_code == 200
    finally:
        server.end()


def hold() -> None:
    """For another process: hold the folder named by the first argument until standard input ends."""
    with held_data_folder(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
