"""An empty knowledge base, what one user can do with it without any model, and something to remember."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stores import empty_memory_knowledge_base
from truth_management_system import Claim, PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.database import pkb_database

WORKOUTS = "I prefer morning workouts"


def claim(statement: str = WORKOUTS, claim_type: str = "preference", context_domain: str = "health") -> Claim:
    """One that is not stored."""
    return Claim.create(statement=statement, claim_type=claim_type, context_domain=context_domain)


def added(api: StructuredAPI, statement: str = WORKOUTS, **fields: Any) -> Claim:
    """One that was added just now."""
    result = api.add_claim(statement, "preference", "health", auto_extract=False, **fields)
    assert result.success, result.errors
    stored: Claim = result.data
    return stored


def empty_knowledge_base(database_url: str | None, folder: Path) -> PKBDatabase:
    """One in memory, or in the PostgreSQL database at `database_url`."""
    if database_url is None:
        return empty_memory_knowledge_base()
    return stored_knowledge_base(database_url, folder)


def stored_knowledge_base(database_url: str | None, folder: Path) -> PKBDatabase:
    """An empty one in a file of `folder`, or in the PostgreSQL database at `database_url`."""
    # How long a busy machine takes is no matter of a test.
    path = folder / "pkb.sqlite"
    return get_database(PKBConfig(path, database_url=database_url, embedding_timeout=60.0, write_timeout=60.0))


def make_store_before(monkeypatch: pytest.MonkeyPatch, database_url: str | None, folder: Path) -> PKBDatabase:
    """A store whose words do not stand behind a prefix yet (version 21), with a memory and a note of Ann's."""
    monkeypatch.setattr(pkb_database, "SCHEMA_VERSION", 21)
    db = stored_knowledge_base(database_url, folder)
    api = StructuredAPI(db, {}, db.config, "ann@example.org")
    added(api, "Whales sing at night")
    assert api.add_note("Running notes", title="Runs").success
    return db


def finds_its_memories(db: PKBDatabase) -> bool:
    """Whether what `make_store_before` has stored is found."""
    api = StructuredAPI(db, {}, db.config, "ann@example.org")
    return bool(api.search("whale", strategy="fts").data and api.search_notes("run").data)


@pytest.fixture
def db(database_url: str | None, tmp_path: Path) -> Iterator[PKBDatabase]:
    with empty_knowledge_base(database_url, tmp_path) as database:
        yield database


@pytest.fixture
def api(db: PKBDatabase) -> StructuredAPI:
    return StructuredAPI(db, {}, db.config)
