"""Looking references up by a tool: each kind resolves its own, whatever sign its names begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.context import kinds
from chat.context.knowledge import KnowledgeAccess
from chat.tools.registry import ToolContext, ToolRegistry
from tests.chat.conftest import Talk
from tests.chat.context.test_kinds import Orders

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Orders:
    """A kind from outside whose names begin with a "#", or stand between two brackets."""
    added = Orders({"#T-7": "Seven apples.", "[[order 8]]": "Eight pears."})
    monkeypatch.setattr(kinds, "KINDS", [added, *kinds.KINDS])
    return added


def test_what_a_kind_from_outside_knows_is_resolved_whatever_its_sign(
    talk: Talk, orders: Orders, knowledge: KnowledgeAccess, call: Call
) -> None:
    assert talk
    assert knowledge
    for reference, body in orders.titles.items():
        told = call("resolve_reference", reference=reference)
        assert (told["success"], told["kind"], told["reference"]) == (True, "order", reference)
        assert [item["content"] for item in told["items"]] == [body]
    for unknown in ("#T-9", "[[order 9]]"):
        assert call("resolve_reference", reference=unknown)["success"] is False


def test_a_short_id_leads_out_of_the_conversation_of_the_call(
    talk: Talk, tools: ToolRegistry, context: Callable[..., ToolContext]
) -> None:
    there, here = talk.about("Bread Starter", ("Hello", "Hi")), talk.about("Garden", ("Roses?", "Yes"))
    for conversation, text in ((there, "Hi"), (here, "Yes")):
        short_id = conversation.get_message_list()[1]["short_id"]
        told = tools.call(
            "resolve_reference", {"reference": f"#{short_id}"}, context(conversation_id=here.conversation_id)
        )
        assert (told["success"], told["items"][0]["content"]) == (True, text)
