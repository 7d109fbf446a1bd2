"""Moving both stores from SQLite to PostgreSQL and back: every row of every table, as it was."""

from __future__ import annotations

import itertools
import signal
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import JSON, Column, Float, Integer, LargeBinary, Table, delete, select, update

from chat.runtime.startup import held_data_folder
from database import schema
from database.accounts.users import create_user
from database.connection import close_store, open_database, open_store
from database.conversations.repository import create_conversation
from database.history.reading import list_messages
from database.schema import messages, metadata
from database.search.indexing import index_pending
from database.transfer import tables as main
from database.transfer.copying import RowRefusedError, TableFinding
from database.transfer.mark import StoreBeingFilledError
from database.transfer.ranges import UnorderedKeyError
from database.turns.turns import accept_turn, finish_turn
from portability.engines import Place, TableCount, TransferError, opened_stores, place_at, plan_transfer, transfer
from portability.errors import InTheWayError
from search.messages import search_messages
from search.query import parse_query
from tests.postgresql import PostgreSQLServer
from tests.preloaded import start_preloaded
from tests.stores import put_empty_knowledge_base, put_empty_store
from truth_management_system import PKBConfig, get_database
from truth_management_system.portability import exporting as knowledge
from truth_management_system.schema import metadata as knowledge_metadata

ADA = "ada@example.org"
ROWS = 3
HOSTILE = (
    "plain",
    "nul \x00 inside",
    "tab \t, line \n, back \\, \\N, \\., quote ' \" and ;--",
    "\U0001f9ec 鯨は歌う é\u0301 \u202e bidi \ufeff",
    "%s :name $1 {0} \\x00 \\u0000",
)
AS_JSON = ('{"a": "\\u0000 \\ud83e\\uddec", "b": [1.50, null]}', '{"z":1,"a" : 2}', "null")
_IN_KEYS = ("user_email", "context_domain")  # of memories, which a trigger makes rows of `claim_domains` of
LISTS = {"context_domains": '["work", "health"]', "claim_types": '["fact"]', "possible_questions": '["Why?"]'}


@pytest.fixture
def postgresql(postgresql_server: PostgreSQLServer, tmp_path: Path) -> Place:
    """An empty PostgreSQL database."""
    return Place(tmp_path / "beside", postgresql_server.empty_database())


@pytest.fixture
def source(tmp_path: Path) -> Place:
    """A folder with both stores, and hostile rows in every table."""
    place = Place(tmp_path / "source")
    put_empty_knowledge_base(put_empty_store(place.data_dir / "users"))
    with opened_stores(place) as stores:
        for store in stores:
            store.database.write(fill_every_table(store.tables))
    return place


class Listener:
    """Notes what it hears. on_wait: what happens before the server on the source is stopped."""

    def __init__(self, on_wait: Callable[[], None] = lambda: None) -> None:
        self.heard: list[tuple[str, str, int]] = []
        self.rounds = self.waited = 0
        self._on_wait = on_wait

    def round_begins(self, tables: Sequence[TableCount]) -> None:
        self.rounds += 1

    def rows(self, step: str, table: str, count: int) -> None:
        self.heard.append((step, table, count))

    def waits(self) -> None:
        self.waited += 1
        self._on_wait()

    def copied(self, table: str) -> int:
        """How many rows of a table were copied."""
        return sum(count for step, name, count in self.heard if (step, name) == ("copy", table))


