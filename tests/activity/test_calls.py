"""Each call of a tool is one activity, of the recipe that knows what was done, and goes with its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from activity.export import export
from activity.recipes import RecipeRegistry
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.history.editing import delete_message, restore_message
from database.timeline.moving import move_activity
from database.timeline.transcript import placed_activities
from database.turns.turns import accept_turn, finish_turn
from tests.activity.conftest import ADA

pytestmark = pytest.mark.contract
DONE: dict[str, Any] = {"kind": "tool_call", "at": 0, "status": "complete", "result": {"success": True}}
CALLS: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({"name": "read_document", "arguments": {"path": "plans/garden.md"}}, "📚 document_read: plans/garden.md"),
    ({"name": "read_page", "arguments": {"relative_path": "a.md"}}, "📚 document_read: a.md"),
    ({"name": "find_excerpts", "arguments": {"query": "basil and tomatoes"}}, "📚 document_search: basil and tomatoes"),
    (
        {"name": "ask_agent", "arguments": {"agentId": "the_cook", "question": "Salt?"}},
        "🤝 agent_consultation: the_cook: Salt?",
    ),
    ({"name": "read_document", "arguments": {}, "status": "failed"}, "🔧 tool_invocation: read_document failed"),
    ({"name": "search_messages", "arguments": {"query": "basil"}}, "🔧 tool_invocation: search_messages complete"),
    (
        {"name": "write_document", "result": {"success": True, "proposal": {"id": "x"}}},
        "🔧 tool_invocation: write_document complete",
    ),
    # The write itself is stored where the document is written.
    ({"name": "write_document", "arguments": {"path": "a.md"}}, None),
)


@pytest.fixture
def answered(database: Database, room: Callable[..., str]) -> tuple[dict[str, Any], str]:
    """A conversation with an answer that made all the calls: whose it is, and the id of the answer."""
    own: dict[str, Any] = {"database": database, "user_email": ADA, "conversation_id": room()}
    accepted = accept_turn(**own, text="What grows?", config={})
    parts = [{**DONE, **call, "id": number} for number, (call, _) in enumerate(CALLS, 1)]
    ended: dict[str, Any] = {"text": "Basil.", "status": "complete", "config": {"model": "small"}, "parts": parts}
    finish_turn(**own, response_message_id=accepted.response_message_id, **ended)
    return own, accepted.response_message_id


def told(own: dict[str, Any], recipes: RecipeRegistry, *include: str) -> list[str]:
    """What an export says of each activity of these kinds."""
    made = export(
        ADA,
        database=own["database"],
        recipes=recipes,
        room=own["conversation_id"],
        include=include,
        fmt="json",
    )
    items = json.loads(b"".join(made.chunks))["activities"]
    words = [
        each["payload"].get("path") or each["payload"].get("query") or each["payload"].get("agent") for each in items
    ]
    return [
        f"{each['recipe']} {each['type']} {word or each['payload']['name']}"
        for each, word in zip(items, words, strict=True)
    ]


def test_a_call_is_one_activity_of_what_was_done(answered: tuple[dict[str, Any], str], recipes: RecipeRegistry) -> None:
    own, _ = answered
    made = export(
        ADA,
        database=own["database"],
        recipes=recipes,
        room=own["conversation_id"],
        include=("tools", "documents", "agents"),
    )
    text = b"".join(made.chunks).decode().replace("\\", "")
    for _, line in CALLS:
        if line is not None:
            icon_and_type, _, words = line.partition(": ")
            assert f"{icon_and_type}**" in text
            assert words in text
    assert told(own, recipes, "documents") == [
        "vault document_read plans/garden.md",
        "vault document_read a.md",
        "vault document_search basil and tomatoes",
    ]
    assert told(own, recipes, "agents") == ["agents agent_consultation the_cook"]
    assert told(own, recipes, "tools") == [
        "tools tool_invocation read_document",
        "tools tool_invocation search_messages",
        "tools tool_invocation write_document",
    ]


def test_what_was_read_for_an_answer_goes_and_comes_back_with_it(
    answered: tuple[dict[str, Any], str], recipes: RecipeRegistry
) -> None:
    own, answer_id = answered
    before = told(own, recipes, "tools", "documents", "agents")
    assert len(before) == len(CALLS) - 1
    delete_message(**own, message_id=answer_id, index=None)
    assert told(own, recipes, "tools", "documents", "agents") == []
    restore_message(**own, message_id=answer_id)
    assert told(own, recipes, "tools", "documents", "agents") == before


def test_what_was_read_goes_with_its_answer_also_from_where_it_was_moved(
    answered: tuple[dict[str, Any], str],
) -> None:
    own, answer_id = answered
    (first, _), *_ = placed_activities(**own, limit=50)
    who: dict[str, Any] = {"database": own["database"], "user_email": ADA}
    there = create_conversation(**who, domain="assistant").conversation_id
    move_activity(**who, reference=first.activity_id, conversation_id=there)
    delete_message(**own, message_id=answer_id, index=None)
    assert placed_activities(**who, conversation_id=there, limit=50) == []
    restore_message(**own, message_id=answer_id)
    assert [each.activity_id for each, _ in placed_activities(**who, conversation_id=there, limit=50)] == [
        first.activity_id
    ]
