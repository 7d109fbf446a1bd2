"""A prompt with more tokens than we count: it is cut until the model takes it, and what was cut is said."""

from __future__ import annotations

from typing import Any

import pytest

from language_models.errors import ContextTooLongError
from language_models.testing import Prompt, Reply, ScriptedChatModel
from tests.chat.conftest import Talk, fid, joined, part

DIGITS = "".join(f"{n * 7_919 % 100_003:06d},{n:05d}\n" for n in range(575))


def one_token_a_character(prompt: Prompt) -> Reply:
    """As a tokenizer counts digits."""
    tokens = sum(len(message["content"]) for message in prompt)
    return Reply("Read.") if tokens <= 6_144 else Reply(error=ContextTooLongError(f"{tokens} tokens are too many"))


def said(events: list[dict[str, Any]]) -> list[str]:
    return [event["status"] for event in events if "too long" in event["status"]]


@pytest.fixture
def talk(talk: Talk) -> Talk:
    talk.models.main_model = ScriptedChatModel(replies=one_token_a_character, context_window=8_192)
    return talk


def test_what_was_named_is_cut_until_it_fits_and_its_report_says_so(talk: Talk) -> None:
    source = talk.about("Two Tables", ("first", DIGITS), ("second", DIGITS))
    refs = [f"@conversation_{fid(source)}_message_{n}" for n in (2, 4)]
    conversation = talk.new()
    events = talk.say(conversation, f"Add {refs[0]} and {refs[1]}")

    assert joined(events) == "Read."
    assert len(talk.models.main_model.prompts) == 3
    report = part(events, "references")
    assert [entry["status"] for entry in report] == ["truncated", "truncated"]
    assert all(len(entry["notes"]) == 1 and entry["notes"][0].startswith("Cut so that") for entry in report)
    assert talk.again(conversation).get_message_list()[0]["references"] == report
    parts = talk.last_prompt.split("(Assistant):\n")[1:]
    assert len(parts) == 2
    assert all(DIGITS.startswith(each.split("\n... [truncated, original message was 7475 chars]")[0]) for each in parts)
    assert all(
        sentence.endswith(" What goes with your message is cut, as its references say.") for sentence in said(events)
    )


def test_history_is_said_to_be_left_out_only_where_there_was_some(talk: Talk) -> None:
    conversation = talk.about("Old Tables", ("first", DIGITS[:4_000]), ("second", DIGITS[:4_000]))
    events = talk.say(conversation, "And now?")
    assert joined(events) == "Read."
    assert said(events)[-1] == "All of it is too long for the model. Older messages are left out."
    assert [event for event in events if "references" in event] == [events[0]]


def test_a_question_too_long_by_itself_is_asked_once_and_told_so(talk: Talk) -> None:
    events = talk.say(talk.new(), DIGITS)
    assert part(events, "error")["code"] == "context_too_long"
    assert len(talk.models.main_model.prompts) == 1
    assert said(events) == []
