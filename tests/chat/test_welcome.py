"""The conversations of the welcome are rows like any other: named, hashed, referring, found, and sound."""

from __future__ import annotations

import re

import pytest

from chat.welcome import _texts, welcome
from Conversation import Conversation
from conversation_reference_utils import unique_message_short_hash
from database.accounts.users import create_user
from database.conversations.deletion import empty_bin
from database.conversations.repository import delete_conversation, get_conversations_for_user
from database.engine.errors import UserNotFoundError
from database.history.references import backlinks
from database.search.indexing import index_pending
from endpoints.http.languages import LANGUAGES
from search.messages import search_conversation
from tests.chat.conftest import EMAIL, Talk, fid
from tests.load.invariants import broken_invariants

# What stands for a reference.
PLACES = re.compile(r"\{\w+\}")


@pytest.fixture
def welcomed(talk: Talk) -> Conversation:
    """The welcome of somebody new."""
    create_user(database=talk.database, user_email=EMAIL, password="correct horse battery")
    conversation_id = welcome(database=talk.database, user_email=EMAIL)
    return Conversation(EMAIL, talk.store, conversation_id or "")


@pytest.fixture
def trip(talk: Talk, welcomed: Conversation) -> Conversation:
    """The other conversation, which the welcome refers to."""
    rows = get_conversations_for_user(database=talk.database, user_email=EMAIL)
    other = next(row for row in rows if row.conversation_id != welcomed.conversation_id)
    return Conversation(EMAIL, talk.store, other.conversation_id)


def test_the_store_is_sound_afterwards(talk: Talk, welcomed: Conversation) -> None:
    assert len(welcomed.get_message_list()) == 2
    assert broken_invariants(talk.database.folder) == {}


def test_hashes_and_names_are_those_that_the_texts_give(welcomed: Conversation, trip: Conversation) -> None:
    assert fid(welcomed).startswith("welcome_anaphora_")
    assert fid(trip).startswith("weekend_lisbon_")
    for conversation in (welcomed, trip):
        for message in conversation.get_message_list():
            computed = unique_message_short_hash(fid(conversation), message["text"], taken=())
            assert message["message_short_hash"] == computed


def test_the_answers_are_given_by_anaphora_and_answer_their_questions(trip: Conversation) -> None:
    told = trip.get_message_list()
    assert [message["sender"] for message in told] == ["user", "model", "user", "model"]
    assert {message["config"].get("model") for message in told[1::2]} == {"Anaphora"}
    assert len({message["short_id"] for message in told}) == 4


def test_its_report_says_what_resolving_the_reference_says(
    talk: Talk, welcomed: Conversation, trip: Conversation
) -> None:
    question = welcomed.get_message_list()[0]
    stored = question["references"]
    live = [event["references"] for event in talk.say(talk.new(), question["text"]) if "references" in event]
    assert live[0] == stored
    assert stored[0]["target"]["message_id"] == trip.get_message_list()[3]["message_id"]
    assert trip.get_message_list()[3]["text"] in talk.last_prompt


def test_the_message_that_is_referred_to_knows_it(talk: Talk, welcomed: Conversation, trip: Conversation) -> None:
    plan = trip.get_message_list()[3]
    assert plan["backlink_count"] == 1
    found = backlinks(database=talk.database, user_email=EMAIL, message_id=plan["message_id"])
    assert [each["conversation_id"] for each in found] == [welcomed.conversation_id]


def test_its_words_are_found(talk: Talk, trip: Conversation) -> None:
    assert index_pending(database=talk.database) == 6
    found = search_conversation(
        database=talk.database, user_email=EMAIL, conversation_id=trip.conversation_id, q="cascais train"
    )
    assert [row.index for row in found] == [4]


def test_the_explanation_can_be_read_in_a_minute(welcomed: Conversation) -> None:
    explanation = welcomed.get_message_list()[1]["text"]
    assert 80 <= len(explanation.split()) <= 160


@pytest.mark.parametrize("language", ["de", "es", "zh-Hans"])
def test_it_is_told_in_the_language_of_the_page(talk: Talk, language: str) -> None:
    create_user(database=talk.database, user_email=EMAIL, password="correct horse battery")
    own = {"database": talk.database, "user_email": EMAIL}
    conversation_id = welcome(**own, language=language)
    names = {row.title: row.conversation_friendly_id for row in get_conversations_for_user(**own)}
    question, explanation = Conversation(EMAIL, talk.store, conversation_id or "").get_message_list()
    (report,) = question["references"]
    assert (report["status"], report["title"] in names, report["title"] in explanation["text"]) == (
        "resolved", True, True
    )  # fmt: skip
    assert "{" not in question["text"] + explanation["text"]
    assert not {"A weekend in Lisbon", "Welcome to Anaphora"} & names.keys()
    # The suggestions lead to what they ask about, in a report that has found it.
    assert f"@conversation_{names[report['title']]}_message_" in question["text"]
    assert broken_invariants(talk.database.folder) == {}


def test_all_languages_say_as_much_and_refer_to_the_same() -> None:
    def shape(language: str) -> list[list[str]]:
        texts = _texts(language)
        messages = [*texts["lisbon"]["messages"], *texts["welcome"]["messages"], *texts["welcome"]["suggestions"]]
        return [PLACES.findall(text) + (["/memory"] if text.startswith("/memory ") else []) for text in messages]

    assert [shape(language) for language in LANGUAGES] == [shape("en")] * len(LANGUAGES)


def test_both_can_be_deleted_for_good(talk: Talk, welcomed: Conversation, trip: Conversation) -> None:
    own = {"database": talk.database, "user_email": EMAIL}
    for conversation in (welcomed, trip):
        delete_conversation(**own, conversation_id=conversation.conversation_id)
    assert empty_bin(**own, domain="assistant") == 2
    assert broken_invariants(talk.database.folder) == {}
    assert welcome(**own) is None


def test_nobody_is_welcomed_without_an_account(talk: Talk) -> None:
    with pytest.raises(UserNotFoundError):
        welcome(database=talk.database, user_email="nobody@example.com")
