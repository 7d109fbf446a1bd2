"""What only PostgreSQL understands: how it writes the `operators`, and full text by its `tsvector`.

The functions that are called here (`asked`, `moment`, `is_set`) lie in the schema of the tables; `v0020.postgresql.sql`
makes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from database.search.index import folded

from .fulltext import RENDERERS, Query, Search, Word, matches, said_in
from .operators import (
    ValueList,
    among,
    caseless,
    contains,
    contains_any,
    contains_word,
    has_begun,
    has_not_ended,
    holds_any,
    in_order,
    joined_in_sql,
    json_flag,
    newest_first,
    parts_in_sql,
    unindexed,
)

SCHEMA = "anaphora_knowledge"
WRITER_LOCK = 20_260_210
READERS = 12
_BESIDES = re.compile(r"[^\w]+|_")
_LABELLED = ("statement", "possible_questions", "friendly_id")
_TERM = re.compile(r"('[^']*')(:\*)?")


def _array(element: Any, compiler: SQLCompiler, options: Any) -> tuple[list[str], str]:
    """The columns of an operator over a list, and its list as an array."""
    *columns, values = parts_in_sql(element, compiler, options)
    kind = list(element.clauses)[-1].type
    numbers = isinstance(kind, ValueList) and kind.numbers
    return columns, f"CAST({values} AS {'BIGINT' if numbers else 'TEXT'}[])"


@compiles(among, "postgresql")
def _among(element: among, compiler: SQLCompiler, **options: Any) -> str:
    columns, values = _array(element, compiler, options)
    if len(columns) == 1:
        return f"{columns[0]} = ANY ({values})"
    places = ", ".join(f"list.rows[place][{number}]" for number in range(1, len(columns) + 1))
    rows = f"(SELECT {values} AS rows) AS list, generate_subscripts(list.rows, 1) AS place"
    return f"({', '.join(columns)}) IN (SELECT {places} FROM {rows})"


@compiles(holds_any, "postgresql")
def _holds_any(element: holds_any, compiler: SQLCompiler, **options: Any) -> str:
    (held,), wanted = _array(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM json_array_elements_text(CAST({held} AS JSON)) AS held WHERE held = ANY ({wanted}))"


@compiles(contains_any, "postgresql")
def _contains_any(element: contains_any, compiler: SQLCompiler, **options: Any) -> str:
    (text,), wanted = _array(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM unnest({wanted}) AS wanted WHERE strpos({text}, wanted) > 0)"


@compiles(contains_word, "postgresql")
def _contains_word(element: contains_word, compiler: SQLCompiler, **options: Any) -> str:
    text, word = parts_in_sql(element, compiler, options)
    return f"strpos(lower({text}), {word}) > 0"


@compiles(contains, "postgresql")
def _contains(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({', '.join(parts_in_sql(element, compiler, options))}) > 0"


@compiles(unindexed, "postgresql")
def _unindexed(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"({parts_in_sql(element, compiler, options)[0]} || '')"


@compiles(newest_first, "postgresql")
def _newest_first(element: newest_first, compiler: SQLCompiler, **options: Any) -> str:
    # A sum is in no index: asked for the newest, the planner might walk through everybody's rows from the newest on.
    return f"{parts_in_sql(element, compiler, options)[0]} + 0 DESC"


@compiles(caseless, "postgresql")
def _caseless(element: caseless, compiler: SQLCompiler, **options: Any) -> str:
    return f'lower({parts_in_sql(element, compiler, options)[0]} COLLATE "C")'


@compiles(has_begun, "postgresql")
def _has_begun(element: has_begun, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = parts_in_sql(element, compiler, options)
    return f"COALESCE(moment({time}) <= moment({moment}), TRUE)"


@compiles(has_not_ended, "postgresql")
def _has_not_ended(element: has_not_ended, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = parts_in_sql(element, compiler, options)
    ends = f"moment({time}) + CASE WHEN length({time}) = 10 THEN interval '1 day' ELSE interval '0' END"
    return f"COALESCE({ends} >= moment({moment}), TRUE)"


@compiles(json_flag, "postgresql")
def _json_flag(element: json_flag, compiler: SQLCompiler, **options: Any) -> str:
    return f"is_set({parts_in_sql(element, compiler, options)[0]}, '{element.member}')"


@compiles(in_order, "postgresql")
def _in_order(element: in_order, compiler: SQLCompiler, **options: Any) -> str:
    return joined_in_sql(element, compiler, options, join="JOIN")


@compiles(matches, "postgresql")
def _matches(element: matches, compiler: SQLCompiler, **options: Any) -> str:
    _, search = parts_in_sql(element, compiler, options)
    # Asked for once: not for each row that is looked at, and without a plan of its own for each search.
    return f"{element.index.name}.words @@ (SELECT asked({search}))"


@compiles(said_in, "postgresql")
def _said_in(element: said_in, compiler: SQLCompiler, **options: Any) -> str:
    column, search = parts_in_sql(element, compiler, options)
    return f"to_tsvector('words', folded(COALESCE({column}, ''))) @@ asked({search})"


def _search_text(search: Search) -> str:
    """A search for the function `asked`: the word that stands for the owner, "-" for everybody, and a `tsquery`.

    The words of what a claim says and of what names it are labelled A.
    """
    query = _query_text(search.query)
    if search.columns == _LABELLED:
        query = _TERM.sub(lambda term: f"{term[1]}{term[2] or ':'}A", query)
    owner = "-" if search.owner is None else f"u{search.owner.encode().hex()}"
    return f"{owner} {query}"


def _query_text(query: Query) -> str:
    if isinstance(query, Word):
        text = _BESIDES.sub(" ", folded(query.text)).strip()
        return f"'{text}'{':*' if query.is_beginning else ''}"
    parts = map(_query_text, query.queries)
    return f"({(' | ' if query.any_of else ' & ').join(parts)})"


RENDERERS["postgresql"] = _search_text


def rebuilding(searched: str) -> Sequence[str]:
    """The statements that make the index of a table anew, in one transaction."""
    return (f"REINDEX INDEX {SCHEMA}.idx_{searched}_words",)


def translated(sql: str) -> str:
    """A statement with `?` for its parameters as the driver takes it; what stands in quotes stays as it is."""
    parts = re.split(r"('(?:[^']|'')*'|\"[^\"]*\")", sql.replace("%", "%%"))
    return "".join(part if number % 2 else part.replace("?", "%s") for number, part in enumerate(parts))
