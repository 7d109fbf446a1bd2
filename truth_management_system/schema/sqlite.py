"""What only SQLite understands: how it writes the `operators`, and full text by its FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, TableClause, bindparam, column, literal_column, table
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from .operators import (
    among,
    caseless,
    contains,
    contains_any,
    has_begun,
    has_not_ended,
    holds_any,
    in_order,
    json_flag,
    unindexed,
)

_DIALECT = dialect()
_LIST = "SELECT value FROM json_each({})"


def _parts(element: Any, compiler: SQLCompiler, options: Any) -> list[str]:
    return [compiler.process(part, **options) for part in element.clauses]


@compiles(among, "sqlite")
def _among(element: among, compiler: SQLCompiler, **options: Any) -> str:
    *columns, values = _parts(element, compiler, options)
    if len(columns) == 1:
        return f"{columns[0]} IN ({_LIST.format(values)})"
    places = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(columns)))
    return f"({', '.join(columns)}) IN (SELECT {places} FROM json_each({values}))"


@compiles(holds_any, "sqlite")
def _holds_any(element: holds_any, compiler: SQLCompiler, **options: Any) -> str:
    held, wanted = _parts(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM json_each({held}) AS held WHERE held.value IN ({_LIST.format(wanted)}))"


@compiles(unindexed, "sqlite")
def _unindexed(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{_parts(element, compiler, options)[0]}"


@compiles(caseless, "sqlite")
def _caseless(element: caseless, compiler: SQLCompiler, **options: Any) -> str:
    return f"{_parts(element, compiler, options)[0]} COLLATE NOCASE"


@compiles(contains, "sqlite")
def _contains(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({', '.join(_parts(element, compiler, options))}) > 0"


@compiles(contains_any, "sqlite")
def _contains_any(element: contains_any, compiler: SQLCompiler, **options: Any) -> str:
    text, wanted = _parts(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM json_each({wanted}) AS wanted WHERE instr({text}, wanted.value) > 0)"


@compiles(has_begun, "sqlite")
def _has_begun(element: has_begun, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = _parts(element, compiler, options)
    return f"COALESCE(julianday({time}) <= julianday({moment}), TRUE)"


@compiles(has_not_ended, "sqlite")
def _has_not_ended(element: has_not_ended, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = _parts(element, compiler, options)
    return f"COALESCE(julianday({time}) + (length({time}) = 10) >= julianday({moment}), TRUE)"


@compiles(json_flag, "sqlite")
def _json_flag(element: json_flag, compiler: SQLCompiler, **options: Any) -> str:
    held, member = _parts(element, compiler, options)
    return f"CASE WHEN json_valid({held}) THEN COALESCE(json_extract({held}, {member}), 0) ELSE 0 END"


@compiles(in_order, "sqlite")
def _in_order(element: in_order, compiler: SQLCompiler, **options: Any) -> str:
    options |= {"asfrom": True}
    left, right = compiler.process(element.left, **options), compiler.process(element.right, **options)
    assert element.onclause is not None
    return f"{left} CROSS JOIN {right} ON {compiler.process(element.onclause, **options | {'asfrom': False})}"


def as_text(condition: ColumnElement[Any], values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A condition as text with `?`, and its parameters in order; `values`: those that are given by name, or lists."""
    compiled = condition.compile(dialect=_DIALECT)
    assert isinstance(compiled, SQLCompiler)
    text, parameters = str(compiled), []
    for name in compiled.positiontup or ():
        value = {**compiled.params, **values}[name]
        if isinstance(value, list):
            text = text.replace(_LIST.format("?"), ", ".join("?" for _ in value), 1)
        parameters += value if isinstance(value, list) else [value]
    return text, parameters


# Full text: each searched table has an index `<table>_fts`, kept by triggers, whose `rowid` is the table's own. Its
# column `owner` holds one word for the user, so that a search looks at this user's rows alone.

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
TOKENIZER = "porter unicode61 remove_diacritics 2"


def fulltext_index(searched: str) -> TableClause:
    """The full-text index of a table; its `rowid` is the key of the row."""
    return table(f"{searched}_fts", column("rowid"))


def matches(searched: str) -> ColumnElement[Any]:
    """Whether a row of the index has what `:expression` asks for."""
    return literal_column(f"{searched}_fts").op("MATCH")(bindparam("expression"))


def rebuilding(searched: str) -> str:
    """The statement that makes the index of a table anew."""
    return f"INSERT INTO {searched}_fts({searched}_fts) VALUES ('rebuild')"


def word(text: str) -> str:
    """An expression for rows that hold a word, in any inflection."""
    return f'"{text}"'


def beginning(text: str) -> str:
    """An expression for rows with words that begin so."""
    return f'"{text}" *'


def any_of(expressions: Iterable[str]) -> str:
    """An expression for rows that match any of several."""
    return f"({' OR '.join(expressions)})"


def all_of(expressions: Iterable[str]) -> str:
    """An expression for rows that match all of several."""
    return " AND ".join(expressions)


def of_user(expression: str, *, columns: Sequence[str], owner: str | None) -> str:
    """An expression as it is asked of some columns, and of one user's rows unless `owner` is None."""
    within = f"{{{' '.join(columns)}}} : ({expression})"
    return within if owner is None else f'owner : "u{owner.encode().hex()}" AND ({within})'


# Upkeep of the file.

TOTAL_CHANGES = "SELECT total_changes()"
"""How many rows the connection has changed so far."""
