"""Conversations: made, found, listed, changed, moved, binned, erased; each only by whom it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from database import schema
from database.conversations import conversation, deletion, listing
from database.conversations import repository as conversations
from database.conversations.conversation import conversation_version
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import (
    ConversationNotFoundError,
    FriendlyIdTakenError,
    InvalidChangeError,
    WorkspaceNotFoundError,
)
from database.workspaces import repository as workspaces
from database.workspaces.repository import default_workspace_id

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


def make(database: Database, *, user_email: str = ANN, **values: Any) -> conversation.ConversationRow:
    return conversations.create_conversation(
        database=database, user_email=user_email, **{"domain": "assistant", **values}
    )


def fetch(database: Database, conversation_id: str, *, user_email: str = ANN) -> conversation.ConversationRow:
    return conversations.get_conversation(database=database, user_email=user_email, conversation_id=conversation_id)


def titles(database: Database, **asked: Any) -> list[str]:
    rows, _ = listing.list_conversations(database=database, user_email=ANN, **{"domain": "assistant", **asked})
    return [row.title for row in rows]


def test_a_new_conversation_has_an_unguessable_id_and_lies_in_the_default_workspace(database: Database) -> None:
    row = make(database, title="Trip")
    assert re.fullmatch(re.escape(ANN) + "_[A-Za-z0-9]{36}", row.conversation_id)
    assert row.workspace_id == default_workspace_id(ANN, "assistant")
    assert (row.title, row.message_count, row.conversation_friendly_id, row.archived) == ("Trip", 0, None, False)
    assert fetch(database, row.conversation_id) == row


def test_a_conversation_goes_only_into_an_own_workspace_of_its_domain(database: Database) -> None:
    own = workspaces.create_workspace(database=database, user_email=ANN, domain="assistant", workspace_name="Work")
    other_domain = workspaces.create_workspace(database=database, user_email=ANN, domain="search", workspace_name="S")
    foreign = workspaces.create_workspace(database=database, user_email=BEN, domain="assistant", workspace_name="B")
    assert make(database, workspace_id=own["workspace_id"]).workspace_name == "Work"
    with pytest.raises(InvalidChangeError):
        make(database, workspace_id=other_domain["workspace_id"])
    for unknown in (foreign["workspace_id"], "nowhere", default_workspace_id(BEN, "assistant")):
        with pytest.raises(WorkspaceNotFoundError):
            make(database, workspace_id=unknown)
    assert len(titles(database)) == 1


@pytest.mark.parametrize(
    "use",
    [
        conversations.get_conversation,
        conversations.delete_conversation,
        lambda **who: conversations.update_conversation(**who, changes={"title": "Mine now"}),
        lambda **who: conversations.move_conversation(
            **who, workspace_id=default_workspace_id(who["user_email"], "assistant")
        ),
        lambda **who: conversations.set_friendly_id(**who, conversation_friendly_id="mine_now_aaaa"),
        conversations.restore_conversation,
    ],
)
def test_somebody_elses_conversation_is_as_good_as_missing(database: Database, use: Callable[..., Any]) -> None:
    row = make(database)
    answers = []
    for conversation_id in (row.conversation_id, f"{BEN}_{'x' * 36}"):
        with pytest.raises(ConversationNotFoundError) as caught:
            use(database=database, user_email=BEN, conversation_id=conversation_id)
        answers.append(caught.value.message)
    assert answers[0] == answers[1]
    assert fetch(database, row.conversation_id) == row


def test_lookups_answer_nothing_for_what_is_somebody_elses(database: Database) -> None:
    row = make(database)
    own = {"database": database, "user_email": ANN}
    conversations.set_friendly_id(**own, conversation_id=row.conversation_id, conversation_friendly_id="trip_aaaa")
    for email, found in ((ANN, row.conversation_id), (BEN, None)):
        who = {"database": database, "user_email": email, "conversation_friendly_id": "trip_aaaa"}
        assert conversations.find_by_friendly_id(**who) == found
        assert conversations.friendly_id_exists(**who) is (found is not None)
    foreign = {"database": database, "user_email": BEN}
    assert conversation_version(**foreign, conversation_id=row.conversation_id) is None
    assert conversations.get_conversations_for_user(**foreign) == []
    assert listing.list_conversations(**foreign, domain="assistant") == ([], None)


def test_the_list_is_newest_first_and_pages_neither_repeat_nor_skip(database: Database) -> None:
    for number in range(7):
        make(database, title=str(number))
    make(database, title="elsewhere", domain="search")
    seen: list[str] = []
    cursor = None
    while True:
        rows, cursor = listing.list_conversations(
            database=database, user_email=ANN, domain="assistant", limit=3, cursor=cursor
        )
        seen += [row.title for row in rows]
        if cursor is None:
            break
        make(database, title="born while paging")
    assert seen == ["6", "5", "4", "3", "2", "1", "0"]


def test_pages_tell_conversations_of_the_same_moment_apart(database: Database) -> None:
    made = {make(database).conversation_id for _ in range(5)}
    same = update(schema.conversations).values(updated_at="2026-01-01T00:00:00.000000Z")
    database.write(lambda connection: connection.execute(same).rowcount)
    first, cursor = listing.list_conversations(database=database, user_email=ANN, domain="assistant", limit=2)
    rest, end = listing.list_conversations(
        database=database, user_email=ANN, domain="assistant", limit=3, cursor=cursor
    )
    assert {row.conversation_id for row in first + rest} == made
    assert end is None


@pytest.mark.parametrize("cursor", ["", "!", "YWJj", "YQpi", "é", "A" * 5000, "_w"])
def test_a_cursor_that_we_did_not_make_is_refused(database: Database, cursor: str) -> None:
    with pytest.raises(InvalidChangeError):
        titles(database, cursor=cursor)


@pytest.mark.parametrize("count", [3, 60])
def test_a_list_takes_three_queries_however_long_it_is(database: Database, statements: Any, count: int) -> None:
    for _ in range(count):
        make(database)
    with statements() as seen:
        rows, _ = listing.list_conversations(database=database, user_email=ANN, domain="assistant")
    assert (len(rows), len(seen)) == (count, 3)


def test_a_brief_list_reads_no_summaries(database: Database, statements: Any) -> None:
    make(database)
    whole, brief = listing.list_conversations, listing.list_brief_items
    for reads_them, read in ((True, whole), (False, brief)):
        with statements() as seen:
            rows, _ = read(database=database, user_email=ANN, domain="assistant")
        assert len(list(rows)) == 1
        assert any("running_summary" in statement for statement in seen) is reads_them


def test_a_brief_shape_has_each_field_of_its_row_under_its_name() -> None:
    row = conversation.ConversationListRow(**{name: f"the {name}" for name in conversation.ConversationListRow._fields})
    running = {"the conversation_id": ["an answer"]}
    (brief,) = conversation.brief_shapes([row], running_answers=running)
    same = ("conversation_id", "title", "updated_at", "conversation_friendly_id", "workspace_id", "message_count")
    usual = {name: f"the {name}" for name in (*same, "flag", "tags")}
    switched = dict.fromkeys(("archived", "stateless", "pinned"), True)
    assert brief == {**usual, **switched, "running_answers": ["an answer"]}
    with pytest.raises(ValueError, match="unpack"):  # another column, which nobody has thought of here
        list(conversation.brief_shapes([(*row, "more")], running_answers={}))


def test_archived_conversations_are_listed_when_asked_for(database: Database) -> None:
    row = make(database, title="old")
    conversations.update_conversation(
        database=database, user_email=ANN, conversation_id=row.conversation_id, changes={"archived": True}
    )
    assert titles(database) == []
    assert titles(database, include_archived=True) == ["old"]
    assert fetch(database, row.conversation_id).archived is True


def test_the_metadata_has_the_documented_shape_in_lists_and_details(database: Database) -> None:
    row = make(database, title="Trip")
    listed = listing.list_conversations(database=database, user_email=ANN, domain="assistant")[0][0]
    shape = conversation.conversation_metadata(listed)
    assert shape == conversation.conversation_metadata(row)
    items, following = listing.list_conversation_items(database=database, user_email=ANN, domain="assistant")
    assert (list(items), following) == ([shape], None)
    assert shape["last_updated"] == row.updated_at[:19].replace("T", " ")
    assert (shape["user_id"], shape["conversation_friendly_id"], shape["workspace_name"]) == (ANN, "", "General")
    assert set(shape) == {
        "conversation_id",
        "user_id",
        "title",
        "summary_till_now",
        "domain",
        "flag",
        "last_updated",
        "created_at",
        "updated_at",
        "conversation_settings",
        "conversation_friendly_id",
        "workspace_id",
        "workspace_name",
        "archived",
        "stateless",
        "pinned",
        "tags",
        "temporary",
        "message_count",
    }


def test_changes_are_stored_and_raise_the_version_but_not_the_place_in_the_list(database: Database) -> None:
    row = make(database)
    own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
    changes = {"title": "Trip", "title_force_set": True, "settings": {"a": [1]}, "memory": {"b": None}, "flag": "red"}
    conversations.update_conversation(**own, changes=changes)
    changed = fetch(database, row.conversation_id)
    assert {name: getattr(changed, name) for name in changes} == changes
    assert (changed.version, changed.updated_at) == (row.version + 1, row.updated_at)
    assert conversation_version(**own) == changed.version


def test_only_what_may_be_changed_can_be_changed(database: Database) -> None:
    row = make(database)
    with pytest.raises(ValueError, match="user_email"):
        conversations.update_conversation(
            database=database, user_email=ANN, conversation_id=row.conversation_id, changes={"user_email": BEN}
        )
    assert fetch(database, row.conversation_id) == row


def test_a_conversation_moves_to_another_workspace(database: Database) -> None:
    row = make(database)
    work = workspaces.create_workspace(database=database, user_email=ANN, domain="assistant", workspace_name="Work")
    own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
    conversations.move_conversation(**own, workspace_id=work["workspace_id"])
    moved = fetch(database, row.conversation_id)
    assert (moved.workspace_name, moved.version) == ("Work", row.version + 1)
    with pytest.raises(WorkspaceNotFoundError):
        conversations.move_conversation(**own, workspace_id="nowhere")
    assert fetch(database, row.conversation_id) == moved


def test_what_lies_in_a_workspace_that_is_gone_lies_in_the_default_one(database: Database) -> None:
    row = make(database)
    lose = update(schema.conversation_workspaces).values(workspace_id="gone")
    database.write(lambda connection: connection.execute(lose).rowcount)
    listed = listing.list_conversations(database=database, user_email=ANN, domain="assistant")[0][0]
    assert fetch(database, row.conversation_id).workspace_id == default_workspace_id(ANN, "assistant")
    assert (listed.workspace_id, listed.workspace_name) == (default_workspace_id(ANN, "assistant"), "General")
    (counted,) = workspaces.load_workspaces(database=database, user_email=ANN, domain="assistant")
    assert counted["conversation_count"] == 1


def test_a_deleted_conversation_is_missing_until_it_is_restored(database: Database) -> None:
    row = make(database, title="Trip")
    own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
    conversations.delete_conversation(**own)
    assert titles(database) == []
    assert conversation_version(**own) is None
    with pytest.raises(ConversationNotFoundError):
        conversations.get_conversation(**own)
    with pytest.raises(ConversationNotFoundError):
        conversations.delete_conversation(**own)
    conversations.restore_conversation(**own)
    restored = fetch(database, row.conversation_id)
    assert (restored.title, restored.deleted_at) == ("Trip", None)
    assert restored.version > row.version


def test_a_friendly_id_stays_taken_in_the_bin_but_leads_nowhere(database: Database) -> None:
    row, other = make(database), make(database)
    own = {"database": database, "user_email": ANN}
    named = {**own, "conversation_friendly_id": "trip_aaaa"}
    conversations.set_friendly_id(**named, conversation_id=row.conversation_id)
    conversations.delete_conversation(**own, conversation_id=row.conversation_id)
    assert conversations.find_by_friendly_id(**named) is None
    assert conversations.friendly_id_exists(**named)
    with pytest.raises(FriendlyIdTakenError):
        conversations.set_friendly_id(**named, conversation_id=other.conversation_id)


def test_a_new_friendly_id_can_be_named_and_the_former_one_goes_on_leading_there(database: Database) -> None:
    row = make(database)
    own = {"database": database, "user_email": ANN, "conversation_id": row.conversation_id}
    for wrong in ("Bad Id!", "", "Trip_aaaa", "a" * 400):
        with pytest.raises(InvalidChangeError):
            conversations.set_friendly_id(**own, conversation_friendly_id=wrong)
    for name in ("trip_aaaa", "voyage_aaaa"):
        conversations.set_friendly_id(**own, conversation_friendly_id=name)
    found = {
        name: conversations.find_by_friendly_id(database=database, user_email=ANN, conversation_friendly_id=name)
        for name in ("trip_aaaa", "voyage_aaaa", "Bad Id!")
    }
    assert found == {"trip_aaaa": row.conversation_id, "voyage_aaaa": row.conversation_id, "Bad Id!": None}


def test_two_users_may_have_the_same_friendly_id(database: Database) -> None:
    for email in (ANN, BEN):
        row = make(database, user_email=email)
        named = {"database": database, "user_email": email, "conversation_friendly_id": "trip_aaaa"}
        conversations.set_friendly_id(**named, conversation_id=row.conversation_id)
        assert conversations.find_by_friendly_id(**named) == row.conversation_id


def test_a_conversation_with_an_id_made_elsewhere_is_added_once(database: Database) -> None:
    new = {"database": database, "user_email": ANN, "conversation_id": f"{ANN}_{'b' * 36}"}
    conversations.add_conversation(**new)
    conversations.update_conversation(**new, changes={"title": "kept"})
    conversations.add_conversation(**new, domain="search")
    (row,) = conversations.get_conversations_for_user(database=database, user_email=ANN)
    assert (row.conversation_id, row.title, row.domain) == (new["conversation_id"], "kept", "assistant")
    with pytest.raises(InvalidChangeError):
        conversations.add_conversation(**{**new, "user_email": BEN})


def test_the_bin_is_emptied_of_what_is_old_and_of_nothing_else(database: Database, take_turn: Any) -> None:
    old, young, live = (make(database).conversation_id for _ in range(3))
    for conversation_id in (old, young, live):
        take_turn(ANN, conversation_id)
    for conversation_id in (old, young):
        conversations.delete_conversation(database=database, user_email=ANN, conversation_id=conversation_id)
    age = update(schema.conversations).where(schema.conversations.c.conversation_id == old)
    database.write(lambda connection: connection.execute(age.values(deleted_at=iso_in(days=-31))).rowcount)

    assert deletion.purge_bin(database=database) == 1

    with database.reading() as connection:
        for table in (schema.conversations, schema.messages, schema.activities, schema.conversation_workspaces):
            assert set(connection.execute(select(table.c.conversation_id)).scalars()) == {young, live}
    with pytest.raises(ConversationNotFoundError):
        conversations.restore_conversation(database=database, user_email=ANN, conversation_id=old)
    conversations.restore_conversation(database=database, user_email=ANN, conversation_id=young)


def test_an_erasure_that_a_crash_stopped_is_completed_at_the_next_start(database: Database, take_turn: Any) -> None:
    row = make(database)
    take_turn(ANN, row.conversation_id)
    half = update(schema.conversations).values(deleted_at=iso_in(days=-31), incomplete_since=iso_in(days=-1))
    database.write(lambda connection: connection.execute(half).rowcount)
    with pytest.raises(ConversationNotFoundError):
        conversations.restore_conversation(database=database, user_email=ANN, conversation_id=row.conversation_id)
    assert deletion.erase_incomplete(database=database) == 1
    assert deletion.erase_incomplete(database=database) == 0
    with database.reading() as connection:
        assert connection.execute(select(schema.messages.c.seq)).all() == []
