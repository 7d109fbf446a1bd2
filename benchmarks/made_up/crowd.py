"""Many people with as much history each: a few are made up, all others are copies of them, made within the database.

Whose things they are, their ids and their places in the order of everything are a copy's own; what was said is not.
Making one up takes the program half a millisecond a message; a copy is five statements, and its part of the full-text
index follows from that of its original: words are cut once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, func, insert, literal, select

from database.accounts.users import insert_account, new_account
from database.engine.database import Database
from database.schema import activities, conversation_workspaces, conversations, messages, workspaces
from database.search import postgresql
from database.search.index import IndexedText, advance, indexed_text, owner_token, term_prefix
from database.search.indexing import index_pending
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
_SLICE_MS = 500
_GIN_DEFINITION = "SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_message_terms_words'"
_DROP_GIN = "DROP INDEX idx_message_terms_words"
_ROOM_FOR_GIN = "SET maintenance_work_mem = '512MB'"
_COPY_WORDS = """
    INSERT INTO message_terms (seq, length, words)
    SELECT seq + %(shift)s, length,
        replace(
            ts_delete(words, ARRAY[':' || %(old_owner)s::text, ':' || old] || ARRAY(
                SELECT ':b' || place - 1 || '.' || seq / size
                FROM unnest(%(blocks)s::bigint[]) WITH ORDINALITY AS sizes (size, place)
            ))::text,
            '''' || %(old_prefix)s::text, '''' || %(new_prefix)s::text
        )::tsvector || array_to_tsvector(ARRAY[':' || %(new_owner)s::text, ':' || new] || ARRAY(
            SELECT ':b' || place - 1 || '.' || (seq + %(shift)s) / size
            FROM unnest(%(blocks)s::bigint[]) WITH ORDINALITY AS sizes (size, place)
        ))
    FROM message_terms
    JOIN messages USING (seq)
    JOIN unnest(%(ids)s::text[], %(old)s::text[], %(new)s::text[]) AS tokens (conversation_id, old, new)
        USING (conversation_id)
    WHERE messages.user_email = %(original)s
"""
_COPY_VOCABULARY = """
    INSERT INTO message_words (word)
    SELECT %(new_prefix)s::text || substr(word, length(%(old_prefix)s::text) + 1) FROM message_words
    WHERE starts_with(word, %(old_prefix)s::text)
"""
_COPIED: tuple[Table, ...] = (workspaces, conversations, conversation_workspaces, activities, messages)


def seed_crowd(
    *, database: Database, people: int, plan: SeedPlan, email: Callable[[int], str], password_hash: str
) -> Iterator[int]:
    """Store and index accounts `email(0)` to `email(people - 1)`, each as `plan` says; yields how many are there."""
    sentences = TextMaker(Random(SEED))
    for number in range(min(people, ORIGINALS)):
        database.write(partial(_add_account, email=email(number), password_hash=password_hash))
        for _ in seed(database=database, user_email=email(number), plan=plan, sentences=sentences):
            pass
        yield number + 1
    index_pending(database=database, slice_ms=_SLICE_MS)
    if people <= ORIGINALS:
        return
    index = _OnServer(database) if database.backend.file is None else _InFile(database)
    for start in range(ORIGINALS, people, _PEOPLE_AT_ONCE):
        some = range(start, min(start + _PEOPLE_AT_ONCE, people))
        database.write(partial(_copy, index=index, some=some, email=email, password_hash=password_hash))
        yield some.stop
    index.end()
    index_pending(database=database, slice_ms=_SLICE_MS)  # what SQLite packs behind


def _add_account(connection: Connection, *, email: str, password_hash: str) -> None:
    insert_account(connection, new_account(email, password_hash, "", is_admin=False))


class _InFile:
    """The full-text index of SQLite: the words of the originals, as they were cut for the first copy."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, list[IndexedText]] = {}

    def add(self, connection: Connection, copied: _Copied) -> None:
        """Index the messages of a copy."""
        if copied.original not in self._known:
            self._known[copied.original] = _texts_of(connection, copied.original)
        owner = owner_token(copied.copy)
        before, prefix = (f" {term_prefix(each)}" for each in (copied.original, copied.copy))
        tokens = {old: new for _, old, new in copied.tokens(connection)}
        texts = [
            IndexedText(
                seq=each.seq + copied.shift,
                owner=owner,
                conversation=tokens[each.conversation],
                body=f" {each.body}".replace(before, prefix)[1:],
            )
            for each in self._known[copied.original]
        ]
        advance(connection, texts, up_to=copied.last, queues_vectors=False)

    def end(self) -> None:
        """All is indexed."""


class _OnServer:
    """The full-text index of PostgreSQL: rows are copied there, and their index is built when all are there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.reading() as connection:
            self._definition = str(connection.exec_driver_sql(_GIN_DEFINITION).scalar_one())
        database.write(partial(_run, statement=_DROP_GIN))

    def add(self, connection: Connection, copied: _Copied) -> None:
        """Index the messages of a copy."""
        ids, old, new = map(list, zip(*copied.tokens(connection), strict=True))
        given = {"original": copied.original, "shift": copied.shift, "ids": ids, "old": old, "new": new}
        given["blocks"] = list(postgresql.BLOCKS)
        owners = {"old_owner": owner_token(copied.original), "new_owner": owner_token(copied.copy)}
        prefixes = {"old_prefix": term_prefix(copied.original), "new_prefix": term_prefix(copied.copy)}
        connection.exec_driver_sql(_COPY_WORDS, given | owners | prefixes)
        connection.exec_driver_sql(_COPY_VOCABULARY, prefixes)
        advance(connection, [], up_to=copied.last, queues_vectors=False)

    def end(self) -> None:
        """Build the index."""
        for statement in (_ROOM_FOR_GIN, self._definition):
            self._database.write(partial(_run, statement=statement))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copied:
    """A copy that was stored. shift: from a `seq` of its original to its own; last: its newest."""

    original: str
    copy: str
    shift: int
    last: int

    def tokens(self, connection: Connection) -> list[tuple[str, str, str]]:
        """The conversations of the original, with the tokens of the full-text index for them and for their copies."""
        own = select(conversations.c.conversation_id).where(conversations.c.user_email == self.original)
        ids = connection.execute(own).scalars().all()
        return [(each, _token(each), _token(each.replace(self.original, self.copy))) for each in ids]


def _run(connection: Connection, *, statement: str) -> None:
    connection.exec_driver_sql(statement)


def _token(conversation_id: str) -> str:
    return indexed_text(seq=0, user_email="", conversation_id=conversation_id, text="").conversation


def _texts_of(connection: Connection, user_email: str) -> list[IndexedText]:
    m = messages.c
    columns = select(m.seq, m.user_email, m.conversation_id, m.text)
    rows = connection.execute(columns.where(m.user_email == user_email, m.deleted_at.is_(None)).order_by(m.seq))
    return [indexed_text(**row._mapping) for row in rows]


def _copy(
    connection: Connection,
    *,
    index: _InFile | _OnServer,
    some: range,
    email: Callable[[int], str],
    password_hash: str,
) -> None:
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
        index.add(connection, _Copied(original=original, copy=copy, shift=values["shift"], last=newest))
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
