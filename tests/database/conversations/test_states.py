"""Flags, pins, the archive, temporary conversations and the bin; all of it after a restart as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from database import schema
from database.connection import close_store
from database.conversations import conversation, deletion, listing
from database.conversations import repository as conversations
from database.conversations.repository import create_temporary_conversation
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError, InvalidChangeError, TurnInProgressError
from database.sharing.copying import clone_conversation
from database.turns.turns import accept_turn
from database.workspaces.repository import load_workspaces
from search.things.conversations import autocomplete_conversations

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


@pytest.fixture
def own(database: Database) -> Callable[[str], dict[str, str]]:
    """What names one of Ann's conversations to every function."""
    return lambda conversation_id: {"database": database, "user_email": ANN, "conversation_id": conversation_id}


def make(database: Database, title: str = "") -> str:
    row = conversations.create_conversation(database=database, user_email=ANN, domain="assistant", title=title)
    return row.conversation_id


def listed(database: Database, **asked: Any) -> list[str]:
    rows, _ = listing.list_conversations(database=database, user_email=ANN, domain="assistant", **asked)
    return [row.conversation_id for row in rows]


def binned(database: Database, user_email: str = ANN) -> list[str]:
    found = deletion.list_bin(database=database, user_email=user_email, domain="assistant")
    return [each.title for each in found]


def set_columns(database: Database, conversation_id: str, **values: Any) -> None:
    change = update(schema.conversations).where(schema.conversations.c.conversation_id == conversation_id)
    database.write(lambda connection: connection.execute(change.values(values)).rowcount)


def stored(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(schema.conversations.c.conversation_id)).scalars())


def test_marks_are_there_after_a_restart(database: Database, own: Any) -> None:
    conversation_id = make(database)
    conversations.set_flag(**own(conversation_id), flag="purple")
    conversations.set_pinned(**own(conversation_id), pinned=True)
    close_store(database)
    (row,) = listing.list_conversations(database=database, user_email=ANN, domain="assistant")[0]
    shape = conversation.conversation_metadata(row)
    assert (shape["flag"], shape["pinned"]) == ("purple", True)
    assert shape == conversation.conversation_metadata(conversations.get_conversation(**own(conversation_id)))


def test_there_are_seven_flags_and_no_other(database: Database, own: Any) -> None:
    conversation_id = make(database)
    for flag in conversations.FLAGS:
        conversations.set_flag(**own(conversation_id), flag=flag)
        assert conversations.get_conversation(**own(conversation_id)).flag == flag
    for flag in ("pink", "", "Red", "red; x"):
        with pytest.raises(InvalidChangeError):
            conversations.set_flag(**own(conversation_id), flag=flag)
    assert len(conversations.FLAGS) == 7


def test_a_pin_keeps_its_time_until_it_is_taken_away(database: Database, own: Any) -> None:
    conversation_id = make(database)
    conversations.set_pinned(**own(conversation_id), pinned=True)
    first = conversations.get_conversation(**own(conversation_id))
    conversations.set_pinned(**own(conversation_id), pinned=True)
    assert conversations.get_conversation(**own(conversation_id)) == first
    conversations.set_pinned(**own(conversation_id), pinned=False)
    last = conversations.get_conversation(**own(conversation_id))
    assert last.pinned_at is None
    assert last.version > first.version


def test_nobody_else_marks_or_erases(database: Database, own: Any) -> None:
    conversation_id = make(database)
    foreign = {**own(conversation_id), "user_email": BEN}
    with pytest.raises(ConversationNotFoundError):
        conversations.set_flag(**foreign, flag="red")
    with pytest.raises(ConversationNotFoundError):
        conversations.set_pinned(**foreign, pinned=True)
    conversations.delete_conversation(**own(conversation_id))
    with pytest.raises(ConversationNotFoundError):
        deletion.erase_binned(**foreign)
    assert deletion.empty_bin(database=database, user_email=BEN, domain="assistant") == 0
    assert binned(database, BEN) == []
    assert stored(database) == {conversation_id}


def test_the_archive_can_be_listed_alone(database: Database, own: Any) -> None:
    kept, archived = make(database), make(database)
    conversations.update_conversation(**own(archived), changes={"archived": True})
    assert listed(database) == [kept]
    assert listed(database, archived_only=True) == [archived]
    assert set(listed(database, include_archived=True)) == {kept, archived}


