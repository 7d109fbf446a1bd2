"""Whole conversations and ranges: what is too long is cut, which is said, and no question refers to itself."""

from __future__ import annotations

from dataclasses import replace

from chat.context.gather import resolve_report
from chat.exchange.ports import ReferenceCaps
from language_models.testing import Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, Talk, fid, part


def test_a_single_message_too_long_for_the_cap_is_cut_and_told_so(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("ok")], context_window=100_000)
    source = talk.about("Long One", ("how?", "word " * 6_000))
    events = talk.say(talk.new(), f"@conversation_{fid(source)}")
    (entry,) = part(events, "references")
    assert (entry["status"], entry["count"]) == ("truncated", 1)
    assert entry["notes"] == ["Message 2 is cut to 24,000 characters.", "The newest 1 of 2 messages."]
    assert entry["chars"] > 30_000
    assert "... [truncated, original message was 30000 chars]</pkb_item>" in talk.last_prompt


def test_a_conversation_that_refers_to_itself_means_what_was_said_before(talk: Talk) -> None:
    conversation = talk.about("Topic", ("question", "answer"))
    asked = f"Sum up @conversation_{fid(conversation)} and @conversation_{fid(conversation)}_messages_1-4, please."
    events = talk.say(conversation, asked)
    whole, span = part(events, "references")
    assert (whole["status"], whole["count"], whole["notes"]) == ("resolved", 2, [])
    assert (span["status"], span["count"]) == ("resolved", 2)
    assert span["notes"] == ["This question and its answer are left out."]
    assert talk.last_prompt.count("Sum up") == 1
    assert "2 messages" in talk.last_prompt


def test_a_range_of_nothing_but_the_question_itself_is_empty(talk: Talk) -> None:
    conversation = talk.about("Topic", ("question", "answer"))
    events = talk.say(conversation, f"@conversation_{fid(conversation)}_messages_3-4")
    assert [(entry["status"], entry["count"]) for entry in part(events, "references")] == [("empty", 0)]


def test_a_long_question_leaves_room_for_what_it_refers_to(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel(replies=[Reply("ok")], context_window=200_000)
    conversation = talk.about("Topic", ("question", "the answer"))
    events = talk.say(conversation, f"@conversation_{fid(conversation)} " + "word " * 6_000)
    assert [(entry["status"], entry["count"]) for entry in part(events, "references")] == [("resolved", 2)]
    assert "the answer</pkb_item>" in talk.last_prompt


def test_a_card_shows_the_fate_that_a_message_would_meet_under_the_settings(talk: Talk) -> None:
    talk.configure(caps=replace(ReferenceCaps(), message=100))
    ref = f"conversation_{fid(talk.about('Topic', ('how?', 'word ' * 40)))}_message_2"
    (told,) = part(talk.say(talk.new(), f"@{ref}"), "references")
    (card,) = resolve_report(
        [ref],
        user_email=EMAIL,
        database=talk.database,
        loader=talk.query("")["_conversation_loader"],
        services=talk.services,
    )
    assert card == told
    assert card["status"] == "truncated"
