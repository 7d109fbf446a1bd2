"""PostgreSQL's side of the store: its schema, its transactions, its errors, and a server that goes away."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, bindparam, event, func, insert, make_url, select, text, update
from sqlalchemy.exc import DBAPIError, OperationalError

from database import schema
from database.accounts.quotas import Quota, asked_to_take_message
from database.accounts.sessions import create_session, find_session
from database.accounts.users import asked_told_to_models, insert_account, new_account
from database.activities.reading import find_activity
from database.connection import close_store, open_store
from database.conversations.conversation import (
    asked_for_conversation_since,
    conversation_since,
    conversation_version,
)
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation, set_friendly_id
from database.engine import postgresql
from database.engine.database import Database, Urgency
from database.engine.errors import (
    ActivityNotFoundError,
    AlreadySentError,
    DatabaseDamagedError,
    DatabaseTooNewError,
    StorageBusyError,
    StorageFailedError,
    StoreError,
)
from database.engine.postgresql import database_at, store_error
from database.engine.statements import Prepared
from database.history.reading import last_messages
from database.history.references import conversations_by_friendly_id
from database.migrations import MIGRATIONS, current_version, migrate
from database.schema import login_attempts, schema_version
from database.turns.idempotency import refuse_sent_before
from database.turns.turns import accept_turn, finish_turn
from database.workspaces.repository import default_workspace_id
from tests.live_server import ROOT
from tests.postgresql import PostgreSQLServer, shape
from truth_management_system.schema.postgresql import READERS


@pytest.fixture
def url(postgresql_server: PostgreSQLServer) -> Iterator[str]:
    """A database with an empty store."""
    url = postgresql_server.empty_store()
    yield url
    postgresql_server.take_back(url)


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Database]:
    """The store at `url`."""
    yield open_store(tmp_path, database_url=url)
    close_store(tmp_path)


def attempt(connection: Connection, subject: str) -> None:
    connection.execute(insert(login_attempts).values(subject=subject, attempted_at="now"))


def subjects(connection: Connection) -> list[str]:
    return list(connection.execute(select(login_attempts.c.subject)).scalars())


def test_an_empty_database_gets_the_tables_that_the_sqlite_file_has(store: Database, tmp_path: Path) -> None:
    file = open_store(tmp_path / "sqlite")
    for table in schema.metadata.tables:
        with store.reading() as connection:
            on_server = shape(connection, table)
        with file.reading() as connection:
            assert on_server == shape(connection, table), table
    close_store(tmp_path / "sqlite")


def test_texts_compare_by_code_point_and_integers_have_64_bits(store: Database) -> None:
    query = (
        "SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'anaphora' AND (data_type = 'integer' OR data_type = 'text' AND collation_name <> 'C')"
    )
    with store.reading() as connection:
        assert connection.exec_driver_sql(query).all() == []


def test_servers_that_start_at_once_make_the_tables_once(postgresql_server: PostgreSQLServer, tmp_path: Path) -> None:
    database = database_at(postgresql_server.empty_database())
    stores = [Database(database, folder=tmp_path) for _ in range(3)]
    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(migrate, stores))
    with stores[0].reading() as connection:
        assert current_version(connection) == len(MIGRATIONS)
    for each in stores:
        each.close()


def test_conversations_are_taken_to_be_of_ten_messages_however_few_a_sample_holds(
    postgresql_server: PostgreSQLServer, tmp_path: Path
) -> None:
    store = Database(database_at(postgresql_server.empty_database()), folder=tmp_path)
    migrate(store)
    with store.reading() as connection:
        query = (
            "SELECT attoptions FROM pg_attribute WHERE attrelid = 'messages'::regclass AND attname = 'conversation_id'"
        )
        assert connection.exec_driver_sql(query).scalar_one() == ["n_distinct=-0.1"]
    store.close()


def test_a_database_of_a_newer_version_is_refused(postgresql_server: PostgreSQLServer, tmp_path: Path) -> None:
    url = postgresql_server.empty_database()
    newer = insert(schema_version).values(version=len(MIGRATIONS) + 1)
    open_store(tmp_path / "a", database_url=url).write(lambda connection: connection.execute(newer).rowcount)
    close_store(tmp_path / "a")
    with pytest.raises(DatabaseTooNewError):
        open_store(tmp_path / "b", database_url=url)


def test_a_reader_sees_one_state_and_changes_nothing(store: Database) -> None:
    with store.reading() as connection:
        assert subjects(connection) == []
        store.write(lambda writing: attempt(writing, "ann"))
        assert subjects(connection) == []
    with pytest.raises(StorageFailedError, match="can't be written"), store.reading() as connection:
        attempt(connection, "eve")
    with store.reading() as connection:
        assert subjects(connection) == ["ann"]


def test_a_transaction_that_is_begun_ahead_sees_what_was_committed_before_its_first_statement(store: Database) -> None:
    for name in ("ann", "bob", "eve"):
        with store.reading() as connection:
            before = subjects(connection)
        store.write(lambda writing, name=name: attempt(writing, name))
        with store.reading() as connection:
            assert subjects(connection) == [*before, name]
            assert store.readers_in_use()[0] == 1  # always the same connection


def test_a_transaction_that_is_begun_ahead_has_no_snapshot_and_no_lock(store: Database) -> None:
    for _ in range(2):
        with store.reading() as connection:
            assert subjects(connection) == []
            (pid,) = connection.exec_driver_sql("SELECT pg_backend_pid()").one()
    ahead = "SELECT state, backend_xid, backend_xmin FROM pg_stat_activity WHERE pid = %s"
    locks = "SELECT locktype FROM pg_locks WHERE pid = %s AND locktype <> 'virtualxid'"

    def state() -> list[Any]:
        return list(store.write(lambda writing: writing.exec_driver_sql(ahead, (pid,)).all()))

    # Nobody waits for the end of the last transaction: it may still be on its way.
    until = time.monotonic() + 60
    while state() != [("idle in transaction", None, None)] and time.monotonic() < until:
        time.sleep(0.01)
    assert state() == [("idle in transaction", None, None)]
    assert store.write(lambda writing: writing.exec_driver_sql(locks, (pid,)).all()) == []


def test_reading_goes_on_after_a_block_that_raised_and_after_a_refused_statement(store: Database) -> None:
    with pytest.raises(KeyError), store.reading() as connection:
        {}[connection]
    with pytest.raises(StorageFailedError), store.reading() as connection:
        connection.exec_driver_sql("SELECT 1 / 0")
    with store.reading() as connection:
        assert subjects(connection) == []


def test_one_process_writes_at_a_time_and_who_waits_too_long_is_told_to_come_again(
    store: Database, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "LOCK_TIMEOUT_MS", 20)
    other = Database(database_at(url), folder=tmp_path)
    writing, gate = threading.Event(), threading.Event()
    job = store.submit(lambda connection: (writing.set(), gate.wait(60), attempt(connection, "ann")))
    assert writing.wait(60)
    with pytest.raises(StorageBusyError):
        other.write(lambda connection: attempt(connection, "bob"))
    gate.set()
    job.result(60)
    other.write(lambda connection: attempt(connection, "bob"))
    other.close()
    with store.reading() as connection:
        assert subjects(connection) == ["ann", "bob"]


@pytest.mark.parametrize("urgency", [Urgency.CHANGE, Urgency.ACCEPT])
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_writer_sees_what_the_one_before_has_written_whatever_isolation_the_database_prefers(
    url: str, tmp_path: Path, postgresql_server: PostgreSQLServer, level: str, urgency: Urgency
) -> None:
    name = make_url(url).database
    postgresql_server.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    first, second = (Database(database_at(url), folder=tmp_path) for _ in range(2))
    waiting = Prepared(select(func.count()).select_from(text("pg_locks WHERE locktype = 'advisory' AND NOT granted")))
    seen = Prepared(select(login_attempts.c.subject))
    renamed = Prepared(update(login_attempts).values(subject="eve"))
    begun = threading.Event()

    def write(connection: Connection) -> None:
        begun.set()
        attempt(connection, "ann")
        until = time.monotonic() + 60
        while waiting.rows(connection) != [(1,)] and time.monotonic() < until:
            time.sleep(0.01)

    def look_and_write(connection: Connection) -> list[Any]:
        found = seen.rows(connection)
        renamed.run(connection)
        return list(found)

    try:
        job = first.submit(write)
        assert begun.wait(60)
        assert second.write(look_and_write, urgency=urgency) == [("ann",)]
        job.result(60)
    finally:
        for each in (first, second):
            each.close()
        postgresql_server.execute(f"ALTER DATABASE {name} RESET default_transaction_isolation")


def test_a_message_that_is_sent_again_finds_its_answer_however_many_servers_accept_at_once(
    url: str, tmp_path: Path
) -> None:
    stores = [Database(database_at(url), folder=tmp_path) for _ in range(3)]

    def accept(number: int) -> tuple[dict[str, Any], str]:
        own: dict[str, Any] = {"database": stores[number % 3], "user_email": "ann@example.org"}
        own["conversation_id"] = create_conversation(**own, domain="assistant").conversation_id
        sent = own | {"text": "Does it rain?", "client_message_id": f"message {number}"}
        return sent, accept_turn(**sent, config={}).response_message_id

    with ThreadPoolExecutor(6) as pool:
        accepted = list(pool.map(accept, range(60)))
    for sent, answer in accepted:
        with pytest.raises(AlreadySentError) as found:
            refuse_sent_before(**sent, again=None)
        assert found.value.message_id == answer
    for each in stores:
        each.close()


def let_no_writer_idle(connection: Connection, *, longer_than_ms: int) -> None:
    """For the rest of this transaction; usually it is `IDLE_WRITER_MS`."""
    asked = "SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'"
    assert connection.exec_driver_sql(asked).scalar_one() == str(postgresql.IDLE_WRITER_MS)
    connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {longer_than_ms}")


def test_a_writer_that_stands_still_keeps_no_other_process_from_writing(url: str, tmp_path: Path) -> None:
    halted, other = (Database(database_at(url), folder=tmp_path) for _ in range(2))
    writing, gate = threading.Event(), threading.Event()

    def stand_still(connection: Connection) -> None:
        attempt(connection, "ann")
        let_no_writer_idle(connection, longer_than_ms=100)
        writing.set()
        assert gate.wait(60)
        attempt(connection, "eve")

    job = halted.submit(stand_still)
    assert writing.wait(60)
    other.write(lambda connection: attempt(connection, "bob"))
    gate.set()
    with pytest.raises(StorageBusyError):
        job.result(60)
    halted.write(lambda connection: attempt(connection, "ann"))
    with other.reading() as connection:
        assert subjects(connection) == ["bob", "ann"]
    for each in (halted, other):
        each.close()


_SUBJECTS = Prepared(select(login_attempts.c.subject))


@pytest.mark.parametrize("urgency", [Urgency.CHANGE, Urgency.STREAM, Urgency.ACCEPT])
@pytest.mark.parametrize("reads", [True, False])
def test_a_writer_that_stood_still_hears_that_the_store_was_busy_whatever_it_says_next(
    url: str, tmp_path: Path, urgency: Urgency, reads: bool
) -> None:
    store = Database(database_at(url), folder=tmp_path)

    def stand_still(connection: Connection) -> None:
        let_no_writer_idle(connection, longer_than_ms=100)
        _SUBJECTS.rows(connection)
        time.sleep(0.5)
        if reads:
            _SUBJECTS.rows(connection)
        else:
            _SUBJECTS.run(connection)

    with pytest.raises(StorageBusyError):
        store.write(stand_still, urgency=urgency)
    store.write(_SUBJECTS.rows, urgency=urgency)
    store.close()


def test_what_is_refused_and_passed_over_takes_the_whole_transaction_with_it(store: Database) -> None:
    twice = Prepared(insert(login_attempts), columns=tuple(login_attempts.c.keys()))
    row = dict.fromkeys(login_attempts.c.keys(), None)

    def pass_over(connection: Connection) -> None:
        twice.run(connection, **row)
        with pytest.raises(DBAPIError):
            attempt(connection, "ann")
        attempt(connection, "eve")

    with pytest.raises(StorageFailedError):
        store.write(pass_over, urgency=Urgency.ACCEPT)
    with store.reading() as connection:
        assert subjects(connection) == []


@pytest.mark.parametrize("urgency", [Urgency.CHANGE, Urgency.ACCEPT])
def test_after_a_restart_of_the_database_server_the_store_goes_on(
    store: Database, postgresql_server: PostgreSQLServer, urgency: Urgency
) -> None:
    store.write(lambda connection: attempt(connection, "ann"), urgency=urgency)
    with store.reading() as connection:
        assert subjects(connection) == ["ann"]
    postgresql_server.cut_connections()
    with store.reading() as connection:
        assert subjects(connection) == ["ann"]
    store.write(lambda connection: attempt(connection, "bob"), urgency=urgency)
    with store.reading() as connection:
        assert subjects(connection) == ["ann", "bob"]


@pytest.mark.parametrize("urgency", [Urgency.CHANGE, Urgency.ACCEPT])
def test_a_transaction_that_loses_its_connection_is_a_storage_failure_and_stores_nothing(
    store: Database, postgresql_server: PostgreSQLServer, urgency: Urgency
) -> None:
    def interrupted(connection: Connection) -> None:
        attempt(connection, "ann")
        postgresql_server.cut_connections()
        attempt(connection, "bob")

    with pytest.raises(StorageFailedError, match="can't be reached"):
        store.write(interrupted, urgency=urgency)
    with store.reading() as connection:
        assert subjects(connection) == []


def test_a_transaction_of_a_turn_waits_for_what_it_asks_and_for_its_end(store: Database, tmp_path: Path) -> None:
    add = Prepared(insert(login_attempts), columns=("subject", "attempted_at"))
    find = Prepared(select(login_attempts.c.subject).where(login_attempts.c.subject == bindparam("name")))

    def work(connection: Connection) -> list[object]:
        add.run(connection, subject="ann", attempted_at="now")
        asked = [find.asked(connection, name=name) for name in ("ann", "bob")]
        add.run(connection, subject="bob", attempted_at="now")
        return [rows() for rows in asked]

    with Traced(store, tmp_path / "trace") as traced:
        assert store.write(work, urgency=Urgency.ACCEPT) == [[("ann",)], []]
    assert traced.waits() == 2


def test_accepting_a_message_waits_for_two_answers(store: Database, tmp_path: Path) -> None:
    store.write(partial(insert_account, values=new_account("ann@example.org", "no hash", "", is_admin=False)))
    who: dict[str, Any] = {"database": store, "user_email": "ann@example.org"}
    own = {**who, "conversation_id": create_conversation(**who, domain="assistant").conversation_id}
    taking = partial(asked_to_take_message, user_email="ann@example.org", defaults=Quota())
    told: list[object] = []
    ending: dict[str, Any] = {"text": "Yes.", "status": "complete", "config": {}, "title": "Rain"}

    def admit(connection: Connection) -> Callable[[], None]:
        take, ask_told = taking(connection), asked_told_to_models(connection, "ann@example.org")
        return lambda: told.append((take(), ask_told()))

    for _ in range(2):  # the first question of a conversation has no hash yet
        turn = accept_turn(**own, text="Does it rain?", config={}, owner="server", admit=admit)
        finish_turn(**own, response_message_id=turn.response_message_id, **ending)
    with Traced(store, tmp_path / "trace") as traced:
        turn = accept_turn(
            **own,
            text="And now?",
            config={},
            owner="server",
            friendly_id=turn.conversation_friendly_id,
            chars_before=1_000,
            admit=admit,
        )
    assert traced.waits() == 2  # for what was asked, and for the commit
    assert turn.said_before == last_messages(**own, max_chars=1_000, before=turn.user_message_index)
    assert [row.text for row in turn.said_before] == ["Does it rain?", "Yes."] * 2
    assert turn.user_message_short_hash
    assert told[-1] == (None, ("", "", ""))


def test_looking_up_names_of_conversations_their_aliases_and_versions_is_one_wait(
    store: Database, tmp_path: Path
) -> None:
    own: dict[str, Any] = {"database": store, "user_email": "ann@example.org"}
    rows = [create_conversation(**own, domain="assistant") for _ in range(3)]
    for number, row in enumerate(rows):
        name = {"conversation_id": row.conversation_id, "conversation_friendly_id": f"rain_aaa{number}"}
        set_friendly_id(**own, **name)
    set_friendly_id(**own, conversation_id=rows[0].conversation_id, conversation_friendly_id="snow_aaaa")
    with Traced(store, tmp_path / "trace", is_writing=False) as traced:
        found = conversations_by_friendly_id(**own, friendly_ids=["rain_aaa0", "rain_aaa1", "rain_aaa2", "hail_aaaa"])
    assert traced.waits() == 1
    assert [found[name].conversation_id for name in sorted(found)] == [row.conversation_id for row in rows]
    assert found["rain_aaa1"].version == conversation_version(**own, conversation_id=rows[1].conversation_id)


def test_reading_a_conversation_and_whether_it_has_changed_is_one_wait(store: Database, tmp_path: Path) -> None:
    own: dict[str, Any] = {"database": store, "user_email": "ann@example.org"}
    row = create_conversation(**own, domain="assistant")
    own["conversation_id"] = row.conversation_id
    waits = []
    for number, version in enumerate((row.version, row.version - 1)):
        with Traced(store, tmp_path / f"trace-{number}", is_writing=False) as traced:
            found = conversation_since(version, **own)
        waits.append((traced.waits(), found))
    assert waits == [(1, None), (1, row)]


def test_finding_out_who_asks_and_what_a_conversation_is_now_is_one_wait(store: Database, tmp_path: Path) -> None:
    store.write(partial(insert_account, values=new_account("ann@example.org", "no hash", "", is_admin=False)))
    own: dict[str, Any] = {"database": store, "user_email": "ann@example.org"}
    row = create_conversation(**own, domain="assistant")
    who = {"user_email": "ann@example.org", "conversation_id": row.conversation_id}
    found: list[object] = []

    def beside(connection: Connection) -> Callable[[], None]:
        ask = asked_for_conversation_since(connection, row.version - 1, **who)
        return lambda: found.append(ask())

    token = create_session(**own)
    with Traced(store, tmp_path / "trace", is_writing=False) as traced:
        assert find_session(database=store, token=token, beside=beside) == "ann@example.org"
    assert (traced.waits(), found) == (1, [row])
    assert find_session(database=store, token="another", beside=beside) is None
    assert found == [row]  # of what a stranger asks for nothing is read


def test_a_page_of_the_list_is_one_wait(store: Database, tmp_path: Path) -> None:
    own: dict[str, Any] = {"database": store, "user_email": "ann@example.org", "domain": "assistant"}
    made = create_conversation(**own)
    with Traced(store, tmp_path / "trace", is_writing=False) as traced:
        rows, _ = list_conversations(**own, limit=50)
    assert [row.conversation_id for row in rows] == [made.conversation_id]
    assert traced.waits() == 1


_FORTY_PEOPLE = (
    """
    INSERT INTO "UserToConversationId"
    SELECT copied.*
    FROM "UserToConversationId" AS one, generate_series(0, 39) AS person, generate_series(0, 99) AS number,
        jsonb_populate_record(one, jsonb_build_object(
            'user_email', 'person-' || person, 'conversation_id', person || '_' || number
        )) AS copied
    """,
    """
    INSERT INTO "ConversationIdToWorkspaceId" (conversation_id, user_email, workspace_id)
    SELECT conversation_id, user_email, 'default' FROM "UserToConversationId" WHERE user_email LIKE 'person-%%'
    """,
)


def test_a_page_of_the_list_reads_the_places_of_its_rows_alone(store: Database) -> None:
    create_conversation(database=store, user_email="ann@example.org", domain="assistant")
    for sql in _FORTY_PEOPLE:
        store.write(lambda connection, sql=sql: connection.exec_driver_sql(sql))
    store.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        asked.append((sql, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        rows, _ = list_conversations(database=store, user_email="person-20", domain="assistant", limit=50)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert {row.workspace_id for row in rows} <= {"default", default_workspace_id("person-20", "assistant")}
    assert len(rows) == 50
    with store.reading() as connection:
        plans = [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN {sql}", parameters).scalars()) for sql, parameters in asked
        ]
    assert [plan for plan in plans if re.search(r'Seq Scan on "(ConversationIdTo|UserTo)', plan)] == []
    assert len(plans) == 2


class Traced:
    """What the writer of a store, or its reader that is used next, says to PostgreSQL within the block."""

    def __init__(self, store: Database, path: Path, *, is_writing: bool = True) -> None:
        self._store, self._path, self._is_writing = store, path, is_writing

    def __enter__(self) -> Traced:
        self._file = self._path.open("w")
        self._run(lambda connection: self._of(connection).trace(self._file.fileno()))
        return self

    def __exit__(self, *_: object) -> None:
        self._run(lambda connection: self._of(connection).untrace())
        self._file.close()

    def waits(self) -> int:
        """How often it waited for an answer: what was said last asked for one at once, and then something came."""
        lines = [line.split("\t") for line in self._path.read_text().splitlines()]
        said = [words[3] for words in lines if len(words) > 3 and words[1] == "F"]
        asked = [what in {"Flush", "Sync", "Query"} for what in said[1:-1]]  # between a commit and a beginning
        return sum(now and not before for before, now in pairwise([False, *asked]))

    def _run(self, job: Callable[[Connection], object]) -> None:
        if self._is_writing:
            self._store.write(job)
            return
        with self._store.reading() as connection:
            job(connection)

    @staticmethod
    def _of(connection: Connection) -> Any:
        driver: Any = connection.connection.dbapi_connection
        return driver.pgconn


def test_a_server_that_is_not_there_is_a_storage_failure(tmp_path: Path) -> None:
    with pytest.raises(StorageFailedError, match="can't be reached"):
        open_store(tmp_path, database_url=f"postgresql+psycopg://postgres@/none?host={tmp_path}")


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("40001", StorageBusyError),
        ("40P01", StorageBusyError),
        ("55P03", StorageBusyError),
        ("57P01", StorageFailedError),
        ("53100", StorageFailedError),
        ("42501", StorageFailedError),
        ("42601", StorageFailedError),
        ("XX001", DatabaseDamagedError),
    ],
)
def test_errors_are_told_apart_by_their_sqlstate(state: str, kind: type[StoreError]) -> None:
    error = psycopg.errors.lookup(state)("words that say nothing")
    assert type(store_error(error)) is kind
    assert type(store_error(OperationalError("", None, error))) is kind


def test_what_postgresql_cannot_store_in_a_text_becomes_the_replacement_character(store: Database) -> None:
    store.write(lambda connection: attempt(connection, "a\x00b"))
    with store.reading() as connection:
        assert subjects(connection) == ["a\ufffdb"]


def test_the_first_server_holds_a_database_alone_until_it_lets_others_in(
    store: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.backend.held_for_server() as first:
        assert first.is_alone()
        with monkeypatch.context() as impatient:
            impatient.setattr(postgresql, "_SECONDS_FOR_ANOTHER_START", 0.0)
            assert _entered(url) == (False, False)
        with ThreadPoolExecutor(1) as pool:
            entered = pool.submit(_entered, url)
            first.share()
            assert entered.result(60) == (True, False)
        assert (first.is_held(), first.is_alone()) == (True, False)
    assert _entered(url) == (True, True)


def _entered(url: str) -> tuple[bool, bool]:
    """Whether another server could hold the database, and alone."""
    with database_at(url).held_for_server() as hold:
        return hold.is_held(), hold.is_alone()


def test_a_server_whose_connection_broke_shares_its_database_again_unless_a_command_has_it_alone(
    store: Database, url: str
) -> None:
    def end_connections() -> None:
        others = "pid != pg_backend_pid() AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
        ending = f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {others}"
        store.write(lambda connection: connection.exec_driver_sql(ending).close())

    with store.backend.held_for_server() as first:
        first.share()
        end_connections()
        with pytest.raises(StorageFailedError):
            first.is_held()
        assert first.is_held()
        end_connections()
        with database_at(url).held_for_server() as command:
            assert command.is_alone()
            with pytest.raises(StorageFailedError):
                first.is_held()
            assert not first.is_held()
        assert (first.is_held(), first.is_alone()) == (True, False)


_MANY_ACTIVITIES = """
INSERT INTO activities
    (activity_id, user_email, conversation_id, recipe, type, short_id, actor_type, payload, created_at)
