"""What was remembered twice becomes one, with all that the others were filed under."""

from __future__ import annotations

from tests.truth_management_system.conftest import added
from tests.truth_management_system.interface.conftest import Things
from truth_management_system import StructuredAPI
from truth_management_system.crud.links import get_supersession_head


def test_one_claim_supersedes_the_others_and_takes_over_what_they_are_filed_under(ann: Things) -> None:
    kept = added(ann.api, "I like a cup of tea", tags=["warm"])
    result = ann.api.consolidate_claims([kept.claim_id, ann.claim], keep_id=kept.claim_id)
    assert (result.data["kept"], result.data["superseded"]) == (kept.claim_id, [ann.claim])
    assert [ann.api.get_claim(claim_id).data.status for claim_id in (kept.claim_id, ann.claim)] == [
        "active",
        "superseded",
    ]
    assert {tag.name for tag in ann.api.get_claim_tags_list(kept.claim_id).data} == {"drinks", "warm"}
    assert [entity.name for entity, _ in ann.api.get_claim_entities_list(kept.claim_id).data] == ["Tea"]
    assert [claim.claim_id for claim in ann.api.resolve_context(ann.context).data] == [kept.claim_id]
    assert get_supersession_head(ann.api.db, ann.claim) == kept.claim_id


def test_the_surest_claim_is_kept_and_of_equals_the_newest(api: StructuredAPI) -> None:
    ids = [added(api, f"Claim {sure}", confidence=sure).claim_id for sure in (0.4, 0.9, None, 0.9)]
    result = api.consolidate_claims(ids)
    assert result.data["kept"] == ids[3]
    assert result.data["superseded"] == ids[:3]


def test_what_does_not_hold_itself_takes_nothing_s_place(ann: Things) -> None:
    ann.api.delete_claim(ann.claim)
    for result in (
        ann.api.supersede_claim(ann.claim, ann.other_claim),
        ann.api.consolidate_claims([ann.claim, ann.other_claim], keep_id=ann.claim),
    ):
        assert not result.success
    assert ann.api.get_claim(ann.other_claim).data.status == "active"


def test_what_was_restored_can_supersede_what_had_superseded_it(api: StructuredAPI) -> None:
    old, new = added(api, "I live in Lisbon").claim_id, added(api, "I live in Porto").claim_id
    api.supersede_claim(new, old)
    assert "superseded itself" in api.supersede_claim(old, new).errors[0]
    api.edit_claim(old, status="active")
    again = api.supersede_claim(old, new)
    assert again.data["head_claim_id"] == old
    assert [get_supersession_head(api.db, one) for one in (old, new)] == [old, old]
    assert api.resolve_reference(api.get_claim(new).data.friendly_id).data["notes"] == [
        f"superseded by @{api.get_claim(old).data.friendly_id}"
    ]
    assert api.undo(again.metadata["audit_id"]).success
    assert get_supersession_head(api.db, old) == new


def test_the_one_to_keep_has_to_be_among_them(ann: Things) -> None:
    other = added(ann.api, "Another")
    result = ann.api.consolidate_claims([ann.claim, ann.other_claim], keep_id=other.claim_id)
    assert result.errors == ["The claim that is kept has to be one of them."]


def test_a_merged_entity_is_known_by_both_names(api: StructuredAPI) -> None:
    short, long = api.add_entity("john", "person").data, api.add_entity("John Smith", "person").data
    stored = added(api, entities=[{"name": "john", "type": "person", "role": "subject"}])
    result = api.merge_entities(short.entity_id, long.entity_id)
    assert result.data["aliases"] == ["john"]
    assert [(one.entity_id, role) for one, role in api.get_claim_entities_list(stored.claim_id).data] == [
        (long.entity_id, "subject")
    ]
    assert api.resolve_reference("john").data["source_id"] == long.entity_id


def test_a_merged_tag_hands_on_its_claims_and_its_sub_tags(api: StructuredAPI) -> None:
    source, target = api.add_tag("ML").data, api.add_tag("machine learning").data
    child = api.add_tag("networks", source.tag_id).data
    stored = added(api, tags=["ML"])
    assert api.merge_tags(source.tag_id, target.tag_id).data["tag"].tag_id == target.tag_id
    assert api.tags.get(source.tag_id) is None
    assert [tag.parent_tag_id for tag in api.tags.get_hierarchy(child.tag_id)] == [None, target.tag_id]
    assert [tag.tag_id for tag in api.get_claim_tags_list(stored.claim_id).data] == [target.tag_id]


def test_entities_of_one_type_whose_names_may_mean_one_are_found(api: StructuredAPI) -> None:
    ids = {name: api.add_entity(name, kind).object_id for name, kind in (("bob", "person"), ("Bob Jones", "person"))}
    api.add_entity("Bob", "org")
    api.add_entity("Acme", "org")
    found = api.find_entity_duplicates().data
    assert [set(group["entity_ids"]) for group in found] == [set(ids.values())]
    assert set(found[0]["names"].values()) == set(ids)
    assert found[0]["suggested_keep_id"] == ids["Bob Jones"]
    assert found[0]["max_similarity"] >= api.config.entity_dedup_threshold
    assert api.find_entity_duplicates("org").data == []


def test_tags_whose_names_may_mean_one_are_found(api: StructuredAPI) -> None:
    ids = [api.add_tag(name).object_id for name in ("running", "runing", "cooking")]
    found = api.find_tag_duplicates().data
    assert [set(group["tag_ids"]) for group in found] == [set(ids[:2])]
