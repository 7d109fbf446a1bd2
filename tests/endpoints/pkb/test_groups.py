"""Contexts, entities, tags, types and domains over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses

pytestmark = pytest.mark.contract

NOWHERE = "00000000-0000-4000-8000-000000000000"


def context(person: Person, name: str, **fields: Any) -> responses.ContextItem:
    """A new context."""
    answer = person.post("/pkb/contexts", json={"name": name, **fields})
    return told(answer, responses.ChangedContext, status=201).context


def tag(person: Person, name: str, **fields: Any) -> responses.TagItem:
    """A new tag."""
    return told(person.post("/pkb/tags", json={"name": name, **fields}), responses.ChangedTag, status=201).tag


def entity(person: Person, name: str, **fields: Any) -> responses.EntityItem:
    """A new entity."""
    return told(person.post("/pkb/entities", json={"name": name, **fields}), responses.ChangedEntity, status=201).entity


def tree(person: Person) -> dict[str, tuple[str | None, int, int]]:
    """Of each context, the name of its parent, and how many claims and children it has."""
    items = told(person.get("/pkb/contexts"), responses.ContextList).contexts
    names: dict[str | None, str] = {item.context_id: item.name for item in items}
    return {item.name: (names.get(item.parent_context_id), item.claim_count, item.child_count) for item in items}


class TestContexts:
    """A tree of contexts, and what is filed in it."""

    def test_contexts_make_a_tree_with_counts(self, ada: Person) -> None:
        health = context(ada, "Health", description="All of it")
        knee = context(ada, "Knee", parent_context_id=health.context_id)
        ada.remember("My knee hurts", contexts=[knee.context_id])
        assert (health.friendly_id, health.description) == ("health_context", "All of it")
        assert tree(ada) == {"Health": (None, 0, 1), "Knee": ("Health", 1, 0)}
        assert told(ada.get(f"/pkb/contexts/{knee.context_id}"), responses.OneContext).context.claim_count == 1

    def test_a_context_is_renamed_and_moved(self, ada: Person) -> None:
        health, knee = context(ada, "Health"), context(ada, "Knee")
        address = f"/pkb/contexts/{knee.context_id}"
        change = {"name": "Left knee", "parent_context_id": health.context_id}
        changed = told(ada.put(address, json=change), responses.ChangedContext)
        assert changed.context.friendly_id == knee.friendly_id
        assert tree(ada)["Left knee"] == ("Health", 0, 0)
        told(ada.put(address, json={"parent_context_id": None}), responses.ChangedContext)
        assert tree(ada)["Left knee"] == (None, 0, 0)
        # What was changed again since is not undone.
        assert refused(ada.post(f"/pkb/undo/{changed.audit_id}")) == (409, "conflict")

    def test_a_context_can_not_lie_below_itself(self, ada: Person) -> None:
        health = context(ada, "Health")
        knee = context(ada, "Knee", parent_context_id=health.context_id)
        for below in (health, knee):
            body = {"parent_context_id": below.context_id}
            answer = ada.put(f"/pkb/contexts/{health.context_id}", json=body)
            assert refused(answer) == (400, "bad_request")
            assert answer.json["message"].startswith("Cycle")

    def test_what_lies_below_a_deleted_context_goes_up_and_its_claims_stay(self, ada: Person) -> None:
        health = context(ada, "Health")
        body = context(ada, "Body", parent_context_id=health.context_id)
        context(ada, "Knee", parent_context_id=body.context_id)
        ada.remember("My back hurts", contexts=[body.context_id])
        before = tree(ada)
        deleted = told(ada.delete(f"/pkb/contexts/{body.context_id}"), responses.Changed)
        assert tree(ada) == {"Health": (None, 0, 1), "Knee": ("Health", 0, 0)}
        assert told(ada.get("/pkb/claims"), responses.ClaimPage).total_count == 1
        told(ada.post(f"/pkb/undo/{deleted.audit_id}"), responses.Undone)
        assert tree(ada) == before

    def test_claims_are_filed_listed_and_taken_out(self, ada: Person) -> None:
        health = context(ada, "Health")
        below = context(ada, "Knee", parent_context_id=health.context_id)
        claims = [ada.remember(f"Fact {number}", contexts=[below.context_id]) for number in range(3)]
        own = ada.remember("My own")
        link = f"/pkb/contexts/{health.context_id}/claims/{own.friendly_id}"
        assert told(ada.put(link), responses.Changed).audit_id is not None
        assert told(ada.put(link), responses.Changed).audit_id is None
        direct = told(ada.get(f"/pkb/contexts/{health.context_id}/claims"), responses.ClaimsOfContext)
        assert [claim.claim_id for claim in direct.claims] == [own.claim_id]
        resolved = told(ada.get(f"/pkb/contexts/{health.context_id}/resolve"), responses.Claims).claims
        assert {claim.claim_id for claim in resolved} == {own.claim_id, *(claim.claim_id for claim in claims)}
        page = ada.get(f"/pkb/contexts/{below.context_id}/claims?limit=2&offset=2")
        assert told(page, responses.ClaimsOfContext).total_count == 3
        assert [claim["statement"] for claim in page.json["claims"]] == ["Fact 0"]
        filed_in = told(ada.get(f"/pkb/claims/{own.claim_id}/contexts"), responses.ContextList).contexts
        assert [one.name for one in filed_in] == ["Health"]
        told(ada.delete(link), responses.Changed)
        assert ada.get(f"/pkb/contexts/{health.context_id}/claims").json["total_count"] == 0

    def test_a_claim_in_many_contexts_tells_of_all(self, ada: Person) -> None:
        ids = [context(ada, f"Context {number}").context_id for number in range(3)]
        context(ada, "Below", parent_context_id=ids[1])
        claim = ada.remember("Tea is good", contexts=ids)
        filed_in = told(ada.get(f"/pkb/claims/{claim.claim_id}/contexts"), responses.ContextList).contexts
        assert {(one.name, one.claim_count, one.child_count) for one in filed_in} == {
            ("Context 0", 1, 0),
            ("Context 1", 1, 1),
            ("Context 2", 1, 0),
        }

    def test_a_context_that_is_not_there_is_not_found(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        address = f"/pkb/contexts/{NOWHERE}"
        for answer in (
            ada.get(address),
            ada.put(address, json={"name": "x"}),
            ada.delete(address),
            ada.get(f"{address}/claims"),
            ada.get(f"{address}/resolve"),
            ada.put(f"{address}/claims/{claim.claim_id}"),
            ada.post("/pkb/contexts", json={"name": "x", "parent_context_id": NOWHERE}),
        ):
            assert refused(answer) == (404, "context_not_found")

    @pytest.mark.parametrize(
        "body", [{}, {"name": ""}, {"name": "x" * 201}, {"name": 5}, {"name": "x", "claim_ids": []}]
    )
    def test_a_context_needs_a_name(self, body: dict[str, Any], ada: Person) -> None:
        answer = ada.post("/pkb/contexts", json=body)
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"][0] in {"name", "claim_ids"}

    def test_a_readable_id_is_had_once(self, ada: Person) -> None:
        context(ada, "Health", friendly_id="mine_context")
        answer = ada.post("/pkb/contexts", json={"name": "Other", "friendly_id": "mine_context"})
        assert refused(answer) == (409, "conflict")
        malformed = ada.post("/pkb/contexts", json={"name": "Other", "friendly_id": "mine_tag"})
        assert refused(malformed) == (400, "bad_request")


class TestTags:
    """A tree of labels."""

    def test_tags_are_listed_by_name_in_pages_and_by_words(self, ada: Person) -> None:
        for name in ("Walking", "Running", "Swimming"):
            tag(ada, name)
        ada.remember("I run", tags=["running"])
        page = told(ada.get("/pkb/tags"), responses.TagPage)
        assert [(one.name, one.claim_count) for one in page.tags] == [("Running", 1), ("Swimming", 0), ("Walking", 0)]
        second = told(ada.get("/pkb/tags?limit=1&offset=1"), responses.TagPage)
        assert ([one.name for one in second.tags], second.total_count) == (["Swimming"], 3)
        found = told(ada.get("/pkb/tags?q=WALK"), responses.TagPage)
        assert ([one.name for one in found.tags], found.total_count) == (["Walking"], 1)

    def test_a_tag_is_renamed_moved_and_never_below_itself(self, ada: Person) -> None:
        sport = tag(ada, "Sport")
        running = tag(ada, "Running", parent_tag_id=sport.tag_id)
        answer = ada.put(f"/pkb/tags/{sport.tag_id}", json={"parent_tag_id": running.tag_id})
        assert refused(answer) == (400, "bad_request")
        assert answer.json["message"].startswith("Cycle")
        change = {"name": "Jogging", "parent_tag_id": None}
        moved = told(ada.put(f"/pkb/tags/{running.tag_id}", json=change), responses.ChangedTag).tag
        assert (moved.name, moved.parent_tag_id) == ("Jogging", None)

    def test_what_lies_below_a_deleted_tag_goes_up_and_its_claims_stay(self, ada: Person) -> None:
        sport = tag(ada, "Sport")
        tag(ada, "Running", parent_tag_id=sport.tag_id)
        claim = ada.remember("I do sports", tags=["Sport"])
        told(ada.delete(f"/pkb/tags/{sport.tag_id}"), responses.Changed)
        (left,) = told(ada.get("/pkb/tags"), responses.TagPage).tags
        assert (left.name, left.parent_tag_id) == ("Running", None)
        assert told(ada.get(f"/pkb/claims/{claim.claim_id}/tags"), responses.TagList).tags == []

    def test_a_claim_gets_and_loses_a_tag(self, ada: Person) -> None:
        claim, running = ada.remember("I run"), tag(ada, "Running")
        link = f"/pkb/claims/{claim.claim_id}/tags/{running.tag_id}"
        assert told(ada.put(link), responses.Changed).audit_id is not None
        tags = told(ada.get(f"/pkb/claims/{claim.claim_id}/tags"), responses.TagList).tags
        assert [(one.tag_id, one.claim_count) for one in tags] == [(running.tag_id, 1)]
        told(ada.delete(link), responses.Changed)
        assert refused(ada.delete(link)) == (404, "tag_not_found")
        unknown = ada.get(f"/pkb/claims?tag={NOWHERE}")
        assert (*refused(unknown), unknown.json["message"]) == (404, "tag_not_found", "There is no such tag.")

    def test_a_name_is_had_once_in_one_place(self, ada: Person) -> None:
        tag(ada, "Running")
        assert refused(ada.post("/pkb/tags", json={"name": "RUNNING"})) == (409, "conflict")

    def test_a_tag_that_is_not_there_is_not_found(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        for answer in (
            ada.put(f"/pkb/tags/{NOWHERE}", json={"name": "x"}),
            ada.delete(f"/pkb/tags/{NOWHERE}"),
            ada.put(f"/pkb/claims/{claim.claim_id}/tags/{NOWHERE}"),
            ada.post("/pkb/tags", json={"name": "x", "parent_tag_id": NOWHERE}),
        ):
            assert refused(answer) == (404, "tag_not_found")


class TestEntities:
    """People, places and things."""

    def test_entities_are_listed_by_name_in_pages_and_by_words(self, ada: Person) -> None:
        entity(ada, "Zürich", entity_type="place")
        anna = entity(ada, "Anna", entity_type="person")
        ada.remember("Anna runs", entities=[{"name": "anna", "type": "person"}])
        page = told(ada.get("/pkb/entities?limit=1"), responses.EntityPage)
        assert ([(one.entity_id, one.claim_count) for one in page.entities], page.total_count) == (
            [(anna.entity_id, 1)],
            2,
        )
        assert [one["name"] for one in ada.get("/pkb/entities?q=zür").json["entities"]] == ["Zürich"]

    def test_an_entity_is_changed_and_deleted_and_its_claims_stay(self, ada: Person) -> None:
        anna = entity(ada, "Anna", entity_type="person")
        claim = ada.remember("Anna runs", entities=[{"name": "Anna", "type": "person"}])
        changed = told(
            ada.put(f"/pkb/entities/{anna.entity_id}", json={"name": "Anne"}), responses.ChangedEntity
        ).entity
        assert (changed.name, changed.friendly_id, changed.claim_count) == ("Anne", anna.friendly_id, 1)
        told(ada.delete(f"/pkb/entities/{anna.entity_id}"), responses.Changed)
        assert told(ada.get(f"/pkb/claims/{claim.claim_id}"), responses.OneClaim).claim.entities == []

    def test_a_claim_is_about_an_entity_in_a_role(self, ada: Person) -> None:
        claim, anna = ada.remember("Anna runs"), entity(ada, "Anna", entity_type="person")
        link = f"/pkb/claims/{claim.claim_id}/entities/{anna.entity_id}"
        told(ada.put(link, json={"role": "subject"}), responses.Changed)
        told(ada.put(link), responses.Changed)
        entities = told(ada.get(f"/pkb/claims/{claim.claim_id}/entities"), responses.EntitiesOfClaim).entities
        assert {(one.name, one.role) for one in entities} == {("Anna", "subject"), ("Anna", "mentioned")}
        told(ada.delete(link), responses.Changed)
        assert ada.get(f"/pkb/claims/{claim.claim_id}/entities").json == {"entities": []}

    def test_an_entity_that_is_not_there_is_not_found(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        for answer in (
            ada.put(f"/pkb/entities/{NOWHERE}", json={"name": "x"}),
            ada.delete(f"/pkb/entities/{NOWHERE}"),
            ada.put(f"/pkb/claims/{claim.claim_id}/entities/{NOWHERE}"),
            ada.delete(f"/pkb/claims/{claim.claim_id}/entities/{NOWHERE}"),
        ):
            assert refused(answer) == (404, "entity_not_found")

    def test_an_entity_of_one_type_has_its_name_once(self, ada: Person) -> None:
        entity(ada, "Anna", entity_type="person")
        assert refused(ada.post("/pkb/entities", json={"name": "ANNA", "entity_type": "person"})) == (409, "conflict")
        entity(ada, "Anna", entity_type="project")


@pytest.mark.parametrize(("path", "noun", "built_in"), [("types", "type", "habit"), ("domains", "domain", "life_ops")])
class TestCategories:
    """Types and domains: those that come along, and one's own."""

    def test_own_ones_stand_behind_those_that_come_along(
        self, path: str, noun: str, built_in: str, ada: Person
    ) -> None:
        shape: Any = {"types": responses.TypeList, "domains": responses.DomainList}[path]
        answer = ada.post(f"/pkb/{path}", json={"name": "Side Projects", "label": "On the side"})
        categories = getattr(told(answer, shape, status=201), path)
        assert categories[-1] == responses.CategoryItem(name="side_projects", label="On the side", count=0)
        assert built_in in {category.name for category in categories}
        field = {"type": "claim_type", "domain": "context_domain"}[noun]
        ada.remember("I build boats", **{field: "side_projects"})
        counts = {one["name"]: one["count"] for one in ada.get(f"/pkb/{path}").json[path]}
        assert counts["side_projects"] == 1

    @pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "!"}, {"name": "9"}, {"name": "x" * 41}, {"name": 5}])
    def test_a_name_that_is_none_is_refused(
        self, path: str, noun: str, built_in: str, body: dict[str, Any], ada: Person
    ) -> None:
        assert refused(ada.post(f"/pkb/{path}", json=body)) == (400, "bad_request"), (noun, built_in)