SELECT gen_random_uuid()::text, 'ann@example.org', 'room ' || mod(number, 100), 'tools', 'tool_invocation',
       substr(md5(number::text), 1, 12), 'system', '{}', '2026-01-01T00:00:00.000000Z'
FROM generate_series(1, 40000) AS number
"""


@pytest.mark.parametrize("conversation_id", [None, "room 1"])
def test_what_nobody_has_is_looked_for_in_indexes(store: Database, conversation_id: str | None) -> None:
    store.write(lambda connection: connection.exec_driver_sql(_MANY_ACTIVITIES))
    store.write(lambda connection: connection.exec_driver_sql("ANALYZE activities, former_short_ids"))
    ann = {"user_email": "ann@example.org"}
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        asked.append((sql, parameters))

    with store.reading() as connection:
        event.listen(connection, "before_cursor_execute", note)
        with pytest.raises(ActivityNotFoundError):
            find_activity(connection, reference="#ffffff", conversation_id=conversation_id, **ann)
        event.remove(connection, "before_cursor_execute", note)
        plans = [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN {sql}", parameters).scalars()) for sql, parameters in asked
        ]
    assert len(plans) >= 3  # by id, by short id, by former short id
    assert [plan for plan in plans if "Seq Scan on activities" in plan] == []


def test_the_documentation_says_how_many_connections_a_server_opens_at_most() -> None:
    of_conversations, of_memories = database_at("postgresql+psycopg://").readers + 1, READERS + 1
    told = f"up to {of_conversations + of_memories + 1}"  # one holds the database
    operations, capacity = ((ROOT / "documentation" / name).read_text() for name in ("operations.md", "capacity.md"))
    assert f"{told} connections" in operations
    assert f"{told} each" in capacity
