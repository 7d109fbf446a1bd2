"""Stateless conversations: turns are answered as anywhere else, and nothing of them is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from chat.turns import runner as turn_runner
from chat.turns.accept import ANSWER_AGAIN
from chat.turns.runner import TurnRunner
from Conversation import Conversation
from database.conversations.repository import update_conversation
from database.engine.errors import MessageNotFoundError, TurnInProgressError
from database.history.editing import delete_message, move_messages
from database.search.indexing import index_pending
from database.sharing.copying import clone_conversation, fork_conversation
from database.turns.recovery import close_interrupted_turns
from language_models.errors import ModelFailedError
from language_models.testing import Hold, Reply, ScriptedChatModel
from search.messages import search_conversation
from tests.chat.conftest import EMAIL, Talk, fid, joined, parsed, part, wait_until

KEPT = ("How much water?", "A litre a day.")


@pytest.fixture
def tomatoes(talk: Talk) -> Conversation:
    return stateless(talk, talk.about("Tomatoes", KEPT))


def stateless(talk: Talk, conversation: Conversation, *, on: bool = True) -> Conversation:
    """The conversation from now on: what is said in it is not kept, or kept again."""
    update_conversation(**who(conversation), database=talk.database, changes={"stateless": on})
    return talk.again(conversation)


def who(conversation: Conversation) -> dict[str, str]:
    return {"user_email": EMAIL, "conversation_id": conversation.conversation_id}


def everything(talk: Talk) -> dict[str, list[Any]]:
    """All rows of the store, but for what counts changes."""
    with closing(sqlite3.connect(talk.database.folder / "users.db")) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        # What was used counts, whatever is kept of it.
        passing = ("sqlite_", "messages_fts", "search_state", "usage_days")
        own = [name for name in names if not name.startswith(passing)]
        rows = {name: _rows(connection.execute(f'SELECT * FROM "{name}"')) for name in own}
    for row in rows["UserToConversationId"]:
        del row["version"]
    return rows


def _rows(found: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def texts(talk: Talk, conversation: Conversation) -> list[str]:
    return [message["text"] for message in talk.again(conversation).get_message_list()]


def held(talk: Talk) -> Hold:
    """The model says a word and waits."""
    hold = Hold()
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Salted ", hold, "water.")])
    return hold


def test_an_answer_comes_as_anywhere_else_and_says_that_it_is_not_kept(talk: Talk, tomatoes: Conversation) -> None:
    other = talk.about("Salt", ("What about salt?", "Salt kills slugs."))
    before = everything(talk)
    events = talk.say(tomatoes, f"And @conversation_{fid(other)}_message_2?", referenced_friendly_ids=[])
    assert joined(events) == "Fine, thank you."
    assert [entry["status"] for entry in part(events, "references")] == ["resolved"]
    assert "Salt kills slugs." in talk.last_prompt
    told = [event["message_ids"] for event in events if "message_ids" in event]
    assert [ids["kept"] for ids in told] == [False, False]
    assert told[-1]["user_message_short_hash"] is None
    assert events[-1]["done"] is True
    assert everything(talk) == before


def test_the_model_sees_what_is_kept_and_nothing_of_earlier_turns_that_are_not(
    talk: Talk, tomatoes: Conversation
) -> None:
    talk.say(tomatoes, "My secret is parsley.")
    talk.say(tomatoes, "What did I say?")
    prompt = str(talk.models.main_model.prompts[-1])
    assert "A litre a day." in prompt
    assert "What did I say?" in prompt
    assert "parsley" not in prompt


def test_a_turn_that_is_kept_says_nothing_of_it(talk: Talk) -> None:
    assert "kept" not in part(talk.say(talk.about("Tomatoes", KEPT), "Hello"), "message_ids")


def test_a_conversation_of_which_nothing_is_kept_gets_no_title_and_no_friendly_id(talk: Talk) -> None:
    conversation = stateless(talk, talk.new())
    before = everything(talk)
    events = talk.say(conversation, "Between us")
    assert not any("conversation" in event for event in events)
    assert talk.models.cheap_model.calls == []
    assert everything(talk) == before
    events = talk.say(stateless(talk, conversation, on=False), "For the record")
    assert part(events, "conversation")["title"] == "Talking About Things"
    assert texts(talk, conversation) == ["For the record", "Fine, thank you."]
    assert part(events, "message_ids")["user_message_index"] == 1


@pytest.mark.parametrize("how", ["failed", "cancelled", "interrupted"])
def test_what_ends_otherwise_is_not_kept_either(
    how: str, talk: Talk, runner: TurnRunner, tomatoes: Conversation
) -> None:
    before = everything(talk)
    if how == "failed":
        talk.models.main_model = ScriptedChatModel.failing(ModelFailedError("It broke."), after=["Salt"])
    else:
        talk.models.main_model = ScriptedChatModel.hanging("Salt")
    stream = runner.start(tomatoes, talk.query("Salted?"))
    wait_until(lambda: b'"text":"Salt"' in b"".join(stream._lines))
    assert runner._loop is not None
    if how != "failed":
        runner._loop.call_soon_threadsafe(runner._stop, stream, how)
    events = parsed(stream.lines())
    assert joined(events) == "Salt"
    assert events[-1]["done"] is True
    assert "is kept" not in str(events)
    assert everything(talk) == before


def test_while_it_runs_it_is_there_for_who_comes_back_and_no_second_one_begins(
    talk: Talk, runner: TurnRunner, tomatoes: Conversation
) -> None:
    before, hold = everything(talk), held(talk)
    stream = runner.start(tomatoes, talk.query("Salted?"))
    assert hold.wait_until_reached()
    listed = talk.again(tomatoes).get_message_list()
    assert [(message["text"], message["status"]) for message in listed[2:]] == [
        ("Salted?", "complete"),
        ("", "streaming"),
    ]
    assert [message["config"].get("kept") for message in listed] == [None, None, False, False]
    with pytest.raises(TurnInProgressError):
        runner.start(tomatoes, talk.query("And now?"))
    assert [row["event"] for row in everything(talk)["stream_events"]] == []
    wait_until(lambda: stream.last_seq >= 1)  # the model is asked while the report is told
    again = runner.watch(user_email=EMAIL, message_id=stream.message_id, after=1)
    hold.release()
    assert parsed(again.lines(1)) == parsed(stream.lines())[1:]
    assert everything(talk) == before


def test_who_reconnects_just_after_the_end_gets_all_of_it_and_later_nobody_does(
    talk: Talk, runner: TurnRunner, tomatoes: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = runner.start(tomatoes, talk.query("Salted?"))
    wait_until(lambda: runner.running() == 0)
    again = runner.watch(user_email=EMAIL, message_id=stream.message_id, after=0)
    assert joined(parsed(again.lines())) == "Fine, thank you."
    with pytest.raises(MessageNotFoundError):
        runner.watch(user_email="eve@example.com", message_id=stream.message_id, after=0)
    monkeypatch.setattr(turn_runner, "HOLD_SECONDS", 0.0)
    late = runner.start(tomatoes, talk.query("Salted?"))

    def gone() -> bool:
        try:
            runner.watch(user_email=EMAIL, message_id=late.message_id, after=0)
        except MessageNotFoundError:
            return True
        return False

    wait_until(gone)
    assert late.closed


def test_a_turn_is_what_its_conversation_was_when_it_was_asked(
    talk: Talk, runner: TurnRunner, tomatoes: Conversation
) -> None:
    hold = held(talk)
    stream = runner.start(tomatoes, talk.query("Between us?"))
    assert hold.wait_until_reached()
    stateless(talk, tomatoes, on=False)
    hold.release()
    parsed(stream.lines())
    assert texts(talk, tomatoes) == [*KEPT]

    hold = held(talk)
    stream = runner.start(talk.again(tomatoes), talk.query("For the record?"))
    assert hold.wait_until_reached()
    stateless(talk, tomatoes)
    hold.release()
    parsed(stream.lines())
    assert texts(talk, tomatoes) == [*KEPT, "For the record?", "Salted water."]


def test_after_a_crash_an_interrupted_turn_is_erased_and_what_is_kept_is_whole(
    talk: Talk, tomatoes: Conversation
) -> None:
    before = everything(talk)
    tomatoes._accept(talk.query("Between us?"))  # the process ends before the first event
    assert texts(talk, tomatoes) == [*KEPT, "Between us?", ""]
    assert close_interrupted_turns(database=talk.database) == 1
    assert everything(talk) == before
    assert close_interrupted_turns(database=talk.database) == 0


def test_what_was_indexed_while_it_ran_is_found_no_more(talk: Talk, runner: TurnRunner, tomatoes: Conversation) -> None:
    hold = held(talk)
    stream = runner.start(tomatoes, talk.query("Parsley?"))
    assert hold.wait_until_reached()
    index_pending(database=talk.database)
    hold.release()
    parsed(stream.lines())
    index_pending(database=talk.database)
    for word, found in [("parsley", 0), ("salted", 0), ("litre", 1)]:
        hits = search_conversation(**who(tomatoes), database=talk.database, q=word)
        assert len(hits) == found, word


def test_a_reply_opens_no_thread(talk: Talk, tomatoes: Conversation) -> None:
    answer = tomatoes.get_message_list()[1]
    before = everything(talk)
    talk.say(tomatoes, "Really?", reply_to=answer["message_id"])
    assert everything(talk) == before
    assert talk.again(tomatoes).get_message_list()[1]["thread_id"] is None


def test_a_kept_answer_can_be_made_again_and_its_variant_is_kept(talk: Talk, tomatoes: Conversation) -> None:
    answer = tomatoes.get_message_list()[1]
    events = talk.say(tomatoes, "", **{ANSWER_AGAIN: answer["message_id"]})
    assert "kept" not in part(events, "message_ids")
    assert texts(talk, tomatoes) == ["How much water?", "Fine, thank you."]


def copied(talk: Talk, conversation: Conversation) -> Conversation:
    row = clone_conversation(**who(conversation), database=talk.database)
    return Conversation(EMAIL, talk.store, row.conversation_id)


def test_a_copy_made_meanwhile_lacks_it_and_is_stateless_too(
    talk: Talk, runner: TurnRunner, tomatoes: Conversation
) -> None:
    hold = held(talk)
    stream = runner.start(tomatoes, talk.query("Between us?"))
    assert hold.wait_until_reached()
    copy = copied(talk, tomatoes)
    with pytest.raises(MessageNotFoundError):
        fork_conversation(**who(tomatoes), database=talk.database, message_id=stream.message_id)
    hold.release()
    parsed(stream.lines())
    assert texts(talk, copy) == [*KEPT]
    assert copy.get_metadata()["stateless"] is True


def moved(talk: Talk, conversation: Conversation) -> None:
    question = talk.again(conversation).get_message_list()[2]["message_id"]
    for _ in range(2):
        move_messages(**who(conversation), database=talk.database, message_ids=[question], direction="up")


def deleted(talk: Talk, conversation: Conversation) -> None:
    question = talk.again(conversation).get_message_list()[2]["message_id"]
    delete_message(**who(conversation), database=talk.database, message_id=question, index=None)


@pytest.mark.parametrize("change", [moved, deleted])
def test_changes_made_by_hand_meanwhile_leave_no_gap(
    change: Callable[[Talk, Conversation], None], talk: Talk, runner: TurnRunner, tomatoes: Conversation
) -> None:
    before, hold = everything(talk)["messages"], held(talk)
    stream = runner.start(tomatoes, talk.query("Between us?"))
    assert hold.wait_until_reached()
    change(talk, tomatoes)
    hold.release()
    parsed(stream.lines())
    assert everything(talk)["messages"] == before
    metadata = talk.again(tomatoes).get_metadata()
    assert metadata["message_count"] == 2
    talk.say(stateless(talk, tomatoes, on=False), "Well?")
    assert [row["ordinal"] for row in everything(talk)["messages"]] == [1, 2, 3, 4]


def test_a_summary_made_meanwhile_takes_nothing_of_it_along(talk: Talk, runner: TurnRunner) -> None:
    conversation = talk.about("Tomatoes", *[(f"question {n}", f"answer {n}") for n in range(5)])
    summarising = Hold()
    talk.models.cheap_model = ScriptedChatModel(replies=lambda _prompt: Reply(summarising, "A summary."))
    finished = runner.start(conversation, talk.query("How much water?"))
    talk.models.main_model = ScriptedChatModel.hanging("Salt")
    parsed(finished.lines())
    unkept = runner.start(stateless(talk, conversation), talk.query("My secret is parsley."))
    assert summarising.wait_until_reached()
    summarising.release()
    wait_until(lambda: talk.again(conversation).running_summary == "A summary.")
    assert runner.cancel(user_email=EMAIL, conversation_id=conversation.conversation_id)
    parsed(unkept.lines())
    assert "parsley" not in str(talk.models.cheap_model.calls)
    assert talk.again(conversation).get_field("summarised_ordinal") == 12
