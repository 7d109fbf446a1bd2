"""What databases write differently: one class for each difference, rendered by the module of each database.

`sqlite.py` renders them for SQLite. A further database needs a module of the same kind: `@compiles` for each class
here, and the functions that `sqlite.py` offers.
"""

# ruff: noqa: N801 - in statements they read as functions, as SQLAlchemy's own do

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Text, bindparam, literal_column
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import FromClause, Join


class _Operator(FunctionElement[Any]):
    """An operator over its `clauses`."""

    inherit_cache = True


class _OverList(_Operator):
    """An operator over columns and the JSON list that is bound to `name`."""

    inherit_cache = True

    def __init__(self, columns: ColumnElement[Any] | tuple[ColumnElement[Any], ...], name: str) -> None:
        some = columns if isinstance(columns, tuple) else (columns,)
        super().__init__(*some, bindparam(name, type_=Text()))


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


class has_begun(_Operator):
    """Whether a time as people wrote it is not after a moment; true for what is no time."""

    inherit_cache = True


class has_not_ended(_Operator):
    """Whether a time as people wrote it is not before a moment; a day ends at midnight; true for what is no time."""

    inherit_cache = True


class unindexed(_Operator):
    """A column that the query planner is not to look up by an index: another condition leaves fewer rows."""

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


class json_flag(_Operator):
    """A true or false member of a column with a JSON object, as 1 or 0; 0 for what is no JSON."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], member: str) -> None:
        super().__init__(column, literal_column(f"'$.{member}'"))


class in_order(Join):
    """A join whose left side is read first, whatever the query planner thinks: it holds few rows."""

    inherit_cache = True

    def __init__(self, left: FromClause, right: FromClause, onclause: ColumnElement[bool]) -> None:
        super().__init__(left, right, onclause)
