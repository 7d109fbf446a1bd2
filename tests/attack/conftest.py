"""Attackers need the same people and the same application as everybody else.

With `--store=scaled` the requests of a test are answered by two processes behind one port, unless the test is marked
`in_process`. They are started for this test, or for all of its module that are marked `shares_processes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from flask import Flask

from endpoints.http.scope import SETTINGS
from language_models.testing import ScriptedChatModel
from settings import Settings
from tests.attack.two_processes import app_at_two_processes
from tests.endpoints.conftest import (
    ANSWER,
    SMALL_ANSWER,
    Person,
    cheap_model,
    main_model,
    person,
    running_app,
    settings_in,
)
from tests.fakes import RecordingModel
from tests.postgresql import PostgreSQLServer
from tests.scaled import Engines, is_scaled

__all__ = ["cheap_model", "main_model", "person"]
_numbers = itertools.count(1)


@pytest.fixture
def is_at_two_processes(request: pytest.FixtureRequest) -> bool:
    """Whether the requests of this test are answered by two processes."""
    return is_scaled(request.config) and request.node.get_closest_marker("in_process") is None


@pytest.fixture
def environ() -> Mapping[str, str]:
    """Settings of a test beside the usual ones."""
    return {}


@pytest.fixture
def program() -> str:
    """What two processes run."""
    return "server.py"


@pytest.fixture
def settings(
    tmp_path: Path,
    database_url: str | None,
    environ: Mapping[str, str],
    is_at_two_processes: bool,
    request: pytest.FixtureRequest,
) -> Settings:
    """The settings of a server on loopback with its own data folder."""
    if is_at_two_processes:
        found: Settings = request.getfixturevalue("app").extensions[SETTINGS]
        return found
    return settings_in(tmp_path, database_url=database_url, environ=environ)


@pytest.fixture
def app(
    tmp_path: Path,
    database_url: str | None,
    environ: Mapping[str, str],
    program: str,
    main_model: ScriptedChatModel,
    cheap_model: ScriptedChatModel,
    is_at_two_processes: bool,
    request: pytest.FixtureRequest,
) -> Iterator[Flask]:
    """The application over real parts, in this process or in two others; the models alone are scripted."""
    models = {"main": main_model, "cheap": cheap_model}
    if not is_at_two_processes:
        with running_app(request.getfixturevalue("settings"), **models) as application:
            yield application
        return
    if request.node.get_closest_marker("shares_processes"):
        yield request.getfixturevalue("app_of_module")
        return
    model, engines = request.getfixturevalue("recording_model"), request.getfixturevalue("engines")
    more = {"program": program, "environ": {**environ, "DATABASE_URL": database_url or ""}}
    with app_at_two_processes(tmp_path / "server", engines, model, **models, **more) as application:
        yield application


@pytest.fixture(scope="module")
def app_of_module(tmp_path_factory: pytest.TempPathFactory, engines: Engines) -> Iterator[Flask]:
    """One application at two processes for all tests of a module."""
    models = {
        "main": ScriptedChatModel(replies=lambda _prompt: ANSWER),
        "cheap": ScriptedChatModel(replies=lambda _prompt: SMALL_ANSWER),
    }
    folder = tmp_path_factory.mktemp("shared") / "server"
    with RecordingModel().serving() as model, app_at_two_processes(folder, engines, model, **models) as application:
        yield application


@pytest.fixture
def address_of(is_at_two_processes: bool, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The address of somebody of this name; another one in each test where tests share processes."""
    is_shared = is_at_two_processes and request.node.get_closest_marker("shares_processes") is not None
    number = next(_numbers) if is_shared else ""
    return lambda name: f"{name}{number}@example.org"


@pytest.fixture
def ada(person: Callable[[str], Person], address_of: Callable[[str], str]) -> Person:
    """A person."""
    return person(address_of("ada"))


@pytest.fixture
def eve(person: Callable[[str], Person], address_of: Callable[[str], str]) -> Person:
    """Another person, curious about the first one's things."""
    return person(address_of("eve"))


@pytest.fixture(scope="module")
def database_url_of_module(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """`database_url` for tests that share one application: None where `--store` asks for no PostgreSQL."""
    if request.config.getoption("--store") in (None, "sqlite"):
        yield None
        return
    server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
    url = server.empty_store()
    yield url
    server.take_back(url)
