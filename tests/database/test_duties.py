"""Duties: each is held by one process at a time, and by another when its lease has ended."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update

from chat.processes.duties import EVERY_DUTY, SharedDuties
from chat.runtime.startup import bring_in_order
from database.accounts.users import create_user
from database.duties import LEASE_SECONDS, serve_folder, take_duties
from database.engine.clock import store_time
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.maintenance.account_erasure import close_account
from database.schema import duties, server_processes
from tests.live_server import PASSWORD

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


def test_a_process_whose_lease_has_ended_is_waited_for_no_more(database: Database) -> None:
    create_user(database=database, user_email="ada@example.org", password=PASSWORD)
    close_account(database=database, user_email="ada@example.org")
    first = SharedDuties(database=database)
    SharedDuties(database=database, is_busy=lambda _: True).keep(())
    assert first.others_may_write("ada@example.org")
    ended = update(server_processes).values(lease_until=store_time(seconds=-1))
    database.write(lambda connection: connection.execute(ended).rowcount)
    assert not first.others_may_write("ada@example.org")
    first.keep(())
    with database.reading() as connection:
        assert connection.execute(select(server_processes.c.owner)).scalars().all() == [first.owner]


def test_who_is_alone_waits_for_no_process_that_was_killed(database: Database) -> None:
    SharedDuties(database=database, is_busy=lambda _: True).keep(())
    bring_in_order(database=database)
    assert not SharedDuties(database=database).others_may_write("ada@example.org")


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
