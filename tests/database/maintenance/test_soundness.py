"""A damaged file is found by SQLite's own check, and answers nothing until it is whole again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chat.context.knowledge import close_knowledge, knowledge_in
from chat.runtime.startup import is_held_here
from database.accounts.sessions import create_session
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.engine.database import Urgency
from database.engine.errors import DatabaseDamagedError, StorageFailedError, StoreBeingCheckedError
from database.engine.stamp import FileStamp
from database.history.reading import list_messages
from database.maintenance import soundness
from database.maintenance.soundness import FileWatch, find_damage, require_usable, watch_store
from database.maintenance.verification import verify_file, verify_store
from database.turns.identity import FinishedTurn
from database.turns.turns import accept_turn
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from server import create_app
from settings import Settings, load_settings
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

ADA = "ada@example.org"
PAGE = 4096


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)


def spoil(file: Path) -> bytes:
    """Overwrite every third page of the last quarter, which hold what was written last; what the file was."""
    sound = file.read_bytes()
    pages = len(sound) // PAGE
    with file.open("r+b") as opened:
        for number in range(pages * 3 // 4, pages, 3):
            opened.seek(number * PAGE)
            opened.write(bytes([number % 251 + 1]) * PAGE)
    return sound


@pytest.fixture
def lived_in(users_dir: str, take_turn: Callable[..., FinishedTurn]) -> Path:
    """The file of a store with some conversations, closed."""
    for number in range(4):
        row = create_conversation(database=open_store(users_dir), user_email=ADA, domain="assistant")
        take_turn(ADA, row.conversation_id, text=f"{number} " * 9_000, answer="yes " * 9_000)
    close_store(users_dir)
    return Path(users_dir) / "users.db"


def test_a_whole_file_has_no_damage_and_a_missing_one_neither(lived_in: Path) -> None:
    assert find_damage(lived_in) is None
    assert find_damage(lived_in.with_name("none.db")) is None


def test_damage_is_named_by_its_table_and_found_again_first(lived_in: Path) -> None:
    spoil(lived_in)
    found = find_damage(lived_in)
    assert found is not None
    table, complaint = found
    assert complaint
    again = find_damage(lived_in, first=table)
    assert again is not None
    assert again[0] == table


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "users.db").write_bytes(b"garbage" * 1_000)
    assert find_damage(tmp_path / "users.db") is not None


def test_damage_that_a_query_meets_is_checked_at_once_and_taken_back_where_the_file_is_whole(
    users_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(users_dir)
    watch = watch_store(store)
    watch.begin(wait=30)
    with pytest.raises(DatabaseDamagedError), store.reading():
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    eventually(lambda: store.damage is None)
    watch.stop()


@pytest.mark.parametrize("why", [DatabaseDamagedError, StoreBeingCheckedError])
def test_while_a_store_is_damaged_or_checked_first_only_running_answers_are_written(
    users_dir: str, why: type[Exception]
) -> None:
    store = open_store(users_dir)
    if why is DatabaseDamagedError:
        store.damage = "It is damaged."
    else:
        store.check_ends_at = time.monotonic() + 60
    with pytest.raises(why), store.reading():
        pass
    with pytest.raises(why), store.read_apart() as apart, apart.reading():
        pass
    with pytest.raises(why):
        store.write(lambda _: None)
    with pytest.raises(why):
        store.submit(lambda _: None).result(60)
    assert store.write(lambda _: "kept", urgency=Urgency.STREAM) == "kept"
    assert store.submit(lambda _: "kept", urgency=Urgency.STREAM).result(60) == "kept"


@pytest.mark.parametrize(("left", "retry_after"), [(-3.0, 1), (4.2, 5), (3_600.0, 10)])
def test_nobody_is_told_to_ask_again_at_once_or_in_an_hour(left: float, retry_after: int) -> None:
    assert StoreBeingCheckedError(seconds_left=left).retry_after == retry_after


def test_a_store_that_cannot_be_written_is_not_usable_until_it_can(users_dir: str) -> None:
    store = open_store(users_dir)
    require_usable(database=open_store(users_dir))

    def read_only(switch: str) -> None:
        store._writer._idle[0].connection.driver_connection.execute(f"PRAGMA query_only = {switch}")  # type: ignore[union-attr]
        store.next_probe = 0.0

    read_only("ON")
    with pytest.raises(StorageFailedError, match="can't be written"):
        require_usable(database=open_store(users_dir))
    with pytest.raises(StorageFailedError):
        require_usable(database=open_store(users_dir))  # which does not try again so soon
    read_only("OFF")
    require_usable(database=open_store(users_dir))


def test_a_store_on_a_full_disk_is_not_usable_though_a_small_write_may_fit(
    users_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=4096))
    with pytest.raises(StorageFailedError, match="full"):
        require_usable(database=open_store(users_dir))


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    environ = {f"ANAPHORA_{role}_MODEL": "none" for role in ("MAIN", "CHEAP", "EMBEDDING")}
    environ["ANAPHORA_DATA_DIR"] = str(tmp_path)
    settings = load_settings(environ, env_file=tmp_path / "no.env")
    yield settings
    close_store(settings.users_dir)


def restore(file: Path, sound: bytes) -> None:
    """In place: at no moment is it empty, or a part."""
    with file.open("r+b") as damaged:
        damaged.write(sound)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a busy machine takes for the first write is no matter of a test."""
    monkeypatch.setattr(soundness, "_PROBE_SECONDS", 60.0)


