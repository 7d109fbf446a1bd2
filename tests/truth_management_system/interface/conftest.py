"""Two people in one knowledge base, one of each kind of thing, and a look at all that is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.truth_management_system.conftest import added
from truth_management_system import ActionResult, PKBDatabase, StructuredAPI
from truth_management_system.database.change_set import stored_columns
from truth_management_system.schema import KEYS


@dataclass
class Things:
    """What one person has, and the ids of it."""

    api: StructuredAPI
    claim: str
    other_claim: str
    note: str
    entity: str
    tag: str
    context: str
    conflict: str

    @classmethod
    def of(cls, api: StructuredAPI) -> Things:
        """One of each kind; the two claims contradict each other, the first is filed everywhere."""

        def made(result: ActionResult) -> str:
            assert result.success, result.errors
            return str(result.object_id)

        claim, other = added(api, "I like tea").claim_id, added(api, "I hate tea").claim_id
        entity, tag = made(api.add_entity("Tea", "topic")), made(api.add_tag("drinks"))
        made(api.link_entity_to_claim(claim, entity))
        made(api.link_tag_to_claim(claim, tag))
        return cls(
            api=api,
            claim=claim,
            other_claim=other,
            note=made(api.add_note("A long text")),
            entity=entity,
            tag=tag,
            context=made(api.add_context("Kitchen", claim_ids=[claim])),
            conflict=made(api.create_conflict_set([claim, other])),
        )


@pytest.fixture
def ann(api: StructuredAPI) -> Things:
    return Things.of(api.for_user("ann@example.org"))


@pytest.fixture
def ben(api: StructuredAPI) -> Things:
    return Things.of(api.for_user("ben@example.org"))


@pytest.fixture
def stored(db: PKBDatabase) -> Callable[[], dict[str, list[Any]]]:
    """All that is stored, without the times of the last change and the numbers of rows."""

    def read() -> dict[str, list[Any]]:
        tables = {}
        for table in KEYS:
            names = [name for name in stored_columns(table) if name != "updated_at" and not name.endswith("_rowid")]
            tables[table] = sorted(map(repr, db.select(f"SELECT {', '.join(names)} FROM {table}")))
        return tables

    return read
