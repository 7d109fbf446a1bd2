"""Many conversations changed at once: as each by itself would be, in a few queries, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from database.changes import changes_after
from database.conversations import conversation, deletion
from database.conversations import repository as conversations
from database.conversations.bulk import AT_ONCE, being_answered, change_conversations, restore_workspace
from database.conversations.repository import create_temporary_conversation
from database.conversations.tags import MOST_TAGS, set_tags
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, WorkspaceNotFoundError
from database.turns.turns import accept_turn
from database.workspaces import repository as workspaces
from database.workspaces.repository import default_workspace_id

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


def make(database: Database, *, email: str = ANN, domain: str = "assistant", **more: Any) -> str:
    row = conversations.create_conversation(database=database, user_email=email, domain=domain, **more)
    return row.conversation_id


def row_of(database: Database, conversation_id: str, email: str = ANN) -> conversation.ConversationRow:
    return conversations.get_conversation(database=database, user_email=email, conversation_id=conversation_id)


@pytest.fixture
def change(database: Database) -> Callable[..., dict[str, str]]:
    """Changes conversations of Ann: change("flag", [ids], "red")."""

    def do(what: Any, ids: list[str], value: str | None = None) -> dict[str, str]:
        asked = {"conversation_ids": ids, "change": what, "value": value}
        return dict(change_conversations(database=database, user_email=ANN, **asked))

    return do


def test_each_change_and_its_opposite(database: Database, change: Callable[..., dict[str, str]]) -> None:
    ids = [make(database), make(database)]
    done = dict.fromkeys(ids, "done")
    before = row_of(database, ids[0])
    for what, value in (("flag", "red"), ("pin", None), ("archive", None)):
        assert change(what, ids, value) == done
    marked = row_of(database, ids[1])
    assert (marked.flag, marked.pinned_at is not None, marked.archived) == ("red", True, True)
    pinned_at = row_of(database, ids[0]).pinned_at
    assert change("pin", ids[:1]) == {ids[0]: "done"}
    assert row_of(database, ids[0]).pinned_at == pinned_at
    for what, value in (("flag", "none"), ("unpin", None), ("unarchive", None)):
        assert change(what, ids, value) == done
    after = row_of(database, ids[0])
    assert (after.flag, after.pinned_at, after.archived) == ("none", None, False)
    assert (after.updated_at, after.version) == (before.updated_at, before.version + 7)


def test_what_is_binned_together_is_restored_together(
    database: Database, change: Callable[..., dict[str, str]]
) -> None:
    ids = [make(database, title="One"), make(database, title="Two")]
    assert set(change("delete", ids).values()) == {"done"}
    binned = deletion.list_bin(database=database, user_email=ANN, domain="assistant")
    assert {each.title for each in binned} == {"One", "Two"}
    assert set(change("delete", ids).values()) == {"not_found"}
    assert set(change("flag", ids, "red").values()) == {"not_found"}
    assert set(change("restore", ids).values()) == {"done"}
    assert row_of(database, ids[0]).flag == "none"


def test_a_temporary_conversation_never_comes_back(database: Database, change: Callable[..., dict[str, str]]) -> None:
    temporary = create_temporary_conversation(database=database, user_email=ANN, domain="assistant")
    gone = temporary.conversation_id
    assert change("delete", [gone]) == {gone: "done"}
    assert change("restore", [gone]) == {gone: "not_found"}


def test_what_is_foreign_or_missing_is_not_found_and_stays_as_it_is(
    database: Database, change: Callable[..., dict[str, str]]
) -> None:
    own, foreign = make(database), make(database, email=BEN)
    place = workspaces.create_workspace(database=database, user_email=ANN, domain="assistant", workspace_name="Garden")[
        "workspace_id"
    ]
    before = row_of(database, foreign, BEN)
    for what, value in (("flag", "red"), ("pin", None), ("archive", None), ("move", place), ("delete", None)):
        fates = change(what, [foreign, own, "nowhere"], value)
        assert list(fates.items()) == [(foreign, "not_found"), (own, "done"), ("nowhere", "not_found")]
    assert row_of(database, foreign, BEN) == before


def test_they_move_only_within_their_domain(database: Database, change: Callable[..., dict[str, str]]) -> None:
    here, there = make(database), make(database, domain="search")
    garden = workspaces.create_workspace(
        database=database, user_email=ANN, domain="assistant", workspace_name="Garden"
    )["workspace_id"]
    assert change("move", [here, there], garden) == {here: "done", there: "conflict"}
    assert row_of(database, here).workspace_id == garden
    assert row_of(database, there).workspace_id == default_workspace_id(ANN, "search")
    assert change("move", [here], default_workspace_id(ANN, "assistant")) == {here: "done"}
    assert row_of(database, here).workspace_id == default_workspace_id(ANN, "assistant")


def test_a_tag_is_put_on_and_taken_from_those_that_lack_or_have_it(
    database: Database, change: Callable[..., dict[str, str]]
) -> None:
    own: dict[str, Any] = {"database": database, "user_email": ANN}
    bare, tagged, full, foreign = make(database), make(database), make(database), make(database, email=BEN)
    set_tags(**own, conversation_id=tagged, tags=["Gärden", "zoo"])
    set_tags(**own, conversation_id=full, tags=[f"t{number}" for number in range(MOST_TAGS)])
    versions = {each: row_of(database, each).version for each in (bare, tagged, full)}
    ids = [bare, tagged, full, foreign]
    assert change("tag", ids, " gärden ") == {
        bare: "done", tagged: "done", full: "conflict", foreign: "not_found"
    }  # fmt: skip
    assert [row_of(database, each).tags for each in (bare, tagged)] == [["gärden"], ["Gärden", "zoo"]]
    # Where it was already, nothing changes.
    assert [row_of(database, each).version - versions[each] for each in (bare, tagged, full)] == [1, 0, 0]
    told = [change.fields for change in changes_after(**own, after=0, most=100) if change.id == bare]
    assert told[-1] == {"tags": ["gärden"]}
    assert change("untag", ids, "GÄRDEN") == {bare: "done", tagged: "done", full: "done", foreign: "not_found"}
    assert [row_of(database, each).tags for each in (bare, tagged)] == [[], ["zoo"]]
    assert len(row_of(database, full).tags) == MOST_TAGS
    with pytest.raises(InvalidChangeError):
        change("tag", [bare], "x" * 51)


def test_senseless_changes_are_refused_before_anything_happens(
    database: Database, change: Callable[..., dict[str, str]]
) -> None:
    own = make(database)
    with pytest.raises(InvalidChangeError):
        change("flag", [own], "pink")
    with pytest.raises(WorkspaceNotFoundError):
        change("move", [own], default_workspace_id(BEN, "assistant"))
    assert row_of(database, own).version == 1


@pytest.mark.parametrize(("what", "queries"), [("flag", 3), ("delete", 3), ("move", 7), ("tag", 5)])
def test_queries_grow_with_slices_not_with_conversations(
    database: Database, statements: Callable[[], Any], change: Callable[..., dict[str, str]], what: str, queries: int
) -> None:
    ids = [make(database) for _ in range(AT_ONCE + 1)]
    value = {"flag": "red", "tag": "red", "move": default_workspace_id(ANN, "assistant")}.get(what)
    with statements() as one:
        change(what, ids[:AT_ONCE], value)
    assert len(one) == queries
    if what == "tag":
        set_tags(database=database, user_email=ANN, conversation_id=ids[0], tags=[])
    if what != "delete":
        with statements() as two:
            fates = change(what, [*ids, ids[0]], value)
        assert len(two) == 2 * queries
        assert list(fates) == ids


def test_those_that_are_being_answered_are_told_apart(database: Database) -> None:
    busy, idle = make(database), make(database)
    accept_turn(database=database, user_email=ANN, conversation_id=busy, text="Hello", config={})
    for email, found in ((ANN, [busy]), (BEN, [])):
        assert being_answered(database=database, user_email=email, conversation_ids=[idle, busy]) == found


def shapes(database: Database) -> dict[str, Any]:
    found = workspaces.load_workspaces(database=database, user_email=ANN, domain="assistant")
    return {shape["workspace_name"]: shape for shape in found}


@pytest.mark.parametrize("has_parent", [True, False])
def test_a_deleted_workspace_comes_back_with_all_that_lay_in_it(database: Database, has_parent: bool) -> None:
    own: dict[str, Any] = {"database": database, "user_email": ANN}

    def workspace(name: str, parent: str | None = None) -> str:
        made = workspaces.create_workspace(
            **own, domain="assistant", workspace_name=name, workspace_color="danger", parent_workspace_id=parent
        )
        return made["workspace_id"]

    doomed = workspace("Doomed", workspace("Top") if has_parent else None)
    workspace("Child", doomed)
    strayed = workspace("Strayed", doomed)
    talks = [make(database, workspace_id=doomed) for _ in range(3)]
    conversations.update_conversation(**own, conversation_id=talks[1], changes={"archived": True})
    before = shapes(database)
    removed = workspaces.delete_workspace(**own, workspace_id=doomed)
    assert "Doomed" not in shapes(database)
    workspaces.move_workspace(**own, workspace_id=strayed, parent_workspace_id=before["Child"]["workspace_id"])
    conversations.move_conversation(**own, conversation_id=talks[2], workspace_id=strayed)
    for _ in range(2):
        restore_workspace(**own, domain="assistant", removed=removed)
        after = shapes(database)
        assert after["Doomed"] == {**before["Doomed"], "conversation_count": 1}
        assert after["Child"] == before["Child"]
        assert after["Strayed"]["parent_workspace_id"] == before["Child"]["workspace_id"]
    places = [row_of(database, talk).workspace_id for talk in talks]
    assert places == [doomed, doomed, strayed]


def test_nothing_comes_back_from_somebody_else_or_into_another_domain(database: Database) -> None:
    own: dict[str, Any] = {"database": database, "user_email": ANN}
    place = workspaces.create_workspace(**own, domain="assistant", workspace_name="Garden")["workspace_id"]
    talk = make(database, workspace_id=place)
    removed = workspaces.delete_workspace(**own, workspace_id=place)
    restore_workspace(database=database, user_email=BEN, domain="assistant", removed=removed)
    assert row_of(database, talk).workspace_id == default_workspace_id(ANN, "assistant")
    restore_workspace(**own, domain="assistant", removed=removed)
    with pytest.raises(InvalidChangeError):
        restore_workspace(**own, domain="search", removed=removed)
    with pytest.raises(InvalidChangeError):
        restore_workspace(
            **own, domain="assistant", removed={**removed, "workspace_id": default_workspace_id(ANN, "assistant")}
        )