@pytest.fixture
def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Flask]]:
    """Start an application that serves."""
    monkeypatch.setattr(soundness, "_WHILE_DAMAGED", 0.05)
    monkeypatch.setattr("chat.runtime.startup._CHECK_SECONDS", 30.0)
    made: list[Flask] = []

    def start() -> Flask:
        made.append(create_app(settings))
        return made[-1]

    yield start
    for each in made:
        each.extensions[EXTENSION].server.end()
        each.extensions[EXTENSION].knowledge.close()


def test_damaged_pages_give_no_answer_but_one_that_says_so_until_the_file_is_whole(
    settings: Settings, app: Callable[[], Flask], take_turn: Callable[..., FinishedTurn], users_dir: str
) -> None:
    assert users_dir == settings.users_dir
    create_user(database=open_store(users_dir), user_email=ADA, password="correct horse battery")
    session = create_session(database=open_store(users_dir), user_email=ADA)
    conversations = []
    for number in range(10):
        row = create_conversation(database=open_store(users_dir), user_email=ADA, domain="assistant")
        take_turn(ADA, row.conversation_id, text=f"{number} " * 9_000, answer="yes " * 9_000)
        conversations.append(row.conversation_id)
    close_store(users_dir)
    file = Path(users_dir) / "users.db"
    sound = spoil(file)

    client = app().test_client()
    client.set_cookie(SESSION_COOKIE, session)
    assert client.get("/healthz").status_code == 200
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json["store"]) == (503, "damaged")
    for path in (
        "/list_conversation_by_user/assistant",
        *(f"/list_messages_by_conversation/{c}" for c in conversations),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.json["code"]) == (503, "storage_damaged"), path
        assert "data restore" in answer.json["message"]
    refused = client.post("/login", json={"email": ADA, "password": "correct horse battery"})
    assert (refused.status_code, refused.json["code"]) == (503, "storage_damaged")

    restore(file, sound)
    eventually(lambda: client.get("/readyz").json["store"] == "ok")
    for conversation_id in conversations:
        assert len(client.get(f"/list_messages_by_conversation/{conversation_id}").json) == 2


def test_a_damaged_knowledge_base_gives_no_memories_until_its_file_is_whole(
    settings: Settings, app: Callable[[], Flask]
) -> None:
    knowledge = knowledge_in(settings.users_dir)
    for number in range(40):
        knowledge.for_user(ADA).add_claim(f"{number} " * 200, "fact", "work", auto_extract=False)
    close_knowledge(settings.users_dir)
    file = Path(settings.users_dir) / "pkb.sqlite"
    sound = spoil(file)
    started = app()
    ready = started.test_client().get("/readyz")
    assert (ready.json["store"], ready.json["knowledge"]) == ("ok", "failed")
    restore(file, sound)
    eventually(lambda: bool(started.extensions[EXTENSION].knowledge.is_available()))


