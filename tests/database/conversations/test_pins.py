"""Memories pinned to a conversation lie with it, and go where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from Conversation import Conversation
from database.conversations.conversation import conversation_version
from database.conversations.repository import (
    FIELD,
    MOST_PINNED,
    create_conversation,
    delete_conversation,
    pin_claim,
    unpin_claim,
)
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, InvalidChangeError
from database.sharing.copying import clone_conversation
from tests.stores import restarted

pytestmark = pytest.mark.contract

EMAIL = "ada@example.com"


@pytest.fixture
def own(database: Database) -> dict[str, str]:
    """A conversation, as the doors to it want it named."""
    row = create_conversation(database=database, user_email=EMAIL, domain="assistant")
    return {"database": database, "user_email": EMAIL, "conversation_id": row.conversation_id}


def pinned(own: dict[str, str], conversation_id: str | None = None) -> Any:
    """What is pinned to the conversation, read anew."""
    store = own["database"]
    return Conversation(EMAIL, store, conversation_id or own["conversation_id"]).get_field(FIELD)


def test_pins_stand_in_the_order_in_which_they_were_pinned(own: dict[str, str]) -> None:
    assert pin_claim(**own, claim_id="a") == ["a"]
    assert pin_claim(**own, claim_id="b") == ["a", "b"]
    assert pin_claim(**own, claim_id="a") == ["b", "a"]
    assert unpin_claim(**own, claim_id="b") == ["a"]
    assert unpin_claim(**own, claim_id="b") == ["a"]
    assert pinned(own) == ["a"]


def test_pins_survive_a_restart(own: dict[str, str]) -> None:
    pin_claim(**own, claim_id="a")
    assert pinned({**own, "database": restarted(own["database"])}) == ["a"]


def test_who_holds_the_conversation_learns_of_a_pin(own: dict[str, str]) -> None:
    held = Conversation(EMAIL, own["database"], own["conversation_id"])
    pin_claim(**own, claim_id="a")
    assert not held.is_at(conversation_version(**own))


def test_what_changes_nothing_leaves_the_conversation_as_it_is(own: dict[str, str]) -> None:
    pin_claim(**own, claim_id="a")
    before = conversation_version(**own)
    pin_claim(**own, claim_id="a")
    unpin_claim(**own, claim_id="b")
    assert conversation_version(**own) == before


def test_a_clone_has_the_pins_and_from_then_on_its_own(own: dict[str, str], take_turn: Callable[..., Any]) -> None:
    take_turn(EMAIL, own["conversation_id"])
    pin_claim(**own, claim_id="a")
    clone = clone_conversation(**own)
    pin_claim(**{**own, "conversation_id": clone.conversation_id}, claim_id="b")
    assert pinned(own, clone.conversation_id) == ["a", "b"]
    assert pinned(own) == ["a"]


def test_a_bundle_carries_the_pins(own: dict[str, str], take_turn: Callable[..., Any], tmp_path: Path) -> None:
    take_turn(EMAIL, own["conversation_id"])
    pin_claim(**own, claim_id="a")
    conversation = Conversation(EMAIL, own["database"], own["conversation_id"])
    bundle = Conversation.load_local(conversation.save_local(tmp_path / "bundle"))
    assert bundle.get_field(FIELD) == ["a"]


def test_other_fields_of_the_memory_and_pins_leave_each_other_alone(own: dict[str, str]) -> None:
    conversation = Conversation(EMAIL, own["database"], own["conversation_id"])
    conversation.set_field("mood", "calm")
    pin_claim(**own, claim_id="a")
    again = Conversation(EMAIL, own["database"], own["conversation_id"])
    assert (again.get_field("mood"), again.get_field(FIELD)) == ("calm", ["a"])


def test_a_turn_keeps_what_was_pinned_meanwhile(own: dict[str, str], take_turn: Callable[..., Any]) -> None:
    pin_claim(**own, claim_id="a")
    take_turn(EMAIL, own["conversation_id"])
    assert pinned(own) == ["a"]


def test_there_is_room_for_200(own: dict[str, str]) -> None:
    for number in range(MOST_PINNED):
        pin_claim(**own, claim_id=str(number))
    with pytest.raises(InvalidChangeError, match="At most 200"):
        pin_claim(**own, claim_id="one more")
    assert pin_claim(**own, claim_id="0")[-1] == "0"
    assert len(pinned(own)) == MOST_PINNED


def test_nobody_pins_to_what_is_not_theirs_or_gone(own: dict[str, str]) -> None:
    pin_claim(**own, claim_id="a")
    with pytest.raises(ConversationNotFoundError):
        pin_claim(**{**own, "user_email": "eve@example.com"}, claim_id="b")
    with pytest.raises(ConversationNotFoundError):
        unpin_claim(**{**own, "user_email": "eve@example.com"}, claim_id="a")
    assert pinned(own) == ["a"]
    delete_conversation(**own)
    with pytest.raises(ConversationNotFoundError):
        pin_claim(**own, claim_id="b")