def test_a_copy_has_the_flag_but_is_neither_pinned_nor_archived_nor_temporary(
    database: Database, own: Any, take_turn: Any
) -> None:
    source = create_temporary_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    take_turn(ANN, source)
    conversations.set_flag(**own(source), flag="green")
    conversations.set_pinned(**own(source), pinned=True)
    conversations.update_conversation(**own(source), changes={"archived": True})
    copy = clone_conversation(**own(source))
    assert (copy.flag, copy.pinned_at, copy.archived, copy.expires_at) == ("green", None, False, None)
    assert listed(database) == [copy.conversation_id]


def test_a_temporary_conversation_is_in_no_list(database: Database, own: Any, take_turn: Any) -> None:
    row = create_temporary_conversation(database=database, user_email=ANN, domain="assistant")
    take_turn(ANN, row.conversation_id)
    assert conversations.get_conversation(**own(row.conversation_id)).message_count == 2
    assert conversation.conversation_metadata(row)["temporary"] is True
    assert listed(database, include_archived=True) == []
    assert autocomplete_conversations(database=database, user_email=ANN, q="") == []
    (default,) = load_workspaces(database=database, user_email=ANN, domain="assistant")
    assert default["conversation_count"] == 0


def test_a_temporary_conversation_that_was_left_does_not_come_back(
    database: Database, own: Any, take_turn: Any
) -> None:
    left = create_temporary_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
    take_turn(ANN, left)
    conversations.delete_conversation(**own(left))
    assert binned(database) == []
    with pytest.raises(ConversationNotFoundError):
        conversations.restore_conversation(**own(left))
    assert deletion.purge_temporary(database=database) == 1
    assert stored(database) == set()


def test_a_temporary_conversation_is_erased_after_its_day_unless_it_is_being_answered(
    database: Database, own: Any
) -> None:
    over, young, busy = (
        create_temporary_conversation(database=database, user_email=ANN, domain="assistant").conversation_id
        for _ in range(3)
    )
    accept_turn(**own(busy), text="Hello", config={})
    for conversation_id in (over, busy):
        set_columns(database, conversation_id, expires_at=iso_in(seconds=-1))
    assert deletion.purge_temporary(database=database) == 1
    assert stored(database) == {young, busy}


def test_the_bin_lists_the_newest_deletion_first_with_the_days_it_has_left(database: Database, own: Any) -> None:
    for title in ("first", "second", "live"):
        conversation_id = make(database, title)
        if title != "live":
            conversations.delete_conversation(**own(conversation_id))
        if title == "first":
            set_columns(database, conversation_id, deleted_at=iso_in(days=-28, hours=-1))
    found = deletion.list_bin(database=database, user_email=ANN, domain="assistant")
    assert [(each.title, each.days_left) for each in found] == [("second", 30), ("first", 2)]


def test_only_what_is_in_the_bin_is_erased(database: Database, own: Any, take_turn: Any) -> None:
    gone, stays = make(database), make(database)
    take_turn(ANN, gone)
    with pytest.raises(ConversationNotFoundError):
        deletion.erase_binned(**own(gone))
    conversations.delete_conversation(**own(gone))
    deletion.erase_binned(**own(gone))
    with pytest.raises(ConversationNotFoundError):
        deletion.erase_binned(**own(gone))
    assert stored(database) == {stays}
    with database.reading() as connection:
        assert connection.execute(select(schema.messages.c.seq)).all() == []


def test_what_is_still_being_answered_is_not_erased(database: Database, own: Any) -> None:
    conversation_id = make(database, "busy")
    accept_turn(**own(conversation_id), text="Hello", config={})
    conversations.delete_conversation(**own(conversation_id))
    with pytest.raises(TurnInProgressError):
        deletion.erase_binned(**own(conversation_id))
    assert deletion.empty_bin(database=database, user_email=ANN, domain="assistant") == 0
    assert binned(database) == ["busy"]


def test_emptying_the_bin_erases_what_is_in_it_and_nothing_else(database: Database, own: Any) -> None:
    kept = make(database, "kept")
    for title in ("one", "two"):
        conversations.delete_conversation(**own(make(database, title)))
    assert deletion.empty_bin(database=database, user_email=ANN, domain="assistant") == 2
    assert binned(database) == []
    assert stored(database) == {kept}
