"""A clock that is set, back or forward: nothing is lost, nothing stands twice, nobody is let in for ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from database.accounts import sessions
from database.accounts.users import create_user
from database.conversations import deletion, listing
from database.conversations import repository as conversations
from database.engine import clock
from database.engine.database import Database
from database.history.reading import list_messages
from database.maintenance import purging
from database.maintenance.verification import verify_store
from database.turns.identity import FinishedTurn

ANN = "ann@example.org"
Later = Callable[..., None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Moves the clock, which stands still otherwise: later(hours=5), later(days=-1)."""
    moment = datetime(2026, 2, 8, 10, tzinfo=UTC)

    def move(**delta: float) -> None:
        nonlocal moment
        moment += timedelta(**delta)

    for module in (clock, deletion, sessions, purging):
        monkeypatch.setattr(module, "now", lambda: moment)
    return move


def purge(database: Database) -> int:
    """Purge the bin as the hourly upkeep does; how many conversations were erased."""
    return deletion.purge_bin(database=database) if purging.is_clock_trusted(database=database) else 0


@pytest.fixture
def in_bin(database: Database, later: Later) -> str:
    """A conversation that has just been deleted, in a store whose bin is purged regularly."""
    own = {"database": database, "user_email": ANN}
    purge(database)
    conversation_id = conversations.create_conversation(**own, domain="assistant").conversation_id
    conversations.delete_conversation(**own, conversation_id=conversation_id)
    return conversation_id


def purges_until_gone(database: Database, later: Later, *, most: int) -> int:
    """How many purges, 23 hours apart, it takes until one erases something."""
    for number in range(1, most + 1):
        later(hours=23)
        if purge(database):
            return number
    raise AssertionError("nothing was ever erased")


def test_the_bin_outlives_a_clock_that_jumps_forward_and_back(database: Database, in_bin: str, later: Later) -> None:
    later(days=400)
    assert purge(database) == 0
    later(hours=5)
    assert purge(database) == 0
    later(days=-400)
    assert purge(database) == 0
    conversations.restore_conversation(database=database, user_email=ANN, conversation_id=in_bin)


def test_what_is_in_the_bin_is_erased_after_thirty_days_of_a_clock_that_goes_on_steadily(
    database: Database, in_bin: str, later: Later
) -> None:
    assert purges_until_gone(database, later, most=40) == 32  # 32 × 23 hours are the first that exceed 30 days


def test_a_date_that_stays_is_believed_a_day_later(database: Database, in_bin: str, later: Later) -> None:
    later(days=400)
    assert purge(database) == 0
    assert purges_until_gone(database, later, most=3) == 2


def test_a_clock_set_back_gives_no_two_messages_one_place_and_hides_no_conversation(
    database: Database, later: Later, take_turn: Callable[..., FinishedTurn]
) -> None:
    own: dict[str, Any] = {"database": database, "user_email": ANN}
    made = []
    for _ in range(3):
        made.append(conversations.create_conversation(**own, domain="assistant").conversation_id)
        for each in made:
            take_turn(ANN, each)
        later(days=-1)
    for number, conversation_id in enumerate(made):
        found = list_messages(**own, conversation_id=conversation_id)
        assert [row.index for row in found] == list(range(1, 2 * (3 - number) + 1))
        assert sorted(found, key=lambda row: row.seq) == found
    listed, cursor = listing.list_conversations(**own, domain="assistant", limit=1)
    while cursor is not None:
        rows, cursor = listing.list_conversations(**own, domain="assistant", limit=1, cursor=cursor)
        listed += rows
    assert [row.updated_at for row in listed] == sorted((row.updated_at for row in listed), reverse=True)
    assert {row.conversation_id for row in listed} == set(made)
    assert len(listed) == len(made)
    assert list(verify_store(database=database)) == []


def test_a_session_outlives_a_clock_that_is_set_back_and_ends_when_its_time_is_over(
    database: Database, later: Later
) -> None:
    create_user(database=database, user_email=ANN, password="correct horse battery")
    token = sessions.create_session(database=database, user_email=ANN)
    later(days=-365)
    assert sessions.find_session(database=database, token=token) == ANN
    later(days=365 + sessions.LIFETIME_DAYS)
    assert sessions.find_session(database=database, token=token) is None
    later(days=-1)
    assert sessions.find_session(database=database, token=token) == ANN
