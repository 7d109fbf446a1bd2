"""Statements that every turn asks: written as any other, made into SQL once, and run on the driver itself.

Of a small statement SQLite needs a few microseconds; finding its SQL among those compiled, and wrapping its rows, took
ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter, methodcaller
from time import monotonic
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Delete, Dialect, Engine, Insert, SelectBase, Table, Update, event, insert
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

import tracing

T = TypeVar("T")
Row = tuple[Any, ...]
_ROWS_AT_ONCE = 64
_INSERTED_AT_ONCE = 10_000
_ASK_EVERY = 2.0
_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
_SPAN = "span"
"""The key of a connection's `info` that holds the span of the statement that is executed."""
_IN_PROCESS = nullcontext()
_ALL, _FIRST = methodcaller("fetchall"), methodcaller("fetchone")


class Numbered:
    """A statement with `%(name)s` in it, as the server takes it: with `$1`. names: of the parameters, in order."""

    __slots__ = ("names", "sql")

    def __init__(self, sql: str) -> None:
        self.names: list[str] = []
        self.sql = _PARAMETER.sub(self._number, sql).encode()

    def _number(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "%"
        if name not in self.names:
            self.names.append(name)
        return f"${self.names.index(name) + 1}"


class Prepared:
    """One statement, for any number of connections.

    Parameters are given by name, each time all of them. `columns`: what an INSERT or UPDATE sets, where the statement
    itself doesn't say. Lists (`IN`) of a length that differs have no place here. Raises what SQLAlchemy raises.
    """

    def __init__(self, statement: SelectBase | Insert | Update | Delete, *, columns: Sequence[str] = ()) -> None:
        self._statement = statement
        self._columns = list(columns) or None
        self._forms: dict[str, _Form] = {}

    def rows(self, connection: Connection, **parameters: Any) -> list[Row]:
        """All rows; none for a statement that returns none."""
        rows: list[Row] = self._ask(connection, parameters, _ALL)
        return rows

    def row(self, connection: Connection, **parameters: Any) -> Row | None:
        """The first row, or None."""
        found: Row | None = self._ask(connection, parameters, _FIRST)
        return found

    def asked(self, connection: Connection, **parameters: Any) -> Callable[[], list[Row]]:
        """Ask now, and have what is returned read all rows, once, within the transaction.

        Within `pipelined`, questions that are asked before the first of them is read are one round trip.
        """
        if connection.dialect.name == "sqlite":
            rows: list[Row] = self._ask(connection, parameters, _ALL)
            return lambda: rows
        form, dialect, sender = self._form(connection.dialect), connection.dialect, _sender(connection)
        values = form.made(parameters)
        for heard in connection.engine.dispatch.before_cursor_execute:
            heard(connection, None, form.sql, values, None, False)
        span = tracing.statement_span(form.sql, system=dialect.name)

        def read() -> list[Row]:
            with _as_sqlalchemy_raises(dialect, form.sql):
                found = form.decoded(answer.rows())
            span.end()
            return found

        with _as_sqlalchemy_raises(dialect, form.sql):
            answer = sender.send(form.numbered, form.ordered(values))
            sender.settle_unless_pipelined()
        return read

    def some(self, connection: Connection, **parameters: Any) -> Generator[Row, None, None]:
        """Row after row, fetched as they are asked for; close the iterator within the transaction."""
        form = self._form(connection.dialect)
        with closing(connection.connection.cursor()) as cursor:
            values = form.values(parameters)
            for heard in connection.engine.dispatch.before_cursor_execute:
                heard(connection, cursor, form.sql, values, None, False)
            cursor.execute(form.sql, values)
            while found := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from form.decoded(found)

    def run(self, connection: Connection, **parameters: Any) -> None:
        """Change something."""
        self._ask(connection, parameters, None)

    def run_each(self, connection: Connection, sets: Sequence[Mapping[str, Any]]) -> None:
        """Change something once for each of `sets`."""
        self._ask(connection, sets, None)

    def _ask(self, connection: Connection, parameters: Any, read: Callable[[Any], Any] | None) -> Any:
        """What `read` makes of the cursor, decoded. In one function: each call costs a tenth of a small statement."""
        form = self._forms.get(connection.dialect.name) or self._form(connection.dialect)
        if form.numbered is not None:
            return _ask_postgresql(connection, form, parameters, read)
        many = not isinstance(parameters, dict)
        values = [form.made(each) for each in parameters] if many else form.made(parameters)
        cursor: Any = (connection._dbapi_connection or connection.connection).dbapi_connection.cursor()  # type: ignore[union-attr]
        span = None if tracing.tracer is None else tracing.statement_span(form.sql, system=connection.dialect.name)
        try:
            if connection.engine._has_events:
                for heard in connection.engine.dispatch.before_cursor_execute:
                    heard(connection, cursor, form.sql, values, None, many)  # those who count or log statements
            if many:
                cursor.executemany(form.sql, values)
            else:
                cursor.execute(form.sql, values)
            found: Any = read(cursor) if read is not None and form.returns_rows else []
        except connection.dialect.loaded_dbapi.Error as error:
            failure = DBAPIError.instance(form.sql, None, error, connection.dialect.loaded_dbapi.Error)
            raise failure from error
        finally:
            if span is not None:
                span.end()
            cursor.close()
        if not form.decoders or not found:
            return found
        return form.decoded(found) if read is _ALL else form.decoded_row(found)

    def _form(self, dialect: Dialect) -> _Form:
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _form_of(self._statement, self._columns, dialect)
        return form


def trace_statements(engine: Engine) -> None:
    """Tell of the statements that SQLAlchemy itself executes; those of `Prepared` tell of themselves."""

    def begin(connection: Connection, _cursor: Any, sql: str, _values: Any, context: object, _is_many: bool) -> None:
        if context is not None:
            connection.info[_SPAN] = tracing.statement_span(sql, system=connection.dialect.name)

    def end(connection: Connection, *_: Any) -> None:
        if (span := connection.info.pop(_SPAN, None)) is not None:
            span.end()

    def fail(failed: ExceptionContext) -> None:
        if failed.connection is not None:
            end(failed.connection)

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", end)
    event.listen(engine, "handle_error", fail)


def pipelined(connection: Connection) -> AbstractContextManager[None]:
    """Within the block a database server's answer is waited for only where rows are asked for, and at the end.

    What a `Prepared` statement changes is sent together with the next question. Where it is refused, the next question
    or the end of the block raises that, as SQLAlchemy raises it. Statements by SQLAlchemy are waited for, as ever.
    Within another such block it is a part of that one.
    """
    return _IN_PROCESS if connection.dialect.name == "sqlite" else _sent_together(connection)


@contextmanager
def _sent_together(connection: Connection) -> Iterator[None]:
    with _as_sqlalchemy_raises(connection.dialect, ""), _sender(connection).pipelined():
        yield


@contextmanager
def _as_sqlalchemy_raises(dialect: Dialect, sql: str) -> Iterator[None]:
    try:
        yield
    except dialect.loaded_dbapi.Error as error:
        raise DBAPIError.instance(sql, None, error, dialect.loaded_dbapi.Error) from error


def rows_of(connection: Connection, sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
    """All rows of a query in the SQL of one database, asked of the driver itself. Raises what SQLAlchemy raises."""
    cursor = connection.connection.dbapi_connection.cursor()  # type: ignore[union-attr]
    try:
        for heard in connection.engine.dispatch.before_cursor_execute:
            heard(connection, cursor, sql, parameters, None, False)
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError.instance(sql, None, error, connection.dialect.loaded_dbapi.Error) from error
    finally:
        cursor.close()


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all give the same columns; none is nothing to do. Raises what SQLAlchemy raises."""
    for start in range(0, len(rows), _INSERTED_AT_ONCE):
        _insertion(table, tuple(rows[0])).run_each(connection, rows[start : start + _INSERTED_AT_ONCE])


def while_asking(connection: Connection, items: Iterable[T]) -> Iterator[T]:
    """`items`, for a loop within a writing transaction that computes for long.

    Every two seconds the database is asked for nothing: it ends a transaction that says nothing for some seconds
    (`postgresql.IDLE_WRITER_MS`), since its process may be cut off.
    """
    asked = monotonic()
    for item in items:
        if monotonic() - asked >= _ASK_EVERY:
            connection.exec_driver_sql("SELECT 1")
            asked = monotonic()
        yield item


@cache
def _insertion(table: Table, columns: tuple[str, ...]) -> Prepared:
    return Prepared(insert(table).inline(), columns=columns)  # nobody asks for keys that the store makes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A statement as one kind of database takes it.

    arranged: from parameters by name to what the driver wants. constants: parameters that the statement brought along.
    made: from parameters by name to what is arranged of them, encoded. numbered: as PostgreSQL takes it. ordered: from
    that to its parameters. encoders: by parameter. decoders: by the number of the column.
    """

    sql: str
    returns_rows: bool
    arranged: Callable[[Mapping[str, Any]], Any]
    numbered: Numbered | None
    ordered: Callable[[Mapping[str, Any]], Any]
    constants: Mapping[str, Any]
    encoders: Sequence[tuple[str, Callable[[Any], Any]]]
    decoders: Sequence[tuple[int, Callable[[Any], Any]]]
    made: Callable[[Mapping[str, Any]], Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "made", self.values if self.encoders or self.constants else self.arranged)

    def values(self, parameters: Mapping[str, Any]) -> Any:
        if self.encoders or self.constants:
            parameters = {**self.constants, **parameters}
            for name, encoder in self.encoders:
                parameters[name] = encoder(parameters[name])
        return self.arranged(parameters)

    def decoded(self, rows: Iterable[Row]) -> list[Row]:
        return [self.decoded_row(row) for row in rows] if self.decoders else list(rows)

    def decoded_row(self, row: Row) -> Row:
        values = list(row)
        for number, decoder in self.decoders:
            values[number] = decoder(values[number])
        return tuple(values)


def _ask_postgresql(
    connection: Connection, form: _Form, parameters: Any, read: Callable[[Any], Any] | None
) -> list[Row] | Row | None:
    """As `Prepared._ask`; what reads nothing waits for nothing within `pipelined`."""
    many = not isinstance(parameters, dict)
    values = [form.made(each) for each in parameters] if many else [form.made(parameters)]
    dialect, sender = connection.dialect, _sender(connection)
    for heard in connection.engine.dispatch.before_cursor_execute:
        heard(connection, None, form.sql, values if many else values[0], None, many)
    span = tracing.statement_span(form.sql, system=dialect.name)
    try:
        with _as_sqlalchemy_raises(dialect, form.sql):
            answers = [sender.send(form.numbered, form.ordered(each)) for each in values]
            if read is None or not form.returns_rows:
                sender.settle_unless_pipelined()
                return []
            found = answers[0].rows()
    finally:
        span.end()
    if read is _FIRST:
        return form.decoded_row(found[0]) if found else None
    return form.decoded(found)


def _sender(connection: Connection) -> Any:
    driver: Any = (connection._dbapi_connection or connection.connection).dbapi_connection
    return driver.sender


@contextmanager
def attempt(connection: Connection) -> Iterator[None]:
    """One statement that a constraint may refuse without harm to the rest of the transaction."""
    if connection.dialect.name == "sqlite":
        yield  # SQLite undoes a refused statement alone
    else:
        with connection.begin_nested():
            yield
            _await_answers(connection)


def _await_answers(connection: Connection) -> None:
    """Raise here what refuses a change that nobody waited for, within `pipelined`."""
    with _as_sqlalchemy_raises(connection.dialect, ""):
        _sender(connection).settle()


def _form_of(statement: SelectBase | Insert | Update | Delete, columns: list[str] | None, dialect: Dialect) -> _Form:
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    assert isinstance(compiled, SQLCompiler)
    types = {name: bind.type.dialect_impl(dialect) for name, bind in compiled.binds.items()}
    encoders = ((name, kind.bind_processor(dialect)) for name, kind in types.items())
    shown = enumerate(column.type.dialect_impl(dialect) for column in statement.exported_columns)
    decoders = ((number, kind.result_processor(dialect, None)) for number, kind in shown)
    numbered = Numbered(compiled.string) if dialect.name == "postgresql" else None
    return _Form(
        sql=compiled.string,
        numbered=numbered,
        ordered=_arranger(numbered.names if numbered else None),
        returns_rows=bool(len(statement.exported_columns)),
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


class Asking(Generic[T]):
    """A job of two steps: it asks, and acts on the answers. Those that share a transaction ask together.

    So a database server is waited for once, not once for each of them. What `ask` returns reads the answers, writes,
    and returns what the job does. The writes of other jobs come before it: those of one `subject` don't ask together,
    and whatever else they write must not change an answer in a way that matters.
    """

    def __init__(self, ask: Callable[[Connection], Callable[[], T]], *, subject: str) -> None:
        """`ask` returns the second step."""
        self.ask, self.subject = ask, subject

    def __call__(self, connection: Connection) -> T:
        """Both steps."""
        return self.ask(connection)()


def results_of(jobs: Sequence[tuple[Callable[[Connection], Any], Context]], connection: Connection) -> Iterator[Any]:
    """What jobs return that share a transaction, one after the other, each in its context."""
    asked: dict[str, Callable[[], Any]] = {}
    for job, context in jobs:
        if not isinstance(job, Asking) or job.subject in asked:
            yield from (act() for act in asked.values())
            asked.clear()
        if isinstance(job, Asking):
            act_on_answers = context.run(job.ask, connection)
            asked[job.subject] = partial(context.run, act_on_answers)
        else:
            yield context.run(job, connection)
    yield from (act() for act in asked.values())
