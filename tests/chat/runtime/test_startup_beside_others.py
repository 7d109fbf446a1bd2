"""A server that starts beside others: whether it is alone is shown by the store, not by a free lock alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chat.context.knowledge import KnowledgeAccess
from chat.exchange.services import models_from
from chat.processes.duties import RENEW_SECONDS, SharedDuties
from chat.processes.metrics import Metrics
from chat.runtime.startup import ServerProcess
from chat.turns.runner import TurnRunner
from database.conversations.repository import create_conversation
from database.duties import processes_left
from database.engine.database import Database
from database.engine.errors import StoreError
from database.engine.postgresql import database_at
from database.history.reading import list_messages
from database.turns.turns import accept_turn
from settings import Settings, load_settings
from tests.postgresql import PostgreSQLServer

pytestmark = pytest.mark.thorough

ADA = "ada@example.org"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    return load_settings({**environ, "ANAPHORA_DATA_DIR": str(tmp_path)}, env_file=tmp_path / "no.env")


@pytest.fixture
def url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    url = postgresql_server.empty_store()
    yield url
    postgresql_server.take_back(url)


@pytest.fixture
def one_of_several(url: str, settings: Settings) -> Iterator[Callable[[], ServerProcess]]:
    """Make one of the servers that share a database and a data folder: each with connections of its own."""
    made: list[ServerProcess] = []

    def make() -> ServerProcess:
        database = Database(database_at(url), folder=settings.users_dir)
        turns = TurnRunner(database=database, metrics=Metrics())
        duties = SharedDuties(database=database)

        async def upkeep() -> None:
            while True:
                with suppress(StoreError):
                    duties.keep(())
                await asyncio.sleep(RENEW_SECONDS)

        server = ServerProcess(
            data_dir=settings.data_dir,
            database=database,
            turns=turns,
            models=models_from(settings),
            knowledge=KnowledgeAccess(settings.users_dir),
            upkeep=upkeep,
            tidy=lambda: None,
            duties=duties,
        )
        made.append(server)
        return server

    yield make
    for each in made:
        each.end()
        each._database.close()


def running_turn(server: ServerProcess) -> Callable[[], str]:
    """Begin a turn of this server; what tells its status."""
    own: dict[str, Any] = {"database": server._database, "user_email": ADA}
    own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
    accept_turn(**own, text="What do whales sing?", config={}, owner=server._turns.owner)
    return lambda: str(list_messages(**own)[1].status)


def test_a_server_that_starts_when_postgresql_was_restarted_closes_no_turn_of_one_that_lives(
    one_of_several: Callable[[], ServerProcess], postgresql_server: PostgreSQLServer, url: str
) -> None:
    living, starting = one_of_several(), one_of_several()
    living.begin()
    status = running_turn(living)
    postgresql_server.cut_connections(to=url)
    starting.begin()
    assert status() == "streaming"
    assert living._hold is not None
    assert starting._hold is not None
    assert [each._hold.is_held() for each in (living, starting)] == [True, True]


def test_a_server_that_starts_when_the_only_one_was_killed_closes_its_turns_at_once(
    one_of_several: Callable[[], ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, starting = one_of_several(), one_of_several()
    killed.begin(upkeep=False)
    status = running_turn(killed)
    assert killed._hold is not None
    killed._hold.release()  # as the end of its connection does
    monkeypatch.setattr("chat.runtime.startup._OTHERS_SECONDS", 0.1)
    starting.begin(upkeep=False)
    assert status() == "interrupted"
    assert list(processes_left(database=starting._database)) == [starting._duties.owner]


def test_a_server_that_starts_when_the_one_before_has_stopped_waits_for_nobody(
    one_of_several: Callable[[], ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.runtime.startup._OTHERS_SECONDS", 3_600.0)
    for _ in range(2):
        server = one_of_several()
        server.begin(upkeep=False)
        server.end()
        assert list(processes_left(database=server._database)) == []
