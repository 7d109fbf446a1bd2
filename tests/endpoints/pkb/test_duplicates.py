"""What was remembered twice is found and made one over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from chat.context.knowledge import KnowledgeAccess
from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses
from tests.endpoints.pkb.conftest import embed_all
from tests.endpoints.pkb.test_groups import context, entity, tag

pytestmark = pytest.mark.contract

NOWHERE = "00000000-0000-4000-8000-000000000000"


def status(person: Person, claim_id: str) -> str:
    """The status of a claim."""
    return told(person.get(f"/pkb/claims/{claim_id}"), responses.OneClaim).claim.status


class TestFinding:
    """Groups of things that may be one."""

    def test_claims_that_say_the_same_are_found_by_their_meaning(
        self, vectors: KnowledgeAccess, ada: Person, eve: Person
    ) -> None:
        unsure = ada.remember("I like my morning workouts", confidence=0.4)
        ada.remember("Bern is far")
        sure = ada.remember("I like my morning exercise", confidence=0.9)
        gone = ada.remember("I like my morning workouts")
        told(ada.delete(f"/pkb/claims/{gone.claim_id}"), responses.ChangedClaim)
        eve.remember("I like my morning workouts")
        embed_all(vectors)
        found = told(ada.get("/pkb/duplicates/claims"), responses.DuplicateClaims)
        assert [{claim.claim_id for claim in group.claims} for group in found.duplicates] == [
            {unsure.claim_id, sure.claim_id}
        ]
        assert found.duplicates[0].suggested_keep_id == sure.claim_id
        assert found.duplicates[0].max_similarity > 0.99
        assert found.warnings == []
        assert told(eve.get("/pkb/duplicates/claims"), responses.DuplicateClaims).duplicates == []

    def test_without_vectors_it_is_said_why_none_were_compared(self, vectors: KnowledgeAccess, ada: Person) -> None:
        del vectors
        assert told(ada.get("/pkb/duplicates/claims"), responses.DuplicateClaims).warnings == []
        ada.remember("I like tea")
        found = told(ada.get("/pkb/duplicates/claims"), responses.DuplicateClaims)
        assert (found.duplicates, found.warnings_said[0][0].code) == ([], "meaning_not_prepared")

    def test_without_a_model_it_is_said_why_none_were_compared(self, ada: Person) -> None:
        found = told(ada.get("/pkb/duplicates/claims"), responses.DuplicateClaims)
        assert (found.duplicates, found.warnings_said[0][0].code) == ([], "meaning_without_model")

    def test_entities_and_tags_are_found_by_their_names(self, ada: Person, eve: Person) -> None:
        short, long = entity(ada, "john", entity_type="person"), entity(ada, "John Smith", entity_type="person")
        entity(ada, "John", entity_type="place")
        entity(eve, "John", entity_type="person")
        tags = {tag(ada, name).tag_id for name in ("running", "runing")}
        tag(ada, "cooking")
        people = told(ada.get("/pkb/duplicates/entities"), responses.AlikeEntities).duplicates
        assert [{one.entity_id for one in group.entities} for group in people] == [{short.entity_id, long.entity_id}]
        assert people[0].suggested_keep_id == long.entity_id
        labels = told(ada.get("/pkb/duplicates/tags"), responses.AlikeTags).duplicates
        assert [{one.tag_id for one in group.tags} for group in labels] == [tags]
        of_type = "/pkb/duplicates/entities?entity_type="
        assert told(ada.get(f"{of_type}person"), responses.AlikeEntities).duplicates == people
        assert told(ada.get(f"{of_type}place"), responses.AlikeEntities).duplicates == []
        for path in ("entities", "tags"):
            assert eve.get(f"/pkb/duplicates/{path}").json == {"duplicates": []}
        assert refused(ada.get(f"{of_type}{'x' * 201}")) == (400, "bad_request")


class TestConsolidating:
    """Of several claims that say the same, one stays."""

    def test_the_one_that_stays_takes_over_what_the_others_are_filed_under(self, ada: Person) -> None:
        health = context(ada, "Health")
        kept = ada.remember("I run at dawn", tags=["Running"])
        anna = [{"name": "Anna", "type": "person", "role": "subject"}]
        other = ada.remember("At dawn I run", tags=["Morning"], entities=anna, contexts=[health.context_id])
        body = {"claim_ids": [kept.claim_id, other.claim_id], "keep_id": kept.claim_id}
        done = told(ada.post("/pkb/consolidate", json=body), responses.Consolidated)
        assert (done.claim.claim_id, done.superseded) == (kept.claim_id, [other.claim_id])
        assert {one.name for one in done.claim.tags} == {"Running", "Morning"}
        assert [(one.name, one.role) for one in done.claim.entities] == [("Anna", "subject")]
        assert [one.name for one in done.claim.contexts] == ["Health"]
        assert status(ada, other.claim_id) == "superseded"
        told(ada.post(f"/pkb/undo/{done.audit_id}"), responses.Undone)
        assert status(ada, other.claim_id) == "active"
        assert [one["name"] for one in ada.get(f"/pkb/claims/{kept.claim_id}/tags").json["tags"]] == ["Running"]

    def test_without_a_choice_the_surest_stays(self, ada: Person) -> None:
        ids = [ada.remember(f"I run {sure}", confidence=sure).claim_id for sure in (0.4, 0.9)]
        done = told(ada.post("/pkb/consolidate", json={"claim_ids": ids}), responses.Consolidated)
        assert (done.claim.claim_id, done.superseded) == (ids[1], ids[:1])

    def test_what_is_not_there_or_makes_no_sense_changes_nothing(self, ada: Person, eve: Person) -> None:
        first, second = (ada.remember(statement).claim_id for statement in ("Tea is good", "Tea is fine"))
        foreign = eve.remember("Tea is good").claim_id
        for claim_ids in ([first, NOWHERE], [first, foreign]):
            assert refused(ada.post("/pkb/consolidate", json={"claim_ids": claim_ids})) == (404, "claim_not_found")
        bodies: list[dict[str, Any]] = [
            {},
            {"claim_ids": [first]},
            {"claim_ids": [first, first]},
            {"claim_ids": [first] * 51},
            {"claim_ids": [first, 5]},
            {"claim_ids": [first, second], "keep_id": ada.remember("Another").claim_id},
        ]
        for body in bodies:
            assert refused(ada.post("/pkb/consolidate", json=body)) == (400, "bad_request")
        assert {status(ada, first), status(ada, second), status(eve, foreign)} == {"active"}


class TestMerging:
    """One entity or tag becomes part of another."""

    def test_an_entity_is_known_by_both_names_and_keeps_its_claims(self, ada: Person) -> None:
        short, long = entity(ada, "john", entity_type="person"), entity(ada, "John Smith", entity_type="person")
        ada.remember("John runs", entities=[{"name": "john", "type": "person"}])
        answer = ada.post(f"/pkb/entities/{short.entity_id}/merge", json={"into": long.entity_id})
        merged = told(answer, responses.MergedEntity)
        assert (merged.entity.entity_id, merged.entity.claim_count, merged.aliases) == (long.entity_id, 1, ["john"])
        assert [one["name"] for one in ada.get("/pkb/entities").json["entities"]] == ["John Smith"]
        assert ada.get(f"/pkb/resolve/{short.friendly_id}").json["source_id"] == long.entity_id
        told(ada.post(f"/pkb/undo/{merged.audit_id}"), responses.Undone)
        assert ada.get("/pkb/entities").json["total_count"] == 2

    def test_a_tag_hands_on_its_claims_and_what_is_below_it(self, ada: Person) -> None:
        source, target = tag(ada, "ML"), tag(ada, "Machine learning")
        below = tag(ada, "Networks", parent_tag_id=source.tag_id)
        ada.remember("I learn", tags=["ML"])
        answer = ada.post(f"/pkb/tags/{source.tag_id}/merge", json={"into": target.tag_id})
        merged = told(answer, responses.ChangedTag)
        assert (merged.tag.tag_id, merged.tag.claim_count) == (target.tag_id, 1)
        parents = {one["tag_id"]: one["parent_tag_id"] for one in ada.get("/pkb/tags").json["tags"]}
        assert parents == {target.tag_id: None, below.tag_id: target.tag_id}

    @pytest.mark.parametrize("noun", ["entity", "tag"])
    def test_both_have_to_be_there_and_to_be_two(self, noun: str, ada: Person, eve: Person) -> None:
        made, path = (entity, "entities") if noun == "entity" else (tag, "tags")
        own, other, foreign = (
            getattr(made(person, name), f"{noun}_id") for person, name in ((ada, "A"), (ada, "B"), (eve, "C"))
        )
        for source, target in ((own, NOWHERE), (NOWHERE, own), (own, foreign), (foreign, own)):
            answer = ada.post(f"/pkb/{path}/{source}/merge", json={"into": target})
            assert refused(answer) == (404, f"{noun}_not_found")
        bodies: list[dict[str, Any]] = [{}, {"into": ""}, {"into": own}, {"into": other, "keep": True}]
        for body in bodies:
            assert refused(ada.post(f"/pkb/{path}/{own}/merge", json=body)) == (400, "bad_request")
        assert [person.get(f"/pkb/{path}").json["total_count"] for person in (ada, eve)] == [2, 1]

    def test_a_tag_does_not_become_part_of_one_below_it(self, ada: Person) -> None:
        sport = tag(ada, "Sport")
        running = tag(ada, "Running", parent_tag_id=sport.tag_id)
        answer = ada.post(f"/pkb/tags/{sport.tag_id}/merge", json={"into": running.tag_id})
        assert refused(answer) == (400, "bad_request")
