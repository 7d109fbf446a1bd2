"""Duties: each is held by one process at a time, and by another when its lease has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, update

from chat.processes.duties import (
    EVERY_DUTY,
    RENEW_SECONDS,
    SETTLE_SECONDS,
    SLOW_SECONDS,
    TRUSTED_SECONDS,
    SharedDuties,
)
from chat.processes.metrics import Metrics
from chat.runtime.startup import bring_in_order
from chat.turns.runner import TurnRunner
from database.accounts.users import create_user
from database.conversations.repository import create_conversation
from database.duties import LEASE_SECONDS, owners, processes_left, release_duties, serve_folder, take_duties
from database.engine import postgresql
from database.engine.clock import store_time
from database.engine.database import Database
from database.engine.errors import ConflictError, StorageBusyError
from database.engine.postgresql import database_at
from database.maintenance.account_erasure import close_account
from database.schema import duties, messages, server_processes
from database.turns import leases
from database.turns.turns import accept_turn
from tests.live_server import PASSWORD
from tests.load.test_failing_storage import eventually
from tests.load.test_one_of_two_servers_killed import dsn_of
from tests.postgresql import NOW, PostgreSQLServer

pytestmark = pytest.mark.contract


def end_leases(database: Database) -> None:
    ended = update(duties).values(lease_until=store_time(seconds=-1))
    database.write(lambda connection: connection.execute(ended).rowcount)


def test_one_process_holds_a_duty_until_its_lease_ends(database: Database) -> None:
    assert take_duties(database=database, owner="first", names=["index", "jobs"]) == {"index", "jobs"}
    assert take_duties(database=database, owner="second", names=["index", "jobs", "imports"]) == {"imports"}
    end_leases(database)
    assert take_duties(database=database, owner="first", names=["index"]) == {"index"}
    assert take_duties(database=database, owner="second", names=["index", "jobs"]) == {"jobs"}
    with database.reading() as connection:
        held = {row.name: row.owner for row in connection.execute(select(duties))}
    assert held == {"index": "first", "jobs": "second", "imports": "second"}


def test_living_processes_without_duties_are_counted_too(database: Database) -> None:
    take_duties(database=database, owner="first", names=["index", "jobs"])
    take_duties(database=database, owner="second", names=["index", "jobs"])
    take_duties(database=database, owner="third", names=["index"])
    assert owners(database=database) == {"first": 2, "second": 0, "third": 0}
    release_duties(database=database, owner="third")
    gone = update(server_processes).where(server_processes.c.owner == "second")
    database.write(lambda connection: connection.execute(gone.values(lease_until=store_time(seconds=-1))).rowcount)
    assert owners(database=database) == {"first": 2}


def test_a_process_that_could_not_renew_its_leases_in_time_takes_them_for_ended(database: Database) -> None:
    now = [100.0]
    shared = SharedDuties(database=database, clock=lambda: now[0])
    assert not shared.holds("index")
    shared.keep(["index"])
    assert shared.holds("index")
    assert not shared.holds("jobs")
    now[0] += LEASE_SECONDS
    assert not shared.holds("index")
    shared.keep(["index"])
    assert shared.holds("index")


def test_a_process_that_stops_leaves_its_duties_to_others_at_once(database: Database) -> None:
    first, second = SharedDuties(database=database), SharedDuties(database=database)
    first.keep(["index"])
    second.keep(["index"])
    assert not second.holds("index")
    first.release()
    second.keep(["index"])
    assert (first.holds("index"), second.holds("index")) == (False, True)


def test_a_process_that_stops_while_it_renews_its_leases_leaves_its_duties_to_others_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, take = SharedDuties(database=database), SharedDuties(database=database), take_duties

    def take_late(**asked: Any) -> set[str]:
        monkeypatch.setattr("chat.processes.duties.take_duties", take)
        first.release()
        return take(**asked)

    first.begin()
    monkeypatch.setattr("chat.processes.duties.take_duties", take_late)
    first.keep(["index"])
    second.keep(["index"])
    assert (first.holds("index"), second.holds("index")) == (False, True)
    second.release()
    first.begin()
    first.keep(["index"])
    assert first.holds("index")


def test_others_may_write_for_a_closed_account_until_each_has_said_that_it_is_clear_of_it(database: Database) -> None:
    create_user(database=database, user_email="ada@example.org", password=PASSWORD)
    busy = [True]
    first = SharedDuties(database=database)
    second = SharedDuties(database=database, is_busy=lambda user_email: busy[0] and user_email == "ada@example.org")
    assert not first.others_may_write("ada@example.org")  # there are no others
    for each in (first, second):
        each.keep(())
    close_account(database=database, user_email="ada@example.org")
    assert first.others_may_write("ada@example.org")  # the second has not looked since
    assert second.others_may_write("ada@example.org")
    for each in (first, second):
        each.keep(["index"])
    assert first.others_may_write("ada@example.org")
    assert not second.others_may_write("ada@example.org")
    busy[0] = False
    second.keep(())
    assert not first.others_may_write("ada@example.org")


@dataclass
class Clock:
    """The clock of one process, which goes on only when the test says so. in_writes: seconds that each write takes."""

    now: float = 100.0
    in_writes: float = 0.0
    fails: bool = False

    def __call__(self) -> float:
        return self.now

    def passes_in_a_write(self, _user_email: str) -> bool:
        """What a renewal asks within its transaction, for each closed account."""
        self.now += self.in_writes
        if self.fails:
            raise StorageBusyError("It can't be written.")
        return False


@pytest.fixture
def closed(database: Database) -> str:
    """A closed account."""
    create_user(database=database, user_email="ada@example.org", password=PASSWORD)
    close_account(database=database, user_email="ada@example.org")
    return "ada@example.org"


def process(database: Database, clock: Clock) -> SharedDuties:
    return SharedDuties(database=database, is_busy=clock.passes_in_a_write, clock=clock)


def settled(database: Database, clock: Clock) -> SharedDuties:
    """A process that has seen the store take writes for long enough."""
    made = process(database, clock)
    for _ in range(3):
        made.keep(())
        clock.now += RENEW_SECONDS
    assert made.may_take_over()
    return made


def test_a_process_whose_lease_has_ended_is_waited_for_no_more(database: Database, closed: str) -> None:
    first = settled(database, Clock())
    SharedDuties(database=database, is_busy=lambda _: True).keep(())
    assert first.others_may_write(closed)
    ended = update(server_processes).values(lease_until=store_time(seconds=-1))
    database.write(lambda connection: connection.execute(ended).rowcount)
    assert not first.others_may_write(closed)
    first.keep(())
    with database.reading() as connection:
        assert connection.execute(select(server_processes.c.owner)).scalars().all() == [first.owner]


def test_a_process_that_begins_takes_nothing_over_until_all_others_have_renewed_their_leases(
    database: Database,
) -> None:
    clock = Clock()
    made = process(database, clock)
    assert not made.may_take_over()
    made.keep(())
    clock.now += RENEW_SECONDS
    assert not made.may_take_over()
    made.keep(())
    clock.now += SETTLE_SECONDS - RENEW_SECONDS
    assert made.may_take_over()


def test_while_a_renewal_waits_nothing_is_taken_over_nor_before_all_others_have_renewed_their_leases(
    database: Database, closed: str
) -> None:
    clock = Clock()
    made = settled(database, clock)
    made.keep(())
    clock.now += leases.LEASE_SECONDS - leases.RENEW_SECONDS - 0.01  # the earliest that another's lease may end
    assert not made.may_take_over()
    clock.in_writes = SLOW_SECONDS
    made.keep(())
    clock.in_writes = 0.0
    assert not made.may_take_over()
    clock.now += RENEW_SECONDS
    assert not made.may_take_over()
    made.keep(())
    assert not made.may_take_over()
    clock.now += SETTLE_SECONDS - RENEW_SECONDS
    assert made.may_take_over()


def test_after_a_renewal_that_failed_nothing_is_taken_over_before_all_others_have_renewed_their_leases(
    database: Database, closed: str
) -> None:
    clock = Clock()
    made = settled(database, clock)
    clock.fails = True
    with pytest.raises(StorageBusyError):
        made.keep(())
    assert not made.may_take_over()
    clock.fails = False
    made.keep(())
    assert not made.may_take_over()
    clock.now += SETTLE_SECONDS
    assert made.may_take_over()


def test_renewals_at_their_pace_leave_no_gap_in_which_nothing_is_taken_over(database: Database, closed: str) -> None:
    clock = Clock()
    made = settled(database, clock)
    clock.in_writes = TRUSTED_SECONDS - RENEW_SECONDS - 0.1
    for _ in range(5):
        made.keep(())
        clock.now += RENEW_SECONDS
        assert made.may_take_over()


def test_who_had_to_wait_for_the_store_takes_no_duty_of_others_who_had_to_wait_too(
    database: Database, closed: str
) -> None:
    clock = Clock()
    waiting, other = settled(database, clock), SharedDuties(database=database, is_busy=lambda _: True)
    other.keep(["jobs"])
    clock.in_writes = LEASE_SECONDS
    for table in (duties, server_processes):
        ended = update(table).where(table.c.owner == other.owner).values(lease_until=store_time(seconds=-1))
        database.write(lambda connection, ended=ended: connection.execute(ended).rowcount)
    waiting.keep(["jobs"])
    clock.in_writes = 0.0
    assert not waiting.holds("jobs")
    assert waiting.others_may_write(closed)  # the other's row is there still
    clock.now += RENEW_SECONDS
    waiting.keep(["jobs"])
    clock.now += SETTLE_SECONDS - RENEW_SECONDS
    waiting.keep(["jobs"])  # the other has not renewed its lease meanwhile: it is gone
    assert waiting.holds("jobs")
    assert not waiting.others_may_write(closed)


ANN = "ann@example.org"


@pytest.fixture
def url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    url = postgresql_server.empty_store()
    yield url
    postgresql_server.take_back(url)


@dataclass
class OneOfSeveral:
    """A process that shares a store with others, and its running turn."""

    database: Database
    duties: SharedDuties
    clock: Clock
    runner: TurnRunner
    answer: str = ""

    def begins_a_turn(self) -> None:
        made = create_conversation(database=self.database, user_email=ANN, domain="assistant")
        own: dict[str, Any] = {"database": self.database, "user_email": ANN, "conversation_id": made.conversation_id}
        self.answer = accept_turn(**own, text="Hello", config={}, owner=self.runner.owner).response_message_id

    def renews(self) -> None:
        self.database.write(partial(leases.renew_leases, owner=self.runner.owner))

    def looks(self) -> int:
        """Close what is abandoned, as every half second."""
        return self.runner.close_abandoned(may_take_over=self.duties.may_take_over)


@pytest.fixture
def several(url: str, tmp_path: Path) -> Iterator[Callable[[], OneOfSeveral]]:
    """Begin another process at one PostgreSQL."""
    begun: list[Database] = []

    def begin() -> OneOfSeveral:
        store, clock = Database(database_at(url), folder=tmp_path), Clock()
        begun.append(store)
        return OneOfSeveral(store, settled(store, clock), clock, TurnRunner(database=store, metrics=Metrics()))

    yield begin
    for each in begun:
        each.close()


def test_after_the_store_took_no_writes_turns_of_the_living_go_on_and_those_of_the_dead_are_closed(
    url: str, several: Callable[[], OneOfSeveral], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "LOCK_TIMEOUT_MS", 60_000)
    looking, living, dead = (several() for _ in range(3))
    for each in (living, dead):
        each.begins_a_turn()
    with psycopg.connect(dsn_of(url), options="-c search_path=anaphora") as still:
        # A process that stands still within a write, for so long that every lease ends.
        still.execute(f"SELECT pg_advisory_xact_lock({postgresql._WRITER_LOCK})")
        still.execute(f"UPDATE messages SET lease_until = {NOW} WHERE status = 'streaming'".encode())
        renewing = threading.Thread(target=looking.duties.keep, args=((),))
        renewing.start()
        asked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: still.execute(asked).fetchone() == (1,))
        looking.clock.now += leases.LEASE_SECONDS
        assert looking.looks() == 0
    renewing.join()
    # The first that gets through is the one that looks; the other one was as healthy all the time.
    assert looking.looks() == 0
    living.renews()
    looking.clock.now += RENEW_SECONDS
    looking.duties.keep(())
    looking.clock.now += SETTLE_SECONDS - RENEW_SECONDS
    assert looking.looks() == 1
    status = select(messages.c.status).where(messages.c.message_id.in_([living.answer, dead.answer]))
    with looking.database.reading() as connection:
        found = dict(connection.execute(status.add_columns(messages.c.message_id)).all())
    assert found == {"streaming": living.answer, "interrupted": dead.answer}


def test_who_is_alone_waits_for_no_process_that_was_killed(database: Database) -> None:
    SharedDuties(database=database, is_busy=lambda _: True).keep(())
    bring_in_order(database=database)
    assert not SharedDuties(database=database).others_may_write("ada@example.org")


def test_who_is_alone_leaves_no_duty_to_a_process_that_was_killed(database: Database) -> None:
    serve_folder(database=database, folder_id="a", is_alone=True)
    SharedDuties(database=database).keep(["index"])
    bring_in_order(database=database)
    started = SharedDuties(database=database)
    started.keep(["index"])
    assert started.holds("index")
    with pytest.raises(ConflictError):
        serve_folder(database=database, folder_id="b", is_alone=False)


def test_a_process_is_left_until_it_stops_by_itself_and_is_waited_for_until_its_lease_ends(
    database: Database, closed: str
) -> None:
    stopping, other = SharedDuties(database=database, is_busy=lambda _: True), SharedDuties(database=database)
    assert processes_left(database=database) == {}
    stopping.begin()
    assert list(processes_left(database=database)) == [stopping.owner]
    for _ in range(2):
        stopping.release()
        assert processes_left(database=database) == {}
        assert other.others_may_write(closed)  # what it had begun may go on for a moment
    stopping.begin()
    assert list(processes_left(database=database)) == [stopping.owner]
    assert not stopping.others_may_write(closed)


def test_a_single_server_has_every_duty() -> None:
    EVERY_DUTY.keep([])
    EVERY_DUTY.release()
    assert EVERY_DUTY.holds("whatever")
    assert not EVERY_DUTY.others_may_write("ada@example.org")


def test_all_servers_of_a_database_share_one_folder(database: Database) -> None:
    serve_folder(database=database, folder_id="a", is_alone=True)
    serve_folder(database=database, folder_id="a", is_alone=False)
    with pytest.raises(ConflictError):
        serve_folder(database=database, folder_id="b", is_alone=False)
    serve_folder(database=database, folder_id="b", is_alone=True)
    serve_folder(database=database, folder_id="b", is_alone=False)
