"""Workspaces: a tree without cycles, in which nothing is lost when a part of it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from database.conversations import repository as conversations
from database.errors import InvalidChangeError, WorkspaceNotFoundError
from database.workspaces import repository as workspaces
from database.workspaces.default import default_workspace_id

ANN, BEN = "ann@example.org", "ben@example.org"
DEFAULT = default_workspace_id(ANN, "assistant")


def make(users_dir: str, name: str = "Work", *, email: str = ANN, domain: str = "assistant", **values: Any) -> str:
    return workspaces.createWorkspace(
        users_dir=users_dir, user_email=email, domain=domain, workspace_name=name, **values
    )["workspace_id"]


def load(users_dir: str, *, email: str = ANN) -> dict[str, workspaces.Workspace]:
    found = workspaces.load_workspaces_for_user(users_dir=users_dir, user_email=email, domain="assistant")
    return {shape["workspace_id"]: shape for shape in found}


def move(users_dir: str, workspace_id: str, parent: str | None) -> None:
    workspaces.moveWorkspaceToParent(
        users_dir=users_dir, user_email=ANN, workspace_id=workspace_id, parent_workspace_id=parent
    )


def test_the_default_workspace_is_there_before_anything_is_stored(users_dir: str) -> None:
    assert load(users_dir) == {
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


def test_workspaces_are_listed_default_first_then_by_name_with_their_conversations_counted(users_dir: str) -> None:
    beta, alpha = make(users_dir, "beta"), make(users_dir, "Alpha")
    for place in (beta, beta, None):
        conversations.create_conversation(users_dir=users_dir, user_email=ANN, domain="assistant", workspace_id=place)
    gone = conversations.create_conversation(users_dir=users_dir, user_email=ANN, domain="assistant", workspace_id=beta)
    conversations.delete_conversation(users_dir=users_dir, user_email=ANN, conversation_id=gone.conversation_id)
    listed = load(users_dir)
    assert list(listed) == [DEFAULT, alpha, beta]
    assert [shape["conversation_count"] for shape in listed.values()] == [1, 0, 2]


@pytest.mark.parametrize("count", [1, 30])
def test_listing_takes_two_queries_however_many_there_are(users_dir: str, statements: Any, count: int) -> None:
    for number in range(count):
        make(users_dir, str(number))
    with statements() as seen:
        assert len(load(users_dir)) == count + 1
    assert len(seen) == 2


def test_a_workspace_can_be_renamed_coloured_and_closed(users_dir: str) -> None:
    own = {"users_dir": users_dir, "user_email": ANN, "workspace_id": make(users_dir)}
    workspaces.renameWorkspace(**own, workspace_name="  Deep   Work ")
    workspaces.updateWorkspace(**own, workspace_color="danger", expanded=False)
    shape = load(users_dir)[own["workspace_id"]]
    assert (shape["workspace_name"], shape["workspace_color"], shape["expanded"]) == ("Deep Work", "danger", False)


def test_renaming_makes_cached_copies_of_the_conversations_inside_stale(users_dir: str) -> None:
    place = make(users_dir)
    inside = conversations.create_conversation(
        users_dir=users_dir, user_email=ANN, domain="assistant", workspace_id=place
    )
    workspaces.renameWorkspace(users_dir=users_dir, user_email=ANN, workspace_id=place, workspace_name="Home")
    now = conversations.get_conversation(users_dir=users_dir, user_email=ANN, conversation_id=inside.conversation_id)
    assert (now.workspace_name, now.version) == ("Home", inside.version + 1)


@pytest.mark.parametrize("name", ["", " \n ", "x" * 201])
def test_a_workspace_needs_a_name_of_sensible_length(users_dir: str, name: str) -> None:
    with pytest.raises(InvalidChangeError):
        make(users_dir, name)
    assert list(load(users_dir)) == [DEFAULT]


@pytest.mark.parametrize("color", ["", "red;background:url(x)", "A" * 40, '"><script>'])
def test_a_colour_is_the_name_of_one(users_dir: str, color: str) -> None:
    with pytest.raises(InvalidChangeError):
        make(users_dir, workspace_color=color)


def test_a_workspace_never_lies_below_itself(users_dir: str) -> None:
    top = make(users_dir, "top")
    middle = make(users_dir, "middle", parent_workspace_id=top)
    bottom = make(users_dir, "bottom", parent_workspace_id=middle)
    for parent in (top, middle, bottom):
        with pytest.raises(InvalidChangeError):
            move(users_dir, top, parent)
    assert load(users_dir)[top]["parent_workspace_id"] is None
    move(users_dir, bottom, top)
    move(users_dir, middle, bottom)
    assert load(users_dir)[middle]["parent_workspace_id"] == bottom
    move(users_dir, middle, None)
    assert load(users_dir)[middle]["parent_workspace_id"] is None


def test_nothing_moves_to_another_domain_and_the_default_stays_where_it_is(users_dir: str) -> None:
    here, there = make(users_dir), make(users_dir, domain="search")
    with pytest.raises(InvalidChangeError):
        move(users_dir, here, there)
    with pytest.raises(InvalidChangeError):
        make(users_dir, parent_workspace_id=there)
    with pytest.raises(InvalidChangeError):
        move(users_dir, DEFAULT, here)
    with pytest.raises(InvalidChangeError):
        workspaces.deleteWorkspace(users_dir=users_dir, user_email=ANN, workspace_id=DEFAULT)


@pytest.mark.parametrize("has_parent", [True, False])
def test_what_lay_in_a_deleted_workspace_goes_to_its_parent_or_the_default(users_dir: str, has_parent: bool) -> None:
    top = make(users_dir, "top")
    doomed = make(users_dir, "doomed", parent_workspace_id=top if has_parent else None)
    child = make(users_dir, "child", parent_workspace_id=doomed)
    inside = conversations.create_conversation(
        users_dir=users_dir, user_email=ANN, domain="assistant", workspace_id=doomed
    )
    workspaces.deleteWorkspace(users_dir=users_dir, user_email=ANN, workspace_id=doomed, domain="assistant")
    heir = top if has_parent else DEFAULT
    listed = load(users_dir)
    assert doomed not in listed
    assert (listed[child]["parent_workspace_id"], listed[heir]["conversation_count"]) == (heir, 1)
    moved = conversations.get_conversation(users_dir=users_dir, user_email=ANN, conversation_id=inside.conversation_id)
    assert (moved.workspace_id, moved.version) == (heir, inside.version + 1)


def test_a_workspace_is_deleted_only_in_its_domain(users_dir: str) -> None:
    place = make(users_dir)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.deleteWorkspace(users_dir=users_dir, user_email=ANN, workspace_id=place, domain="search")
    assert place in load(users_dir)


def test_the_path_leads_from_the_top_down(users_dir: str) -> None:
    top = make(users_dir, "top")
    below = make(users_dir, "below", parent_workspace_id=top)
    path = workspaces.getWorkspacePath(users_dir=users_dir, user_email=ANN, workspace_id=below)
    assert path == [
        {"workspace_id": top, "workspace_name": "top"},
        {"workspace_id": below, "workspace_name": "below"},
    ]
    default = workspaces.getWorkspacePath(users_dir=users_dir, user_email=ANN, workspace_id=DEFAULT)
    assert default == [{"workspace_id": DEFAULT, "workspace_name": "General"}]


def test_several_workspaces_close_at_once_the_default_too_and_foreign_ones_are_passed_over(users_dir: str) -> None:
    own, foreign = make(users_dir), make(users_dir, email=BEN)
    changed = workspaces.setWorkspacesExpanded(
        users_dir=users_dir, user_email=ANN, workspace_ids=[own, DEFAULT, foreign, "nowhere"], expanded=False
    )
    assert changed == 2
    assert [shape["expanded"] for shape in load(users_dir).values()] == [False, False]
    assert load(users_dir, email=BEN)[foreign]["expanded"] is True


@pytest.mark.parametrize("count", [1, 1_000])
def test_closing_takes_as_many_statements_for_a_thousand_made_up_defaults_as_for_one(
    users_dir: str, statements: Any, count: int
) -> None:
    made_up = [default_workspace_id(ANN, f"d{number}") for number in range(count)]
    with statements() as seen:
        changed = workspaces.setWorkspacesExpanded(
            users_dir=users_dir, user_email=ANN, workspace_ids=made_up, expanded=False
        )
    assert (changed, len(seen)) == (count, 3)


@pytest.mark.parametrize("domain", ["", "junk dom", "x" * 65, "über", "a/b"])
def test_no_default_workspace_belongs_to_what_can_be_no_domain(users_dir: str, domain: str) -> None:
    own = {"users_dir": users_dir, "user_email": ANN}
    made_up = default_workspace_id(ANN, domain)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.updateWorkspace(**own, workspace_id=made_up, expanded=False)
    with pytest.raises(WorkspaceNotFoundError):
        workspaces.getWorkspacePath(**own, workspace_id=made_up)
    assert workspaces.setWorkspacesExpanded(**own, workspace_ids=[made_up], expanded=False) == 0


@pytest.mark.parametrize(
    "use",
    [
        workspaces.getWorkspacePath,
        workspaces.deleteWorkspace,
        lambda **who: workspaces.renameWorkspace(**who, workspace_name="Mine now"),
        lambda **who: workspaces.updateWorkspace(**who, expanded=False),
        lambda **who: workspaces.moveWorkspaceToParent(**who, parent_workspace_id=None),
    ],
)
def test_somebody_elses_workspace_is_as_good_as_missing(users_dir: str, use: Callable[..., Any]) -> None:
    place = make(users_dir)
    before = load(users_dir)
    for workspace_id in (place, "missing", DEFAULT):
        with pytest.raises(WorkspaceNotFoundError):
            use(users_dir=users_dir, user_email=BEN, workspace_id=workspace_id)
    assert load(users_dir) == before


def test_nothing_is_put_below_somebody_elses_workspace(users_dir: str) -> None:
    foreign, own = make(users_dir, email=BEN), make(users_dir)
    with pytest.raises(WorkspaceNotFoundError):
        move(users_dir, own, foreign)
    with pytest.raises(WorkspaceNotFoundError):
        make(users_dir, parent_workspace_id=foreign)
