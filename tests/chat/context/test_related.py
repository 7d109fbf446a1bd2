"""A turn is given earlier messages that have to do with its question, unasked: few, near ones, and it says which."""

from __future__ import annotations

from typing import Any

import pytest

from chat.runtime.knowledge import EmbeddingUpkeep, KnowledgeAccess
from database.messages.editing import show_or_hide_message
from database.references import backlinks
from database.search.indexing import index_pending
from language_models.testing import Reply, ScriptedChatModel
from search.meaning import MessageVectors
from tests.chat.conftest import EMAIL, Talk
from tests.search.thesaurus import Thesaurus
from truth_management_system.interface.structured_api import KnowledgeModels

OTHER = "bob@example.com"


@pytest.fixture
def model() -> Thesaurus:
    return Thesaurus()


@pytest.fixture
def remembering(talk: Talk, model: Thesaurus) -> Talk:
    """A talk whose model has a large window, and whose messages have vectors."""
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Fine.")], context_window=32_000)
    talk.configure(vectors=MessageVectors(database=talk.database, model=lambda: model))
    return talk


def embed(talk: Talk) -> None:
    index_pending(database=talk.database)
    assert talk.services.vectors is not None
    talk.services.vectors.embed_pending()


def report(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is told of messages; a slow machine may still be opening the memories."""
    last = [event["references"] for event in events if "references" in event][-1]
    return [entry for entry in last if entry["ref"] != "memories"]


def test_a_message_of_another_conversation_that_means_the_same_goes_with_the_question(remembering: Talk) -> None:
    remembering.about("Garage", ("My automobile rattles when it is cold.", "It is the stabiliser link."))
    embed(remembering)
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    prompt = remembering.last_prompt
    assert '<pkb_item source="auto" type="conversation_message">from garage_' in prompt
    assert "My automobile rattles when it is cold.</pkb_item>" in prompt
    entry = report(events)[0]
    assert (entry["kind"], entry["status"]) == ("message", "resolved")
    assert entry["notes"] == ["Found by what it says: the message did not name it."]
    assert not entry["ref"].startswith("@")


def test_nothing_goes_with_a_question_that_nothing_has_to_do_with(remembering: Talk) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    assert report(remembering.say(remembering.new(), "Name a green fruit.")) == []
    assert "pkb_item" not in remembering.last_prompt


def test_at_most_three_go_along(remembering: Talk) -> None:
    for number in range(6):
        remembering.about(
            f"Garage {number}", (f"My automobile number {number} rattles.", f"Vehicle {number}: sell it.")
        )
    embed(remembering)
    remembering.say(remembering.new(), "What was wrong with the car?")
    assert remembering.last_prompt.count('source="auto"') == 3


def test_what_the_model_sees_of_this_conversation_anyway_is_not_given_twice(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "Which vehicle is it?"))
    embed(remembering)
    assert report(remembering.say(conversation, "What was wrong with the car?")) == []


def test_what_others_said_never_goes_along(remembering: Talk) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."), email=OTHER)
    embed(remembering)
    assert report(remembering.say(remembering.new(), "What was wrong with the car?")) == []


def test_a_message_that_is_hidden_from_models_never_goes_along(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    own: dict[str, Any] = {"user_email": EMAIL, "conversation_id": conversation.conversation_id}
    for message in conversation.get_message_list():
        show_or_hide_message(
            database=remembering.database, **own, message_id=message["message_id"], index=None, show_hide="hide"
        )
    embed(remembering)
    assert report(remembering.say(remembering.new(), "What was wrong with the car?")) == []


def test_a_model_that_fails_leaves_the_turn_without_earlier_messages(remembering: Talk, model: Thesaurus) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    model.refuses = "orchestra"  # of the sentences by which a model is measured
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert report(events) == []
    assert events[-1]["answer_status"] == "complete"


def test_of_a_very_long_question_the_beginning_is_compared(remembering: Talk, model: Thesaurus) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    model.embedded.clear()
    assert report(remembering.say(remembering.new(), f"What was wrong with the car? {'More words. ' * 1_000}"))
    assert max(map(len, model.embedded)) <= 2_000


@pytest.mark.parametrize("why", ["a small window", "the setting", "the person", "no model"])
def test_nothing_is_looked_for_where_it_is_not_wanted(remembering: Talk, model: Thesaurus, why: str) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    more: dict[str, Any] = {}
    if why == "a small window":
        remembering.models.main_model = ScriptedChatModel(replies=[Reply("Fine.")], context_window=8_192)
    elif why == "the setting":
        remembering.configure(messages_found=0)
    elif why == "the person":
        more["checkboxes"] = {"use_pkb": False}
    else:
        model.phase = "failed"
    model.embedded.clear()
    assert report(remembering.say(remembering.new(), "What was wrong with the car?", **more)) == []
    assert model.embedded == []


def test_a_message_that_is_named_as_well_is_given_once_as_referenced(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    reference = f"@conversation_{conversation.get_metadata()['conversation_friendly_id']}_message_1"
    events = remembering.say(remembering.new(), f"What was wrong with the car {reference}?")
    assert remembering.last_prompt.count("My automobile rattles.") == 1
    assert [entry["ref"] for entry in report(events) if entry["preview"].startswith("My auto")] == [reference]


def test_coming_along_is_no_reference(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    assert report(remembering.say(remembering.new(), "What was wrong with the car?"))
    message_id = conversation.get_message_list()[0]["message_id"]
    assert backlinks(database=remembering.database, user_email=EMAIL, message_id=message_id) == []


def test_a_long_message_is_cut_and_says_so(remembering: Talk) -> None:
    remembering.about("Garage", (f"My automobile rattles. {'And more. ' * 500}", "Oh."))
    embed(remembering)
    remembering.say(remembering.new(), "What was wrong with the car?")
    assert "... [truncated, original message was" in remembering.last_prompt


def test_a_turn_embeds_its_question_once_for_memories_and_messages(remembering: Talk, model: Thesaurus) -> None:
    knowledge = KnowledgeAccess(remembering.database.folder, models=lambda: KnowledgeModels(embedding=model))
    remembering.configure(knowledge=knowledge)
    knowledge.for_user(EMAIL).add_claim("My car is an old estate", "fact", "personal", auto_extract=False)
    EmbeddingUpkeep(knowledge).embed_pending()
    remembering.about("Garage", ("My automobile rattles when it is cold.", "It is the stabiliser link."))
    embed(remembering)
    question = "What was wrong with the vehicle?"
    remembering.say(remembering.new(), question)
    assert "My car is an old estate" in remembering.last_prompt
    assert "My automobile rattles when it is cold." in remembering.last_prompt
    assert model.embedded.count(question) == 1
    knowledge.close()
