"""Answers that are made again while the end of the turn before is still at work."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from chat.processes.metrics import Metrics
from chat.turns.accept import ANSWER_AGAIN
from chat.turns.runner import TurnRunner
from chat.turns.streams import LiveStream
from Conversation import Conversation
from database.engine.clock import iso_in
from database.engine.errors import InvalidChangeError, TurnInProgressError
from database.history.editing import edit_message
from database.schema import messages
from database.turns.events import append_events
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, Talk, fid, parsed, wait_until


def begin(talk: Talk, runner: TurnRunner, conversation: Conversation, message_id: str) -> LiveStream:
    return runner.start(talk.again(conversation), talk.query("", **{ANSWER_AGAIN: message_id}))


def test_the_last_events_of_a_turn_are_waited_for(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = talk.about("Tomatoes", ("How much water?", "Some."))
    message_id = conversation.get_message_list()[1]["message_id"]
    storing_the_end, go_on = threading.Event(), threading.Event()

    def held_at_the_end(connection: Any, rows: Any, writes: Any, **by: Any) -> None:
        if any(b'"done"' in event for _, _, event in rows):
            storing_the_end.set()
            assert go_on.wait(60)
        append_events(connection, rows, writes, **by)

    with monkeypatch.context() as held:
        held.setattr("chat.turns.runner.append_events", held_at_the_end)
        first = begin(talk, runner, conversation, message_id)
        assert storing_the_end.wait(60)
        variants = talk.again(conversation).get_message_list()[1]["variants"]
        with pytest.raises(TurnInProgressError):
            begin(talk, runner, conversation, message_id)
        assert talk.again(conversation).get_message_list()[1]["variants"] == variants
        go_on.set()
        parsed(first.lines())
    wait_until(lambda: runner.running() == 0)
    parsed(begin(talk, runner, conversation, message_id).lines())
    assert talk.again(conversation).get_message_list()[1]["text"] == "Fine, thank you."


def test_a_summary_that_ends_meanwhile_takes_nothing_of_the_new_attempt_along(talk: Talk, runner: TurnRunner) -> None:
    conversation = talk.about("Tomatoes", *[(f"question {n}", f"answer {n}") for n in range(5)])
    summarising = Hold()
    talk.models.cheap_model = ScriptedChatModel(replies=lambda _prompt: Reply(summarising, "A summary."))
    first = runner.start(conversation, talk.query("How much water?"))
    assert parsed(first.lines())[-1]["done"]
    assert summarising.wait_until_reached()

    talk.models.main_model = ScriptedChatModel.hanging("said ")
    second = begin(talk, runner, conversation, first.message_id)
    wait_until(lambda: b'"text":"said "' in b"".join(second._lines))
    summarising.release()
    wait_until(lambda: talk.again(conversation).running_summary == "A summary.")
    assert runner.running() == 1
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    assert parsed(second.lines())[-1]["done"]
    answer = talk.again(conversation).get_message_list()[-1]
    assert (answer["text"], answer["status"], len(answer["variants"])) == ("said ", "cancelled", 2)


@pytest.mark.parametrize(("summarised", "known"), [(6, True), (30, False)])
def test_a_summary_of_what_came_later_stays_out_of_an_earlier_answer(
    summarised: int, known: bool, talk: Talk, runner: TurnRunner
) -> None:
    conversation = talk.about("Tomatoes", *[(f"question {n}", f"answer {n} " * 100) for n in range(20)])
    conversation.set_field("memory", {"running_summary": "Salt was spoken of.", "summarised_ordinal": summarised})
    # Too small for all that was said before: what is left out is there as a summary.
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Again.")], context_window=2_000)
    message_id = conversation.get_message_list()[21]["message_id"]
    assert parsed(begin(talk, runner, conversation, message_id).lines())[-1]["done"]
    (call,) = talk.models.main_model.calls
    assert ("Salt was spoken of." in str(call.prompt)) == known
    assert "question 10" in str(call.prompt[-1])
    assert "question 11" not in str(call.prompt)


def test_a_bundle_holds_one_text_of_each_answer(talk: Talk, tmp_path: Path) -> None:
    conversation = talk.about("Tomatoes", ("How much water?", "Some."))
    bundle = Conversation.load_local(conversation.save_local(tmp_path / "bundle"))
    before = bundle.get_message_list()
    with pytest.raises(InvalidChangeError):
        bundle.reply(talk.query("", **{ANSWER_AGAIN: before[1]["message_id"]}))
    assert bundle.get_message_list() == before


def test_a_process_that_stood_still_loses_its_turn_to_the_one_that_makes_the_answer_again(
    talk: Talk, runner: TurnRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.turns.runner.RENEW_SECONDS", 600.0)
    still, writing = Hold(), Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("old ", still, "words"), Reply("new ", writing, "words")])
    conversation, other = talk.new(), TurnRunner(database=talk.database, metrics=Metrics())
    other.attach(runner._running_loop())
    first = runner.start(conversation, talk.query("How much water?"))
    wait_until(lambda: b'"text":"old "' in b"".join(first._lines))
    ended = update(messages).values(lease_until=iso_in(seconds=-1))
    talk.database.write(lambda connection: connection.execute(ended).rowcount)
    assert other.close_abandoned() == 1
    second = begin(talk, other, conversation, first.message_id)
    wait_until(lambda: b'"text":"new "' in b"".join(second._lines))

    still.release()
    assert any("error" in event for event in parsed(first.lines()))
    wait_until(lambda: runner.running() == 0)
    writing.release()
    assert parsed(second.lines())[-1]["answer_status"] == "complete"
    wait_until(lambda: other.running() == 0)
    answer = talk.again(conversation).get_message_list()[1]
    assert (answer["text"], answer["status"], len(answer["variants"])) == ("new words", "complete", 2)


def test_what_an_edit_removed_from_a_question_is_not_given_when_it_is_answered_again(
    talk: Talk, runner: TurnRunner
) -> None:
    name = fid(talk.about("Tomatoes", ("How much water?", "Two litres a plant.")))
    conversation = talk.about("Herons", ("What do they eat?", "Fish."))
    talk.say(conversation, f"And @conversation_{name}_message_2 says what?")
    assert "Two litres a plant." in talk.last_prompt
    question, answer = talk.again(conversation).get_message_list()[-2:]
    who = {"user_email": EMAIL, "conversation_id": conversation.conversation_id}
    edit_message(
        database=talk.database, **who, message_id=question["message_id"], index=3, text="And where do they live?"
    )
    parsed(begin(talk, runner, conversation, answer["message_id"]).lines())
    assert "Two litres a plant." not in talk.last_prompt
    assert talk.again(conversation).get_message_list()[2]["references"] == []
