"""A running turn is closed by others only when the lease of its process has ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from database.conversations.repository import create_conversation
from database.engine import clock
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.history import reading
from database.schema import message_variants, messages
from database.turns.answers import finish_and_add_answer
from database.turns.closing import AbandonedTurn
from database.turns.events import append_events, numbered, read_events, stored_events
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


def tell(database: Database, message_id: str, *texts: str, after: int = 0, owner: str) -> None:
    rows = [(message_id, seq, event) for seq, event in numbered([{"text": text} for text in texts], after=after)]
    database.write(lambda connection: append_events(connection, rows, owner=owner))


def made_again_after_a_stop(own: dict[str, Any]) -> str:
    """An answer that "first" began, stood still, and "second" has closed and makes again."""
    database, answer = own["database"], begin(own, "first")
    tell(database, answer, "old ", owner="first")
    end_leases(database)
    assert close_interrupted_turns(database=database, asking="second") == 1
    accept_again(**own, message_id=answer, model_name="m", owner="second")
    return answer


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

    def renewed_meanwhile(_turn: AbandonedTurn) -> list[Any]:
        database.write(lambda connection: renew_leases(connection, owner="first"))
        return []

    close_interrupted_turns(database=database, asking="second", report_of=renewed_meanwhile)
    assert status_of(database, answer) == "streaming"


def test_a_process_that_closes_a_turn_of_its_own_is_not_stopped_by_renewing_its_lease(
    database: Database, own: dict[str, Any]
) -> None:
    answer = begin(own, "first")
    end_leases(database)

    def renewed_meanwhile(_turn: AbandonedTurn) -> list[Any]:
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


@pytest.mark.contract
def test_what_a_process_writes_after_it_stood_still_is_not_taken_for_the_answer_that_another_makes_again(
    database: Database, own: dict[str, Any]
) -> None:
    answer = made_again_after_a_stop(own)
    with pytest.raises(IntegrityError):
        tell(database, answer, "words", after=1, owner="first")
    ended: dict[str, Any] = {"response_message_id": answer, "status": "complete", "config": {}, "title": "T"}
    assert finish_turn(**own, **ended, text="old words", owner="first").status == "streaming"

    tell(database, answer, "new ", "words", owner="second")
    with pytest.raises(IntegrityError):
        tell(database, answer, "words", after=2, owner="first")
    assert finish_turn(**own, **ended, text="new words", owner="second").status == "complete"
    with database.reading() as connection:
        variants = (
            connection.execute(select(message_variants.c.text).order_by(message_variants.c.number)).scalars().all()
        )
    assert variants == ["old ", "new words"]
    assert [row.text for row in reading.list_messages(**own)] == ["Hello", "new words"]


@pytest.mark.contract
def test_a_process_that_stood_still_closes_no_answer_that_another_makes_again(
    database: Database, own: dict[str, Any]
) -> None:
    answer = made_again_after_a_stop(own)
    assert close_interrupted_turns(database=database, only=answer, owner="first") == 0
    assert status_of(database, answer) == "streaming"
    assert close_interrupted_turns(database=database, only=answer, owner="second") == 1


@pytest.mark.contract
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_process_that_stood_still_adds_no_further_answer(
    database: Database, own: dict[str, Any], has_ended: bool
) -> None:
    answer = made_again_after_a_stop(own)
    question = reading.list_messages(**own)[0].message_id
    ended = {"text": "new", "status": "complete", "config": {}}
    if has_ended:
        finish_turn(**own, response_message_id=answer, **ended, owner="second")
    following = {"question_id": question, "next_model_name": "other", "owner": "first"}
    with pytest.raises(ConflictError):
        finish_and_add_answer(**own, response_message_id=answer, **following, **ended)
    assert [row.status for row in reading.list_messages(**own)[1:]] == ["complete" if has_ended else "streaming"]


def test_events_of_many_answers_are_stored_together_byte_for_byte(database: Database) -> None:
    rooms = [create_conversation(database=database, user_email=ANN, domain="assistant") for _ in range(3)]
    who = {"database": database, "user_email": ANN}
    mine = [begin({**who, "conversation_id": room.conversation_id}, "first") for room in rooms]
    said = ['{"}, \\"', "\\x00\\\\", "\N{SNAIL}\x00,{NULL}'", ""]
    rows = [(answer, seq, f"{n} {text}".encode()) for n, answer in enumerate(mine) for seq, text in enumerate(said, 1)]
    database.write(lambda connection: append_events(connection, rows, owner="first"))
    with database.reading() as connection:
        stored = {answer: stored_events(connection, answer) for answer in mine}
    assert stored == {answer: [(seq, event) for each, seq, event in rows if each == answer] for answer in mine}
    with pytest.raises(IntegrityError):
        database.write(lambda connection: append_events(connection, [(mine[0], 5, b"late")], owner="second"))
    with pytest.raises(IntegrityError):
        database.write(lambda connection: append_events(connection, [(mine[1], 5, b"new"), rows[0]], owner="first"))
    with database.reading() as connection:
        assert [len(stored_events(connection, answer)) for answer in mine] == [4, 4, 4]
