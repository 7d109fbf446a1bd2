"""Statements run on the driver itself mean the same as they mean to SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from itertools import islice

import pytest
from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from database.engine.database import Database
from database.engine.statements import Prepared, attempt, pipelined
from database.schema import conversations

pytestmark = pytest.mark.contract

COLUMNS = ("conversation_id", "user_email", "created_at", "updated_at", "settings", "memory")
ADD = Prepared(insert(conversations), columns=COLUMNS)
NAMED = select(conversations.c.conversation_id, conversations.c.settings).order_by(conversations.c.conversation_id)
ALL, ONE = Prepared(NAMED), Prepared(NAMED.where(conversations.c.conversation_id == bindparam("id")))


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    """A connection of a store that holds the conversations c0, c1 and c2 with their numbers as settings."""
    store = database
    store.write(lambda writing: ADD.run_each(writing, [row(number) for number in range(3)]))
    with store.reading() as reading:
        yield reading


def row(number: int) -> dict[str, object]:
    times = {"created_at": "now", "updated_at": "now"}
    return {"conversation_id": f"c{number}", "user_email": "ada", "settings": {"n": number}, "memory": {}, **times}


def test_values_are_encoded_and_decoded_by_the_types_of_their_columns(connection: Connection) -> None:
    assert ALL.rows(connection) == [(f"c{number}", {"n": number}) for number in range(3)]
    assert ONE.row(connection, id="c1") == ("c1", {"n": 1})
    assert ONE.row(connection, id="c9") is None


def test_rows_can_be_left_unread(connection: Connection) -> None:
    with closing(ALL.some(connection)) as rows:
        assert [name for name, _ in islice(rows, 2)] == ["c0", "c1"]
    assert len(ALL.rows(connection)) == 3


def test_questions_are_asked_before_the_first_of_them_is_read(database: Database, connection: Connection) -> None:
    def ask(asking: Connection) -> list[object]:
        first, second, third = (ONE.asked(asking, id=name) for name in ("c0", "c1", "c9"))
        return [second(), third(), first()]

    def in_a_pipeline(writing: Connection) -> list[object]:
        with pipelined(writing):
            return ask(writing)

    expected = [[("c1", {"n": 1})], [], [("c0", {"n": 0})]]
    assert ask(connection) == expected
    assert database.write(in_a_pipeline) == expected


def test_what_a_statement_brings_along_stays_with_it(database: Database, connection: Connection) -> None:
    counted = update(conversations).where(conversations.c.version < 5).values(version=conversations.c.version + 1)
    database.write(Prepared(counted).run)
    assert set(connection.execute(select(conversations.c.version)).scalars()) == {2}
    database.write(Prepared(delete(conversations)).run)


def test_a_parameter_that_is_missing_is_an_error(connection: Connection) -> None:
    with pytest.raises(KeyError):
        ONE.row(connection)


def test_a_refused_change_is_the_same_error_as_ever_and_takes_the_transaction_along(
    database: Database, connection: Connection
) -> None:
    with pytest.raises(IntegrityError):
        database.write(lambda writing: ADD.run_each(writing, [row(7), row(1)]))
    assert len(ALL.rows(connection)) == 3


def test_changes_that_are_not_waited_for_are_those_of_single_statements(database: Database) -> None:
    def change(writing: Connection) -> list[str]:
        with pipelined(writing):
            ADD.run_each(writing, [row(number) for number in range(2)])
            ADD.run(writing, **row(2))
            names = [name for name, _ in ALL.rows(writing)]
            names += writing.execute(NAMED).scalars()
            gone = writing.execute(delete(conversations).where(conversations.c.conversation_id == "c1")).rowcount
            ADD.run(writing, **row(3))
        return [*names, str(gone)]

    assert database.write(change) == ["c0", "c1", "c2", "c0", "c1", "c2", "1"]
    with database.reading() as reading:
        assert ALL.rows(reading) == [(f"c{number}", {"n": number}) for number in (0, 2, 3)]


@pytest.mark.parametrize("then", ["nothing", "a question", "a question of SQLAlchemy", "a savepoint"])
def test_a_refused_change_that_is_not_waited_for_is_the_same_error_as_ever(database: Database, then: str) -> None:
    def change(writing: Connection) -> None:
        with pipelined(writing):
            ADD.run(writing, **row(0))
            ADD.run(writing, **row(0))
            ADD.run(writing, **row(1))
            if then == "a question":
                ALL.rows(writing)
            elif then == "a question of SQLAlchemy":
                writing.execute(NAMED)
            elif then == "a savepoint":
                with attempt(writing):
                    ADD.run(writing, **row(2))

    for _ in range(2):
        with pytest.raises(IntegrityError):
            database.write(change)
    with database.reading() as reading:
        assert ALL.rows(reading) == []


def test_a_block_that_raises_itself_takes_what_was_not_waited_for_along(database: Database) -> None:
    def change(writing: Connection) -> None:
        with pipelined(writing):
            ADD.run(writing, **row(0))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        database.write(change)
    database.write(lambda writing: ADD.run(writing, **row(1)))
    with database.reading() as reading:
        assert ALL.rows(reading) == [("c1", {"n": 1})]


def test_a_savepoint_takes_back_what_was_refused_alone(database: Database) -> None:
    def change(writing: Connection) -> None:
        with pipelined(writing):
            ADD.run(writing, **row(0))
            with pytest.raises(IntegrityError), attempt(writing):
                ADD.run(writing, **row(0))
            ADD.run(writing, **row(1))

    database.write(change)
    with database.reading() as reading:
        assert [name for name, _ in ALL.rows(reading)] == ["c0", "c1"]


def test_whoever_counts_statements_sees_them(
    connection: Connection, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    with statements() as seen:
        ALL.rows(connection)
        ONE.row(connection, id="c1")
    assert len(seen) == 2
