"""What became of the references is told first and stored, however early a turn ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest

from chat.runtime.startup import bring_in_order
from chat.turns.lost_reports import lost_report
from chat.turns.runner import TurnRunner
from Conversation import Conversation
from database.history.references import backlinks
from database.turns.events import read_events
from database.turns.turns import accept_turn
from tests.chat.conftest import EMAIL, Talk, fid, parsed, wait_until


class Gate:
    """A loader of conversations that lets nobody through until it is opened."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, conversation_id: str) -> Conversation:
        self.reached.set()
        self.open.wait(60)
        return Conversation(EMAIL, self.talk.store, conversation_id)


def named(talk: Talk) -> tuple[str, str]:
    """A reference to a message, and the message's id."""
    source = talk.about("Growing Tomatoes", ("How much water?", "Twice a day."))
    return f"@conversation_{fid(source)}_message_2", source.get_message_list()[1]["message_id"]


def stopped_at(gate: Gate, ref: str, runner: TurnRunner, *, before_end: Callable[[], Any]) -> list[dict[str, Any]]:
    """The events of an answer that is stopped while its references are gathered."""
    conversation = gate.talk.new()
    stream = runner.start(conversation, gate.talk.query(f"Is {ref} right?", _conversation_loader=gate))
    assert gate.reached.wait(60)
    runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    wait_until(lambda: stream.closed or stream.message_id in runner._stopping)
    before_end()
    events = parsed(stream.lines())
    wait_until(lambda: runner.running() == 0)
    question = gate.talk.again(conversation).get_message_list()[0]
    assert question["references"] == events[0]["references"]
    return events


def test_a_turn_stopped_while_it_gathers_finds_out_first(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.context.gather._PATIENCE", 60.0)
    ref, message_id = named(talk)
    gate = Gate(talk)
    events = stopped_at(gate, ref, runner, before_end=gate.open.set)
    assert [(entry["ref"], entry["status"]) for entry in events[0]["references"]] == [(ref, "resolved")]
    assert events[-1]["answer_status"] == "cancelled"
    assert talk.models.main_model.calls == []
    assert len(backlinks(database=talk.database, user_email=EMAIL, message_id=message_id)) == 1


def test_whoever_stops_does_not_wait_for_a_search_that_hangs(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.context.gather._PATIENCE", 0.05)
    ref, _ = named(talk)
    gate = Gate(talk)
    events = stopped_at(gate, ref, runner, before_end=lambda: None)
    gate.open.set()
    assert [(entry["ref"], entry["kind"], entry["status"]) for entry in events[0]["references"]] == [
        (ref, "message", "unavailable")
    ]
    assert events[-1]["answer_status"] == "cancelled"


def test_a_turn_that_cannot_gather_names_its_references_before_it_fails(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("Conversation.gather", broken)
    conversation = talk.new()
    events = talk.say(conversation, "See @conversation_a_b_c123_messages_1-2 and @memory:c1 and @tea_x1y2")
    assert [(entry["ref"], entry["kind"], entry["status"]) for entry in events[0]["references"]] == [
        ("@conversation_a_b_c123_messages_1-2", "message_range", "unavailable"),
        ("@tea_x1y2", "claim", "unavailable"),
        ("@memory:c1", "claim", "unavailable"),
    ]
    assert [event["error"]["code"] for event in events if "error" in event] == ["internal_error"]
    assert talk.again(conversation).get_message_list()[0]["references"] == events[0]["references"]


@pytest.mark.parametrize("store", ["whole", "broken"])
def test_a_turn_killed_before_it_told_anything_tells_of_its_references_afterwards(
    talk: Talk, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, message_id = named(talk)
    conversation = talk.new()
    who = {"database": talk.database, "user_email": EMAIL}
    killed = accept_turn(**who, conversation_id=conversation.conversation_id, text=f"Is {ref} right?", config={})
    if store == "broken":
        monkeypatch.setattr("chat.turns.lost_reports.resolve_report", partial(int, "no number"))
    report_of = partial(
        lost_report,
        database=talk.database,
        loader_for=lambda email: partial(Conversation, email, talk.store),
        services=talk.services,
    )
    bring_in_order(database=talk.database, report_of=report_of)

    read = read_events(**who, message_id=killed.response_message_id, after=0)
    events = [orjson.loads(event) for _, event in read.events]
    status = "resolved" if store == "whole" else "unavailable"
    assert [(entry["ref"], entry["status"]) for entry in events[0]["references"]] == [(ref, status)]
    assert events[1]["error"]["code"] == "interrupted"
    assert talk.again(conversation).get_message_list()[0]["references"] == events[0]["references"]
    assert len(backlinks(**who, message_id=message_id)) == (store == "whole")
