"""A turn is given messages and documents that have to do with its question, unasked: few near ones, which it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from attachments.passages import index_pending as index_files
from attachments.storage import Attachments
from chat.context import related
from chat.context.knowledge import EmbeddingUpkeep, KnowledgeAccess
from database.accounts.users import create_user
from database.history.editing import show_or_hide_message
from database.history.references import backlinks
from database.search.indexing import index_pending
from language_models.ports import Speed
from language_models.testing import Reply, ScriptedChatModel
from search.meaning import MessageVectors
from tests.attachments.made_files import pdf_of
from tests.chat.conftest import EMAIL, Talk, remember
from tests.database.conftest import statements
from tests.search.thesaurus import Thesaurus
from truth_management_system.interface.structured_api import KnowledgeModels
from vault.documents import Vault, Vaults

__all__ = ["statements"]

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


def test_a_page_of_a_file_that_means_the_same_goes_with_a_later_question(remembering: Talk) -> None:
    create_user(database=remembering.database, user_email=EMAIL, password="correct horse battery")
    files = Attachments(database=remembering.database)
    remembering.configure(attachments=files)
    with files.receiving() as path:
        path.write_bytes(pdf_of(["The fruit is green.", "My automobile rattles when it is cold."]))
        file = files.store(EMAIL, path, name="garage.pdf")
    remembering.say(remembering.new(), "Keep this.", files=[file.attachment_id])
    index_files(files)
    assert remembering.services.vectors is not None
    remembering.services.vectors.files.embed_pending()
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert 'type="file">from garage.pdf, page 2, lines 1 to 1 (conversation_' in remembering.last_prompt
    assert "My automobile rattles when it is cold.</pkb_item>" in remembering.last_prompt
    assert "fruit" not in remembering.last_prompt
    (entry,) = report(events)
    assert (entry["kind"], entry["title"]) == ("file", "garage.pdf")
    assert entry["ref"].endswith("_file_1_pages_2-2")


def test_a_model_that_fails_leaves_the_turn_without_earlier_messages(remembering: Talk, model: Thesaurus) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    model.refuses = "orchestra"  # of the sentences by which a model is measured
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert report(events) == []
    assert events[-1]["answer_status"] == "complete"


def test_a_search_that_fails_leaves_the_turn_without_earlier_messages(
    remembering: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)

    def fail(*_: object, **__: object) -> None:
        raise ValueError("month must be in 1..12")

    monkeypatch.setattr(related, "related_messages", fail)
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert report(events) == []
    assert events[-1]["answer_status"] == "complete"


def test_of_a_very_long_question_the_beginning_is_compared(remembering: Talk, model: Thesaurus) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    model.embedded.clear()
    assert report(remembering.say(remembering.new(), f"What was wrong with the car? {'More words. ' * 1_000}"))
    assert max(map(len, model.embedded)) <= 2_000


@pytest.mark.parametrize("why", ["the setting", "the person", "no model"])
def test_nothing_is_looked_for_where_it_is_not_wanted(remembering: Talk, model: Thesaurus, why: str) -> None:
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    more: dict[str, Any] = {}
    if why == "the setting":
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


def test_a_message_of_a_conversation_that_is_named_whole_is_not_found_again(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    reference = f"@conversation_{conversation.get_metadata()['conversation_friendly_id']}"
    events = remembering.say(remembering.new(), f"What was wrong with the car {reference}?")
    assert [entry["ref"] for entry in report(events)] == [reference]
    assert remembering.last_prompt.count("My automobile rattles.") == 1


def test_coming_along_is_no_reference(remembering: Talk) -> None:
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    assert report(remembering.say(remembering.new(), "What was wrong with the car?"))
    message_id = conversation.get_message_list()[0]["message_id"]
    assert backlinks(database=remembering.database, user_email=EMAIL, message_id=message_id) == []


def answer_with(talk: Talk, *, window: int, reading: float | None = None) -> None:
    """Have a model with such a window answer. reading: tokens a second."""
    speed = Speed(reading=reading, writing=None)
    talk.models.main_model = ScriptedChatModel(replies=[Reply("Fine.")], context_window=window, speed=speed)


def given(talk: Talk) -> list[str]:
    """The items of the last prompt that nobody named."""
    return re.findall(r'<pkb_item source="auto".*?</pkb_item>', talk.last_prompt, re.DOTALL)


def tokens_of(talk: Talk, items: list[str]) -> int:
    return talk.models.main_model.count_tokens("\n".join(items))


def test_a_message_goes_along_whole_where_the_window_has_room_for_it(remembering: Talk) -> None:
    remembering.about("Garage", (f"My automobile rattles. {'And more. ' * 500}", "Oh."))
    embed(remembering)
    remembering.say(remembering.new(), "What was wrong with the car?")
    assert remembering.last_prompt.count("And more.") == 500


@pytest.mark.parametrize("window", [4_096, 8_192])
def test_what_goes_along_takes_a_share_of_a_small_window(remembering: Talk, window: int) -> None:
    remembering.about("Repairs", *((f"My automobile rattles. {'And more. ' * 500}", "Oh.") for _ in range(3)))
    embed(remembering)
    answer_with(remembering, window=window)
    remembering.say(remembering.new(), "What was wrong with the car?")
    assert 1 <= len(given(remembering)) <= 3
    assert tokens_of(remembering, given(remembering)) <= window // 4


def test_of_a_message_that_is_too_long_the_part_is_given_that_says_most_and_it_says_so(remembering: Talk) -> None:
    beginning, end = "It was a long day. " * 300, "Nothing else was said. " * 300
    remembering.about("Garage", (f"{beginning}The wheel of my automobile had a crack.\n{end}", "Oh."))
    embed(remembering)
    answer_with(remembering, window=8_192)
    events = remembering.say(remembering.new(), "What was wrong with the wheel of my car?")
    (item,) = given(remembering)
    assert "(You), " in item
    assert ", an excerpt:\n… " in item
    assert "The wheel of my automobile had a crack." in item
    assert "... [truncated, original message was" in item
    (entry,) = report(events)
    assert entry["status"] == "truncated"
    assert entry["notes"][1].startswith("An excerpt is given: ")


def test_a_slow_model_is_given_no_more_than_it_reads_in_three_seconds(
    remembering: Talk, model: Thesaurus, knowledge: KnowledgeAccess
) -> None:
    """By its measured speed: what is found unasked delays the first word by three seconds at most."""
    remembering.configure(
        knowledge=KnowledgeAccess(remembering.database.folder, models=lambda: KnowledgeModels(embedding=model))
    )
    for number in range(10):
        remember(knowledge, f"The car has the dent number {number}", claim_type="fact", context_domain="personal")
    remembering.about("Repairs", *((f"My automobile rattles, {number}. {'More. ' * 60}", "Oh.") for number in range(3)))
    embed(remembering)
    question, taken = "What was wrong with the car?", []
    for reading in (1.0, 60.0, 200.0, None):
        answer_with(remembering, window=8_192, reading=reading)
        remembering.say(remembering.new(), question)
        taken.append(tokens_of(remembering, given(remembering)))
    # However slow the model is, the best of what was found goes along.
    assert 0 < taken[0] <= 8_192 // 64
    assert taken[0] < taken[1] <= 3 * 60
    assert taken[1] < taken[2] <= 3 * 200
    assert taken[2] <= taken[3] <= 8_192 // 4


# ------------------------------------------------------------------ documents


def keep_documents(talk: Talk, model: Thesaurus, files: dict[str, str], *, email: str = EMAIL) -> None:
    """Put documents into the person's vault, and have them found by words and by meaning."""
    vaults = talk.services.vaults
    if vaults is None:
        for each in (EMAIL, OTHER):
            create_user(database=talk.database, user_email=each, password="correct horse battery")
        vaults = Vaults(database=talk.database, embedding=lambda: model)
        talk.configure(vaults=vaults)
    for path, text in files.items():
        vaults.of(email).write(path, text)
    vaults.vectors.embed_pending()