class Looking:
    """Holds every check of a file until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._may_go = threading.Event()
        self.files: list[str] = []
        self.ended = 0
        look = soundness.find_damage

        def held(path: Path, **options: Any) -> tuple[str, str] | None:
            self.files.append(path.name)
            assert self._may_go.wait(120)
            found = look(path, **options)
            self.ended += 1
            return found

        monkeypatch.setattr(soundness, "find_damage", held)
        # All files are large ones, and none is waited for.
        monkeypatch.setattr(soundness, "_QUICK_BYTES", -1)
        monkeypatch.setattr("chat.runtime.startup._CHECK_SECONDS", 0.0)

    def let_go(self) -> None:
        self._may_go.set()

    def hold(self) -> None:
        self._may_go.clear()


@pytest.fixture
def looking(app: Callable[[], Flask], monkeypatch: pytest.MonkeyPatch) -> Iterator[Looking]:
    looking = Looking(monkeypatch)
    yield looking
    looking.let_go()


@pytest.fixture
def conversation(settings: Settings, users_dir: str, take_turn: Callable[..., FinishedTurn]) -> tuple[str, str]:
    """A session of somebody, and the path of their conversation, in a closed store."""
    assert users_dir == settings.users_dir
    create_user(database=open_store(users_dir), user_email=ADA, password="correct horse battery")
    session = create_session(database=open_store(users_dir), user_email=ADA)
    row = create_conversation(database=open_store(users_dir), user_email=ADA, domain="assistant")
    take_turn(ADA, row.conversation_id, text="7 " * 60_000, answer="yes " * 9_000)
    close_store(users_dir)
    return session, f"/list_messages_by_conversation/{row.conversation_id}"


def client_of(app: Flask, session: str) -> FlaskClient:
    client = app.test_client()
    client.set_cookie(SESSION_COOKIE, session)
    return client


def end(app: Flask, settings: Settings) -> None:
    """Stop the server, as it does at SIGTERM."""
    state = app.extensions[EXTENSION]
    state.server.end()
    state.knowledge.close()
    close_store(settings.users_dir)


def test_a_large_store_that_nobody_has_checked_answers_nothing_until_it_has_passed(
    settings: Settings, app: Callable[[], Flask], looking: Looking, conversation: tuple[str, str]
) -> None:
    session, path = conversation
    own = {"database": open_store(settings.users_dir), "user_email": ADA}
    begun = create_conversation(**own, domain="assistant").conversation_id
    accept_turn(**own, conversation_id=begun, text="What do whales sing?", config={})
    close_store(settings.users_dir)

    started = app()
    client = client_of(started, session)
    refused = client.get(path)
    assert (refused.status_code, refused.json["code"]) == (503, "storage_checking")
    assert int(refused.headers["Retry-After"]) >= 1
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json["store"], ready.json["status"]) == (503, "checking", "not_ready")
    assert client.get("/healthz").status_code == 200
    page = client.get("/interface/", headers={"Accept": "text/html"})
    assert (page.status_code, page.mimetype) == (503, "text/html")
    assert "is being checked" in page.text
    assert 'http-equiv="refresh"' in page.text
    login = client.post("/login", json={"email": ADA, "password": "correct horse battery"})
    assert (login.status_code, login.json["code"]) == (503, "storage_checking")
    assert not looking.ended

    looking.let_go()
    # Nobody has to ask: what a start does is done as soon as it may be.
    eventually(lambda: started.extensions[EXTENSION].server._begun_in is not None)
    assert list_messages(database=open_store(settings.users_dir), user_email=ADA, conversation_id=begun)[1].status == (
        "interrupted"
    )
    assert len(client.get(path).json) == 2
    eventually(lambda: client.get("/readyz").json["store"] == "ok")


def test_a_damaged_page_of_a_large_store_never_gives_an_answer(
    settings: Settings, app: Callable[[], Flask], looking: Looking, conversation: tuple[str, str]
) -> None:
    session, path = conversation
    spoil(Path(settings.users_dir) / "users.db")
    client = client_of(app(), session)
    first = client.get(path)
    assert (first.status_code, first.json["code"]) == (503, "storage_checking")
    looking.let_go()
    codes = set()
    while "storage_damaged" not in codes:
        answer = client.get(path)
        assert answer.status_code == 503
        codes.add(answer.json["code"])
    assert codes <= {"storage_checking", "storage_damaged"}
    assert client.get("/readyz").json["store"] == "damaged"


def test_a_store_that_was_stopped_answers_at_once_and_a_changed_one_is_checked_again(
    settings: Settings, app: Callable[[], Flask], looking: Looking, conversation: tuple[str, str]
) -> None:
    session, path = conversation
    looking.let_go()
    first = app()
    assert first.test_client().get("/healthz").status_code == 200
    files = [Path(settings.users_dir) / name for name in ("users.db", "pkb.sqlite")]
    eventually(lambda: all(FileStamp(file).is_checked() for file in files if file.exists()))
    database = open_store(settings.users_dir)
    create_conversation(database=database, user_email=ADA, domain="assistant")
    end(first, settings)
    looking.hold()

    checks, looked = looking.ended, len(looking.files)
    second = app()
    assert len(client_of(second, session).get(path).json) == 2
    assert looking.ended == checks, "it was not checked first"
    eventually(lambda: "users.db" in looking.files[looked:])  # but it is behind
    end(second, settings)

    damage_the_last_page(files[0])
    refused = client_of(app(), session).get(path)
    assert (refused.status_code, refused.json["code"]) == (503, "storage_checking")


def damage_the_last_page(file: Path) -> None:
    status = file.stat()
    with file.open("r+b") as opened:
        opened.seek(-1, os.SEEK_END)
        opened.write(b"x")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_damage_that_is_found_ends_the_trust_in_a_file(lived_in: Path) -> None:
    told: list[str | None] = []
    stamp = FileStamp(lived_in)
    stamp.begin_check()
    assert stamp.end_check()
    watch = FileWatch(lived_in, told=told.append)
    watch.check_soon()
    assert not stamp.is_checked()
    watch.begin(wait=30)
    eventually(stamp.is_checked)
    assert told == [None]
    spoil(lived_in)
    watch.check_soon()
    eventually(lambda: len(told) > 1)
    watch.stop()
    assert "is damaged" in str(told[1])
    assert not stamp.is_checked()


def test_damage_that_leaves_no_trace_in_the_state_of_a_file_ends_the_trust_in_it_too(
    lived_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str | None] = []
    stamp = FileStamp(lived_in)
    stamp.begin_check()
    assert stamp.end_check()
    monkeypatch.setattr(soundness, "find_damage", lambda *_given, **_options: ("messages", "a failing disk"))
    watch = FileWatch(lived_in, told=told.append)
    watch.begin(wait=30)
    watch.stop()
    assert told
    assert not stamp.is_checked()


def test_a_large_knowledge_base_gives_no_memories_until_it_has_passed(
    settings: Settings, app: Callable[[], Flask], looking: Looking
) -> None:
    knowledge = knowledge_in(settings.users_dir)
    knowledge.for_user(ADA).add_claim("I like whales", "fact", "work", auto_extract=False)
    close_knowledge(settings.users_dir)
    started = app()
    held = started.extensions[EXTENSION].knowledge
    ready = started.test_client().get("/readyz")
    assert (ready.json["store"], ready.json["knowledge"]) == ("checking", "checking")
    with pytest.raises(KnowledgeUnavailableError, match="is being checked"):
        held.for_user(ADA)
    assert not held.is_empty(ADA)
    looking.let_go()
    eventually(lambda: bool(held.is_available()))
    ready = started.test_client().get("/readyz")
    assert ready.json["knowledge"] == "ok"
    assert held.is_empty("eve@example.org")
    held.hold(1.0)
    assert not held.is_empty("eve@example.org"), "nothing is read from it"
    held.hold(None)


@pytest.mark.parametrize("threads", [1, 3])
def test_several_threads_find_what_one_finds(lived_in: Path, threads: int) -> None:
    assert find_damage(lived_in, threads=threads) is None
    spoil(lived_in)
    assert find_damage(lived_in, threads=threads) is not None


class Checking:
    """Tables of a file as two threads check them: the other one takes its time, and finds one damaged.

    fails: the caller's own thread can't read its table.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: bool) -> None:
        self._fails = fails
        self._taken, self._caller = threading.Event(), threading.current_thread()
        monkeypatch.setattr(soundness.sqlite, "connect_read_only", lambda _path: self)

    def close(self) -> None:
        pass

    def execute(self, statement: str) -> Any:
        if statement == soundness._STORED:
            return [("messages",)]
        if not statement.startswith("PRAGMA integrity_check"):
            return None
        if threading.current_thread() is not self._caller:
            self._taken.set()
            time.sleep(0.3)
            return SimpleNamespace(fetchone=lambda: ("damage",))
        assert self._taken.wait(60)
        if self._fails:
            raise sqlite3.OperationalError("disk I/O error")
        return SimpleNamespace(fetchone=lambda: ("ok",))