def fill_every_table(tables: Sequence[Table]) -> Callable[[Any], None]:
    """A job that puts rows into each of `tables`: hostile texts, all bytes, large and negative numbers, NULLs."""
    numbers = itertools.count(1)

    def value(column: Column[Any], row: int, made: dict[str, list[dict[str, Any]]]) -> Any:
        key = next(iter(column.foreign_keys), None)
        if key is not None:
            others = made[key.column.table.name]
            if key.column.table is column.table:
                return others[-1][key.column.name] if others and row % 2 else None
            return others[row][key.column.name]
        if column.nullable and row == 2 and not column.primary_key:
            return None
        if isinstance(column.type, JSON):
            return AS_JSON[row]
        if isinstance(column.type, LargeBinary):
            return bytes(range(256)) * (row + 1)
        if isinstance(column.type, Float):
            return (0.1, -1e300, 5e-324)[row]
        if isinstance(column.type, Integer):
            return next(numbers) if column.primary_key or row == 0 else (-1, 2**62)[row - 1] - next(numbers)
        if column.name in LISTS:
            return LISTS[column.name]
        if column.name == "status":
            return "complete"
        text = (
            HOSTILE[row].replace("\x00", "")
            if column.primary_key or is_referred_to(column) or column.name in _IN_KEYS
            else HOSTILE[row]
        )
        return f"{next(numbers)} {text}"

    def job(connection: Any) -> None:
        made: dict[str, list[dict[str, Any]]] = {}
        for table in tables:
            rows: list[dict[str, Any]] = made.setdefault(table.name, [])
            for row in range(ROWS):
                rows.append({column.name: value(column, row, made) for column in main.columns_of(table)})
                names, marks = ", ".join(f'"{name}"' for name in rows[-1]), ", ".join("?" * len(rows[-1]))
                connection.exec_driver_sql(
                    f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})', tuple(rows[-1].values())
                )

    return job


def is_referred_to(column: Column[Any]) -> bool:
    """Whether another table's foreign key names the column, in which no name holds U+0000."""
    keys = (key for table in column.table.metadata.tables.values() for key in table.foreign_keys)
    return any(key.column is column for key in keys)


