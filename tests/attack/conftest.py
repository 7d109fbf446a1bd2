"""Attackers need the same people and the same application as everybody else.

With `--store=scaled` the requests of a test are answered by two processes behind one port, unless the test is marked
`in_process`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from flask import Flask

from endpoints.http.scope import SETTINGS
from language_models.testing import ScriptedChatModel
from settings import Settings
from tests.attack.two_processes import app_at_two_processes
from tests.endpoints.conftest import ada, cheap_model, eve, main_model, person, running_app, settings_in
from tests.postgresql import PostgreSQLServer
from tests.scaled import is_scaled

__all__ = ["ada", "cheap_model", "eve", "main_model", "person"]


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
    model, engines = request.getfixturevalue("recording_model"), request.getfixturevalue("engines")
    more = {"program": program, "environ": {**environ, "DATABASE_URL": database_url or ""}}
    with app_at_two_processes(tmp_path / "server", engines, model, **models, **more) as application:
        yield application


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
