"""The tools that search; numbers in names of tests are rows of the fourth seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.context.knowledge import KnowledgeAccess
from Conversation import Conversation
from database.conversations.repository import delete_conversation
from database.history.editing import show_or_hide_message
from database.search.indexing import index_pending
from search.patterns import Deadline
from tests.chat.conftest import EMAIL, Talk, fid, remember

Call = Callable[..., dict[str, Any]]
EVE = "eve@example.com"


@pytest.fixture
def garden(talk: Talk) -> Conversation:
    """A conversation of eight messages, of which the fifth says something about frost."""
    turns = [("Hello", "Hi"), ("Tomatoes?", "In full sun."), ("And the late frost?", "Cover them."), ("Thanks", "Bye")]
    return talk.about("Tomatoes in spring", *turns)


def test_5_3_and_5_4_a_message_that_matches_leads_to_its_conversation(garden: Conversation, call: Call) -> None:
    told = call("regex_search", pattern=r"late\s+fro.t", contentTypes=["conversations"], driveId="ignored")
    (match,) = told["matches"]
    assert (told["success"], told["truncated"]) == (True, False)
    message_hash = garden.get_message_list()[4]["message_short_hash"]
    assert match == {
        "type": "conversation",
        "title": "Tomatoes in spring",
        "conversationId": garden.conversation_id,
        "lineNumber": 5,
        "matchPreview": "And the late frost?",
        "suggestedLineRange": {"start": 2, "end": 8},
        "reference": f"@conversation_{fid(garden)}_message_{message_hash}",
    }


def test_5_5_the_suggested_lines_can_be_read(garden: Conversation, call: Call) -> None:
    (match,) = call("regex_search", pattern="^Hello$", searchIn="content")["matches"]
    assert match["suggestedLineRange"] == {"start": 1, "end": 4}
    start, end = match["suggestedLineRange"].values()
    read = call("read_conversation", conversationId=match["conversationId"], lineStart=start, lineEnd=end)
    assert read["returnedCount"] == 4
    assert garden.conversation_id == match["conversationId"]


def test_a_title_that_matches_has_no_line(garden: Conversation, call: Call) -> None:
    (match,) = call("search_pages", pattern="in spring$", title="Looking")["matches"]
    assert (match["lineNumber"], match["suggestedLineRange"]) == (None, None)
    assert match["reference"] == f"@conversation_{fid(garden)}"
    assert call("regex_search", pattern="in spring$", searchIn="content")["matches"] == []
    assert call("regex_search", pattern="late frost", searchIn="title")["matches"] == []


@pytest.mark.parametrize("is_indexed", [False, True])
def test_only_ones_own_live_messages_are_found(talk: Talk, call: Call, is_indexed: bool) -> None:
    talk.about("Of Eve", ("a needle of Eve", "no"), email=EVE)
    gone = talk.about("Gone", ("a needle that is gone", "no"))
    hidden = talk.about("Hidden", ("a needle that is hidden", "no"))
    kept = talk.about("Kept", ("a needle in the hay", "no"))
    delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=gone.conversation_id)
    (message, _) = hidden.get_message_list()
    show_or_hide_message(
        database=talk.database,
        user_email=EMAIL,
        conversation_id=hidden.conversation_id,
        message_id=message["message_id"],
        index=1,
        show_hide="hide",
    )
    if is_indexed:
        index_pending(database=talk.database)
    for pattern in ("needle", "a needle (in|of|that)", "(?i)NEEDLE", "n[e]+dle"):
        told = call("regex_search", pattern=pattern)
        assert [match["conversationId"] for match in told["matches"]] == [kept.conversation_id], pattern


def test_what_others_say_takes_no_place_among_the_results(talk: Talk, call: Call) -> None:
    """Permission comes before limits: whoever else says a word, and however often, hides no message of one's own."""
    talk.about("Kept", ("a needle in the hay", "no"))
    for number in range(5):
        talk.about(f"Of Eve {number}", ("a needle of Eve", "a needle again"), email=EVE)
    for name, arguments, rows in (
        ("regex_search", {"pattern": "a needle", "maxResults": 1}, "matches"),
        ("search_messages", {"query": "needle", "limit": 1}, "results"),
        ("list_conversations", {"limit": 1}, "conversations"),
    ):
        told = call(name, **arguments)
        assert [row["title"] for row in told[rows]] == ["Kept"], name
        assert not told.get("truncated"), name


