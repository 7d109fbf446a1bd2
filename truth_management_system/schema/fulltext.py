"""What a full-text index is asked for; `sqlite` and `postgresql` write the question as their database reads it.

Each searched table has an index `<table>_fts`, kept as new as the table by the database itself, whose `rowid` is the
table's integer key. It knows the owner of a row, so that a search looks at one user's rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, TableClause, bindparam, column, table
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import UserDefinedType

CLAIM_SEARCH_COLUMNS = (
    "statement",
    "subject_text",
    "predicate",
    "object_text",
    "context_domain",
    "possible_questions",
    "friendly_id",
)
NOTE_SEARCH_COLUMNS = ("title", "body")


@dataclass(frozen=True, slots=True)
class Word:
    """Rows that hold a word in any inflection or, with `is_beginning`, one that begins so."""

    text: str
    is_beginning: bool = False


@dataclass(frozen=True, slots=True)
class Combined:
    """Rows that match all of several queries or, with `any_of`, any of them."""

    queries: Sequence[Query]
    any_of: bool


Query = Word | Combined


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query as it is asked of some columns, and of one user's rows unless `owner` is None."""

    query: Query
    columns: Sequence[str]
    owner: str | None


def word(text: str) -> Query:
    """Rows that hold a word, in any inflection."""
    return Word(text)


def beginning(text: str) -> Query:
    """Rows with words that begin so."""
    return Word(text, is_beginning=True)


def any_of(queries: Iterable[Query]) -> Query:
    """Rows that match any of several."""
    return Combined(tuple(queries), any_of=True)


def all_of(queries: Iterable[Query]) -> Query:
    """Rows that match all of several."""
    return Combined(tuple(queries), any_of=False)


RENDERERS: dict[str, Callable[[Search], str]] = {}
"""For each dialect, from a search to the text that it reads."""


class _SearchText(UserDefinedType[Any]):
    """A parameter that is a `Search`."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        return RENDERERS[dialect.name]


class matches(FunctionElement[Any]):  # noqa: N801 - in statements it reads as a function
    """Whether a row of the index of `searched` is found by the search that is bound to `:search`."""

    inherit_cache = True

    def __init__(self, searched: str) -> None:
        self.index = fulltext_index(searched)
        super().__init__(self.index.c.rowid, bindparam("search", type_=_SearchText()))


class said_in(FunctionElement[Any]):  # noqa: N801
    """Whether a column has what the search bound to `:said` asks for, where the index can't ask for one column."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column, bindparam("said", type_=_SearchText()))


@cache
def fulltext_index(searched: str) -> TableClause:
    """The full-text index of a table; its `rowid` is the key of the row."""
    return table(f"{searched}_fts", column("rowid"))
