"""Many people with as much history each: a few are made up, all others are copies of them, made within the database.

Whose things they are, their ids and their places in the order of everything are a copy's own; what was said is not.
Making one up takes the program half a millisecond a message; a copy is five statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, func, insert, literal, select

from database.accounts.users import insert_account, new_account
from database.engine.database import Database
from database.schema import activities, conversation_workspaces, conversations, messages, workspaces
from database.transfer.copying import engine_of

from .history import SEED, SeedPlan, seed
from .words import TextMaker

ORIGINALS = 20
"""So many people are made up."""
_PEOPLE_AT_ONCE = 10
_HEX = 8
"""Digits of an id that tell whose copy it is."""
_OF_PERSON = frozenset(
    {"user_email", "conversation_id", "workspace_id", "parent_workspace_id", "actor_id", "actor_name"}
)
_IDS = frozenset({"activity_id", "message_id", "in_answer_to"})
_COPIED: tuple[Table, ...] = (workspaces, conversations, conversation_workspaces, activities, messages)


def seed_crowd(
    *, database: Database, people: int, plan: SeedPlan, email: Callable[[int], str], password_hash: str
) -> Iterator[int]:
    """Store accounts `email(0)` to `email(people - 1)`, each with what `plan` says; yields how many are there.

    The full-text index is left to others.
    """
    sentences = TextMaker(Random(SEED))
    for number in range(min(people, ORIGINALS)):
        database.write(partial(_add_account, email=email(number), password_hash=password_hash))
        for _ in seed(database=database, user_email=email(number), plan=plan, sentences=sentences):
            pass
        yield number + 1
    for start in range(ORIGINALS, people, _PEOPLE_AT_ONCE):
        some = range(start, min(start + _PEOPLE_AT_ONCE, people))
        database.write(partial(_copy, some=some, email=email, password_hash=password_hash))
        yield some.stop


def _add_account(connection: Connection, *, email: str, password_hash: str) -> None:
    insert_account(connection, new_account(email, password_hash, "", is_admin=False))


def _copy(connection: Connection, *, some: range, email: Callable[[int], str], password_hash: str) -> None:
    newest = int(connection.execute(select(func.max(activities.c.seq))).scalar_one())
    for number in some:
        _add_account(connection, email=email(number), password_hash=password_hash)
        original, copy = email(number % ORIGINALS), email(number)
        of_original = activities.c.user_email == original
        first, last = connection.execute(
            select(func.min(activities.c.seq), func.max(activities.c.seq)).where(of_original)
        ).one()
        values: dict[str, Any] = {"original": original, "copy": copy, "number": number, "shift": newest + 1 - first}
        for table in _COPIED:
            columns = [column for column in table.c if column.computed is None]
            rows = select(*(_copied(column, **values) for column in columns)).where(table.c.user_email == original)
            connection.execute(insert(table).from_select([column.name for column in columns], rows))
        newest += last - first + 1
    engine_of(connection).continue_behind(connection, activities, "seq", newest)


def _copied(column: Column[Any], *, original: str, copy: str, number: int, shift: int) -> ColumnElement[Any]:
    """What a row of the copy has in a column."""
    if column.name == "seq":
        return column + shift
    if column.name in _OF_PERSON:
        return func.replace(column, original, copy)
    if column.name in _IDS:
        return literal(f"{number:0{_HEX}x}").concat(func.substr(column, _HEX + 1))
    return column
