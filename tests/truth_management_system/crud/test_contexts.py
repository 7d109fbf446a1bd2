"""Contexts: a tree under which claims are filed."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.errors import (
    ClaimNotFoundError,
    ContextNotFoundError,
    CycleError,
    FriendlyIdTakenError,
    InvalidKnowledgeError,
)
from truth_management_system.models import Context

pytestmark = pytest.mark.contract


def held(person: Person, context: Context) -> list[str]:
    return [claim.statement for claim in person.contexts.resolve_claims(context.context_id)]


def test_a_context_is_stored_with_a_readable_id(ann: Person) -> None:
    context = ann.contexts.add(Context.create("Health Goals", "What I want"))
    assert (context.friendly_id, context.description) == ("health_goals_context", "What I want")
    assert ann.contexts.get(context.context_id) == context == ann.contexts.get_by_friendly_id("health_goals_context")


def test_a_second_one_of_the_same_name_gets_another_id(ann: Person) -> None:
    first, second = ann.context("Goals"), ann.context("goals")
    assert first.friendly_id == "goals_context"
    assert second.friendly_id.startswith("goals_")
    assert second.friendly_id.endswith("_context")
    assert ann.contexts.find_by_name("GOALS") == [first, second]


def test_an_id_that_the_user_chose_needs_no_suffix(ann: Person) -> None:
    assert ann.contexts.add(Context.create("Project Alpha", friendly_id="ssdva")).friendly_id == "ssdva"
    with pytest.raises(FriendlyIdTakenError):
        ann.contexts.add(Context.create("Other", friendly_id="SSDVA"))


def test_names_are_found_at_any_depth(ann: Person) -> None:
    api = ann.context("API Design", ann.context("Backend", ann.context("Project Alpha")))
    assert ann.contexts.find_by_name("api_design") == [api]
    assert ann.contexts.find_by_name("api  Design") == [api]


def test_children_are_listed_by_name(ann: Person) -> None:
    alpha = ann.context("Alpha")
    front, back = ann.context("frontend", alpha), ann.context("Backend", alpha)
    assert ann.contexts.get_children() == [alpha]
    assert ann.contexts.get_children(alpha.context_id) == [back, front]
    assert [context.name for context in ann.contexts.search_friendly_ids("BACK")] == ["Backend"]


def test_a_context_holds_the_claims_of_its_whole_tree_each_once_newest_change_first(ann: Person) -> None:
    alpha = ann.context("Alpha")
    backend = ann.context("Backend", alpha)
    api = ann.context("API", backend)
    ann.claim("one", contexts=[alpha.context_id])
    ann.claim("two", contexts=[api.context_id, alpha.context_id, backend.context_id])
    ann.claim("three", contexts=[backend.context_id], status="contested")
    ann.claim("elsewhere")
    ann.claims.delete(ann.claim("gone", contexts=[api.context_id]).claim_id)
    before = ann.db.statements
    assert held(ann, alpha) == ["three", "two", "one"]
    assert ann.db.statements - before == 1
    assert [claim.statement for claim in ann.contexts.claims_of(alpha.context_id)] == ["two", "one"]
    assert [claim.statement for claim in ann.contexts.claims_of(alpha.context_id, limit=1, offset=1)] == ["one"]
    assert [claim.statement for claim in ann.contexts.resolve_claims(alpha.context_id, limit=2)] == ["three", "two"]


def test_ten_levels_below_belong_to_a_context_and_no_more(ann: Person) -> None:
    context = root = ann.context("level 0")
    for depth in range(1, 13):
        context = ann.context(f"level {depth}", context)
        ann.claim(str(depth), contexts=[context.context_id])
    assert set(held(ann, root)) == {str(depth) for depth in range(1, 11)}


def test_a_circle_that_got_into_the_store_hangs_nothing(ann: Person) -> None:
    upper = ann.context("upper")
    lower = ann.context("lower", upper)
    ann.claim("once", contexts=[upper.context_id, lower.context_id])
    sql = "UPDATE contexts SET parent_context_id = ? WHERE context_id = ?"
    ann.db.execute(sql, [lower.context_id, upper.context_id])
    assert held(ann, upper) == held(ann, lower) == ["once"]


def test_moving_takes_everything_below_along(ann: Person) -> None:
    alpha, beta = ann.context("Alpha"), ann.context("Beta")
    child = ann.context("Child", alpha)
    ann.claim("found", contexts=[child.context_id])
    moved = ann.contexts.edit(alpha.context_id, {"parent_context_id": beta.context_id})
    assert moved is not None
    assert moved.parent_context_id == beta.context_id
    assert held(ann, beta) == ["found"]
    assert ann.last_change()["action"] == "move"
    assert ann.contexts.edit(alpha.context_id, {"parent_context_id": None}) is not None
    assert held(ann, beta) == []


def test_a_context_can_not_lie_below_itself(ann: Person) -> None:
    alpha = ann.context("Alpha")
    child = ann.context("Child", alpha)
    for below in (alpha, child):
        with pytest.raises(CycleError, match=r"^Cycle"):
            ann.contexts.edit(alpha.context_id, {"parent_context_id": below.context_id})


def test_a_deleted_contexts_children_go_up_and_its_claims_stay(ann: Person) -> None:
    alpha = ann.context("Alpha")
    middle = ann.context("Middle", alpha)
    low = ann.context("Low", middle)
    claim = ann.claim("kept", contexts=[middle.context_id])
    assert ann.contexts.delete(middle.context_id) is True
    assert ann.contexts.get_children(alpha.context_id) == [ann.contexts.get(low.context_id)]
    assert ann.claims.get(claim.claim_id) is not None
    assert held(ann, alpha) == []
    assert ann.contexts.delete(middle.context_id) is False


def test_filing_a_claim_twice_files_it_once(ann: Person) -> None:
    alpha, claim = ann.context("Alpha"), ann.claim("one")
    assert ann.contexts.add_claim(alpha.context_id, claim.claim_id) is True
    assert (ann.last_change()["action"], ann.last_change()["object_id"]) == ("link", claim.claim_id)
    assert ann.contexts.add_claim(alpha.context_id, claim.claim_id) is False
    assert ann.contexts.contexts_of(claim.claim_id) == [alpha]
    assert ann.contexts.remove_claim(alpha.context_id, claim.claim_id) is True
    assert ann.contexts.remove_claim(alpha.context_id, claim.claim_id) is False
    assert ann.contexts.contexts_of(claim.claim_id) == []


def test_only_what_is_there_can_be_filed(ann: Person) -> None:
    alpha, claim = ann.context("Alpha"), ann.claim("one")
    with pytest.raises(ClaimNotFoundError):
        ann.contexts.add_claim(alpha.context_id, "nothing")
    with pytest.raises(ContextNotFoundError):
        ann.contexts.add_claim("nothing", claim.claim_id)
    with pytest.raises(ContextNotFoundError):
        ann.contexts.add(Context.create("Child", parent_context_id="nothing"))


def test_the_whole_tree_is_listed_with_its_counts_in_two_queries(ann: Person) -> None:
    alpha = ann.context("Alpha")
    children = [ann.context(f"Child {number}", alpha) for number in range(20)]
    for child in children:
        ann.claim(child.name, contexts=[child.context_id, alpha.context_id])
    ann.claims.delete(ann.claim("gone", contexts=[alpha.context_id]).claim_id)
    before = ann.db.statements
    listed = {entry.context.name: (entry.claim_count, entry.child_count) for entry in ann.contexts.list_all()}
    assert ann.db.statements - before == 2
    assert listed == {"Alpha": (20, 20)} | {child.name: (1, 0) for child in children}
    assert ann.contexts.claim_counts([alpha.context_id]) == {alpha.context_id: 20}


def test_a_description_can_be_written_and_emptied(ann: Person) -> None:
    alpha = ann.context("Alpha")
    described = ann.contexts.edit(alpha.context_id, {"description": "First lines\nof it"})
    assert described is not None
    assert described.description == "First lines\nof it"
    emptied = ann.contexts.edit(alpha.context_id, {"description": ""})
    assert emptied is not None
    assert emptied.description is None
    with pytest.raises(InvalidKnowledgeError):
        ann.contexts.edit(alpha.context_id, {"description": 5})
