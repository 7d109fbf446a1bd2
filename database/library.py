"""A person's library: presets (named options of answers with a model) and prompts (named texts with fields to fill)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from database.changes import PRESET, PROMPT, ChangeKind, record
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import (
    InvalidChangeError,
    NameTakenError,
    NotFoundError,
    PresetNotFoundError,
    PromptNotFoundError,
)
from database.engine.text import storable
from database.schema import library
from sentences import say

MOST_ITEMS = 500
"""How many presets a person may have, and how many prompts."""

_c = library.c


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryItem:
    """A preset or a prompt. content: plain values, what the kind needs. Times are ISO 8601 in UTC."""

    item_id: str
    name: str
    content: dict[str, Any]
    created_at: str
    updated_at: str


_FIELDS = tuple(_c[name] for name in LibraryItem.__dataclass_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The items of one kind. change: how their changes are recorded."""

    change: ChangeKind
    missing: type[NotFoundError]

    def items(self, *, database: Database, user_email: str) -> list[LibraryItem]:
        """All of the person's items of this kind, by name."""
        query = select(*_FIELDS).where(_c.user_email == user_email, _c.kind == self.change.name)
        with database.reading() as connection:
            found = [LibraryItem(**row._mapping) for row in connection.execute(query)]
        return sorted(found, key=lambda item: (item.name.casefold(), item.name))

    def item(self, *, database: Database, user_email: str, item_id: str) -> LibraryItem:
        """One item. Raises PresetNotFoundError or PromptNotFoundError, also for somebody else's."""
        with database.reading() as connection:
            return self._item(connection, user_email, item_id)

    def add(self, *, database: Database, user_email: str, name: str, content: Mapping[str, Any]) -> LibraryItem:
        """A new item. Raises NameTakenError, and InvalidChangeError where the person has `MOST_ITEMS` already."""
        item_id, moment, named = str(uuid.uuid4()), now_iso(), storable(name)
        values = {"item_id": item_id, "name": named, "content": dict(content)}
        row = {**values, "created_at": moment, "updated_at": moment}

        def job(connection: Connection) -> LibraryItem:
            own = (_c.user_email == user_email) & (_c.kind == self.change.name)
            if connection.execute(select(func.count()).where(own)).scalar_one() >= MOST_ITEMS:
                raise InvalidChangeError(say(f"most_{self.change.name}s", most=MOST_ITEMS))
            connection.execute(insert(library).values(user_email=user_email, kind=self.change.name, **row))
            self._record(connection, "created", user_email, item_id, named)
            return self._item(connection, user_email, item_id)

        return self._written(database, job)

    def replace(
        self, *, database: Database, user_email: str, item_id: str, name: str, content: Mapping[str, Any]
    ) -> LibraryItem:
        """Give an item another name and content. Raises as `item` does, and NameTakenError."""
        named = storable(name)
        values = {"name": named, "content": dict(content), "updated_at": now_iso()}

        def job(connection: Connection) -> LibraryItem:
            self._item(connection, user_email, item_id)
            connection.execute(update(library).where(_c.item_id == item_id).values(values))
            self._record(connection, "changed", user_email, item_id, named)
            return self._item(connection, user_email, item_id)

        return self._written(database, job)

    def remove(self, *, database: Database, user_email: str, item_id: str) -> None:
        """Delete an item. Raises as `item` does."""

        def job(connection: Connection) -> None:
            self._item(connection, user_email, item_id)
            connection.execute(delete(library).where(_c.item_id == item_id))
            record(connection, self.change, "gone", user_email=user_email, ids=[item_id])

        database.write(job)

    def _item(self, connection: Connection, user_email: str, item_id: str) -> LibraryItem:
        query = select(*_FIELDS).where(_c.item_id == item_id, _c.user_email == user_email, _c.kind == self.change.name)
        row = connection.execute(query).first()
        if row is None:
            raise self.missing
        return LibraryItem(**row._mapping)

    def _record(self, connection: Connection, change: Any, user_email: str, item_id: str, name: str) -> None:
        record(connection, self.change, change, user_email=user_email, ids=[item_id], fields={"name": name})

    def _written(self, database: Database, job: Any) -> LibraryItem:
        try:
            written: LibraryItem = database.write(job)
        except IntegrityError as error:
            raise NameTakenError(say(f"{self.change.name}_name_taken")) from error
        return written


PRESETS = Shelf(change=PRESET, missing=PresetNotFoundError)
PROMPTS = Shelf(change=PROMPT, missing=PromptNotFoundError)
