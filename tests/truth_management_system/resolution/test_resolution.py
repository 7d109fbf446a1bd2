"""What an @reference names, step by step, whoever else has the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.tiers import examples
from tests.truth_management_system.conftest import added
from truth_management_system import ActionResult, Claim, Context, StructuredAPI, generate_uuid

pytestmark = pytest.mark.contract

MISSED = "No memory or context found with ID: "
OWN_IDS = st.from_regex(r"\A[a-zA-Z][a-zA-Z0-9_-]{1,12}[a-zA-Z0-9](_context|_entity|_tag)?\Z")
KINDS: dict[str, Callable[[StructuredAPI, str, str | None], ActionResult]] = {
    "claim": lambda api, name, own_id: api.add_claim(name, auto_extract=False, friendly_id=own_id),
    "context": lambda api, name, own_id: api.add_context(name, friendly_id=own_id),
    "entity": lambda api, name, own_id: api.add_entity(name, "person", friendly_id=own_id),
    "tag": lambda api, name, own_id: api.add_tag(name, friendly_id=own_id),
}


def resolved(api: StructuredAPI, reference: str) -> Any:
    result = api.resolve_reference(reference)
    assert result.success, result.errors
    assert result.object_id == result.data["source_id"]
    return result.data


def named(api: StructuredAPI, reference: str) -> tuple[str, str]:
    data = resolved(api, reference)
    return data["type"], data["source_id"]


def statements(api: StructuredAPI, reference: str) -> list[str]:
    return [claim.statement for claim in resolved(api, reference)["claims"]]


def missed(api: StructuredAPI, reference: str) -> bool:
    result = api.resolve_reference(reference)
    return (
        not result.success
        and result.metadata["error_code"] == "reference_not_found"
        and result.errors == [f"{MISSED}{reference}"]
    )


def context(api: StructuredAPI, name: str, parent: Context | None = None, **fields: Any) -> Context:
    result = api.add_context(name, parent_context_id=parent.context_id if parent else None, **fields)
    assert result.success, result.errors
    made: Context = result.data
    return made


def rename(api: StructuredAPI, table: str, friendly_id: str, new: str) -> None:
    """Give an id that no door would give, as files of other programs may have it."""
    api.db.execute(f"UPDATE {table} SET friendly_id = ? WHERE friendly_id = ?", (new, friendly_id))


class TestSuffixes:
    def test_a_context_gives_what_is_filed_in_it_and_below_it(self, api: StructuredAPI) -> None:
        parent = context(api, "Health Goals")
        child = context(api, "Running", parent)
        added(api, "Above", contexts=[parent.context_id])
        added(api, "Below", contexts=[child.context_id, parent.context_id])
        added(api, "Elsewhere")
        data = resolved(api, "@health_goals_context")
        assert (data["type"], data["source_id"], data["source_name"]) == ("context", parent.context_id, "Health Goals")
        assert [claim.statement for claim in data["claims"]] == ["Below", "Above"]
        assert statements(api, "running_context") == ["Below"]

    def test_an_entity_gives_its_claims_each_once(self, api: StructuredAPI) -> None:
        added(api, "About Mum", entities=[{"type": "person", "name": "Mum", "role": "subject"}])
        added(api, "Mum again", entities=[{"type": "person", "name": "Mum"}, {"name": "Mum", "type": "person"}])
        data = resolved(api, "#mum_person_entity")
        assert (data["type"], data["source_name"]) == ("entity", "Mum")
        assert [claim.statement for claim in data["claims"]] == ["Mum again", "About Mum"]

    def test_a_tag_gives_the_claims_of_its_sub_tags(self, api: StructuredAPI) -> None:
        root = api.add_tag("health").data
        leaf = api.add_tag("fitness", root.tag_id).data
        api.link_tag_to_claim(added(api, "Deep").claim_id, leaf.tag_id)
        api.link_tag_to_claim(added(api, "High").claim_id, root.tag_id)
        assert sorted(statements(api, "health_tag")) == ["Deep", "High"]
        assert statements(api, "fitness_tag") == ["Deep"]

    def test_a_domain_gives_claims_whose_first_or_further_domain_it_is(self, api: StructuredAPI) -> None:
        added(api, "First")
        api.add_claim("Further", "fact", "work", auto_extract=False, context_domains=["work", "health"])
        api.add_claim("Neither", "fact", "work", auto_extract=False)
        data = resolved(api, "@health_domain")
        assert (data["type"], data["source_id"]) == ("domain", "health")
        assert sorted(claim.statement for claim in data["claims"]) == ["First", "Further"]
        assert resolved(api, "finance_domain")["claims"] == []
        assert missed(api, "no_such_domain")

    @pytest.mark.parametrize("suffix", ["context", "entity", "tag", "domain"])
    def test_a_miss_falls_through_to_the_other_steps(self, api: StructuredAPI, suffix: str) -> None:
        stored = added(api, "An old file called me so")
        rename(api, "claims", stored.friendly_id, f"odd_{suffix}")
        entity, _ = api.entities.get_or_create(f"Big {suffix}", "topic")
        assert named(api, f"@odd_{suffix}") == ("claim", stored.claim_id)
        assert named(api, f"@big_{suffix}") == ("entity", entity.entity_id)


class TestNames:
    @pytest.mark.parametrize("sign", ["", "@", "@memory:", "memory:", "@mem:", "@MEMORY:"])
    def test_an_id_names_a_claim_also_in_the_older_form(self, api: StructuredAPI, sign: str) -> None:
        stored = added(api)
        assert named(api, sign + stored.claim_id) == ("claim", stored.claim_id)
        found = api.resolve_claim_identifier(sign + stored.claim_id)
        assert found is not None
        assert found.claim_id == stored.claim_id

    @pytest.mark.parametrize("reference", ["claim_1", "@claim_1", "#claim_1", "1", "#1", "@1", "CLAIM_1", "@001"])
    def test_a_number_names_a_claim(self, api: StructuredAPI, reference: str) -> None:
        stored = added(api)
        assert resolved(api, reference) == {
            "type": "claim",
            "claims": [stored],
            "source_id": stored.claim_id,
            "source_name": stored.friendly_id,
            "total_count": 1,
            "notes": [],
        }

    @pytest.mark.parametrize("reference", ["", "@", "2", "claim_0", "-1", "claim_x", "٣", "9" * 40, "%", "_"])
    def test_what_names_nothing_is_missed(self, api: StructuredAPI, reference: str) -> None:
        added(api)
        assert missed(api, reference)

    def test_a_claim_comes_before_a_context_of_the_same_id(self, api: StructuredAPI) -> None:
        stored, group = added(api, friendly_id="morning_sport"), context(api, "Other", friendly_id="sports_context")
        rename(api, "contexts", "sports_context", "morning_sport")
        assert named(api, "@morning_sport") == ("claim", stored.claim_id)
        rename(api, "claims", "morning_sport", "another_id")
        assert named(api, "@morning_sport") == ("context", group.context_id)

    def test_a_claim_comes_before_a_context_of_that_name(self, api: StructuredAPI) -> None:
        context(api, "Morning Sport")
        stored = added(api, friendly_id="morning_sport")
        assert named(api, "@morning_sport") == ("claim", stored.claim_id)

    def test_an_id_comes_before_a_name(self, api: StructuredAPI) -> None:
        context(api, "Goals")
        by_id = context(api, "Targets", friendly_id="goals_2026")
        context(api, "goals 2026")
        assert named(api, "@goals_2026") == ("context", by_id.context_id)

    @pytest.mark.only_sqlite
    @given(kind=st.sampled_from(list(KINDS)), name=st.text(min_size=1, max_size=20), friendly_id=st.none() | OWN_IDS)
    @examples(60)
    @example("entity", "Robert", "robby")
    @example("tag", "Robots", "robby")
    @example("claim", "Robert", "abcdef01-0000-4000-8000-00000000000a")
    def test_whatever_id_a_thing_has_names_it(
        self, api: StructuredAPI, kind: str, name: str, friendly_id: str | None
    ) -> None:
        somebody = api.for_user(generate_uuid())
        made = KINDS[kind](somebody, name, friendly_id)
        assume(made.success)
        assert named(somebody, made.data.friendly_id) == (kind, made.object_id)
        assert friendly_id in (None, made.data.friendly_id)

    def test_of_things_with_one_id_the_first_in_the_order_is_named(self, api: StructuredAPI) -> None:
        for kind in ("tag", "entity", "context", "claim"):
            made = KINDS[kind](api, "Robert", f"robby-{kind}")
            rename(api, {"entity": "entities"}.get(kind, f"{kind}s"), f"robby-{kind}", "robby")
            assert named(api, "@robby") == named(api, "@ROBBY") == (kind, made.object_id)

    def test_exact_case_comes_before_another_case_even_of_a_later_step(self, api: StructuredAPI) -> None:
        lower, upper = added(api, "Lower", friendly_id="my_plan"), added(api, "Upper")
        rename(api, "claims", upper.friendly_id, "My_Plan")
        assert named(api, "my_plan") == ("claim", lower.claim_id)
        assert named(api, "My_Plan") == ("claim", upper.claim_id)
        group = context(api, "Something", friendly_id="other_context")
        rename(api, "contexts", "other_context", "MY_PLAN")
        assert named(api, "MY_PLAN") == ("context", group.context_id)

    def test_another_case_names_what_it_can_only_mean(self, api: StructuredAPI) -> None:
        stored, group = added(api, friendly_id="my_plan"), context(api, "Work")
        assert named(api, "MY_Plan") == ("claim", stored.claim_id)
        assert named(api, "Work_Context") == ("context", group.context_id)

    @pytest.mark.parametrize("reference", ["deep_below", "Deep_Below", "deep below", "@DEEP_BELOW"])
    def test_a_context_is_found_by_its_name_at_any_depth(self, api: StructuredAPI, reference: str) -> None:
        parent = context(api, "Work")
        wanted = context(api, "Deep Below", context(api, "Between", parent), friendly_id="quite_another")
        assert named(api, reference) == ("context", wanted.context_id)

    def test_names_of_contexts_come_before_those_of_entities_and_tags(self, api: StructuredAPI) -> None:
        api.add_entity("Acme", "org")
        tag = api.add_tag("running").data
        group = context(api, "Acme")
        assert named(api, "acme") == ("context", group.context_id)
        assert named(api, "running") == ("tag", tag.tag_id)

    def test_names_that_two_bear_are_ambiguous_and_say_what_they_may_mean(self, api: StructuredAPI) -> None:
        work = context(api, "Work")
        first, second = context(api, "Plan", work), context(api, "plan", context(api, "Home"))
        result = api.resolve_reference("@plan")
        assert not result.success
        assert result.metadata["error_code"] == "ambiguous"
        assert result.data["type"] == "ambiguous"
        assert result.data["claims"] == []
        refs = {candidate["ref"] for candidate in result.data["candidates"]}
        assert refs == {f"@{first.friendly_id}", f"@{second.friendly_id}"}
        assert {named(api, ref)[1] for ref in refs} == {first.context_id, second.context_id}

    def test_an_entity_and_a_tag_of_one_name_are_ambiguous(self, api: StructuredAPI) -> None:
        api.add_entity("Python", "topic")
        api.add_tag("python")
        candidates = api.resolve_reference("python").data["candidates"]
        assert [candidate["kind"] for candidate in candidates] == ["entity", "tag"]

    def test_a_renamed_thing_is_found_by_its_new_name(self, api: StructuredAPI) -> None:
        group = context(api, "Alpha")
        api.edit_context(group.context_id, name="Beta")
        assert named(api, "beta") == named(api, "alpha_context") == ("context", group.context_id)


class TestStatuses:
    def test_a_retracted_claim_resolves_and_says_so(self, api: StructuredAPI) -> None:
        stored = added(api)
        api.delete_claim(stored.claim_id)
        data = resolved(api, stored.friendly_id)
        assert data["notes"] == ["retracted"]
        assert data["claims"][0].status == "retracted"

    def test_a_superseded_claim_names_the_one_at_the_end(self, api: StructuredAPI) -> None:
        first = added(api, "First")
        second = added(api, "Second", supersedes=first.claim_id)
        third = added(api, "Third", supersedes=second.claim_id)
        assert resolved(api, first.friendly_id)["notes"] == [f"superseded by @{third.friendly_id}"]
        assert resolved(api, "claim_3")["notes"] == []

    def test_notes_of_many_take_as_many_queries_as_those_of_one(self, api: StructuredAPI) -> None:
        old = [added(api, f"Old {number}") for number in range(10)]
        new = [added(api, f"New {each.claim_number}", supersedes=each.claim_id) for each in old]
        replaced = api.claims.get_many([each.claim_id for each in old])

        def queries(claims: list[Claim]) -> int:
            before = api.db.statements
            notes = api.references.notes_of(claims)
            assert notes == {
                each.claim_id: [f"superseded by @{by.friendly_id}"] for each, by in zip(claims, new, strict=False)
            }
            return api.db.statements - before

        assert queries(replaced) == queries(replaced[:1]) == 2

    def test_superseded_claims_in_a_circle_still_resolve(self, api: StructuredAPI) -> None:
        first = added(api, "First")
        second = added(api, "Second", supersedes=first.claim_id)
        api.supersede_claim(first.claim_id, second.claim_id)
        assert resolved(api, "1")["source_id"] == first.claim_id

    def test_groups_hold_active_and_contested_claims_alone(self, api: StructuredAPI) -> None:
        group = context(api, "Work")
        kept = [added(api, name, contexts=[group.context_id]).claim_id for name in ("Yes", "No", "Gone", "Old")]
        api.create_conflict_set(kept[:2])
        api.delete_claim(kept[2])
        api.edit_claim(kept[3], status="historical")
        claims = resolved(api, "work_context")["claims"]
        assert {claim.statement: claim.status for claim in claims} == {"Yes": "contested", "No": "contested"}

    @pytest.mark.parametrize("claim_id", ["claim-one", "ABCDEFAB-0000-4000-8000-00000000000A", "No. 5"])
    def test_an_imported_claim_is_found_by_the_id_that_it_had_elsewhere(
        self, api: StructuredAPI, claim_id: str
    ) -> None:
        row = {"claim_id": claim_id, "statement": "I like tea", "claim_type": "fact", "context_domain": "personal"}
        api.import_data({"data": {"claims": [row]}})
        assert resolved(api, f"memory:{claim_id}")["source_id"] == claim_id
        found = api.resolve_claim_identifier(claim_id)
        assert found is not None
        assert found.claim_id == claim_id
        assert api.for_user("eve").resolve_claim_identifier(claim_id) is None

    @pytest.mark.parametrize("reference", ["health_goals_context", "mum_person_entity", "fitness_tag", "health_domain"])
    def test_of_a_group_as_many_as_are_wanted_and_how_many_there_are(self, api: StructuredAPI, reference: str) -> None:
        group = context(api, "Health Goals")
        filed = {"tags": ["fitness"], "entities": [{"name": "Mum", "type": "person"}], "contexts": [group.context_id]}
        stored = [added(api, f"Fact {number}", **filed) for number in range(4)]
        api.delete_claim(stored[3].claim_id)
        for limit, numbers in ((1, [2]), (2, [2, 1]), (3, [2, 1, 0]), (4, [2, 1, 0]), (None, [2, 1, 0])):
            data = api.resolve_reference(reference, limit=limit).data
            assert [claim.statement for claim in data["claims"]] == [f"Fact {number}" for number in numbers]
            assert data["total_count"] == 3

    def test_groups_are_newest_change_first(self, api: StructuredAPI) -> None:
        for name in ("One", "Two", "Three"):
            added(api, name, tags=["kept"])
        api.edit_claim(api.claims.list(order_by="claim_number")[0].claim_id, confidence=0.4)
        assert statements(api, "kept_tag") == ["One", "Three", "Two"]


class TestJoins:
    """`a_domain&b_tag`: the claims that all of the groups hold."""

    @pytest.fixture
    def stored(self, api: StructuredAPI) -> list[Claim]:
        """Claims 0 to 3: one in every group, one in all but the tag, one with the tag alone, one that was retracted."""
        group = context(api, "Health Goals")
        below = context(api, "Running", group)
        mum = [{"name": "Mum", "type": "person"}]
        everything = {"tags": ["fitness"], "entities": mum, "contexts": [below.context_id]}
        claims = [
            added(api, "Everywhere", **everything),
            added(api, "Untagged", **{**everything, "tags": []}),
            api.add_claim("Tagged", "fact", "work", auto_extract=False, tags=["fitness"]).data,
            added(api, "Gone", **everything),
        ]
        api.delete_claim(claims[3].claim_id)
        return claims

    @pytest.mark.parametrize(
        ("reference", "expected"),
        [
            ("health_domain&fitness_tag", ["Everywhere"]),
            ("@fitness_tag&health_domain", ["Everywhere"]),
            ("health_domain&mum_person_entity", ["Untagged", "Everywhere"]),
            ("health_goals_context&mum_person_entity&health_domain&fitness_tag", ["Everywhere"]),
            ("health_goals_context&running_context", ["Untagged", "Everywhere"]),
            ("work_domain&fitness_tag", ["Tagged"]),
            ("work_domain&health_domain", []),
            ("Fitness_TAG&WORK_domain", ["Tagged"]),
            ("fitness_tag&fitness_tag", ["Tagged", "Everywhere"]),
        ],
    )
    @pytest.mark.usefixtures("stored")
    def test_all_groups_hold_what_is_given(self, api: StructuredAPI, reference: str, expected: list[str]) -> None:
        assert statements(api, reference) == expected
        assert resolved(api, reference)["total_count"] == len(expected)

    @pytest.mark.usefixtures("stored")
    def test_the_groups_are_named(self, api: StructuredAPI) -> None:
        data = resolved(api, "@Health_domain&FITNESS_tag")
        assert (data["type"], data["joins"]) == ("domain", ["domain", "tag"])
        assert (data["source_id"], data["source_name"]) == ("health_domain&fitness_tag", "health & fitness")
        assert "joins" not in resolved(api, "health_domain")

    def test_two_groups_of_a_kind_are_kept_apart(self, api: StructuredAPI) -> None:
        added(api, "Both", tags=["one", "two"])
        added(api, "One", tags=["one"])
        added(api, "Two", tags=["two"])
        assert statements(api, "one_tag&two_tag") == ["Both"]

    @pytest.mark.usefixtures("stored")
    def test_groups_that_are_not_there_are_named(self, api: StructuredAPI) -> None:
        for reference, missing in (
            ("health_domain&fitnes_tag", ["fitnes_tag"]),
            ("no_context&health_domain&no_tag", ["no_context", "no_tag"]),
        ):
            result = api.resolve_reference(reference)
            assert result.metadata["error_code"] == "reference_not_found"
            assert result.metadata["details"] == {"missing": missing}
            assert result.errors == [f"{MISSED}{', '.join(missing)}"]

    @pytest.mark.parametrize(
        "reference", ["fitness_tag&claim_1", "fitness_tag&", "&fitness_tag", "a&b", "fitness_tag&fitness"]
    )
    @pytest.mark.usefixtures("stored")
    def test_what_joins_no_groups_is_one_name(self, api: StructuredAPI, reference: str) -> None:
        assert missed(api, reference)
        assert missed(api, "&".join(["fitness_tag"] * 5))

    def test_a_claim_that_is_called_like_a_group_is_none(self, api: StructuredAPI, stored: list[Claim]) -> None:
        rename(api, "claims", stored[0].friendly_id, "odd_tag")
        assert api.resolve_reference("health_domain&odd_tag").metadata["details"] == {"missing": ["odd_tag"]}

    def test_a_group_is_found_by_its_name_too(self, api: StructuredAPI) -> None:
        group = context(api, "Price tag", friendly_id="prices")
        added(api, "Cheap", contexts=[group.context_id])
        data = resolved(api, "health_domain&price_tag")
        assert (data["source_id"], [claim.statement for claim in data["claims"]]) == (
            "health_domain&price_tag",
            ["Cheap"],
        )

    def test_a_name_that_two_groups_bear_is_ambiguous_within_the_join(self, api: StructuredAPI) -> None:
        for top in ("Home", "Work"):
            context(api, "Price tag", context(api, top))
        result = api.resolve_reference("health_domain&price_tag")
        assert result.metadata["error_code"] == "ambiguous"
        refs = [candidate["ref"] for candidate in result.data["candidates"]]
        assert all(ref.startswith("@health_domain&price_tag") and ref.endswith("_context") for ref in refs)
        assert [resolved(api, ref)["joins"] for ref in refs] == [["domain", "context"]] * 2

    def test_as_many_as_are_wanted_the_newest_first_in_one_question(self, api: StructuredAPI) -> None:
        for number in range(4):
            added(api, f"Fact {number}", tags=["kept"])
        for limit, numbers, total in ((2, [3, 2], 4), (4, [3, 2, 1, 0], 4), (None, [3, 2, 1, 0], 4)):
            before = api.db.statements
            data = api.resolve_reference("health_domain&kept_tag", limit=limit).data
            # One for each group (a domain is looked up among the person's own), one for the claims, one that counts.
            assert api.db.statements - before <= 4
            assert [claim.statement for claim in data["claims"]] == [f"Fact {number}" for number in numbers]
            assert data["total_count"] == total

    def test_others_have_no_part_in_a_join(self, api: StructuredAPI) -> None:
        ann, ben = api.for_user("ann@example.org"), api.for_user("ben@example.org")
        group = context(ann, "Work")
        stored = added(ben, "Ben's", tags=["kept"])
        added(ann, "Ann's", tags=["kept"])
        api.db.execute("INSERT INTO context_claims VALUES (?, ?)", (group.context_id, stored.claim_id))
        assert resolved(ann, "work_context&kept_tag")["claims"] == []
        details = ben.resolve_reference("work_context&kept_tag").metadata["details"]
        assert (
            details
            == ben.resolve_reference("work_context&health_domain").metadata["details"]
            == {"missing": ["work_context"]}
        )


class TestTrees:
    def test_a_circle_in_the_store_ends(self, api: StructuredAPI) -> None:
        first = context(api, "First")
        second = context(api, "Second", first)
        added(api, "Inside", contexts=[first.context_id, second.context_id])
        api.db.execute(
            "UPDATE contexts SET parent_context_id = ? WHERE context_id = ?", (second.context_id, first.context_id)
        )
        assert statements(api, "first_context") == statements(api, "second_context") == ["Inside"]

    def test_what_lies_more_than_ten_levels_below_is_too_deep(self, api: StructuredAPI) -> None:
        group: Context | None = None
        for level in range(13):
            group = context(api, f"Level {level}", group)
            added(api, f"Claim {level}", contexts=[group.context_id])
        first = api.contexts.get_children()[0]
        claims = resolved(api, first.friendly_id)["claims"]
        assert {claim.statement for claim in claims} == {f"Claim {level}" for level in range(11)}

    def test_others_have_no_part_in_it(self, api: StructuredAPI) -> None:
        ann, ben = api.for_user("ann@example.org"), api.for_user("ben@example.org")
        group = context(ann, "Work")
        stored = added(ben, "Ben's", tags=["kept"])
        api.db.execute("INSERT INTO context_claims VALUES (?, ?)", (group.context_id, stored.claim_id))
        assert resolved(ann, "work_context")["claims"] == []
        for reference in ("work_context", "work", group.context_id):
            assert missed(ben, reference)
        for reference in ("1", stored.friendly_id, stored.claim_id, "kept_tag", "kept"):
            assert missed(ann, reference)

    def test_the_number_of_queries_does_not_grow(self, api: StructuredAPI) -> None:
        def queries(reference: str) -> int:
            before = api.db.statements
            resolved(api, reference)
            return api.db.statements - before

        added(api)
        small = context(api, "Small", claim_ids=[api.claims.list()[0].claim_id])
        large = context(api, "Large")
        children = [context(api, f"Child {number}", large) for number in range(10)]
        groups = [context(api, f"Leaf {number}", children[number // 10]) for number in range(100)]
        for start in range(0, 2_000, 100):
            given = [
                {"statement": f"Fact {number}", "contexts": [groups[number % 100].context_id]}
                for number in range(start, start + 100)
            ]
            assert api.add_claims_bulk(given).data["failed_count"] == 0
        assert len(resolved(api, large.friendly_id)["claims"]) == 2_000
        few = api.resolve_reference(large.friendly_id, limit=3).data
        assert [claim.statement for claim in few["claims"]] == ["Fact 1999", "Fact 1998", "Fact 1997"]
        assert few["total_count"] == 2_000
        assert queries("claim_1") <= 3
        assert queries(large.friendly_id) == queries(small.friendly_id) <= 3


@pytest.mark.parametrize(
    "hostile",
    ["\0", "\ud800", "@\udfff_context", "a" * 1_000_000, "' OR 1=1 --", "*", '"', "٠٠١", "@" * 500, "x\ny", "\u202e"],
)
def test_no_text_is_too_odd_to_be_asked_for(api: StructuredAPI, hostile: str) -> None:
    added(api)
    assert missed(api, hostile)
    assert api.resolve_claim_identifier(hostile) is None
