"""What was merged, renamed or imported is still found by the name that it had before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.truth_management_system.conftest import added
from tests.truth_management_system.resolution.test_resolution import context, missed, named
from truth_management_system import StructuredAPI
from truth_management_system.interface.structured_api import erase_claims, erase_user

pytestmark = pytest.mark.contract

ANN, BEN = "ann@example.org", "ben@example.org"


@pytest.fixture
def ann(api: StructuredAPI) -> StructuredAPI:
    return api.for_user(ANN)


def tag(api: StructuredAPI, name: str, parent: Any = None) -> Any:
    return api.add_tag(name, parent.tag_id if parent else None).data


def aliases(api: StructuredAPI) -> list[tuple[str, str]]:
    rows = api.db.select("SELECT alias, thing_id FROM aliases WHERE user_email = ? ORDER BY alias", [api.owner])
    return [(alias, thing_id) for alias, thing_id in rows]


def undo_last(api: StructuredAPI) -> None:
    undone = api.undo(api.get_audit_log(limit=1).data["entries"][0]["audit_id"])
    assert undone.success, undone.errors


class TestMerged:
    def test_the_id_and_the_name_of_a_tag_lead_to_the_one_that_it_became_part_of(self, ann: StructuredAPI) -> None:
        running, jogging = tag(ann, "running"), tag(ann, "jogging")
        added(ann, "I jog", tags=["jogging"])
        assert ann.merge_tags(jogging.tag_id, running.tag_id).success
        for reference in ("@jogging_tag", "@jogging", "@Jogging_Tag", "JOGGING"):
            assert named(ann, reference) == ("tag", running.tag_id)
        data = ann.resolve_reference("@jogging_tag").data
        assert ([claim.statement for claim in data["claims"]], data["source_name"]) == (["I jog"], "running")

    def test_joined_groups_may_have_former_names(self, ann: StructuredAPI) -> None:
        running, jogging = tag(ann, "running"), tag(ann, "jogging")
        claim = added(ann, "I jog", tags=["jogging"])
        ann.merge_tags(jogging.tag_id, running.tag_id)
        assert ann.resolve_reference("@health_domain&jogging_tag").data["claims"] == [
            ann.get_claim(claim.claim_id).data
        ]

    def test_names_lead_on_when_the_one_is_merged_as_well(self, ann: StructuredAPI) -> None:
        first, second, third = (tag(ann, name) for name in ("one", "two", "three"))
        ann.merge_tags(first.tag_id, second.tag_id)
        ann.merge_tags(second.tag_id, third.tag_id)
        for name in ("one", "two", "three"):
            assert named(ann, name) == named(ann, f"{name}_tag") == ("tag", third.tag_id)
        undo_last(ann)
        assert named(ann, "one_tag") == named(ann, "two") == ("tag", second.tag_id)
        assert named(ann, "three") == ("tag", third.tag_id)

    def test_a_tag_below_that_becomes_part_of_its_namesake_is_found(self, ann: StructuredAPI) -> None:
        sport, gym = tag(ann, "sport"), tag(ann, "gym")
        below, other = tag(ann, "daily", sport), tag(ann, "daily", gym)
        assert ann.merge_tags(sport.tag_id, gym.tag_id).success
        assert named(ann, below.friendly_id) == named(ann, "daily") == ("tag", other.tag_id)

    def test_the_id_and_the_name_of_an_entity_lead_to_the_one_that_it_became_part_of(self, ann: StructuredAPI) -> None:
        john, johnny = (ann.add_entity(name, "person").data for name in ("John Smith", "Johnny Smith"))
        assert ann.merge_entities(johnny.entity_id, john.entity_id).success
        for reference in ("@johnny_smith_person_entity", "@johnny_smith"):
            assert named(ann, reference) == ("entity", john.entity_id)

    def test_a_merge_that_is_undone_leaves_both_as_they_were(self, ann: StructuredAPI) -> None:
        running, jogging = tag(ann, "running"), tag(ann, "jogging")
        john, johnny = (ann.add_entity(name, "person").data for name in ("John Smith", "Johnny Smith"))
        ann.merge_tags(jogging.tag_id, running.tag_id)
        undo_last(ann)
        ann.merge_entities(johnny.entity_id, john.entity_id)
        undo_last(ann)
        assert named(ann, "jogging") == named(ann, "jogging_tag") == ("tag", jogging.tag_id)
        assert named(ann, "johnny_smith") == ("entity", johnny.entity_id)
        assert aliases(ann) == []

    def test_a_merge_is_undone_after_the_other_was_merged_too(self, ann: StructuredAPI) -> None:
        first, second, third = (tag(ann, name) for name in ("one", "two", "three"))
        merged = ann.merge_tags(first.tag_id, second.tag_id).metadata["audit_id"]
        ann.merge_tags(second.tag_id, third.tag_id)
        assert ann.undo(merged).success
        assert named(ann, "one") == named(ann, "one_tag") == ("tag", first.tag_id)
        assert named(ann, "two_tag") == ("tag", third.tag_id)


class TestRenamed:
    @pytest.mark.parametrize("kind", ["context", "tag", "entity"])
    def test_its_former_names_lead_to_it(self, ann: StructuredAPI, kind: str) -> None:
        one, rename = made(ann, kind, "Health Goals")
        renamed = [rename(name).metadata["audit_id"] for name in ("Targets", "Aims")]
        for reference in ("@health_goals", "@targets", "@aims", f"@{one.friendly_id}"):
            assert named(ann, reference) == (kind, getattr(one, f"{kind}_id"))
        for audit_id in reversed(renamed):
            assert ann.undo(audit_id).success
        assert named(ann, "health_goals") == (kind, getattr(one, f"{kind}_id"))
        assert missed(ann, "targets")
        assert aliases(ann) == []

    @pytest.mark.parametrize("kind", ["context", "tag", "entity"])
    def test_a_new_thing_may_take_the_name_and_wins(self, ann: StructuredAPI, kind: str) -> None:
        old, rename = made(ann, kind, "Goals")
        rename("Targets")
        new, _ = made(ann, kind, "Goals")
        assert named(ann, "goals") == (kind, getattr(new, f"{kind}_id"))
        assert getattr(ann, f"delete_{kind}")(getattr(new, f"{kind}_id")).success
        assert named(ann, "goals") == (kind, getattr(old, f"{kind}_id"))

    @pytest.mark.parametrize("other", ["context", "tag", "entity"])
    def test_what_bears_the_name_comes_first_whatever_its_kind(self, ann: StructuredAPI, other: str) -> None:
        for kind in ("context", "tag", "entity"):
            if kind != other:
                _, rename = made(ann, kind, "Goals")
                rename(f"Targets {kind}")
        bearer, _ = made(ann, other, "Goals")
        assert named(ann, "goals") == (other, getattr(bearer, f"{other}_id"))

    def test_a_claim_comes_first_that_has_the_name_as_its_id(self, ann: StructuredAPI) -> None:
        _, rename = made(ann, "context", "Goals")
        rename("Targets")
        assert named(ann, "goals") == ("context", ann.contexts.find_by_name("targets")[0].context_id)
        claim = added(ann, friendly_id="goals")
        assert named(ann, "goals") == ("claim", claim.claim_id)

    def test_what_two_were_called_is_ambiguous(self, ann: StructuredAPI) -> None:
        found = [made(ann, kind, "Goals") for kind in ("context", "tag")]
        for (_, rename), name in zip(found, ("Targets", "aims"), strict=True):
            rename(name)
        result = ann.resolve_reference("@goals")
        assert result.metadata["error_code"] == "ambiguous"
        assert {each["ref"] for each in result.data["candidates"]} == {f"@{one.friendly_id}" for one, _ in found}

    def test_another_case_of_the_same_name_is_no_other_name(self, ann: StructuredAPI) -> None:
        _, rename = made(ann, "context", "goals")
        rename("Goals")
        assert aliases(ann) == []


def made(api: StructuredAPI, kind: str, name: str) -> tuple[Any, Any]:
    """A thing, and what renames it."""
    if kind == "context":
        one = context(api, name)
        return one, lambda new: api.edit_context(one.context_id, name=new)
    one = api.add_tag(name).data if kind == "tag" else api.add_entity(name, "person").data
    edit, key = getattr(api, f"edit_{kind}"), getattr(one, f"{kind}_id")
    return one, lambda new: edit(key, name=new)


class TestGone:
    def test_aliases_go_with_their_thing_and_come_back_with_it(self, ann: StructuredAPI) -> None:
        running, jogging = tag(ann, "running"), tag(ann, "jogging")
        ann.merge_tags(jogging.tag_id, running.tag_id)
        kept = aliases(ann)
        assert [alias for alias, _ in kept] == ["jogging", "jogging_tag"]
        ann.delete_tag(running.tag_id)
        assert aliases(ann) == []
        assert missed(ann, "jogging_tag")
        undo_last(ann)
        assert aliases(ann) == kept
        assert named(ann, "jogging") == ("tag", running.tag_id)

    def test_an_erased_claim_and_an_erased_person_leave_none(self, ann: StructuredAPI) -> None:
        row = {"claim_id": "c-1", "statement": "x", "claim_type": "fact", "context_domain": "health"}
        ann.import_data({"data": {"claims": [row | {"friendly_id": "memory_leak_a3f2"}]}})
        ben = ann.for_user(BEN)
        for each in (ann, ben):
            _, rename = made(each, "context", "Goals")
            rename("Targets")
        erase_claims(ann.db, ["c-1"])
        assert [alias for alias, _ in aliases(ann)] == ["goals"]
        erase_user(ann.db, ANN)
        assert (aliases(ann), len(aliases(ben))) == ([], 1)

    def test_they_are_one_persons_alone(self, ann: StructuredAPI) -> None:
        _, rename = made(ann, "context", "Goals")
        rename("Targets")
        assert missed(ann.for_user(BEN), "goals")


class TestFreeIds:
    """An id that a person gives is free where no thing of any kind has it."""

    GIVEN: dict[str, Any] = {
        "claim": lambda api, name: api.add_claim(name, auto_extract=False, friendly_id="Morning_Sport"),
        "context": lambda api, name: api.add_context(name, friendly_id="Morning_Sport"),
        "entity": lambda api, name: api.add_entity(name, "person", friendly_id="Morning_Sport"),
        "tag": lambda api, name: api.add_tag(name, friendly_id="Morning_Sport"),
    }

    @pytest.mark.parametrize("first", GIVEN)
    @pytest.mark.parametrize("second", GIVEN)
    def test_the_second_is_refused(self, ann: StructuredAPI, first: str, second: str) -> None:
        made_first = self.GIVEN[first](ann, "Swimming")
        refused = self.GIVEN[second](ann, "Running")
        assert (refused.success, refused.metadata["error_code"]) == (False, "conflict")
        assert "Morning_Sport" in refused.errors[0]
        assert named(ann, "morning_sport") == (first, made_first.object_id)
        assert self.GIVEN[second](ann.for_user(BEN), "Running").success

    def test_what_was_deleted_does_not_come_back_under_an_id_that_another_has_now(self, ann: StructuredAPI) -> None:
        group = context(ann, "Swimming", friendly_id="morning_sport")
        deleted = ann.delete_context(group.context_id).metadata["audit_id"]
        claim = added(ann, friendly_id="morning_sport")
        undone = ann.undo(deleted)
        assert (undone.success, undone.metadata["error_code"]) == (False, "conflict")
        assert named(ann, "morning_sport") == ("claim", claim.claim_id)

    def test_a_former_id_is_free(self, ann: StructuredAPI) -> None:
        running, jogging = tag(ann, "running"), tag(ann, "jogging")
        ann.merge_tags(jogging.tag_id, running.tag_id)
        again = tag(ann, "jogging")
        assert again.friendly_id == "jogging_tag"
        assert named(ann, "jogging_tag") == named(ann, "jogging") == ("tag", again.tag_id)
