"""Attackers need the same people and the same application as everybody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.endpoints.conftest import ada, app, cheap_model, eve, main_model, person, settings
from tests.postgresql import PostgreSQLServer

__all__ = ["ada", "app", "cheap_model", "eve", "main_model", "person", "settings"]


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
