"""A process stands still within a write: its turns are closed within ten seconds, and those of the others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from chat.processes.duties import RENEW_SECONDS, SETTLE_SECONDS, SharedDuties
from chat.processes.metrics import Metrics
from chat.turns.runner import TurnRunner
from database.conversations.repository import create_conversation
from database.engine.database import Database, Urgency
from database.engine.errors import StorageBusyError, StoreError
from database.engine.postgresql import database_at
from database.schema import messages
from database.turns import leases
from database.turns.turns import accept_turn
from tests.load.figures import record
from tests.load.test_failing_storage import eventually
from tests.postgresql import PostgreSQLServer

pytestmark = pytest.mark.proof

ANN = "ann@example.org"
LOOK_EVERY = 0.5


def begun(store: Database, owner: str) -> Callable[[], str]:
    """A turn of this owner: what tells its status."""
    own: dict[str, Any] = {"database": store, "user_email": ANN}
    own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
    answer = accept_turn(**own, text="Hello", config={}, owner=owner).response_message_id
    query = select(messages.c.status).where(messages.c.message_id == answer)

    def status() -> str:
        with store.reading() as connection:
            return str(connection.execute(query).scalar_one())

    return status


@contextmanager
def repeated(work: Callable[[], object], *, every: float) -> Iterator[None]:
    """Do the work again and again, as the upkeep of a server does."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(every):
            with suppress(StoreError):
                work()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(repeat)
        try:
            yield
        finally:
            over.set()


def test_turns_of_a_process_that_stands_still_within_a_write_are_closed_within_ten_seconds_and_no_others(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    url, gate, stands = postgresql_server.empty_store(), threading.Event(), threading.Event()

    def stand_still(connection: Connection) -> None:
        leases.renew_leases(connection, owner="still")
        stands.set()
        assert gate.wait(60)

    with ExitStack() as stack:
        stack.callback(postgresql_server.take_back, url)
        still, *living = (
            stack.enter_context(closing(Database(database_at(url), folder=tmp_path / name)))
            for name in ("still", "one", "two")
        )
        turns: list[Callable[[], str]] = []
        for store in living:
            duties, runner = SharedDuties(database=store), TurnRunner(database=store, metrics=Metrics())
            turns.append(begun(store, runner.owner))
            renew = partial(leases.renew_leases, owner=runner.owner)
            look = partial(runner.close_abandoned, may_take_over=duties.may_take_over)
            stack.enter_context(repeated(partial(duties.keep, ()), every=RENEW_SECONDS))
            stack.enter_context(
                repeated(partial(store.write, renew, urgency=Urgency.STREAM), every=leases.RENEW_SECONDS)
            )
            stack.enter_context(repeated(look, every=LOOK_EVERY))
            eventually(duties.may_take_over)
        lost = begun(still, "still")
        job = still.submit(stand_still)
        assert stands.wait(60)
        stood_at = time.monotonic()
        eventually(lambda: lost() != "streaming")
        took = time.monotonic() - stood_at
        record(**{"a process stands still within a write: seconds until its turns are closed": round(took, 1)})
        assert lost() == "interrupted"
        assert took < 10
        time.sleep(SETTLE_SECONDS)
        assert [each() for each in turns] == ["streaming", "streaming"]
        gate.set()
        with pytest.raises(StorageBusyError):
            job.result(60)
