"""What only SQLite understands: how it writes the `operators`, and full text by its FTS5."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from database.engine.sqlite import DriverConnection
from database.search.index import folded, term_prefix
from database.search.mending import IndexMending

from .fulltext import CLAIM_SEARCH_COLUMNS, NOTE_SEARCH_COLUMNS, RENDERERS, Query, Search, Word, matches, said_in
from .operators import (
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

_WORD = re.compile(r"[^\W_]+")
_BREAKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_SHORTEST = 3
_KNOWN_STEMS = 20_000
_own = threading.local()


def owned_words(user_email: str, texts: str) -> str:
    """What the index holds of a JSON list of texts, as such a list: their terms, parted by spaces; null stays null.

    The triggers of the index call it, once for each row.
    """
    prefix = term_prefix(user_email)
    words = [None if text is None else " ".join(terms(prefix, text)) for text in orjson.loads(texts)]
    return orjson.dumps(words).decode()


def terms(prefix: str, text: str) -> list[str]:
    """The words of a text as the index knows them, in order."""
    words = text.lower().translate(_BREAKS).split() if text.isascii() else _WORD.findall(folded(text))
    return [prefix + stem(word) for word in words]


@lru_cache(maxsize=_KNOWN_STEMS)
def stem(word: str) -> str:
    """What the inflections of an English word have in common; words of other languages lose some endings, too."""
    return word if len(word) < _SHORTEST else _stemmer().stemWord(word)


def _stemmer() -> Any:
    """One for each thread: a stemmer keeps the word it works at."""
    if not hasattr(_own, "stemmer"):
        import Stemmer

        _own.stemmer = Stemmer.Stemmer("porter")
    return _own.stemmer


_DIALECT = dialect()
_LIST = "SELECT value FROM json_each({})"


@compiles(among, "sqlite")
def _among(element: among, compiler: SQLCompiler, **options: Any) -> str:
    *columns, values = parts_in_sql(element, compiler, options)
    if len(columns) == 1:
        return f"{columns[0]} IN ({_LIST.format(values)})"
    places = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(columns)))
    return f"({', '.join(columns)}) IN (SELECT {places} FROM json_each({values}))"


@compiles(holds_any, "sqlite")
def _holds_any(element: holds_any, compiler: SQLCompiler, **options: Any) -> str:
    held, wanted = parts_in_sql(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM json_each({held}) AS held WHERE held.value IN ({_LIST.format(wanted)}))"


@compiles(unindexed, "sqlite")
def _unindexed(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{parts_in_sql(element, compiler, options)[0]}"


@compiles(newest_first, "sqlite")
def _newest_first(element: newest_first, compiler: SQLCompiler, **options: Any) -> str:
    return f"{parts_in_sql(element, compiler, options)[0]} DESC"


@compiles(caseless, "sqlite")
def _caseless(element: caseless, compiler: SQLCompiler, **options: Any) -> str:
    return f"{parts_in_sql(element, compiler, options)[0]} COLLATE NOCASE"


@compiles(contains, "sqlite")
def _contains(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({', '.join(parts_in_sql(element, compiler, options))}) > 0"


@compiles(contains_word, "sqlite")
def _contains_word(element: contains_word, compiler: SQLCompiler, **options: Any) -> str:
    # A third of the time of `instr` and `lower`. A word has neither of LIKE's wildcards in it.
    text, word = parts_in_sql(element, compiler, options)
    return f"{text} LIKE '%' || {word} || '%'"


@compiles(contains_any, "sqlite")
def _contains_any(element: contains_any, compiler: SQLCompiler, **options: Any) -> str:
    text, wanted = parts_in_sql(element, compiler, options)
    return f"EXISTS (SELECT 1 FROM json_each({wanted}) AS wanted WHERE instr({text}, wanted.value) > 0)"


@compiles(has_begun, "sqlite")
def _has_begun(element: has_begun, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = parts_in_sql(element, compiler, options)
    return f"COALESCE(julianday({time}) <= julianday({moment}), TRUE)"


@compiles(has_not_ended, "sqlite")
def _has_not_ended(element: has_not_ended, compiler: SQLCompiler, **options: Any) -> str:
    time, moment = parts_in_sql(element, compiler, options)
    return f"COALESCE(julianday({time}) + (length({time}) = 10) >= julianday({moment}), TRUE)"


@compiles(json_flag, "sqlite")
def _json_flag(element: json_flag, compiler: SQLCompiler, **options: Any) -> str:
    (held,) = parts_in_sql(element, compiler, options)
    found = f"COALESCE(json_extract({held}, '$.{element.member}'), 0)"
    return f"CASE WHEN json_valid({held}) THEN {found} ELSE 0 END"


@compiles(in_order, "sqlite")
def _in_order(element: in_order, compiler: SQLCompiler, **options: Any) -> str:
    return joined_in_sql(element, compiler, options, join="CROSS JOIN")


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


def prepare(connection: DriverConnection) -> None:
    """Give a connection the function that the triggers and views of the full-text indexes call."""
    # Where SQLite is built so that a schema may call no function that is not its own. This one changes nothing.
    connection.execute("PRAGMA trusted_schema = ON")
    connection.create_function("owned_words", 2, owned_words, deterministic=True)


TOKENIZER = "ascii"
"""The words arrive cut and stemmed (`words`): it parts them at spaces."""

_ALL = (frozenset(CLAIM_SEARCH_COLUMNS), frozenset(NOTE_SEARCH_COLUMNS))


@compiles(matches, "sqlite")
def _matches(element: matches, compiler: SQLCompiler, **options: Any) -> str:
    _, search = parts_in_sql(element, compiler, options)
    return f"{element.index.name} MATCH {search}"


@compiles(said_in, "sqlite")
def _said_in(element: said_in, compiler: SQLCompiler, **options: Any) -> str:
    return f"{parts_in_sql(element, compiler, options)[1]} IS NOT NULL"  # FTS5 has looked at this column alone


def _search_text(search: Search) -> str:
    """A search for FTS5. Each word of the index stands behind the prefix of its owner."""
    query = _query_text(search.query, "" if search.owner is None else term_prefix(search.owner))
    return query if frozenset(search.columns) in _ALL else f"{{{' '.join(search.columns)}}} : ({query})"


def _query_text(query: Query, prefix: str) -> str:
    if isinstance(query, Word):
        return f'"{" ".join(terms(prefix, query.text))}"{" *" if query.is_beginning else ""}'
    parts = (_query_text(part, prefix) for part in query.queries)
    return f"({(' OR ' if query.any_of else ' AND ').join(parts)})"


RENDERERS["sqlite"] = _search_text


def rebuilding(searched: str) -> Sequence[str]:
    """The statements that make the index of a table anew, damaged or not, in one transaction."""
    columns = ", ".join(CLAIM_SEARCH_COLUMNS if searched == "claims" else NOTE_SEARCH_COLUMNS)
    words = f"SELECT {searched[:-1]}_rowid, {columns} FROM {searched}_searchable"
    return (
        # FTS5 opens no index whose list of segments (row 10) is damaged: it gets an empty one first.
        f"INSERT OR REPLACE INTO {searched}_fts_data (id, block) VALUES (10, zeroblob(7))",
        f"INSERT INTO {searched}_fts({searched}_fts) VALUES ('delete-all')",
        f"INSERT INTO {searched}_fts(rowid, {columns}) {words}",
    )


def index_mending() -> IndexMending:
    """Has the indexes made anew where they are met damaged."""
    return IndexMending({f"{searched}_fts": partial(_rebuild, searched=searched) for searched in ("claims", "notes")})


def _rebuild(connection: Connection, *, searched: str) -> None:
    for statement in rebuilding(searched):
        connection.exec_driver_sql(statement)


TOTAL_CHANGES = "SELECT total_changes()"
"""How many rows the connection has changed so far."""
