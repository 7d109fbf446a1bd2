"""The journey of a message, from acceptance to the last event."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from chat.exchange.errors import EmptyMessageError, MessageTooLongError
from chat.processes.threads import WorkerThreads
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import delete_conversation
from database.engine.errors import ConversationNotFoundError, StorageFailedError, TurnInProgressError
from database.schema import messages
from language_models.errors import ContextTooLongError, ModelFailedError, ModelUnavailableError
from language_models.ports import Delta
from language_models.testing import Reply, ScriptedChatModel
from sentences import say
from tests.chat.conftest import EMAIL, Talk, fid, joined, part
from tests.live_server import ROOT


def test_a_turn_is_a_report_then_the_answer_then_its_identifiers_then_done(talk: Talk) -> None:
    conversation = talk.new()
    events = talk.say(conversation, "How are you?")
    assert "references" in events[0]
    assert joined(events) == "Fine, thank you."
    assert events[-1]["done"] is True
    assert "message_ids" in events[-2]
    assert all({"text", "status"} <= event.keys() for event in events)


@pytest.mark.parametrize(("checkboxes", "hand_overs"), [({}, 1), ({"use_pkb": False}, 0)])
def test_at_most_one_hand_over_to_a_thread_comes_before_the_model_is_asked(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, checkboxes: dict[str, bool], hand_overs: int
) -> None:
    """References, summary and history are read together: each hand-over costs more than such a reading.

    Where nothing is to be looked up, the thread that accepts the turn reads them.
    """
    conversation = talk.new()
    talk.say(conversation, "How are you?")
    handed_over, on_loop = list[int](), WorkerThreads.on_loop

    def counted(pool: WorkerThreads, work: Callable[[], Any]) -> asyncio.Future[Any]:
        handed_over.append(len(talk.models.main_model.calls))
        return on_loop(pool, work)

    monkeypatch.setattr(WorkerThreads, "on_loop", counted)
    talk.say(conversation, "And since when?", checkboxes=checkboxes)
    assert handed_over.count(1) == hand_overs
    assert [message["content"] for message in talk.models.main_model.calls[-1].prompt][-3:-1] == [
        "How are you?",
        "Fine, thank you.",
    ]


def test_a_plain_turn_whose_history_can_not_be_read_is_finished(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = talk.new()
    talk.say(conversation, "How are you?")

    def fail(*_: Any, **__: Any) -> None:
        raise StorageFailedError("The disk is gone.")

    with monkeypatch.context() as broken:
        broken.setattr("chat.turns.history.History.last_messages", fail)
        events = talk.say(conversation, "And since when?", checkboxes={"use_pkb": False})
    assert events[-1]["answer_status"] == "failed"
    assert joined(talk.say(conversation, "Again?")) == "Fine, thank you."


def test_no_constant_limits_an_answer(talk: Talk) -> None:
    talk.say(talk.new(), "Tell me all of it.")
    assert [call.max_tokens for call in talk.models.main_model.calls] == [None]


def test_what_the_server_says_can_be_said_in_any_language_also_later(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply(Delta(text="Once", finish_reason="length"))])
    conversation = talk.new()
    events = talk.say(conversation, "See @conversation_nothing_like_it_b4f2 and tell me all of it.")
    question, answer = talk.again(conversation).get_message_list()[-2:]
    (entry,) = part(events, "references")
    assert (entry["notes"], entry["said"]) == (["No such conversation."], [[{"code": "no_conversation", "values": {}}]])
    assert question["references"] == [entry]
    (notice,) = answer["parts"]
    name = talk.models.main_model.name
    assert notice["text"] == f"{name} cut the answer at a limit of its own. Ask the model to go on where it stopped."
    assert notice["said"] == [
        {"code": "cut_by_model", "values": {"model": name}},
        {"code": "ask_to_go_on", "values": {}},
    ]
    assert [event["part"] for event in events if "notice" in event] == [notice]


def test_progress_is_told_with_its_code(talk: Talk) -> None:
    told = Delta(status=say("model_reading_left", tokens=1200, seconds=20))
    talk.models.main_model = ScriptedChatModel(replies=[Reply(told, "Read.")])
    events = talk.say(talk.new(), "Read it.")
    assert [(event["status"], event["said"]) for event in events if event["status"]] == [
        (
            "The model is reading 1,200 tokens: about 20 s left.",
            [{"code": "model_reading_left", "values": {"tokens": 1200, "seconds": 20}}],
        )
    ]


def test_an_answer_that_was_cut_says_so_for_good(talk: Talk) -> None:
    cut = Delta(text="Once", status="The answer was cut at its limit.", finish_reason="length")
    talk.models.main_model = ScriptedChatModel(replies=[Reply(cut)])
    conversation = talk.new()
    told = part(talk.say(conversation, "Tell me all of it."), "notice")
    assert told.startswith("The answer was cut")
    answer = talk.again(conversation).get_message_list()[-1]
    assert (answer["status"], answer["config"]["finish_reason"]) == ("complete", "length")
    (notice,) = answer["parts"]
    assert (notice["kind"], notice["at"]) == ("notice", len(answer["text"]))
    assert notice["text"] == told
    assert "Ask the model to go on" in told


def test_an_answer_that_a_content_filter_cut_says_so_for_good(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Once", finish_reason="content_filter")])
    conversation = talk.new()
    told = part(talk.say(conversation, "Tell me all of it."), "notice")
    assert "content filter" in told
    answer = talk.again(conversation).get_message_list()[-1]
    assert (answer["text"], answer["status"]) == ("Once", "complete")
    assert [notice["text"] for notice in answer["parts"]] == [told]


def test_what_the_last_step_says_of_the_answer_is_kept(talk: Talk) -> None:
    told = say("prompt_truncated", model="m", tokens=4_096)
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Once", Delta(status=told, finish_reason="stop"))])
    conversation = talk.new()
    assert part(talk.say(conversation, "Tell me all of it."), "notice") == told
    assert [notice["text"] for notice in talk.again(conversation).get_message_list()[-1]["parts"]] == [told]


def test_a_content_filter_that_let_nothing_through_is_named(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply(finish_reason="content_filter")])
    assert "content filter" in part(talk.say(talk.new(), "Hm?"), "error")["message"]


def test_a_model_that_only_thought_says_so_and_what_to_do(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply(finish_reason="length")])
    error = part(talk.say(talk.new(), "Hm?"), "error")
    assert "by thinking" in error["message"]
    assert "ANAPHORA_ANSWER_TOKENS" in error["message"]


def test_the_hashes_streamed_are_the_hashes_stored_and_listed_first_turn_included(talk: Talk) -> None:
    conversation = talk.new()
    for question in ("yes", "yes", "yes"):
        ids = part(talk.say(conversation, question), "message_ids")
        listed = talk.again(conversation).get_message_list()[-2:]
        assert [m["message_short_hash"] for m in listed] == [
            ids["user_message_short_hash"],
            ids["response_message_short_hash"],
        ]
        assert [m["message_index"] for m in listed] == [ids["user_message_index"], ids["response_message_index"]]
    hashes = [m["message_short_hash"] for m in talk.again(conversation).get_message_list()]
    assert len(set(hashes)) == 6
    assert all(re.fullmatch("[a-z0-9]{6}", short_hash) for short_hash in hashes)


def test_the_first_turn_gives_title_and_friendly_id(talk: Talk) -> None:
    conversation = talk.new()
    event = part(talk.say(conversation, "How are you?"), "conversation")
    assert event["title"] == "Talking About Things"
    assert re.fullmatch(r"talking_things_[a-z0-9]{4}", event["conversation_friendly_id"])
    assert talk.again(conversation).get_metadata()["title"] == "Talking About Things"
    assert not any("conversation" in later for later in talk.say(talk.again(conversation), "And now?"))


def test_a_title_set_by_hand_is_never_overwritten(talk: Talk) -> None:
    conversation = talk.new()
    conversation.set_field("title", "My own title")
    talk.say(conversation, "How are you?")
    metadata = talk.again(conversation).get_metadata()
    assert metadata["title"] == "My own title"
    assert metadata["conversation_friendly_id"].startswith("title_")


@pytest.mark.parametrize(
    "cheap",
    [
        ScriptedChatModel.failing(ModelFailedError("gone")),
        ScriptedChatModel.hanging(),
        ScriptedChatModel.saying("  \n"),
    ],
    ids=["fails", "hangs", "says nothing"],
)
def test_without_a_title_from_the_model_the_first_words_are_the_title(talk: Talk, cheap: ScriptedChatModel) -> None:
    talk.models.cheap_model = cheap
    talk.configure(title_timeout=0.05)
    conversation = talk.new()
    events = talk.say(conversation, "Optimise the React renders of my dashboard, please")
    assert part(events, "conversation")["title"].startswith("Optimise the React")
    assert joined(events) == "Fine, thank you."


def test_what_the_model_said_before_it_broke_off_is_kept(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel.failing(ModelFailedError("The model broke off."), after=["Half an "])
    conversation = talk.new()
    events = talk.say(conversation, "Tell me")
    assert part(events, "error") == {"code": "model_failed", "message": "The model broke off."}
    assert events[-1]["done"] is True
    stored = talk.again(conversation).get_message_list()[-1]
    assert (stored["text"], stored["status"]) == ("Half an ", "failed")
    assert stored["message_short_hash"]


def test_no_model_is_a_clear_error_and_the_message_is_kept(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel.failing(ModelUnavailableError("No model is set up."))
    conversation = talk.new()
    assert part(talk.say(conversation, "Are you there?"), "error")["code"] == "model_unavailable"
    assert talk.again(conversation).get_message_list()[0]["text"] == "Are you there?"


@pytest.mark.parametrize("text", ["And now?", "See @conversation_growing_tomatoes_k3m9_message_1"])
def test_a_conversation_deleted_before_its_model_is_asked_says_so(talk: Talk, text: str) -> None:
    conversation = talk.about("Numbers", ("one?", "1"))
    stream = conversation.reply(talk.query(text))
    delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=conversation.conversation_id)
    events = list(stream)
    assert part(events, "error") == {
        "code": "conversation_not_found",
        "message": "This conversation was deleted before the model was asked.",
        "said": [{"code": "deleted_before_asked", "values": {}}],
    }
    assert events[-1]["done"] is True
    assert talk.models.main_model.prompts == []


def test_a_second_message_while_one_is_answered_is_refused_and_leaves_nothing(talk: Talk) -> None:
    conversation = talk.new()
    with conversation.reply(talk.query("first")):
        with pytest.raises(TurnInProgressError):
            conversation.reply(talk.query("second"))
        assert [m["text"] for m in talk.again(conversation).get_message_list()] == ["first", ""]


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_an_empty_message_is_refused(talk: Talk, text: str) -> None:
    conversation = talk.new()
    with pytest.raises(EmptyMessageError):
        conversation.reply(talk.query(text))
    assert talk.again(conversation).get_message_list() == []


def test_a_message_may_have_200000_characters_and_not_one_more(talk: Talk) -> None:
    conversation = talk.new()
    with pytest.raises(MessageTooLongError):
        conversation.reply(talk.query("x" * 200_001))
    talk.models.main_model = ScriptedChatModel(replies=[Reply("long")], context_window=200_000)
    assert joined(talk.say(conversation, "x" * 200_000)) == "long"


def test_earlier_turns_reach_the_model_in_order_before_the_question(talk: Talk) -> None:
    conversation = talk.about("Numbers", ("one?", "1"), ("two?", "2"))
    talk.say(conversation, "three?")
    roles_and_texts = [(m["role"], m["content"]) for m in talk.models.main_model.prompts[-1][1:]]
    assert roles_and_texts == [
        ("user", "one?"),
        ("assistant", "1"),
        ("user", "two?"),
        ("assistant", "2"),
        ("user", "three?"),
    ]


def test_history_that_does_not_fit_the_window_is_left_out_from_its_beginning(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("ok")], context_window=1_000)
    conversation = talk.about("Long", ("first " * 900, "a"), ("second", "b"))
    talk.say(conversation, "now")
    contents = [m["content"] for m in talk.models.main_model.prompts[-1]]
    assert contents[1:] == ["second", "b", "now"]


def test_a_prompt_that_the_model_finds_too_long_is_made_shorter_and_said_so(talk: Talk) -> None:
    refusal = Reply(error=ContextTooLongError("too long"))
    talk.models.main_model = ScriptedChatModel(replies=[refusal, Reply("fits")], context_window=2_000)
    conversation = talk.about("Long", *[(f"question {n} " * 20, f"answer {n} " * 20) for n in range(6)])
    events = talk.say(conversation, "now")
    first, second = talk.models.main_model.prompts
    assert len(second) < len(first)
    assert joined(events) == "fits"
    assert any("Older messages are left out" in event["status"] for event in events)


def test_a_refusal_that_tells_the_true_window_is_followed_by_a_prompt_for_that(talk: Talk) -> None:
    model = ScriptedChatModel(
        replies=[Reply(error=ContextTooLongError("too long")), Reply("fits")], context_window=8_000
    )

    class Learning(ScriptedChatModel):
        @property
        def context_window(self) -> int:
            return 4_000 if model.calls else 8_000

    learning = Learning(replies=model._replies)
    model = talk.models.main_model = learning
    conversation = talk.about("Long", *[(f"question {n} " * 50, f"answer {n} " * 50) for n in range(20)])
    assert joined(talk.say(conversation, "now")) == "fits"
    first, second = (sum(len(message["content"]) for message in prompt) for prompt in learning.prompts)
    assert first > 9_000 > second > 4_000 * 3 * 0.6


def test_after_ten_messages_the_running_summary_is_made_behind_the_answer(talk: Talk) -> None:
    conversation = talk.about("Numbers", *[(f"question {n}", f"answer {n}") for n in range(4)])
    talk.models.cheap_model = ScriptedChatModel.saying("They counted.")
    events = talk.say(conversation, "last")
    assert events[-1]["done"] is True
    assert talk.again(conversation).running_summary == "They counted."
    asked = talk.models.cheap_model.prompts[-1][-1]["content"]
    assert "question 0" in asked
    assert "last" in asked


def test_a_conversation_of_another_person_cannot_be_opened(talk: Talk) -> None:
    conversation = talk.about("Private", ("secret", "kept"), email="eve@example.com")
    with pytest.raises(ConversationNotFoundError):
        type(conversation)("ada@example.com", talk.store, conversation.conversation_id)


def test_a_reply_is_kept_as_one(talk: Talk) -> None:
    conversation = talk.about("Numbers", ("one?", "1"))
    parent = conversation.get_message_list()[1]
    talk.say(conversation, "why?", reply_to=parent["short_id"])
    question = talk.again(conversation).get_message_list()[2]
    assert question["reply_to_id"] == parent["message_id"]
    assert question["thread_id"]
    assert fid(conversation)


def test_the_events_can_be_read_plainly_where_a_loop_is_running(talk: Talk) -> None:
    async def inside() -> list[dict[str, object]]:
        return talk.say(talk.new(), "hello")

    assert joined(asyncio.run(inside())) == "Fine, thank you."


def test_a_model_that_says_nothing_is_a_failure_that_is_said(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply()])
    conversation = talk.new()
    assert part(talk.say(conversation, "hello"), "error")["code"] == "model_failed"
    assert talk.again(conversation).get_message_list()[1]["status"] == "failed"


def test_the_ids_of_a_turn_are_found_by_its_texts(talk: Talk) -> None:
    conversation = talk.about("Numbers", ("one?", "1"), ("two?", "2"))
    assert conversation.get_message_ids()["response_message_index"] == 4
    assert conversation.get_message_ids("one?", "1")["user_message_index"] == 1
    assert conversation.get_message_ids("three?", "3") == {}


def leave_by_break(conversation: Conversation, talk: Talk) -> None:
    for event in conversation.reply(talk.query("Tell me all of it")):
        if event["text"]:
            break


def leave_by_an_exception(conversation: Conversation, talk: Talk) -> None:
    def listen() -> None:
        for event in conversation.reply(talk.query("Tell me all of it")):
            if event["text"]:
                raise LookupError("The script has a bug.")

    with suppress(LookupError):
        listen()


def leave_a_with_block(conversation: Conversation, talk: Talk) -> None:
    with conversation.reply(talk.query("Tell me all of it")) as events:
        next(event for event in events if event["text"])


def leave_an_async_loop(conversation: Conversation, talk: Talk) -> None:
    async def listen() -> None:
        async for event in conversation.reply(talk.query("Tell me all of it")):
            if event["text"]:
                break

    asyncio.run(listen())


def drop_it_before_the_first_event(conversation: Conversation, talk: Talk) -> None:
    conversation.reply(talk.query("Tell me all of it"))


@pytest.mark.parametrize(
    ("leave", "said"),
    [
        (leave_by_break, "Half "),
        (leave_by_an_exception, "Half "),
        (leave_a_with_block, "Half "),
        (leave_an_async_loop, "Half "),
        (drop_it_before_the_first_event, ""),
    ],
)
def test_an_answer_that_a_script_leaves_is_interrupted_and_the_conversation_answers_again(
    talk: Talk, leave: Callable[[Conversation, Talk], None], said: str
) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Half ", "of it"), Reply("All of it")])
    conversation = talk.new()
    leave(conversation, talk)
    assert joined(talk.say(conversation, "And now?")) in {"Half of it", "All of it"}
    question, answer, *later = talk.again(conversation).get_message_list()
    assert (answer["text"], answer["status"]) == (said, "interrupted")
    assert answer["config"]["error"]["code"] == "interrupted"
    assert question["message_short_hash"]
    assert answer["message_short_hash"]
    assert [message["status"] for message in later] == ["complete", "complete"]


def test_an_answer_that_was_heard_to_its_end_is_complete_however_it_is_left(talk: Talk) -> None:
    conversation = talk.new()
    with conversation.reply(talk.query("Hello")) as events:
        assert joined(list(events)) == "Fine, thank you."
    assert talk.again(conversation).get_message_list()[1]["status"] == "complete"


@pytest.mark.live
def test_a_turn_of_a_script_that_ends_in_mid_answer_is_finished(tmp_path: Path) -> None:
    script = """
import sys
from database.connection import open_store
from tests.chat.conftest import Talk
talk = Talk(open_store(sys.argv[1]))
events = talk.new().reply(talk.query("Tell me all of it"))
for event in events:
    if event["text"]:
        raise SystemExit(3)
"""
    database = open_store(tmp_path / "users")
    ended = subprocess.run(
        [sys.executable, "-c", script, database.folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (3, "")
    with database.reading() as connection:
        answer = connection.execute(
            select(messages.c.text, messages.c.status).where(messages.c.sender == "model")
        ).one()
    assert tuple(answer) == ("Fine, ", "interrupted")
    close_store(database.folder)
