"""Conflicts, history, undo, export and import over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses

pytestmark = pytest.mark.contract

NOWHERE = "00000000-0000-4000-8000-000000000000"


def history(person: Person, **query: Any) -> list[responses.HistoryItem]:
    """What was changed, newest first."""
    return told(person.get("/pkb/audit", query_string=query), responses.History).entries


def undone(person: Person, audit_id: str | None) -> responses.Undone:
    """Take back a change."""
    return told(person.post(f"/pkb/undo/{audit_id}"), responses.Undone)


def furnished(person: Person) -> None:
    """Something of every kind."""
    top = person.post("/pkb/contexts", json={"name": "Health", "description": "All of it"}).json["context"]
    below = {"name": "Knee", "parent_context_id": top["context_id"]}
    knee = person.post("/pkb/contexts", json=below).json["context"]["context_id"]
    anna = [{"name": "Anna", "type": "person", "role": "subject"}]
    first = person.remember("My knee hurts", tags=["Running"], contexts=[knee], entities=anna)
    second = person.remember("My knee is well", possible_questions=["How is my knee?"])
    person.remember("I live in Oslo", supersedes=person.remember("I live in Rome").claim_id)
    person.put(f"/pkb/claims/{first.claim_id}/pin")
    person.post("/pkb/conflicts", json={"claim_ids": [first.claim_id, second.claim_id], "notes": "Which?"})
    person.post("/pkb/domains", json={"name": "side_projects"})
    person.post("/pkb/types", json={"name": "dream"})


class TestConflicts:
    """Claims that contradict each other."""

    @pytest.fixture
    def ids(self, ada: Person) -> list[str]:
        return [ada.remember(statement).claim_id for statement in ("Tea is good", "Tea is bad", "Tea is tea")]

    def test_a_winner_supersedes_the_others(self, ids: list[str], ada: Person) -> None:
        body = {"claim_ids": ids[:2], "notes": "Which?"}
        opened = told(ada.post("/pkb/conflicts", json=body), responses.ChangedConflict, status=201).conflict
        assert (opened.status, {claim.status for claim in opened.members}) == ("open", {"contested"})
        assert [one.conflict_set_id for one in told(ada.get("/pkb/conflicts"), responses.ConflictList).conflicts] == [
            opened.conflict_set_id
        ]
        address = f"/pkb/conflicts/{opened.conflict_set_id}/resolve"
        answer = ada.post(address, json={"winning_claim_id": ids[0], "notes": "It is."})
        resolved = told(answer, responses.ChangedConflict)
        assert (resolved.conflict.status, resolved.conflict.resolution_notes) == ("resolved", "It is.")
        winner, loser = (told(ada.get(f"/pkb/claims/{one}"), responses.OneClaim).claim for one in ids[:2])
        assert (winner.status, loser.status, loser.superseded_by) == ("active", "superseded", winner.friendly_id)
        assert ada.get("/pkb/conflicts").json == {"conflicts": []}
        undone(ada, resolved.audit_id)
        assert len(ada.get("/pkb/conflicts").json["conflicts"]) == 1

    def test_a_memory_that_says_otherwise_is_added_together_with_the_conflict(
        self, ids: list[str], ada: Person, eve: Person
    ) -> None:
        statement = {"statement": "Tea is neither", "contradicts": ids[0]}
        added = told(ada.post("/pkb/claims", json=statement), responses.AddedClaim, status=201)
        assert added.claim.status == "contested"
        (conflict,) = told(ada.get("/pkb/conflicts"), responses.ConflictList).conflicts
        assert {claim.claim_id for claim in conflict.members} == {added.claim.claim_id, ids[0]}
        undone(ada, added.audit_id)
        assert ada.get("/pkb/conflicts").json == {"conflicts": []}
        assert told(ada.get(f"/pkb/claims/{ids[0]}"), responses.OneClaim).claim.status == "active"
        assert refused(eve.post("/pkb/claims", json=statement)) == (404, "claim_not_found")
        assert eve.get("/pkb/claims").json["total_count"] == 0

    def test_without_a_winner_all_stay(self, ids: list[str], ada: Person) -> None:
        opened = ada.post("/pkb/conflicts", json={"claim_ids": ids}).json["conflict"]
        answer = ada.post(f"/pkb/conflicts/{opened['conflict_set_id']}/resolve", json={"notes": "Both."})
        members = told(answer, responses.ChangedConflict).conflict.members
        assert {claim.status for claim in members} == {"active"}

    def test_a_conflict_is_between_claims_that_are_there(self, ids: list[str], ada: Person) -> None:
        assert refused(ada.post("/pkb/conflicts", json={"claim_ids": [ids[0], NOWHERE]})) == (404, "claim_not_found")
        for claim_ids in ([], ids[:1], [ids[0]] * 2, [ids[0]] * 51, None):
            assert refused(ada.post("/pkb/conflicts", json={"claim_ids": claim_ids})) == (400, "bad_request")
        assert refused(ada.post(f"/pkb/conflicts/{NOWHERE}/resolve", json={})) == (404, "conflict_not_found")

    def test_only_a_member_can_win(self, ids: list[str], ada: Person) -> None:
        opened = ada.post("/pkb/conflicts", json={"claim_ids": ids[:2]}).json["conflict"]
        answer = ada.post(f"/pkb/conflicts/{opened['conflict_set_id']}/resolve", json={"winning_claim_id": ids[2]})
        assert refused(answer) == (400, "bad_request")


class TestHistory:
    """Every change is told, and can be taken back."""

    def test_changes_are_told_newest_first_and_in_pages(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        ada.put(f"/pkb/claims/{claim.claim_id}", json={"statement": "Tea is fine"})
        ada.delete(f"/pkb/claims/{claim.claim_id}")
        entries = history(ada)
        assert [entry.action for entry in entries] == ["delete", "edit", "add"]
        assert {(entry.object_type, entry.object_id) for entry in entries} == {("claim", claim.claim_id)}
        assert entries[-1].title == "Tea is good"
        assert all(entry.can_undo for entry in entries)
        assert history(ada, limit=2) == entries[:2]
        assert history(ada, before=entries[1].audit_seq) == entries[2:]

    def test_undoing_is_a_change_that_can_be_undone(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        ada.delete(f"/pkb/claims/{claim.claim_id}")
        change = history(ada)[0]
        taken_back = undone(ada, change.audit_id)
        assert taken_back.undone == change.audit_id
        assert told(ada.get(f"/pkb/claims/{claim.claim_id}"), responses.OneClaim).claim.status == "active"
        newest, before = history(ada)[:2]
        assert (newest.action, newest.audit_id) == ("undo", taken_back.audit_id)
        assert (before.can_undo, before.undone_by) == (False, taken_back.audit_id)
        undone(ada, taken_back.audit_id)
        assert told(ada.get(f"/pkb/claims/{claim.claim_id}"), responses.OneClaim).claim.status == "retracted"

    def test_a_change_is_undone_once_and_not_after_a_later_one(self, ada: Person) -> None:
        claim = ada.remember("Tea is good")
        for statement in ("Tea is fine", "Tea is bad"):
            ada.put(f"/pkb/claims/{claim.claim_id}", json={"statement": statement})
        latest, earlier = history(ada)[:2]
        assert refused(ada.post(f"/pkb/undo/{earlier.audit_id}")) == (409, "conflict")
        undone(ada, latest.audit_id)
        assert refused(ada.post(f"/pkb/undo/{latest.audit_id}")) == (409, "conflict")
        undone(ada, earlier.audit_id)
        assert told(ada.get("/pkb/claims/1"), responses.OneClaim).claim.statement == "Tea is good"

    def test_a_change_that_is_not_there_is_not_found(self, ada: Person) -> None:
        assert refused(ada.post(f"/pkb/undo/{NOWHERE}")) == (404, "change_not_found")

    @pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"before": "x"}, {"before": 0}])
    def test_a_page_that_is_not_valid_is_refused(self, query: dict[str, Any], ada: Person) -> None:
        answer = ada.get("/pkb/audit", query_string=query)
        assert refused(answer) == (400, "bad_request")
        assert answer.json["details"][0]["loc"][0] in query


class TestTakingAlong:
    """Everything goes out and comes in."""

    def test_what_goes_out_of_one_account_comes_into_another_once(self, ada: Person, eve: Person) -> None:
        furnished(ada)
        exported = ada.get("/pkb/export")
        assert exported.headers["Content-Disposition"] == 'attachment; filename="memories.json"'
        body = {"payload": exported.json, "mode": "merge"}
        imported = told(eve.post("/pkb/import", json=body), responses.Imported)
        assert imported.counts["claims"] == 4
        for path in ("/pkb/stats", "/pkb/types", "/pkb/domains"):
            assert eve.get(path).json == ada.get(path).json, path
        hers, his = (told(one.get("/pkb/claims?status=all"), responses.ClaimPage).claims for one in (ada, eve))
        told_of = {"statement", "friendly_id", "claim_number", "status", "pinned", "possible_questions"}
        assert [claim.model_dump(include=told_of) for claim in his] == [
            claim.model_dump(include=told_of) for claim in hers
        ]
        assert [[tag.name for tag in claim.tags] for claim in his] == [
            [tag.name for tag in claim.tags] for claim in hers
        ]
        before = eve.get("/pkb/stats").json
        again = told(eve.post("/pkb/import", json=body), responses.Imported)
        assert (set(again.counts.values()), again.audit_id) == ({0}, None)
        assert eve.get("/pkb/stats").json == before
        undone(eve, imported.audit_id)
        assert eve.get("/pkb/stats").json["claims"] == 0

    def test_an_import_says_which_readable_ids_are_others_here(self, ada: Person) -> None:
        row = {"statement": "Parsers leak", "claim_type": "fact", "context_domain": "work"}
        claims = [row | {"claim_id": name, "friendly_id": name} for name in ("memory_leak_a3f2", "claim_7")]
        imported = told(ada.post("/pkb/import", json={"payload": {"data": {"claims": claims}}}), responses.Imported)
        assert [(each.kind, each.former, each.leads) for each in imported.renamed] == [
            ("claim", "memory_leak_a3f2", True),
            ("claim", "claim_7", False),
        ]
        assert ada.get("/pkb/resolve/memory_leak_a3f2").json["claims"][0]["claim_id"] == "memory_leak_a3f2"
        assert [each[0].code for each in imported.warnings_said] == ["memory_renamed"]
        assert imported.renamed[1].friendly_id in imported.warnings[0]

    def test_markdown_is_a_file_with_every_statement(self, ada: Person) -> None:
        furnished(ada)
        answer = ada.get("/pkb/export?format=markdown")
        assert answer.mimetype == "text/markdown"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="memories.md"'
        text = answer.get_data(as_text=True)
        for statement in ("My knee hurts", "My knee is well", "I live in Oslo"):
            assert statement in text
        assert refused(ada.get("/pkb/export?format=pdf")) == (400, "bad_request")

    def test_a_large_knowledge_base_comes_in_as_it_went_out(self, ada: Person, eve: Person) -> None:
        drafts = [{"statement": f"{number} {'x' * 19_000}"} for number in range(100)]
        for _ in range(3):
            assert ada.post("/pkb/claims/bulk", json={"claims": drafts}).status_code == 200
        body = {"payload": ada.get("/pkb/export").json}
        assert told(eve.post("/pkb/import", json=body), responses.Imported).counts["claims"] == 300
        assert refused(eve.post("/pkb/relevant_context", json=body)) == (413, "too_large")

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"payload": []},
            {"payload": {}},
            {"payload": {"claims": 5}},
            {"payload": {"format": "x", "claims": [5]}},
            {"payload": {}, "mode": "replace"},
        ],
    )
    def test_an_import_that_makes_no_sense_is_refused_whole(self, body: dict[str, Any], ada: Person) -> None:
        assert refused(ada.post("/pkb/import", json=body)) == (400, "bad_request")
        assert ada.get("/pkb/stats").json["claims"] == 0
