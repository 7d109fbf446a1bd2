"""Statements that every turn asks: written as any other, made into SQL once, and run on the driver itself.

Of a small statement SQLite needs a few microseconds; finding its SQL among those compiled, and wrapping its rows, took
ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import itemgetter, methodcaller
from typing import Any

from sqlalchemy import Connection, Delete, Dialect, Insert, Select, Update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]
_ROWS_AT_ONCE = 64
_ALL, _FIRST = methodcaller("fetchall"), methodcaller("fetchone")


class Prepared:
    """One statement, for any number of connections.

    Parameters are given by name, each time all of them. `columns`: what an INSERT or UPDATE sets, where the statement
    itself doesn't say. Lists (`IN`) of a length that differs have no place here. Raises what SQLAlchemy raises.
    """

    def __init__(self, statement: Select[Any] | Insert | Update | Delete, *, columns: Sequence[str] = ()) -> None:
        self._statement = statement
        self._columns = list(columns) or None
        self._forms: dict[str, _Form] = {}

    def rows(self, connection: Connection, **parameters: Any) -> list[Row]:
        """All rows; none for a statement that returns none."""
        form = self._form(connection.dialect)
        found: list[Row] = _run(connection, form.sql, form.values(parameters), form.read_all)
        return form.decoded(found)

    def row(self, connection: Connection, **parameters: Any) -> Row | None:
        """The first row, or None."""
        form = self._form(connection.dialect)
        found: Row | None = _run(connection, form.sql, form.values(parameters), _FIRST)
        return form.decoded([found])[0] if found is not None else None

    def some(self, connection: Connection, **parameters: Any) -> Generator[Row, None, None]:
        """Row after row, fetched as they are asked for; close the iterator within the transaction."""
        form = self._form(connection.dialect)
        with closing(connection.connection.cursor()) as cursor:
            _execute(connection, cursor, form.sql, form.values(parameters))
            while found := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from form.decoded(found)

    def run(self, connection: Connection, **parameters: Any) -> None:
        """Change something."""
        form = self._form(connection.dialect)
        _run(connection, form.sql, form.values(parameters), _nothing)

    def run_each(self, connection: Connection, sets: Sequence[Mapping[str, Any]]) -> None:
        """Change something once for each of `sets`."""
        form = self._form(connection.dialect)
        _run(connection, form.sql, [form.values(parameters) for parameters in sets], _nothing)

    def _form(self, dialect: Dialect) -> _Form:
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _form_of(self._statement, self._columns, dialect)
        return form


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A statement as one kind of database takes it.

    read_all: gets the rows out of a cursor. arranged: from parameters by name to what the driver wants. constants:
    parameters that the statement brought along. encoders: by parameter. decoders: by the number of the column.
    """

    sql: str
    read_all: Callable[[Any], list[Row]]
    arranged: Callable[[Mapping[str, Any]], Any]
    constants: Mapping[str, Any]
    encoders: Sequence[tuple[str, Callable[[Any], Any]]]
    decoders: Sequence[tuple[int, Callable[[Any], Any]]]

    def values(self, parameters: Mapping[str, Any]) -> Any:
        if self.encoders or self.constants:
            parameters = {**self.constants, **parameters}
            for name, encoder in self.encoders:
                parameters[name] = encoder(parameters[name])
        return self.arranged(parameters)

    def decoded(self, rows: Iterable[Row]) -> list[Row]:
        return [self._decoded(row) for row in rows] if self.decoders else list(rows)

    def _decoded(self, row: Row) -> Row:
        values = list(row)
        for number, decoder in self.decoders:
            values[number] = decoder(values[number])
        return tuple(values)


@contextmanager
def attempt(connection: Connection) -> Iterator[None]:
    """One statement that a constraint may refuse without harm to the rest of the transaction."""
    if connection.dialect.name == "sqlite":
        yield  # SQLite undoes a refused statement alone
    else:
        with connection.begin_nested():
            yield


def _form_of(statement: Select[Any] | Insert | Update | Delete, columns: list[str] | None, dialect: Dialect) -> _Form:
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    assert isinstance(compiled, SQLCompiler)
    types = {name: bind.type.dialect_impl(dialect) for name, bind in compiled.binds.items()}
    encoders = ((name, kind.bind_processor(dialect)) for name, kind in types.items())
    shown = enumerate(column.type.dialect_impl(dialect) for column in statement.exported_columns)
    decoders = ((number, kind.result_processor(dialect, None)) for number, kind in shown)
    return _Form(
        sql=compiled.string,
        read_all=_ALL if len(statement.exported_columns) else _no_rows,
        arranged=_arranger(compiled.positiontup) if dialect.positional else _chooser(list(compiled.binds)),
        constants={name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required},
        encoders=[(name, encoder) for name, encoder in encoders if encoder is not None],
        decoders=[(number, decoder) for number, decoder in decoders if decoder is not None],
    )


def _arranger(names: Sequence[str] | None) -> Callable[[Mapping[str, Any]], Any]:
    """From parameters by name to a tuple."""
    if not names:
        return lambda _: ()
    if len(names) == 1:
        return lambda parameters: (parameters[names[0]],)
    return itemgetter(*names)


def _chooser(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    """From parameters by name to those of the statement; one that is missing is a KeyError."""
    return lambda parameters: {name: parameters[name] for name in names}


def _run(connection: Connection, sql: str, values: Any, read: Callable[[Any], Any]) -> Any:
    cursor = connection.connection.cursor()
    try:
        _execute(connection, cursor, sql, values)
        return read(cursor)
    except connection.dialect.loaded_dbapi.Error as error:
        failure = DBAPIError.instance(sql, None, error, connection.dialect.loaded_dbapi.Error)
        raise failure from error
    finally:
        cursor.close()


def _nothing(_cursor: Any) -> None:
    return None


def _no_rows(_cursor: Any) -> list[Row]:
    return []


def _execute(connection: Connection, cursor: Any, sql: str, values: Any) -> None:
    many = isinstance(values, list)
    # Whoever counts or logs statements is to see these too.
    for heard in connection.dispatch.before_cursor_execute:
        heard(connection, cursor, sql, values, None, many)
    if many:
        cursor.executemany(sql, values)
    else:
        cursor.execute(sql, values)
