"""Turns that a killed process leaves behind are closed together, each once, and as each would be by itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import orjson
import pytest
from sqlalchemy import select, update

from database.changes import changes_after
from database.conversations.repository import create_conversation, get_conversation, update_conversation
from database.engine.clock import iso_in
from database.engine.database import Database
from database.history.reading import list_messages
from database.schema import activities, messages
from database.turns import recovery
from database.turns.closing import AbandonedTurn, close_alone
from database.turns.events import append_events, numbered, read_events
from database.turns.recovery import close_interrupted_turns
from database.turns.turns import accept_turn, finish_turn
from database.turns.variants import accept_again

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
CALL = {"id": 1, "kind": "tool_call", "at": 5, "name": "search_messages", "arguments": {}, "status": "running"}
TOLD: list[dict[str, Any]] = [{"references": []}, {"text": "Half "}, {"part": CALL}, {"text": "an answer"}]
Own = dict[str, Any]


def talk(database: Database, user_email: str = ANN) -> Own:
    made = create_conversation(database=database, user_email=user_email, domain="assistant")
    return {"database": database, "user_email": user_email, "conversation_id": made.conversation_id}


def begin(own: Own, text: str = "How do I centre a box?", told: list[dict[str, Any]] = TOLD) -> str:
    answer = accept_turn(**own, text=text, config={}, owner="killed").response_message_id
    tell(own, answer, told)
    return answer


def tell(own: Own, answer: str, contents: list[dict[str, Any]]) -> None:
    rows = [(answer, seq, event) for seq, event in numbered(contents, after=0)]
    own["database"].write(lambda connection: append_events(connection, rows))


def answered(own: Own) -> str:
    answer = begin(own, "First", [])
    finish_turn(**own, response_message_id=answer, text="One", status="complete", config={}, title="Known")
    return answer


def first_turn(own: Own) -> str:
    return begin(own)


def first_turn_with_nothing_said(own: Own) -> str:
    return begin(own, told=[])


def turn_in_a_conversation_that_a_person_has_named(own: Own) -> str:
    update_conversation(**own, changes={"title": "Mine", "title_force_set": True})
    return begin(own)


def later_turn_of_the_same_words(own: Own) -> str:
    answered(own)
    return begin(own, "First")


def answer_made_again(own: Own) -> str:
    answer = answered(own)
    accept_again(**own, message_id=answer, model_name="m", owner="killed")
    tell(own, answer, TOLD)
    return answer


def turn_that_is_not_kept(own: Own) -> str:
    answered(own)
    update_conversation(**own, changes={"stateless": True})
    return begin(own)


KINDS = (
    first_turn,
    first_turn_with_nothing_said,
    turn_in_a_conversation_that_a_person_has_named,
    later_turn_of_the_same_words,
    answer_made_again,
    turn_that_is_not_kept,
)


def end_leases(database: Database) -> None:
    ended = update(messages).where(messages.c.status == "streaming").values(lease_until=iso_in(seconds=-1))
    database.write(lambda connection: connection.execute(ended).rowcount)


def look_of(own: Own, answer: str) -> dict[str, Any]:
    """All that is stored of a conversation, without what differs between any two: ids, hashes, times."""
    row = get_conversation(**own)
    rows = list_messages(**own)
    stored = [read_events(**_who(own), message_id=answer, after=0).events for each in rows if each.message_id == answer]
    events = [orjson.loads(event) for each in stored for _, event in each]
    for event in events:
        for told in ("message_ids", "conversation"):
            event.get(told, {}).update({name: None for name, value in event.get(told, {}).items() if value is not None})
    with own["database"].reading() as connection:
        here = activities.c.conversation_id == own["conversation_id"]
        query = select(activities.c.type, activities.c.actor_type, activities.c.short_id).where(here)
        acts = [tuple(each) for each in connection.execute(query.order_by(activities.c.seq))]
    changes = changes_after(database=own["database"], user_email=own["user_email"], after=0, most=1000)
    return {
        "conversation": (row.title, row.running_message_id, row.message_count, row.last_ordinal, row.version),
        "is named": row.conversation_friendly_id is not None,
        "messages": [(each.text, each.status, each.parts, each.message_short_hash is not None) for each in rows],
        "hashes": len({each.message_short_hash for each in rows}),
        "events": events,
        "activities": [each[:2] for each in acts],
        "changes": sorted(
            (each.kind, each.change, sorted(each.fields), each.conversation_id is None)
            for each in changes
            if row.conversation_id in (each.conversation_id, each.id)
        ),
    }


def _who(own: Own) -> dict[str, Any]:
    return {"database": own["database"], "user_email": own["user_email"]}


def alone(database: Database, own: Own, answer: str, question: str) -> None:
    with database.reading() as connection:
        row = connection.execute(select(messages).where(messages.c.message_id == answer)).one()
    turn = AbandonedTurn(answer, own["conversation_id"], own["user_email"], row.in_answer_to, question, [])
    still = messages.c.status == "streaming"
    assert database.write(lambda connection: close_alone(connection, turn, if_still=still)) == 1


def test_turns_that_are_closed_together_end_as_they_would_by_themselves(database: Database) -> None:
    together = [(own, kind(own)) for kind in KINDS for own in [talk(database, ANN)]]
    one_by_one = [(own, kind(own)) for kind in KINDS for own in [talk(database, BEN)]]
    for own, answer in one_by_one:
        question = next((row.text for row in reversed(list_messages(**own)) if row.sender == "user"), "")
        alone(database, own, answer, question)
    assert close_interrupted_turns(database=database) == len(KINDS)
    for kind, ours, other in zip(KINDS, together, one_by_one, strict=True):
        assert look_of(*ours) == look_of(*other), kind.__name__
    named = [get_conversation(**own).conversation_friendly_id for own, _ in together]
    assert len(set(named)) == len(KINDS)


@pytest.mark.parametrize("is_first", [True, False])
def test_fifty_turns_are_closed_with_the_statements_of_two(
    database: Database, statements: Callable[[], AbstractContextManager[list[str]]], is_first: bool
) -> None:
    counts = []
    for crowd in (2, recovery.TOGETHER):
        talks = [talk(database) for _ in range(crowd)]
        if not is_first:
            for own in talks:
                answered(own)
        # Numbers of two digits are words of a readable id; ids of the same words may be taken by chance.
        answers = [begin(own, f"Question {number}", [{"text": "Half"}]) for number, own in enumerate(talks, 10)]
        end_leases(database)
        with statements() as seen:
            assert close_interrupted_turns(database=database, asking="other") == crowd
        counts.append(len(seen))
        assert [list_messages(**own)[-1].text for own in talks] == ["Half"] * crowd
        assert len(set(answers)) == crowd
    assert counts[0] == counts[1] <= 16


def test_processes_that_look_at_the_same_time_close_each_turn_once(database: Database) -> None:
    talks = [talk(database) for _ in range(20)]
    answers = [begin(own, "The same words", [{"text": "Half"}]) for own in talks]
    end_leases(database)
    others = [f"process {number}" for number in range(4)]
    with ThreadPoolExecutor(len(others)) as pool:
        closed = list(pool.map(lambda asking: close_interrupted_turns(database=database, asking=asking), others))
    assert sum(closed) == len(talks)
    for own, answer in zip(talks, answers, strict=True):
        events = read_events(**_who(own), message_id=answer, after=0).events
        assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
        assert sum(b'"done"' in event for _, event in events) == 1
        assert list_messages(**own)[-1].text == "Half"


def test_words_that_were_committed_while_others_looked_are_kept(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = talk(database)
    answer = begin(own, "Hello", [{"text": "One "}])
    end_leases(database)
    close = recovery.close_together

    def committed_just_before(connection: Any, **keywords: Any) -> Any:
        append_events(connection, [(answer, 2, orjson.dumps({"seq": 2, "text": "two", "status": ""}))])
        return close(connection, **keywords)

    monkeypatch.setattr(recovery, "close_together", committed_just_before)
    assert close_interrupted_turns(database=database, asking="other") == 1
    assert list_messages(**own)[-1].text == "One two"