def rows_in(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all copied tables of both files, as SQLite itself gives them; U+0000 as U+FFFD."""
    found = {}
    for file, described, without in (
        ("users.db", metadata, main.NOT_COPIED),
        ("pkb.sqlite", knowledge_metadata, knowledge.NOT_COPIED),
    ):
        with closing(sqlite3.connect(folder / "users" / file)) as connection:
            for table in main.in_order(described, without=without):
                keys = ", ".join(f'"{column.name}"' for column in table.primary_key.columns)
                rows = connection.execute(f'SELECT * FROM "{table.name}" ORDER BY {keys}').fetchall()
                found[f"{file} {table.name}"] = [tuple(map(without_nul, row)) for row in rows]
    found["users.db search_state"] = [row for row in found["users.db search_state"] if row[0] != "message_terms"]
    return found


def without_nul(value: Any) -> Any:
    """A value as PostgreSQL can store it."""
    return value.replace("\x00", "\ufffd") if isinstance(value, str) else value


def say(folder: Path, text: str) -> dict[str, Any]:
    """Have a turn in a conversation of its own; what names it."""
    own = {"database": open_store(folder / "users"), "user_email": ADA}
    own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
    turn = accept_turn(**own, text=text, config={})
    ending = {"text": "Indeed", "status": "complete", "config": {}, "title": "Talk"}
    finish_turn(**own, response_message_id=turn.response_message_id, **ending)
    return own


def total(findings: Sequence[TableFinding]) -> int:
    return sum(finding.rows for finding in findings)


def test_the_name_of_a_place_says_no_password(tmp_path: Path) -> None:
    url = "postgresql+psycopg:///chat?host=/run/pg&port=5433&user=ada&password=secret"
    assert Place(tmp_path, url).name == "postgresql+psycopg:///chat?host=/run/pg&port=5433"
    assert Place(tmp_path, "postgresql+psycopg://ada:secret@db:5433/chat").name == "postgresql+psycopg://db:5433/chat"


def test_every_table_is_copied_or_said_not_to_be(tmp_path: Path) -> None:
    assert {table.name for table in main.in_order(metadata, without=())} == set(metadata.tables)
    assert set(metadata.tables) >= set(main.NOT_COPIED)
    assert set(knowledge_metadata.tables) >= set(knowledge.NOT_COPIED)
    folder = tmp_path / "users"
    with closing(open_database(folder)), closing(get_database(PKBConfig(db_path=folder / "pkb.sqlite"))):
        pass
    for file, described in (("users.db", metadata), ("pkb.sqlite", knowledge_metadata)):
        with closing(sqlite3.connect(folder / file)) as connection:
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        words = {name for name in there if "_fts" in name or "_terms" in name or name == "messages_words"}
        assert there - words - {"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"} == set(described.tables)


def test_hostile_rows_of_every_table_are_the_same_after_a_journey_there_and_back(
    source: Place, postgresql: Place, tmp_path: Path
) -> None:
    there = transfer(source, postgresql, listener=Listener())
    assert [finding.table for finding in there if finding.rows < ROWS] == []
    back = Place(tmp_path / "back")
    again = transfer(postgresql, back, listener=Listener())
    assert rows_in(back.data_dir) == rows_in(source.data_dir)
    assert [(each.table, each.digest) for each in again] == [(each.table, each.digest) for each in there]


def test_copied_rows_are_found_and_new_ones_get_new_numbers(postgresql: Place, tmp_path: Path) -> None:
    place = Place(tmp_path / "lived")
    create_user(database=open_store(place.data_dir / "users"), user_email=ADA, password="correct horse battery")
    told = [say(place.data_dir, f"What do {whales} sing?") for whales in ("whales", "dolphins")]
    index_pending(database=told[0]["database"])
    highest = told[0]["database"].write(lambda connection: connection.execute(delete(schema.activities)).rowcount)
    assert highest == 4
    close_store(place.data_dir / "users")
    transfer(place, postgresql, listener=Listener())
    with closing(open_database(tmp_path / "x", database_url=postgresql.database_url)) as target:
        found = search_messages(database=target, user_email=ADA, query=parse_query("dolphins sing"))
        assert [each.message.text for each in found.messages] == ["What do dolphins sing?"]
        own = {"database": target, "user_email": ADA, "conversation_id": told[0]["conversation_id"]}
        accept_turn(**own, text="And seals?", config={})
        with target.reading() as connection:
            seqs = connection.execute(select(messages.c.seq).order_by(messages.c.seq)).scalars().all()
        assert seqs == [1, 2, 3, 4, 5, 6]


def test_what_is_written_beside_the_transfer_comes_along_once_the_server_stops(
    postgresql: Place, tmp_path: Path
) -> None:
    place = Place(tmp_path / "lived")
    users = place.data_dir / "users"
    create_user(database=open_store(users), user_email=ADA, password="correct horse battery")
    told = [say(place.data_dir, f"What do {whales} sing?") for whales in ("whales", "dolphins", "seals")]
    with ExitStack() as server:
        server.enter_context(held_data_folder(place.data_dir))

        def live_on() -> None:
            say(place.data_dir, "And walruses?")
            database = open_store(users)
            database.write(
                lambda connection: (
                    connection.execute(
                        delete(schema.conversations).where(
                            schema.conversations.c.conversation_id == told[0]["conversation_id"]
                        )
                    ).rowcount
                )
            )
            changed = (
                update(messages).where(messages.c.text == "What do seals sing?").values(text="What do orcas sing?")
            )
            database.write(lambda connection: connection.execute(changed).rowcount)
            close_store(users)
            server.close()

        listener = Listener(on_wait=live_on)
        transfer(place, postgresql, listener=listener)
    assert listener.waited == 1
    back = Place(tmp_path / "back")
    transfer(postgresql, back, listener=Listener())
    assert rows_in(back.data_dir) == rows_in(place.data_dir)
    with closing(open_database(tmp_path / "x", database_url=postgresql.database_url)) as target:
        for word, texts in {
            "seals": [],
            "whales": [],
            "orcas": ["What do orcas sing?"],
            "walruses": ["And walruses?"],
        }.items():
            found = search_messages(database=target, user_email=ADA, query=parse_query(word))
            assert [each.message.text for each in found.messages] == texts, word
        assert len(list_messages(database=target, user_email=ADA, conversation_id=told[1]["conversation_id"])) == 2


_KILLED = """
import os, signal, sys
from pathlib import Path
from portability.engines import Place, transfer

class Killed:
    left = int(sys.argv[3])
    def round_begins(self, tables): pass
    def waits(self): pass
    def rows(self, step, table, count):
        self.left -= step == "copy"
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

transfer(Place(Path(sys.argv[1])), Place(Path(sys.argv[1]), sys.argv[2]), listener=Killed())
"""


def test_a_killed_transfer_goes_on_and_no_server_serves_meanwhile(
    source: Place, postgresql: Place, tmp_path: Path, postgresql_server: PostgreSQLServer
) -> None:
    for copies in (2, 12):
        arguments = str(source.data_dir), str(postgresql.database_url), str(copies)
        killed = start_preloaded(_KILLED, *arguments).ended()
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        postgresql_server.cut_connections(to=str(postgresql.database_url))  # the server may not have seen it yet
        with pytest.raises(StoreBeingFilledError):
            open_database(tmp_path / "x", database_url=postgresql.database_url)
    other = Place(tmp_path / "other")
    with opened_stores(other), pytest.raises(InTheWayError):
        plan_transfer(other, postgresql)
    listener = Listener()
    findings = transfer(source, postgresql, listener=listener)
    assert 0 < sum(listener.copied(each.table) for each in findings) <= total(findings) - 14 * ROWS
    back = Place(tmp_path / "back")
    transfer(postgresql, back, listener=Listener())
    assert rows_in(back.data_dir) == rows_in(source.data_dir)


def test_an_occupied_target_is_refused_and_a_dry_run_writes_nothing(
    source: Place, postgresql: Place, tmp_path: Path
) -> None:
    planned = plan_transfer(source, postgresql)
    assert min(each.rows for each in planned) == ROWS
    with closing(open_database(tmp_path / "x", database_url=postgresql.database_url)) as database:
        create_user(database=database, user_email=ADA, password="correct horse battery")
    with pytest.raises(InTheWayError, match="conversations: users"):
        transfer(source, postgresql, listener=Listener())
    empty = Place(tmp_path / "empty")
    assert plan_transfer(source, empty) == planned
    assert not empty.data_dir.exists()
    (tmp_path / "file").touch()
    for unusable in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(TransferError, match="file is not a folder"):
            plan_transfer(source, Place(unusable))
    with pytest.raises(TransferError, match="the same"):
        transfer(source, place_at(source.name, data_dir=tmp_path), listener=Listener())
    with pytest.raises(TransferError, match="no store"):
        transfer(empty, source, listener=Listener())
    for wrong in ("mysql://h/d", "sqlite://", "postgresql+psycopg://secret@host", "postgresql+psycopg://h:x/d"):
        with pytest.raises(TransferError, match="Name a place") as refused:
            place_at(wrong, data_dir=tmp_path)
        assert "secret" not in refused.value.message


def test_a_folder_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"back-{uuid4().hex}"
    (tmp_path / name).mkdir()
    assert place_at(f"sqlite://{tmp_path}/{name}", data_dir=tmp_path).data_dir == tmp_path / name
    assert place_at(f"sqlite:////{name}", data_dir=tmp_path).data_dir == Path(f"/{name}")
    assert place_at("sqlite:///srv/back", data_dir=tmp_path).data_dir == Path("/srv/back")
    assert place_at("sqlite:///tmp", data_dir=tmp_path).data_dir == Path("/tmp")
    with pytest.raises(TransferError) as refused:
        place_at(f"sqlite:///{name}", data_dir=tmp_path)
    assert f"sqlite://{tmp_path}/{name}" in refused.value.message
    assert f"sqlite:////{name}" in refused.value.message


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (
            "UPDATE users SET detail = '{no json' WHERE user_email = (SELECT min(user_email) FROM users)",
            RowRefusedError,
        ),
        (
            "UPDATE library SET item_id = 'a' || char(0) WHERE item_id = (SELECT min(item_id) FROM library)",
            UnorderedKeyError,
        ),
    ],
)
def test_a_row_that_postgresql_cant_hold_is_named(
    damage: str, error: type[Exception], source: Place, postgresql: Place
) -> None:
    with closing(sqlite3.connect(source.data_dir / "users" / "users.db")) as connection:
        connection.execute(damage)
        connection.commit()
    with pytest.raises(error, match=r"the table (users|library) can't be copied"):
        transfer(source, postgresql, listener=Listener())
