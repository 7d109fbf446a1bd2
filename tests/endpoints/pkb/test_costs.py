"""What routes of the knowledge base cost, in queries: as much for many as for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person

PATHS = (
    "/pkb/claims?limit=200",
    "/pkb/claims?limit=200&status=all&tag=running_tag",
    "/pkb/pinned",
    "/pkb/contexts",
    "/pkb/tags",
    "/pkb/entities",
    "/pkb/types",
    "/pkb/domains",
    "/pkb/conflicts",
    "/pkb/stats",
    "/pkb/notes?limit=200",
    "/pkb/notes?q=tea",
    "/pkb/duplicates/claims",
    "/pkb/duplicates/entities",
    "/pkb/duplicates/tags",
    "/pkb/audit?limit=200",
    "/pkb/autocomplete?q=fact",
    "/pkb/search?q=tea&k=100",
    "/pkb/claims?query=tea&limit=50",
    "/pkb/resolve/running_tag",
    "/pkb/claims/1/contexts",
    "/pkb/claims/1/tags",
    "/pkb/claims/1/entities",
    "/pkb/export",
)


@pytest.fixture
def queries(app: Flask, ada: Person) -> Callable[[str], int]:
    """How many queries of the knowledge base a GET takes."""
    database = app.extensions[EXTENSION].knowledge.database()

    def count(path: str) -> int:
        before: int = database.statements
        answer = ada.get(path)
        assert answer.status_code == 200, answer.get_data(as_text=True)
        return int(database.statements - before)

    return count


def furnish(person: Person, numbers: range) -> None:
    """For each number a claim with a tag, an entity and a context of its own, superseding one of before."""
    for number in numbers:
        parent = {"name": f"Context {number}"}
        context: dict[str, Any] = person.post("/pkb/contexts", json=parent).json["context"]
        old = person.remember(f"Old fact {number}", tags=["Running"])
        new = person.remember(
            f"Tea fact {number}",
            tags=["Running", f"Tag {number}"],
            entities=[{"name": f"Anna {number}", "type": "person"}],
            contexts=[context["context_id"]],
            supersedes=old.claim_id,
        )
        person.post("/pkb/notes", json={"body": f"Note {number} about tea"})
        for name in (f"Bob {number}", f"Bob {number} Jones"):
            person.post("/pkb/entities", json={"name": name})
            person.post("/pkb/tags", json={"name": name})
        person.put(f"/pkb/claims/{new.claim_id}/pin")
        person.put(f"/pkb/contexts/{context['context_id']}/claims/1")
        person.put(f"/pkb/claims/1/tags/{new.tags[-1].tag_id}")
        person.put(f"/pkb/claims/1/entities/{new.entities[0].entity_id}")
        pair = [new.claim_id, person.remember(f"Other tea fact {number}").claim_id]
        person.post("/pkb/conflicts", json={"claim_ids": pair})


def test_a_list_of_many_takes_as_many_queries_as_a_list_of_few(ada: Person, queries: Callable[[str], int]) -> None:
    furnish(ada, range(2))
    few = {path: queries(path) for path in PATHS}
    furnish(ada, range(2, 12))
    many = {path: queries(path) for path in PATHS}
    assert many == few
    assert max(many.values()) <= 25
