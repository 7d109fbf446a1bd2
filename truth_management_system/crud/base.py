"""What the doors to all tables share."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from database.engine.text import storable

from ..database import PKBDatabase
from ..errors import InvalidKnowledgeError

MOST_AT_ONCE = 500
"""How many ids one statement takes."""

Model = TypeVar("Model")


class OwnedRows(Generic[Model]):
    """One user's rows of one table. The columns of `columns` are the model's fields, in order."""

    table: ClassVar[str]
    key: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    model: type[Model]

    def __init__(self, db: PKBDatabase, user_email: str | None = None) -> None:
        self.db = db
        self.user_email = user_email or ""

    def get(self, identity: str) -> Model | None:
        """The one with this id; None where there is none of this user's."""
        return self._first(f"{self.table}.{self.key} = ?", [identity])

    def get_many(self, identities: Sequence[str]) -> list[Model]:
        """Those with these ids, in their order; ids that name none are left out."""
        found: dict[str, Model] = {}
        for start in range(0, len(identities), MOST_AT_ONCE):
            some = identities[start : start + MOST_AT_ONCE]
            rows = self._where(f"{self.table}.{self.key} IN ({marks(some)})", some)
            found |= {getattr(row, self.key): row for row in rows}
        return [found[identity] for identity in dict.fromkeys(identities) if identity in found]

    def get_by_friendly_id(self, friendly_id: str) -> Model | None:
        """The one with this readable id: in exactly this case, else in any case if that is one only."""
        sql = f"{self.table}.friendly_id = ? COLLATE NOCASE"
        found = self._where(sql, [friendly_id], order=f"{self.table}.friendly_id = ? DESC", order_by=[friendly_id])
        if not found:
            return None
        exact = getattr(found[0], "friendly_id", None) == friendly_id
        return found[0] if exact or len(found) == 1 else None

    def _first(self, condition: str, parameters: Sequence[Any]) -> Model | None:
        found = self._where(condition, parameters, limit=1)
        return found[0] if found else None

    def _where(
        self,
        condition: str,
        parameters: Sequence[Any],
        *,
        order: str = "",
        order_by: Sequence[Any] = (),
        limit: int | None = None,
        offset: int = 0,
        source: str = "",
    ) -> list[Model]:
        """The user's rows for which `condition` holds; `source`: tables to join, `order_by`: parameters of `order`."""
        names = ", ".join(f"{self.table}.{column}" for column in self.columns)
        sql = f"SELECT {names} FROM {self.table} {source} WHERE {self.table}.user_email = ? AND ({condition})"
        values: list[Any] = [self.user_email, *parameters]
        if order:
            sql += f" ORDER BY {order}"
            values += order_by
        if limit is not None:
            sql += " LIMIT ? OFFSET ?"
            values += [limit, offset]
        return [self.model(*row) for row in self.db.select(sql, values)]

    def _count(self, condition: str = "1 = 1", parameters: Sequence[Any] = ()) -> int:
        sql = f"SELECT COUNT(*) FROM {self.table} WHERE {self.table}.user_email = ? AND ({condition})"
        return int(self.db.select(sql, [self.user_email, *parameters])[0][0])


def marks(values: Collection[Any]) -> str:
    """As many `?` as there are values."""
    return ", ".join("?" for _ in values)


def like_prefix(text: str) -> str:
    """A pattern for `LIKE … ESCAPE '!'` that finds what begins with `text`; `%` and `_` in it are themselves."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"


def required_text(value: Any, what: str, *, longest: int) -> str:
    """`value` as it can be stored. Raises InvalidKnowledgeError for what is no text, empty, or too long."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidKnowledgeError(f"The {what} is empty: write something.")
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
        raise InvalidKnowledgeError(f"The {what} has {len(text):,} characters; {longest:,} are possible.")
    return text
