"""The running summary: everything that was said is read, once and in order, and a prompt has it where it needs it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from chat.turns.runner import TurnRunner
from Conversation import Conversation
from database.history import editing
from language_models.errors import ContextTooLongError
from language_models.ports import ChatMessage
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, Talk, parsed, wait_until


def read_by_the_summary(talk: Talk, *, up_to: int = 100_000) -> list[str]:
    """The numbers of the questions that the cheap model summarised, in that order; it takes `up_to` characters."""
    prompts = [str(prompt[-1]["content"]) for prompt in talk.models.cheap_model.prompts]
    taken = [prompt for prompt in prompts if len(prompt) <= up_to]
    return re.findall(r"^User: mark (\d+) ", "\n".join(taken), re.M)


@pytest.mark.parametrize("length", [0, 2_500, 5_000, 50_000])
@pytest.mark.parametrize("window", [2_000, 8_192, 128_000])
def test_messages_of_any_length_are_all_read_in_order_and_once(talk: Talk, length: int, window: int) -> None:
    turns = [(f"mark {n} {'x' * length}", "y" * length) for n in range(15)]
    conversation = talk.about("Long", *turns)
    talk.models.cheap_model = ScriptedChatModel(replies=[Reply("They counted.")], context_window=window)
    for _ in range(3):
        talk.say(talk.again(conversation), "go on")
    assert read_by_the_summary(talk) == [str(n) for n in range(15)]
    assert talk.again(conversation).get_field("summarised_ordinal") >= 27
    assert max(len(prompt[-1]["content"]) for prompt in talk.models.cheap_model.prompts) < 26_000


def test_a_model_that_finds_a_part_too_long_is_given_less_of_it(talk: Talk) -> None:
    def reply(prompt: Sequence[ChatMessage]) -> Reply:
        too_long = len(prompt[-1]["content"]) > 14_000
        return Reply(ContextTooLongError("Too long.", model="cheap")) if too_long else Reply("They counted.")

    conversation = talk.about("Long", *[(f"mark {n} {'7' * 3_000}", "8" * 3_000) for n in range(15)])
    talk.models.cheap_model = ScriptedChatModel(replies=reply)
    for _ in range(3):
        talk.say(talk.again(conversation), "go on")
    assert max(len(prompt[-1]["content"]) for prompt in talk.models.cheap_model.prompts) > 14_000
    assert read_by_the_summary(talk, up_to=14_000) == [str(n) for n in range(15)]


def test_a_model_that_takes_longer_than_the_setting_is_given_less_and_at_last_given_up(talk: Talk) -> None:
    conversation = talk.about("Long", *[(f"mark {n} {'7' * 3_000}", "8" * 3_000) for n in range(5)])
    talk.models.cheap_model = ScriptedChatModel.hanging()
    talk.configure(background_timeout=0.05)
    begun = time.monotonic()
    talk.say(conversation, "go on")
    assert time.monotonic() - begun < 30
    lengths = [len(prompt[-1]["content"]) for prompt in talk.models.cheap_model.prompts]
    assert len(lengths) == 3
    assert lengths == sorted(lengths, reverse=True)
    assert talk.again(conversation).running_summary == ""


def test_a_summary_has_room_for_its_words_in_languages_with_many_tokens_a_word(talk: Talk) -> None:
    conversation = talk.about("Long", *[(f"mark {n} ", f"answer {n}") for n in range(5)])
    talk.models.cheap_model = ScriptedChatModel(replies=[Reply("Они считали.")])
    talk.say(conversation, "go on")
    assert [call.max_tokens for call in talk.models.cheap_model.calls] == [150 * 4]


def test_what_is_deleted_while_it_is_summarised_stays_out(talk: Talk, runner: TurnRunner) -> None:
    conversation = talk.about("Tomatoes", *[(f"mark {n} ", f"answer {n}") for n in range(5)])
    summarising = Hold()
    talk.models.cheap_model = ScriptedChatModel(replies=lambda _prompt: Reply(summarising, "A summary."))
    parsed(runner.start(conversation, talk.query("How much water?")).lines())
    assert summarising.wait_until_reached()
    secret = conversation.get_message_list()[2]["message_id"]
    where = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    editing.delete_message(**where, message_id=secret, index=3)
    summarising.release()
    wait_until(lambda: runner.running() == 0)
    assert talk.again(conversation).running_summary == ""
    parsed(runner.start(talk.again(conversation), talk.query("And now?")).lines())
    wait_until(lambda: talk.again(conversation).running_summary == "A summary.")
    assert "mark 1 " not in str(talk.models.cheap_model.prompts[-1])


@pytest.mark.parametrize(("window", "known"), [(100_000, False), (2_000, True)])
def test_a_prompt_has_the_summary_where_something_is_left_out_of_it(talk: Talk, window: int, known: bool) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("ok")], context_window=window)
    conversation = talk.about("Long", *[(f"question {n}", "answer " * 150) for n in range(5)])
    conversation.set_field("memory", {"running_summary": "Salt was spoken of.", "summarised_ordinal": 10})
    talk.say(talk.again(conversation), "now")
    prompt = talk.models.main_model.prompts[-1]
    assert ("Salt was spoken of." in prompt[-1]["content"]) == known
    assert "Salt was spoken of." not in prompt[0]["content"]
    assert ("question 0" in str(prompt)) != known


def test_a_bundle_goes_on_where_the_summary_of_the_store_ended(talk: Talk, tmp_path: Path) -> None:
    conversation = talk.about("Counting", *[(f"mark {n} ", f"answer {n}") for n in range(8)])
    where = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    for message in conversation.get_message_list()[:2]:
        editing.delete_message(**where, message_id=message["message_id"], index=None)
    conversation.set_field("memory", {"running_summary": "They counted.", "summarised_ordinal": 4})
    bundle = Conversation.load_local(talk.again(conversation).save_local(tmp_path / "bundle"))
    assert bundle.get_field("summarised_messages") == 2
    talk.say(bundle, "mark 8 ")
    assert read_by_the_summary(talk) == ["2", "3", "4", "5", "6", "7", "8"]
    again = Conversation.load_local(tmp_path / "bundle")
    assert (again.running_summary, again.get_field("summarised_messages")) == ("Talking About Things", 16)
