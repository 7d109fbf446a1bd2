"""Duties: each is held by one process at a time, and by another when its lease has ended."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from chat.processes.duties import EVERY_DUTY, SharedDuties
from database.duties import LEASE_SECONDS, serve_folder, take_duties
from database.engine.clock import store_time
from database.engine.database import Database
from database.errors import ConflictError
from database.schema import duties

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


def test_a_single_server_has_every_duty() -> None:
    EVERY_DUTY.keep([])
    EVERY_DUTY.release()
    assert EVERY_DUTY.holds("whatever")


def test_all_servers_of_a_database_share_one_folder(database: Database) -> None:
    serve_folder(database=database, folder_id="a", is_alone=True)
    serve_folder(database=database, folder_id="a", is_alone=False)
    with pytest.raises(ConflictError):
        serve_folder(database=database, folder_id="b", is_alone=False)
    serve_folder(database=database, folder_id="b", is_alone=True)
    serve_folder(database=database, folder_id="b", is_alone=False)
