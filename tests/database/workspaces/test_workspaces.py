"""Workspaces: a tree without cycles, in which nothing is lost when a part of it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from database.conversations import repository as conversations
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, WorkspaceNotFoundError
from database.workspaces import repository as workspaces
from database.workspaces.repository import default_workspace_id

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"
DEFAULT = default_workspace_id(ANN, "assistant")


def make(database: Database, name: str = "Work", *, email: str = ANN, domain: str = "assistant", **values: Any) -> str:
    return workspaces.create_workspace(
        database=database, user_email=email, domain=domain, workspace_name=name, **values
    )["workspace_id"]


def load(database: Database, *, email: str = ANN) -> dict[str, workspaces.Workspace]:
    found = workspaces.load_workspaces(database=database, user_email=email, domain="assistant")
    return {shape["workspace_id"]: shape for shape in found}


def move(database: Database, workspace_id: str, parent: str | None) -> None:
    workspaces.move_workspace(database=database, user_email=ANN, workspace_id=workspace_id, parent_workspace_id=parent)


def test_the_default_workspace_is_there_before_anything_is_stored(database: Database) -> None:
    assert load(database) == {
        DEFAULT: {
            "workspace_id": DEFAULT,
            "workspace_name": "General",
            "workspace_color": "primary",
            "domain": "assistant",
            "expanded": True,
            "parent_workspace_id": None,
            "conversation_count": 0,
        }
    }


def test_workspaces_are_listed_default_first_then_by_name_with_their_conversations_counted(database: Database) -> None:
    beta, alpha = make(database, "beta"), make(database, "Alpha")
    for place in (beta, beta, None):
        conversations.create_conversation(database=database, user_email=ANN, domain="assistant", workspace_id=place)
    gone = conversations.create_conversation(database=database, user_email=ANN, domain="assistant", workspace_id=beta)
    conversations.delete_conversation(database=database, user_email=ANN, conversation_id=gone.conversation_id)
    listed = load(database)
    assert list(listed) == [DEFAULT, alpha, beta]
    assert [shape["conversation_count"] for shape in listed.values()] == [1, 0, 2]


@pytest.mark.parametrize("count", [1, 30])
def test_listing_takes_two_queries_however_many_there_are(database: Database, statements: Any, count: int) -> None:
    for number in range(count):
        make(database, str(number))
    with statements() as seen:
        assert len(load(database)) == count + 1
    assert len(seen) == 2


def test_a_workspace_can_be_renamed_coloured_and_closed(database: Database) -> None:
    own = {"database": database, "user_email": ANN, "workspace_id": make(database)}
    workspaces.rename_workspace(**own, workspace_name="  Deep   Work ")
    workspaces.update_workspace(**own, workspace_color="danger", expanded=False)
    shape = load(database)[own["workspace_id"]]
    assert (shape["workspace_name"], shape["workspace_color"], shape["expanded"]) == ("Deep Work", "danger", False)


def test_renaming_makes_cached_copies_of_the_conversations_inside_stale(database: Database) -> None:
    place = make(database)
    inside = conversations.create_conversation(
        database=database, user_email=ANN, domain="assistant", workspace_id=place
    )
    workspaces.rename_workspace(database=database, user_email=ANN, workspace_id=place, workspace_name="Home")
    now = conversations.get_conversation(database=database, user_email=ANN, conversation_id=inside.conversation_id)
    assert (now.workspace_name, now.version) == ("Home", inside.version + 1)


@pytest.mark.parametrize("name", ["", " \n ", "x" * 201])
def test_a_workspace_needs_a_name_of_sensible_length(database: Database, name: str) -> None:
    with pytest.raises(InvalidChangeError):
        make(database, name)
    assert list(load(database)) == [DEFAULT]


@pytest.mark.parametrize("color", ["", "red;background:url(x)", "A" * 40, '"><script>'])
def test_a_colour_is_the_name_of_one(database: Database, color: str) -> None:
    with pytest.raises(InvalidChangeError):
        make(database, workspace_color=color)


def test_a_workspace_never_lies_below_itself(database: Database) -> None:
    top = make(database, "top")
    middle = make(database, "middle", parent_workspace_id=top)
    bottom = make(database, "bottom", parent_workspace_id=middle)
    for parent in (top, middle, bottom):
        with pytest.raises(InvalidChangeError):
            move(database, top, parent)
    assert load(database)[top]["parent_workspace_id"] is None
    move(database, bottom, top)
    move(database, middle, bottom)
    assert load(database)[middle]["parent_workspace_id"] == bottom
    move(database, middle, None)
    assert load(database)[middle]["parent_workspace_id"] is None


def test_nothing_moves_to_another_domain_and_the_default_stays_where_it_is(database: Database) -> None:
    here, there = make(database), make(database, domain="search")
    with pytest.raises(InvalidChangeError):
        move(database, here, there)
    with pytest.raises(InvalidChangeError):
        make(database, parent_workspace_id=there)
    with pytest.raises(InvalidChangeError):
        move(database, DEFAULT, here)
    with pytest.raises(InvalidChangeError):
        workspaces.delete_workspace(database=database, user_email=ANN, workspace_id=DEFAULT)


@pytest.mark.parametrize("has_parent", [True, False])
def test_what_lay_in_a_deleted_workspace_goes_to_its_parent_or_the_default(
    database: Database, has_parent: bool
) -> None:
    top = make(database, "top")
    doomed = make(database, "doomed", parent_workspace_id=top if has_parent else None)
    child = make(database, "child", parent_workspace_id=doomed)
    inside = conversations.create_conversation(
        database=database, user_email=ANN, domain="assistant", workspace_id=doomed
    )
    workspaces.delete_workspace(database=database, user_email=ANN, workspace_id=doomed, domain="assistant")
    heir = top if has_parent else DEFAULT
    listed = load(database)
    assert doomed not in listed
    assert (listed[child]["parent_workspace_id"], listed[heir]["conversation_count"]) == (heir, 1)
    moved = conversations.get_conversation(database=database, user_email=ANN, conversation_id=inside.conversation_id)
    assert (moved.workspace_id, moved.version) == (heir, inside.version + 1)


def test_a_workspace_is_deleted_only_in_its_domain(database: Database) -> None:
    place = make(database)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.delete_workspace(database=database, user_email=ANN, workspace_id=place, domain="search")
    assert place in load(database)


def test_the_path_leads_from_the_top_down(database: Database) -> None:
    top = make(database, "top")
    below = make(database, "below", parent_workspace_id=top)
    path = workspaces.get_workspace_path(database=database, user_email=ANN, workspace_id=below)
    assert path == [
        {"workspace_id": top, "workspace_name": "top"},
        {"workspace_id": below, "workspace_name": "below"},
    ]
    default = workspaces.get_workspace_path(database=database, user_email=ANN, workspace_id=DEFAULT)
    assert default == [{"workspace_id": DEFAULT, "workspace_name": "General"}]


def test_several_workspaces_close_at_once_the_default_too_and_foreign_ones_are_passed_over(database: Database) -> None:
    own, foreign = make(database), make(database, email=BEN)
    changed = workspaces.set_workspaces_expanded(
        database=database, user_email=ANN, workspace_ids=[own, DEFAULT, foreign, "nowhere"], expanded=False
    )
    assert changed == 2
    assert [shape["expanded"] for shape in load(database).values()] == [False, False]
    assert load(database, email=BEN)[foreign]["expanded"] is True


@pytest.mark.parametrize("count", [1, 1_000])
def test_closing_takes_as_many_statements_for_a_thousand_made_up_defaults_as_for_one(
    database: Database, statements: Any, count: int
) -> None:
    made_up = [default_workspace_id(ANN, f"d{number}") for number in range(count)]
    with statements() as seen:
        changed = workspaces.set_workspaces_expanded(
            database=database, user_email=ANN, workspace_ids=made_up, expanded=False
        )
    assert (changed, len(seen)) == (count, 4)


@pytest.mark.parametrize("domain", ["", "junk dom", "x" * 65, "über", "a/b"])
def test_no_default_workspace_belongs_to_what_can_be_no_domain(database: Database, domain: str) -> None:
    own = {"database": database, "user_email": ANN}
    made_up = default_workspace_id(ANN, domain)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.update_workspace(**own, workspace_id=made_up, expanded=False)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.get_workspace_path(**own, workspace_id=made_up)
    assert workspaces.set_workspaces_expanded(**own, workspace_ids=[made_up], expanded=False) == 0


@pytest.mark.parametrize(
    "use",
    [
        workspaces.get_workspace_path,
        workspaces.delete_workspace,
        lambda **who: workspaces.rename_workspace(**who, workspace_name="Mine now"),
        lambda **who: workspaces.update_workspace(**who, expanded=False),
        lambda **who: workspaces.move_workspace(**who, parent_workspace_id=None),
    ],
)
def test_somebody_elses_workspace_is_as_good_as_missing(database: Database, use: Callable[..., Any]) -> None:
    place = make(database)
    before = load(database)
    for workspace_id in (place, "missing", DEFAULT):
        with pytest.raises(WorkspaceNotFoundError):
            use(database=database, user_email=BEN, workspace_id=workspace_id)
    assert load(database) == before


def test_nothing_is_put_below_somebody_elses_workspace(database: Database) -> None:
    foreign, own = make(database, email=BEN), make(database)
    with pytest.raises(WorkspaceNotFoundError):
        move(database, own, foreign)
    with pytest.raises(WorkspaceNotFoundError):
        make(database, parent_workspace_id=foreign)
