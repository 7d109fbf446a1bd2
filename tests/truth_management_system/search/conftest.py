"""People with memories, in a store of their own, and a model that embeds what they remember."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.truth_management_system.conftest import stored_knowledge_base
from tests.truth_management_system.ingestion.conftest import make_api
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.crud.claims import ClaimCRUD
from truth_management_system.crud.contexts import ContextCRUD
from truth_management_system.crud.entities import EntityCRUD
from truth_management_system.crud.notes import NoteCRUD
from truth_management_system.crud.tags import TagCRUD
from truth_management_system.database import PKBDatabase
from truth_management_system.models import Claim
from truth_management_system.search.base import SearchResult

__all__ = ["make_api"]
ANN, BEN = "ann@example.org", "ben@example.org"


class Person:
    """One user, and short ways to remember things."""

    def __init__(self, db: PKBDatabase, email: str) -> None:
        self.db = db
        self.email = email
        self.claims = ClaimCRUD(db, email)
        self.contexts = ContextCRUD(db, email)
        self.entities = EntityCRUD(db, email)
        self.notes = NoteCRUD(db, email)
        self.tags = TagCRUD(db, email)

    def claim(self, statement: str, **fields: Any) -> Claim:
        filed = {name: fields.pop(name) for name in ("tags", "entities", "contexts") if name in fields}
        kind, domain = fields.pop("claim_type", "fact"), fields.pop("context_domain", "personal")
        return self.claims.add(Claim.create(statement, kind, domain, **fields), **filed)


@pytest.fixture
def db(database_url: str | None, tmp_path: Path) -> Iterator[PKBDatabase]:
    with stored_knowledge_base(database_url, tmp_path) as database:
        yield database


@pytest.fixture
def ann(db: PKBDatabase) -> Person:
    return Person(db, ANN)


@pytest.fixture
def ben(db: PKBDatabase) -> Person:
    return Person(db, BEN)


@pytest.fixture
def model() -> WordVectors:
    return WordVectors({"automobile": "car", "physician": "doctor"})


@pytest.fixture
def statements_run(db: PKBDatabase) -> Callable[[Callable[[], object]], int]:
    """How many SQL statements something takes."""

    def count(work: Callable[[], object]) -> int:
        before = db.statements
        work()
        return db.statements - before

    return count


def found(results: list[SearchResult]) -> list[str]:
    """What was found, as a reader sees it."""
    return [result.claim.statement for result in results]