PLAN = "# Workshop\n\nThe automobile needs new brakes.\n\n# Garden\n\nWatered the roses at dawn.\n"


@pytest.mark.parametrize("window", [8_192, 32_000])
def test_an_excerpt_of_a_document_that_means_the_same_goes_with_the_question(
    remembering: Talk, model: Thesaurus, window: int
) -> None:
    keep_documents(
        remembering, model, {"notes/Repairs.md": PLAN, "food.md": "# Kitchen\n\nSourdough wants patience.\n"}
    )
    answer_with(remembering, window=window)
    events = remembering.say(remembering.new(), "What does the car need?")
    (item,) = given(remembering)
    assert item.startswith('<pkb_item source="auto" type="document">from notes/Repairs.md, lines 1 to ')
    assert "The automobile needs new brakes." in item
    assert "roses" not in item
    (entry,) = report(events)
    assert (entry["kind"], entry["status"], entry["title"]) == ("document", "resolved", "Workshop")
    assert entry["notes"] == ["Found by what it says: the message did not name it."]
    assert entry["target"]["path"] == "notes/Repairs.md"
    assert entry["ref"] == f"notes/Repairs.md:1-{entry['target']['line_end']}"
    assert remembering.last_prompt.count("Referenced Documents:") == 0


def test_messages_and_documents_go_along_side_by_side(remembering: Talk, model: Thesaurus) -> None:
    keep_documents(remembering, model, {f"Repairs {n}.md": f"# Car {n}\n\nThe vehicle rusts, {n}.\n" for n in range(5)})
    remembering.about("Garage", *((f"My automobile rattles, {n}.", "Oh.") for n in range(5)))
    embed(remembering)
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert [entry["kind"] for entry in report(events)] == ["message"] * 3 + ["document"] * 3
    assert len(given(remembering)) == 6


