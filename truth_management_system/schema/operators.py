"""What databases write differently: one class for each difference.

`sqlite` and `postgresql` render them for their database, by `@compiles` for each class.
"""

# ruff: noqa: N801 - in statements they read as functions, as SQLAlchemy's own do

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, Text, bindparam
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import FromClause, Join
from sqlalchemy.types import UserDefinedType

from ..errors import InvalidKnowledgeError

_VALUES = "A value is neither text nor a number."
_VALUES_AT_ONCE = 1_000


class ValueList(UserDefinedType[Any]):
    """A parameter that is a list, of any length: JSON text for SQLite, an array for PostgreSQL.

    numbers: of integers instead of texts. Raises InvalidKnowledgeError for what is neither text nor a number.
    """

    cache_ok = True

    def __init__(self, *, numbers: bool = False) -> None:
        self.numbers = numbers

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        """From a list, or anything that can be iterated over, to what the driver takes."""
        if dialect.name != "postgresql":
            return _as_json
        return list if self.numbers else _as_texts


def _as_json(values: Any) -> str:
    try:
        return list_as_json(list(values))
    except TypeError as error:
        raise InvalidKnowledgeError(_VALUES) from error


def list_as_json(values: Sequence[Any], *, ensure_ascii: bool = True) -> str:
    """A list in JSON. A long one is made in pieces: while `json` works, no other thread runs."""
    pieces = (values[at : at + _VALUES_AT_ONCE] for at in range(0, len(values), _VALUES_AT_ONCE))
    return f"[{', '.join(json.dumps(piece, ensure_ascii=ensure_ascii)[1:-1] for piece in pieces)}]"


def _as_texts(values: Any) -> list[Any]:
    """Texts, or lists of as many texts each."""
    return [list(map(_as_text, value)) if isinstance(value, list | tuple) else _as_text(value) for value in values]


def _as_text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise InvalidKnowledgeError(_VALUES)
    return str(value)


def parts_in_sql(element: Any, compiler: SQLCompiler, options: Any) -> list[str]:
    """The `clauses` of an operator as SQL."""
    return [compiler.process(part, **options) for part in element.clauses]


def joined_in_sql(element: in_order, compiler: SQLCompiler, options: Any, *, join: str) -> str:
    """The two sides of `in_order` as SQL, with the word of the database between them."""
    options |= {"asfrom": True}
    left, right = compiler.process(element.left, **options), compiler.process(element.right, **options)
    assert element.onclause is not None
    return f"{left} {join} {right} ON {compiler.process(element.onclause, **options | {'asfrom': False})}"


class _Operator(FunctionElement[Any]):
    """An operator over its `clauses`."""

    inherit_cache = True


class _OverList(_Operator):
    """An operator over columns and the list that is bound to `name`."""

    inherit_cache = True

    def __init__(self, columns: ColumnElement[Any] | tuple[ColumnElement[Any], ...], name: str) -> None:
        some = columns if isinstance(columns, tuple) else (columns,)
        numbers = isinstance(some[0].type, Integer | BigInteger)
        super().__init__(*some, bindparam(name, type_=ValueList(numbers=numbers)))


class among(_OverList):
    """Whether one column, or several together, have one of the values of the list.

    The list holds values for one column, and lists of values for several. A list of any length is the same statement.
    """

    inherit_cache = True


class holds_any(_OverList):
    """Whether a column that holds a JSON list itself has any of the texts of the list."""

    inherit_cache = True


class contains_any(_OverList):
    """Whether any text of the list is a part of a text, in exactly this case."""

    inherit_cache = True


class contains(_Operator):
    """Whether the second text is a part of the first one, in exactly this case."""

    inherit_cache = True


class contains_word(_Operator):
    """Whether a word in lowercase, of letters and digits alone, is a part of a text, as `contains` of `lower(text)`."""

    inherit_cache = True


class has_begun(_Operator):
    """Whether a time as people wrote it is not after a moment; true for what is no time."""

    inherit_cache = True


class has_not_ended(_Operator):
    """Whether a time as people wrote it is not before a moment; a day ends at midnight; true for what is no time."""

    inherit_cache = True


class unindexed(_Operator):
    """A column that SQLite is not to look up by an index: another condition leaves fewer rows."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


class caseless(_Operator):
    """A text of ASCII letters that is compared and ordered without regard to case."""

    inherit_cache = True

    def __init__(self, text: ColumnElement[Any]) -> None:
        super().__init__(text)
        self.type = Text()


class newest_first(_Operator):
    """The order of the rows of a full-text index by their `rowid`, the highest first."""

    inherit_cache = True


class json_flag(_Operator):
    """A true or false member of a column with a JSON object, as 1 or 0; 0 for what is no JSON."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], member: str) -> None:
        super().__init__(column)
        self.member = member


class in_order(Join):
    """A join whose left side SQLite reads first, whatever its query planner thinks: it holds few rows."""

    inherit_cache = True

    def __init__(self, left: FromClause, right: FromClause, onclause: ColumnElement[bool]) -> None:
        super().__init__(left, right, onclause)
