"""What the doors to all tables share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, Table, bindparam, false, func, literal, select

from database.engine.text import storable
from sentences import say

from ..constants import ClaimStatus
from ..database import PKBDatabase, Prepared
from ..database.audit_log import ChangeSet, recording
from ..errors import InvalidKnowledgeError, KnowledgeNotFoundError
from ..schema.operators import among, caseless

Model = TypeVar("Model")

HOLDING = tuple(ClaimStatus.default_search_statuses())
"""The statuses of claims that searches and groups give unless asked for more."""

EVERYTHING = 2**62
"""A limit that limits nothing."""


class OwnedRows(Generic[Model]):
    """One user's rows of one table. The columns of `columns` are the model's fields, in order; noun: names one row."""

    noun: ClassVar[str]
    not_found: ClassVar[type[KnowledgeNotFoundError]]
    table: ClassVar[Table]
    key: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    model: type[Model]

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        self.db = db
        self.user_email = user_email or ""

    def get(self, identity: str) -> Model | None:
        """The one with this id; None where there is none of this user's."""
        return self._first(self._by_key(), identity=identity)

    def existing(self, identity: str) -> Model:
        """The one with this id. Raises the KnowledgeNotFoundError of its kind where there is none of this user's."""
        found = self.get(identity)
        if found is None:
            raise self.not_found(identity)
        return found

    def get_many(self, identities: Sequence[str]) -> list[Model]:
        """Those with these ids, in their order; ids that name none are left out."""
        if not identities:
            return []
        rows = self._found(self._by_keys(), identities=identities)
        found: dict[str, Model] = {getattr(row, self.key): row for row in rows}
        return [found[identity] for identity in dict.fromkeys(identities) if identity in found]

    def get_by_friendly_id(self, friendly_id: str) -> Model | None:
        """The one with this readable id: in exactly this case, else in any case if that is one only."""
        found = self._found(self._by_friendly_id(), friendly_id=friendly_id)
        exact = [one for one in found if getattr(one, "friendly_id", None) == friendly_id]
        return (exact or found)[0] if exact or len(found) == 1 else None

    def _found(self, statement: Prepared, **given: Any) -> list[Model]:
        """The rows that a statement made of `_owned` gives."""
        return [self.model(*row) for row in self.db.rows(statement, user=self.user_email, **given)]

    def _first(self, statement: Prepared, **given: Any) -> Model | None:
        row = self.db.row(statement, user=self.user_email, **given)
        return None if row is None else self.model(*row)

    def _recording(
        self, action: str, identity: str, title: str = "", **detail: Any
    ) -> AbstractContextManager[ChangeSet]:
        """One change of a row, with one entry of the audit log."""
        return recording(
            self.db,
            user_email=self.user_email,
            action=action,
            object_type=self.noun,
            object_id=identity,
            title=title,
            detail=detail,
        )

    def _number(self, statement: Prepared, **given: Any) -> int:
        """The one number that a statement about this user's rows gives."""
        row = self.db.row(statement, user=self.user_email, **given)
        return int(row[0]) if row else 0

    @classmethod
    def _owned(cls, *conditions: ColumnElement[Any]) -> Select[Any]:
        """The rows of `:user` for which the conditions hold."""
        return owned(cls.table, cls.columns).where(*conditions)

    @classmethod
    @cache
    def _by_key(cls) -> Prepared:
        return Prepared(cls._owned(cls.table.c[cls.key] == bindparam("identity")))

    @classmethod
    @cache
    def _by_keys(cls) -> Prepared:
        return Prepared(cls._owned(among(cls.table.c[cls.key], "identities")))

    @classmethod
    @cache
    def _by_friendly_id(cls) -> Prepared:
        return Prepared(cls._owned(caseless(cls.table.c.friendly_id) == caseless(bindparam("friendly_id"))))


def owned(table: Table, columns: Sequence[str]) -> Select[Any]:
    """The rows of `:user`, with these columns."""
    return select(*(table.c[name] for name in columns)).where(table.c.user_email == bindparam("user"))


def counted(table: Table, *conditions: ColumnElement[Any]) -> Prepared:
    """How many rows `:user` has for which the conditions hold."""
    return Prepared(select(func.count()).select_from(table).where(table.c.user_email == bindparam("user"), *conditions))


def paged(query: Select[Any]) -> Prepared:
    """The rows of a query from `:offset` on, `:limit` at most."""
    return Prepared(query.limit(bindparam("limit")).offset(bindparam("offset")))


def one_of(column: ColumnElement[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """Whether a column has one of a few fixed values, such as a status."""
    fixed = [literal(str(value)) for value in values]
    return column.in_(fixed) if fixed else false()


def begins(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a readable id begins with `:prefix`, in any case; an index answers it in the order of the ids."""
    return (caseless(column) >= caseless(bindparam("prefix"))) & (caseless(column) < caseless(bindparam("beyond")))


def prefix_bounds(prefix: str) -> dict[str, str]:
    """The parameters of `begins`."""
    return {"prefix": prefix, "beyond": f"{prefix}\U0010ffff"}


def required_text(value: Any, what: str, *, longest: int) -> str:
    """`value` as it can be stored. Raises InvalidKnowledgeError for what is no text, empty, or too long."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidKnowledgeError(say("text_missing", what=what))
    return _bounded(storable(value).strip(), what, longest)


def optional_text(value: Any, what: str, *, longest: int) -> str | None:
    """Like `required_text`, with None for nothing."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidKnowledgeError(f"The {what} has to be text.")
    return _bounded(storable(value), what, longest)


def listed(value: Any, what: str) -> Sequence[Any]:
    """`value` where it is a list; None is an empty one. Raises InvalidKnowledgeError for all else, text included."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidKnowledgeError(f"The {what} are no list.")
    return value


def listed_ids(value: Any) -> Sequence[str]:
    """`value` where it is a list of ids. Raises InvalidKnowledgeError."""
    ids = listed(value, "ids")
    if not all(isinstance(identity, str) for identity in ids):
        raise InvalidKnowledgeError("An id is text.")
    return ids


def json_object(value: str | Mapping[str, Any] | None, what: str) -> str | None:
    """A JSON object as text. Raises InvalidKnowledgeError for anything else."""
    if value is None or value == "":
        return None
    try:
        read = json.loads(value) if isinstance(value, str) else dict(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidKnowledgeError(f"The {what} is no JSON object.") from error
    if not isinstance(read, dict):
        raise InvalidKnowledgeError(f"The {what} is no JSON object.")
    return value if isinstance(value, str) else json.dumps(read, ensure_ascii=False)


def known_fields(changes: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Raise InvalidKnowledgeError for a field that can't be changed."""
    unknown = sorted(set(changes) - set(allowed))
    if unknown:
        raise InvalidKnowledgeError(f"Can't be changed: {', '.join(unknown)}. What can: {', '.join(sorted(allowed))}.")


def _bounded(text: str, what: str, longest: int) -> str:
    if len(text) > longest:
        raise InvalidKnowledgeError(say("text_too_long", what=what, count=len(text), most=longest))
    return text