@pytest.mark.parametrize("fails", [False, True])
def test_damage_that_another_thread_finds_last_is_damage_whatever_the_others_meet(
    lived_in: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    Checking(monkeypatch, fails=fails)
    found = find_damage(lived_in, threads=2)
    assert found is not None
    assert found[1] == "damage"


def test_a_check_that_fails_says_nothing_of_the_file(lived_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, told = soundness.sqlite.connect_read_only, list[str | None]()

    def failing(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_authorizer(
            lambda _action, name, *_: sqlite3.SQLITE_DENY if name == "integrity_check" else sqlite3.SQLITE_OK
        )
        return connection

    monkeypatch.setattr(soundness.sqlite, "connect_read_only", failing)
    with pytest.raises(StorageFailedError):
        find_damage(lived_in)
    watch = FileWatch(lived_in, told=told.append)
    watch.begin(wait=30)
    watch.stop()
    assert told == []
    assert not FileStamp(lived_in).is_checked()


def test_a_file_is_checked_again_soon_after_others_changed_it_and_daily_though_nobody_did(
    lived_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str | None] = []
    monkeypatch.setattr(soundness, "_HOURLY", 0.01)
    watch = FileWatch(lived_in, told=told.append)
    watch.begin(wait=30)
    eventually(FileStamp(lived_in).is_checked)
    time.sleep(0.3)
    assert told == [None]
    with closing(sqlite3.connect(lived_in)) as other, other:
        other.execute("DELETE FROM messages")
        other.commit()
        other.execute("PRAGMA wal_checkpoint")
    eventually(lambda: len(told) > 1)
    watch.stop()
    monkeypatch.setattr(soundness, "_DAILY", 0.1)
    daily = FileWatch(lived_in, told=told.append)
    daily.begin(wait=30)
    seen = len(told)
    eventually(lambda: len(told) > seen + 1)
    daily.stop()


def test_nothing_is_moved_into_a_file_that_may_be_damaged(lived_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, told = list[FileStamp](), list[str | None]()
    monkeypatch.setattr(soundness, "_WHILE_DAMAGED", 0.01)
    monkeypatch.setattr(soundness, "find_damage", lambda *_given, **_options: ("messages", "a failing disk"))
    monkeypatch.setattr(FileStamp, "begin_check", lambda stamp: moved.append(stamp))
    watch = FileWatch(lived_in, told=told.append)
    watch.begin(wait=30)
    eventually(lambda: len(told) > 2)
    watch.stop()
    assert len(moved) == 1


def test_a_server_that_ends_while_it_checks_holds_nobody_up(
    settings: Settings, app: Callable[[], Flask], looking: Looking, conversation: tuple[str, str]
) -> None:
    started = app()
    assert client_of(started, conversation[0]).get(conversation[1]).status_code == 503
    state = started.extensions[EXTENSION]
    with pytest.raises(StoreBeingCheckedError), state.database.reading():
        pass
    state.server.end()
    with state.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_a_command_that_becomes_the_server_waits_for_the_check(
    settings: Settings, app: Callable[[], Flask], looking: Looking, conversation: tuple[str, str]
) -> None:
    state = app().extensions[EXTENSION]
    state.server.begin(upkeep=False)
    assert state.server._begun_in is None
    with pytest.raises(StoreBeingCheckedError), state.database.reading():
        pass
    looking.let_go()
    state.server.await_check()
    assert state.server._begun_in == os.getpid()
    assert state.server._running is None, "it asked for no upkeep"
    with state.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_a_file_that_cannot_be_checked_is_not_taken_for_damaged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str | None] = []
    (tmp_path / "users.db").mkdir()
    watch = FileWatch(tmp_path / "users.db", told=told.append)
    watch.begin(wait=30)
    watch.stop()
    assert told == []
    assert "could not be checked" in caplog.text


def copied_with_log(users_dir: str, target: Path, *, change: Callable[[bytes], bytes]) -> str:
    """A copy of an open store, its log of changes (WAL) changed; what was written before lies in the file itself."""
    target.mkdir()
    shutil.copy(Path(users_dir) / "users.db", target)
    log = (Path(users_dir) / "users.db-wal").read_bytes()
    assert log
    if changed := change(log):
        (target / "users.db-wal").write_bytes(changed)
    return str(target)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda log: b"", id="missing"),
        pytest.param(lambda log: b"garbage" * 1_000, id="garbage"),
        pytest.param(lambda log: log[: len(log) // 2], id="cut"),
        pytest.param(lambda log: log[: len(log) // 2] + bytes(1) * 300 + log[len(log) // 2 + 300 :], id="a bad frame"),
    ],
)
def test_a_damaged_log_of_changes_costs_the_last_changes_alone(
    users_dir: str, take_turn: Callable[..., FinishedTurn], tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    own = {"database": open_store(users_dir), "user_email": ADA}
    conversation_id = create_conversation(**own, domain="assistant").conversation_id
    take_turn(ADA, conversation_id, text="kept")
    close_store(users_dir)  # everything is in the file now, and the log is gone
    take_turn(ADA, conversation_id, text="late")
    damaged = copied_with_log(users_dir, tmp_path / "damaged", change=change)
    own["database"] = open_store(damaged)
    found = [row.text for row in list_messages(**own, conversation_id=conversation_id)]
    assert found in (["kept", "Hi there"], ["kept", "Hi there", "late", "Hi there"], ["kept", "Hi there", "late", ""])
    assert list(verify_store(database=open_store(damaged))) == []
    another = create_conversation(**own, domain="assistant").conversation_id
    accept_turn(**own, conversation_id=another, text="Goes on", config={})
    close_store(damaged)
    assert find_damage(Path(damaged) / "users.db") is None


@pytest.mark.parametrize("table", ["messages", "shares", "search_state"])
def test_a_missing_table_is_told_at_the_start_and_by_verification(users_dir: str, table: str) -> None:
    close_store(users_dir)
    with closing(sqlite3.connect(Path(users_dir) / "users.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    with pytest.raises(DatabaseDamagedError, match=f"lacks tables: {table}"):
        open_store(users_dir)
    assert f"The table {table} is missing." in {finding.what for finding in verify_file(Path(users_dir) / "users.db")}


def test_a_server_that_is_stopped_as_its_store_has_passed_begins_nothing_behind(
    settings: Settings,
    app: Callable[[], Flask],
    looking: Looking,
    conversation: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert conversation
    started = app()
    server = started.extensions[EXTENSION].server
    begun, may_go = threading.Event(), threading.Event()
    serve = server._begin_serving

    def begin_serving(hold: Any) -> None:
        begun.set()
        assert may_go.wait(60)
        serve(hold)

    monkeypatch.setattr(server, "_begin_serving", begin_serving)
    assert started.test_client().get("/healthz").status_code == 200
    looking.let_go()
    assert begun.wait(60)
    stopping = threading.Thread(target=end, args=(started, settings))
    stopping.start()
    stopping.join(0.3)
    assert stopping.is_alive(), "the start that goes on is waited for"
    may_go.set()
    stopping.join(60)
    assert (server._begun_in, server._watches, is_held_here(Path(settings.data_dir))) == (None, (), False)

    checks = looking.ended
    looking.hold()
    session, path = conversation
    assert len(client_of(app(), session).get(path).json) == 2
    assert looking.ended == checks, "and the file is as this server left it"
