"""A running turn is closed by others only when the lease of its process has ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from database.conversations.repository import create_conversation
from database.engine import clock
from database.engine.clock import iso_in
from database.engine.database import Database
from database.schema import messages
from database.turns.events import append_events, numbered, read_events
from database.turns.leases import renew_leases
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again

ANN = "ann@example.org"


@pytest.fixture
def own(database: Database) -> dict[str, Any]:
    made = create_conversation(database=database, user_email=ANN, domain="assistant")
    return {"database": database, "user_email": ANN, "conversation_id": made.conversation_id}


def begin(own: dict[str, Any], owner: str | None) -> str:
    return accept_turn(**own, text="Hello", config={}, owner=owner).response_message_id


def end_leases(database: Database) -> None:
    database.write(
        lambda connection: connection.execute(update(messages).values(lease_until=iso_in(seconds=-1))).rowcount
    )


def status_of(database: Database, message_id: str) -> str:
    with database.reading() as connection:
        return connection.execute(select(messages.c.status).where(messages.c.message_id == message_id)).scalar_one()


def test_a_turn_whose_lease_runs_is_left_alone_and_one_whose_lease_has_ended_is_closed(
    database: Database, own: dict[str, Any]
) -> None:
    answer = begin(own, "first")
    append = [(answer, seq, event) for seq, event in numbered([{"text": "Half of "}], after=0)]
    database.write(lambda connection: append_events(connection, append))
    assert close_interrupted_turns(database=database, asking="second") == 0
    end_leases(database)
    assert close_interrupted_turns(database=database, asking="second") == 1
    assert status_of(database, answer) == "interrupted"
    told = read_events(database=database, user_email=ANN, message_id=answer, after=0)
    assert told.complete
    assert close_interrupted_turns(database=database, asking="second") == 0


def test_nobody_closes_its_own_turns(database: Database, own: dict[str, Any]) -> None:
    answer = begin(own, "first")
    end_leases(database)
    assert close_interrupted_turns(database=database, asking="first") == 0
    assert status_of(database, answer) == "streaming"


def test_renewing_keeps_all_turns_of_one_owner_with_one_statement(
    database: Database, own: dict[str, Any], statements: Any
) -> None:
    made = [create_conversation(database=database, user_email=ANN, domain="assistant") for _ in range(3)]
    each = [{**own, "conversation_id": one.conversation_id} for one in made]
    kept, lost = [begin(one, "first") for one in each[:2]], begin(each[2], "gone")
    end_leases(database)
    with statements() as seen:
        database.write(lambda connection: renew_leases(connection, owner="first"))
    assert len(seen) == 1
    assert close_interrupted_turns(database=database, asking="second") == 1
    assert [status_of(database, answer) for answer in (*kept, lost)] == ["streaming", "streaming", "interrupted"]


def test_a_lease_that_is_renewed_while_it_is_looked_at_is_respected(database: Database, own: dict[str, Any]) -> None:
    answer = begin(own, "first")
    end_leases(database)

    def renewed_meanwhile(_user_email: str, _question: str) -> list[Any]:
        database.write(lambda connection: renew_leases(connection, owner="first"))
        return []

    close_interrupted_turns(database=database, asking="second", report_of=renewed_meanwhile)
    assert status_of(database, answer) == "streaming"


def test_a_process_that_closes_a_turn_of_its_own_is_not_stopped_by_renewing_its_lease(
    database: Database, own: dict[str, Any]
) -> None:
    answer = begin(own, "first")
    end_leases(database)

    def renewed_meanwhile(_user_email: str, _question: str) -> list[Any]:
        database.write(lambda connection: renew_leases(connection, owner="first"))
        return []

    close_interrupted_turns(database=database, only=answer, report_of=renewed_meanwhile)
    assert status_of(database, answer) == "interrupted"


def test_a_server_that_is_alone_closes_every_turn_at_once(database: Database, own: dict[str, Any]) -> None:
    answers = [begin(own, "killed")]
    other = create_conversation(database=database, user_email=ANN, domain="assistant")
    answers.append(begin({**own, "conversation_id": other.conversation_id}, None))
    assert close_interrupted_turns(database=database) == 2
    assert [status_of(database, answer) for answer in answers] == ["interrupted", "interrupted"]


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_process_whose_clock_is_wrong_neither_loses_its_turns_nor_closes_those_of_others(
    database: Database, own: dict[str, Any], monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    is_right = begin(own, "first")
    with monkeypatch.context() as wrong:
        right_now = clock.now
        wrong.setattr(clock, "now", lambda: right_now() + timedelta(minutes=minutes))
        made = create_conversation(database=database, user_email=ANN, domain="assistant")
        is_wrong = begin({**own, "conversation_id": made.conversation_id}, "second")
        assert close_interrupted_turns(database=database, asking="second") == 0
        database.write(lambda connection: renew_leases(connection, owner="second"))
    assert close_interrupted_turns(database=database, asking="first") == 0
    assert [status_of(database, answer) for answer in (is_right, is_wrong)] == ["streaming", "streaming"]
    end_leases(database)
    assert close_interrupted_turns(database=database, asking="third") == 2


def test_the_turn_of_a_script_has_no_lease_that_could_end(database: Database, own: dict[str, Any]) -> None:
    answer = begin(own, None)
    assert close_interrupted_turns(database=database, asking="server") == 0
    assert status_of(database, answer) == "streaming"


def test_an_answer_made_again_has_a_lease_of_its_own(database: Database, own: dict[str, Any]) -> None:
    answer = begin(own, "first")
    finish_turn(**own, response_message_id=answer, text="One", status="complete", config={}, title="T")
    end_leases(database)
    accept_again(**own, message_id=answer, model_name="m", owner="second")
    assert close_interrupted_turns(database=database, asking="third") == 0
    end_leases(database)
    assert close_interrupted_turns(database=database, asking="third") == 1
    assert status_of(database, answer) == "complete"


def test_a_lease_costs_no_statement_of_its_own(database: Database, own: dict[str, Any], statements: Any) -> None:
    with statements() as without:
        answer = begin(own, None)
    finish_turn(**own, response_message_id=answer, text="One", status="complete", config={}, title="T")
    other = create_conversation(database=database, user_email=ANN, domain="assistant")
    with statements() as leased:
        begin({**own, "conversation_id": other.conversation_id}, "first")
    assert len(leased) == len(without)
