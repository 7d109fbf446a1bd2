"""What all tests share: real servers, and a recording model behind a real address."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from database.accounts.passwords import hash_with
from database.connection import close_store
from joined_page import is_joined_page_current, prepare_joined_page
from stamps import set_up_alone
from tests import made_once, tiers
from tests.fakes import RecordingModel
from tests.live_server import LiveServer
from tests.postgresql import PostgreSQLServer
from tests.preloaded import PATIENCE_WITH_KNOWLEDGE, QUICK_HASHER
from tests.scaled import Engines, is_scaled
from tests.valkey import ValkeyServer

tiers.load_hypothesis_profile()
hash_with(QUICK_HASHER)
made_once.find_packages_once()
made_once.compile_statements_once()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests into tiers. Those in the browser come last: Playwright's event loop runs on when they are over."""
    tiers.mark_by_fixtures(items)
    tiers.mark_unmeasured(items)
    tiers.require_named_markers(items)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


_SHOWN_OF_LOGS = 8_000
"""Characters."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--store=postgresql`: stores on PostgreSQL alone; `scaled`: servers are two processes, too.

    `--naming=live` imports no other modules.
    """
    stores = ("sqlite", "postgresql", "scaled")
    parser.addoption("--store", choices=stores, help="the one engine on which tests of stores run")
    parser.addoption("--naming", metavar="MARKER", help="leave out modules whose text does not name this marker")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what `--naming` does not ask for."""
    name = config.getoption("--naming")
    if name is None or collection_path.suffix != ".py" or tiers.names_marker(collection_path, name):
        return None
    return True


def pytest_collection_finish() -> None:
    """Look less often for cycles: what was collected stays, and is not looked through again."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked as `contract` on both engines, in one tier or another."""
    if "database_url" in metafunc.fixturenames:
        chosen = "postgresql" if is_scaled(metafunc.config) else metafunc.config.getoption("--store")
        marked = metafunc.definition.get_closest_marker
        both = marked("contract") and not marked("only_sqlite") and chosen is None
        if both or (chosen and not marked("only_sqlite")):
            halves = ["sqlite", tiers.on_postgresql(metafunc.definition.nodeid)] if both else [chosen]
            metafunc.parametrize("database_url", halves, indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show of a failed test what its servers have written last: "internal error" alone says nothing."""
    report = yield
    if report.failed and call.when == "call":
        for name, value in getattr(item, "funcargs", {}).items():
            for server in (value, *vars(value).values()) if hasattr(value, "__dict__") else ():
                if isinstance(server, LiveServer) and (server.folder / "server.log").exists():
                    report.sections.append((f"log of {name}", server.log()[-_SHOWN_OF_LOGS:]))
    return report


@pytest.fixture(autouse=True)
def patient_with_the_knowledge_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """As servers are that are forked off."""
    monkeypatch.setattr("chat.context.knowledge._PATIENCE", PATIENCE_WITH_KNOWLEDGE)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    """A PostgreSQL server, started by the first test that needs one."""
    server = PostgreSQLServer()
    yield server
    server.stop()


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The URL of a database with an empty store; None where the store is an SQLite file."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield None
        return
    server = request.getfixturevalue("postgresql_server")
    url = server.empty_store()
    yield url
    server.take_back(url)


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    """A Valkey server of this test's own; `valkey.url` is its REDIS_URL."""
    server = ValkeyServer()
    yield server
    server.stop()


@pytest.fixture
def recording_model() -> Iterator[RecordingModel]:
    """A model service on loopback that records its requests; set `.scripts["main"]` and `["cheap"]`."""
    with RecordingModel().serving() as model:
        yield model


@pytest.fixture(scope="session")
def joined_page() -> None:
    """The page's modules, joined as they are now: servers don't serve a build of other modules."""
    if not is_joined_page_current():
        with set_up_alone():
            prepare_joined_page()


@pytest.fixture(scope="session")
def engines(postgresql_server: PostgreSQLServer) -> Iterator[Engines]:
    """PostgreSQL and Valkey for servers of two processes."""
    valkey = ValkeyServer()
    yield Engines(postgresql_server, valkey)
    valkey.stop()


@pytest.fixture
def start_server(
    tmp_path: Path, joined_page: None, request: pytest.FixtureRequest
) -> Iterator[Callable[..., LiveServer]]:
    """Start real servers: start_server(name="server", **settings). They are stopped after the test."""
    engines = request.getfixturevalue("engines") if is_scaled(request.config) else None
    with ExitStack() as started:

        def start(name: str = "server", **environ: str) -> LiveServer:
            if engines is not None:
                return started.enter_context(engines.serving(tmp_path / name, environ))
            server = LiveServer(tmp_path / name, environ, is_preloaded=True)
            started.callback(server.stop)
            return server.start()

        yield start


@pytest.fixture
def live_server(start_server: Callable[..., LiveServer], recording_model: RecordingModel) -> LiveServer:
    """A real server whose models are the recording one."""
    return start_server(**recording_model.environ)


@pytest.fixture(scope="session")
def shared_recording_model() -> Iterator[RecordingModel]:
    """The model service of the shared server."""
    with RecordingModel().serving() as model:
        yield model


@pytest.fixture(scope="session")
def shared_server(
    tmp_path_factory: pytest.TempPathFactory,
    shared_recording_model: RecordingModel,
    joined_page: None,
    request: pytest.FixtureRequest,
) -> Iterator[LiveServer]:
    """A server for all tests that leave it as they found it; each has accounts of its own (`new_account`)."""
    folder, environ = tmp_path_factory.mktemp("shared") / "server", shared_recording_model.environ
    if is_scaled(request.config):
        with request.getfixturevalue("engines").serving(folder, environ) as scaled:
            yield scaled
        return
    server = LiveServer(folder, environ, is_preloaded=True).start()
    yield server
    server.stop()
    close_store(server.users_dir)


@pytest.fixture
def shared_model(shared_recording_model: RecordingModel) -> RecordingModel:
    """The shared server's model, saying "Understood."."""
    shared_recording_model.reset()
    return shared_recording_model