def test_newest_come_first_and_no_more_than_wanted(talk: Talk, call: Call) -> None:
    for number in range(4):
        talk.about(f"Number {number}", (f"needle {number}", "no"))
    told = call("regex_search", pattern=r"needle \d", maxResults=3)
    assert [match["matchPreview"] for match in told["matches"]] == ["needle 3", "needle 2", "needle 1"]
    assert told["truncated"]
    assert not call("regex_search", pattern=r"needle \d", maxResults=4)["truncated"]


def test_a_search_that_takes_too_long_says_what_it_has_found(
    garden: Conversation, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deadline, "is_over", lambda _: True)
    told = call("regex_search", pattern="frost", searchIn="content")
    assert (told["success"], told["truncated"]) == (True, True)
    assert garden


@pytest.mark.parametrize("pattern", ["(?=x)", "(", "", "x" * 201])
def test_a_pattern_that_can_not_be_used_is_an_error(call: Call, pattern: str) -> None:
    told = call("regex_search", pattern=pattern)
    assert (told["success"], told["error"]["code"]) == (False, "bad_request")


def test_messages_are_found_by_words_with_their_references(garden: Conversation, call: Call) -> None:
    told = call("search_messages", query="late frost")
    (hit,) = told["results"]
    assert (hit["conversationId"], hit["lineNumber"], hit["sender"]) == (garden.conversation_id, 5, "user")
    assert call("resolve_reference", reference=hit["reference"])["items"][0]["content"] == "And the late frost?"
    assert call("search_messages", query="late frost", conversation=fid(garden))["results"]
    assert call("search_messages", query="late frost", before="2020")["results"] == []
    assert call("search_messages", query="late frost", email=EVE)["results"] == []
    assert call("search_messages", query="frost", after="someday")["error"]["message"].startswith("after: ")


def test_memories_are_found_with_their_references(talk: Talk, knowledge: KnowledgeAccess, call: Call) -> None:
    claim = remember(knowledge, "I prefer sour cherries", friendly_id="sour_cherries")
    remember(knowledge, "Eve prefers sour cherries", email=EVE)
    told = call("search_memories", query="sour cherries")
    (hit,) = told["results"]
    assert (hit["reference"], hit["statement"]) == ("@sour_cherries", claim.statement)
    (item,) = call("resolve_reference", reference="@sour_cherries")["items"]
    assert item["content"] == claim.statement
    assert call("search_memories", query="sour cherries", before="2020")["results"] == []
    assert call("resolve_reference", reference="@sour_cherries", email=EVE + "x")["success"] is False


def test_a_reference_that_names_nothing_is_an_error(garden: Conversation, call: Call) -> None:
    told = call("resolve_reference", reference=f"@conversation_{fid(garden)}_message_99")
    assert (told["success"], told["error"]["code"]) == (False, "out_of_range")
    assert call("resolve_reference", reference="@")["error"]["code"] == "bad_request"
    foreign = call("resolve_reference", reference=f"@conversation_{fid(garden)}", email=EVE)
    assert (foreign["success"], foreign["error"]["code"]) == (False, "not_found")


def test_what_is_hidden_from_models_is_not_looked_up_by_them(garden: Conversation, talk: Talk, call: Call) -> None:
    message = garden.get_message_list()[2]
    show_or_hide_message(
        database=talk.database,
        user_email=EMAIL,
        conversation_id=garden.conversation_id,
        message_id=message["message_id"],
        index=3,
        show_hide="hide",
    )
    name = f"@conversation_{fid(garden)}_message"
    for reference in (f"{name}_3", f"{name}_{message['message_short_hash']}", f"#{message['short_id']}"):
        told = call("resolve_reference", reference=reference)
        assert (told["success"], told["error"]["code"]) == (False, "empty"), reference
        assert "Tomatoes?" not in str(told)
    told = call("resolve_reference", reference=f"{name}s_2-4")
    assert [item.get("content") for item in told["items"]] == ["Hi", None, "In full sun."]
    assert "Tomatoes?" not in str(call("resolve_reference", reference=f"@conversation_{fid(garden)}"))


def test_a_short_id_names_a_message_of_the_conversation(
    garden: Conversation, tools: Any, context: Any, call: Call
) -> None:
    message = garden.get_message_list()[1]
    short = {"reference": f"#{message['short_id']}"}
    told = tools.call("resolve_reference", short, context(conversation_id=garden.conversation_id))
    assert told["items"] == [{"type": "conversation_message", "label": "[assistant]", "content": "Hi"}]
    missing = tools.call("resolve_reference", {"reference": "#zzzzzz"}, context(conversation_id=garden.conversation_id))
    assert missing["error"]["code"] == "message_not_found"
    assert call("resolve_reference", **short)["items"][0]["content"] == "Hi"
    assert call("resolve_reference", **short, email=EVE)["error"]["code"] == "message_not_found"