def test_a_document_that_the_message_links_is_not_given_again(remembering: Talk, model: Thesaurus) -> None:
    keep_documents(remembering, model, {"Repairs.md": PLAN})
    events = remembering.say(remembering.new(), "What does the car need by [[Repairs]]?")
    assert [entry["ref"] for entry in report(events)] == ["[[Repairs]]"]
    assert remembering.last_prompt.count("The automobile needs new brakes.") == 1


def test_a_shared_common_word_is_not_enough(remembering: Talk, model: Thesaurus) -> None:
    keep_documents(remembering, model, {"Roses.md": "# Garden\n\nWe water the roses at dawn.\n"})
    remembering.about("Garden", ("At dawn the roses are watered.", "Every day?"))
    embed(remembering)
    assert report(remembering.say(remembering.new(), "At what time is dawn in Iceland in winter?")) == []
    assert given(remembering) == []


def test_what_others_wrote_never_goes_along(remembering: Talk, model: Thesaurus) -> None:
    keep_documents(remembering, model, {"Repairs.md": PLAN}, email=OTHER)
    assert report(remembering.say(remembering.new(), "What does the car need?")) == []


def test_a_vault_that_fails_leaves_the_turn_without_documents(
    remembering: Talk, model: Thesaurus, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_documents(remembering, model, {"Repairs.md": PLAN})
    remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)

    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Vault, "related_excerpts", fail)
    events = remembering.say(remembering.new(), "What was wrong with the car?")
    assert {entry["kind"] for entry in report(events)} == {"message"}
    assert events[-1]["answer_status"] == "complete"


@pytest.mark.parametrize("why", ["the setting", "no links", "no memories"])
def test_no_documents_are_looked_for_where_they_are_not_wanted(remembering: Talk, model: Thesaurus, why: str) -> None:
    keep_documents(remembering, model, {"Repairs.md": PLAN})
    if why == "the setting":
        remembering.configure(documents_found=0)
    switches = {"no links": {"use_documents": False}, "no memories": {"use_pkb": False}}.get(why, {})
    assert report(remembering.say(remembering.new(), "What does the car need?", checkboxes=switches)) == []


def test_a_person_who_has_nothing_costs_one_statement_more(
    remembering: Talk, model: Thesaurus, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    keep_documents(remembering, model, {})
    conversation = remembering.about("Garage", ("My automobile rattles.", "It is the stabiliser link."))
    embed(remembering)
    remembering.say(conversation, "Good morning to you")
    seen = {}
    for most in (0, 3):
        remembering.configure(messages_found=most, documents_found=most)
        with statements() as seen[most]:
            remembering.say(conversation, "What was wrong with the car?")
    (more,) = [statement for statement in seen[3] if statement not in seen[0]]
    assert more.startswith("SELECT EXISTS")


def test_a_turn_embeds_its_question_once_for_memories_and_messages(remembering: Talk, model: Thesaurus) -> None:
    knowledge = KnowledgeAccess(remembering.database.folder, models=lambda: KnowledgeModels(embedding=model))
    knowledge._config = replace(knowledge._config, embedding_timeout=300.0)
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
