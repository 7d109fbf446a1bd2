"""What the tests of the page share: one server and one model a module, an account of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from playwright.sync_api import expect

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer

ADMINISTRATOR = "ada@example.org"
_numbers = count(1)
# As long as the page's own actions may take: what is awaited comes, though a busy machine takes its time.
expect.set_options(timeout=15_000)


@pytest.fixture(scope="module")
def shared_model() -> Iterator[RecordingModel]:
    """A model service for all tests of a module; `server` puts its scripts back before each."""
    with RecordingModel().serving() as model:
        yield model


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory, shared_model: RecordingModel) -> Iterator[LiveServer]:
    """A server for all tests of a module."""
    server = LiveServer(tmp_path_factory.mktemp("shared") / "server", shared_model.environ).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def administrator(shared_server: LiveServer) -> Client:
    """Who has the first account of the module's server."""
    return shared_server.sign_up(ADMINISTRATOR)


@pytest.fixture
def server(shared_server: LiveServer, shared_model: RecordingModel) -> LiveServer:
    """The module's server, its model saying one thing."""
    shared_model.scripts = {"main": saying("Understood."), "cheap": saying("A Short Title")}
    return shared_server


@pytest.fixture
def newcomer(server: LiveServer, administrator: Client) -> Callable[[], Client]:
    """Makes an account on the module's server, signed in, with nothing in it yet."""

    def make() -> Client:
        email = f"person-{next(_numbers)}@example.org"
        reply = administrator.post("/users", {"email": email, "password": PASSWORD})
        assert reply.status in (200, 201), reply.text
        return server.sign_in(email)

    return make


@pytest.fixture
def person(newcomer: Callable[[], Client]) -> Client:
    """Somebody new to the module's server."""
    return newcomer()
