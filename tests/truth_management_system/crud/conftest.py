"""An empty knowledge base, two people who use it, and a look at everything that is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.truth_management_system.conftest import empty_knowledge_base
from truth_management_system.crud.claims import ClaimCRUD
from truth_management_system.crud.conflicts import ConflictCRUD
from truth_management_system.crud.contexts import ContextCRUD
from truth_management_system.crud.entities import EntityCRUD
from truth_management_system.crud.notes import NoteCRUD
from truth_management_system.crud.tags import TagCRUD
from truth_management_system.database import PKBDatabase
from truth_management_system.database.audit_log import undo
from truth_management_system.database.change_set import TIMES, stored_columns
from truth_management_system.models import Claim, Context, Entity, Note, Tag
from truth_management_system.schema import KEYS

ANN, BEN = "ann@example.org", "ben@example.org"


@dataclass
class Person:
    """One user, and short ways to fill her knowledge base."""

    db: PKBDatabase
    email: str

    def __post_init__(self) -> None:
        self.claims = ClaimCRUD(self.db, self.email)
        self.entities = EntityCRUD(self.db, self.email)
        self.tags = TagCRUD(self.db, self.email)
        self.contexts = ContextCRUD(self.db, self.email)
        self.conflicts = ConflictCRUD(self.db, self.email)
        self.notes = NoteCRUD(self.db, self.email)

    def claim(self, statement: str = "I run at dawn", **fields: Any) -> Claim:
        filed = {name: fields.pop(name) for name in ("tags", "entities", "contexts") if name in fields}
        kind, domain = fields.pop("claim_type", "fact"), fields.pop("context_domain", "health")
        return self.claims.add(Claim.create(statement, kind, domain, **fields), **filed)

    def tag(self, name: str, parent: Tag | None = None) -> Tag:
        return self.tags.add(Tag.create(name, parent.tag_id if parent else None))

    def entity(self, name: str, entity_type: str = "person") -> Entity:
        return self.entities.add(Entity.create(name, entity_type))

    def context(self, name: str, parent: Context | None = None) -> Context:
        return self.contexts.add(Context.create(name, parent_context_id=parent.context_id if parent else None))

    def note(self, body: str = "A long text", title: str | None = None) -> Note:
        return self.notes.add(Note.create(body, title))

    def last_change(self) -> Any:
        sql = "SELECT * FROM audit_log WHERE user_email = ? ORDER BY audit_seq DESC"
        return self.db.fetchone(sql, [self.email])

    def undo(self) -> None:
        undo(self.db, user_email=self.email, audit_id=self.last_change()["audit_id"])


@pytest.fixture
def db(database_url: str | None, tmp_path: Path) -> Iterator[PKBDatabase]:
    with empty_knowledge_base(database_url, tmp_path) as database:
        yield database


@pytest.fixture
def ann(db: PKBDatabase) -> Person:
    return Person(db, ANN)


@pytest.fixture
def ben(db: PKBDatabase) -> Person:
    return Person(db, BEN)


@pytest.fixture
def stored(db: PKBDatabase) -> Callable[[], dict[str, list[Any]]]:
    """Everything that is stored, without the times of the last change and the numbers of rows."""

    def read() -> dict[str, list[Any]]:
        tables = {}
        for table in KEYS:
            told = (column for column in stored_columns(table) if column not in (*TIMES, "claim_rowid", "note_rowid"))
            columns = ", ".join(told)
            tables[table] = sorted(map(repr, db.select(f"SELECT {columns} FROM {table}")))
        return tables

    return read
