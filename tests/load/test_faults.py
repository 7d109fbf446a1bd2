"""Two servers whose PostgreSQL and Valkey die, and whose network is cut: nothing is lost, all goes on by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.crash import messages_of
from tests.load.figures import record
from tests.load.links import Link
from tests.load.test_failing_storage import eventually
from tests.load.wires import Wire
from tests.load.witnesses import talkative
from tests.postgresql import NOW, PostgreSQLServer
from tests.valkey import ValkeyServer

pytestmark = pytest.mark.live


@dataclass
class Installation:
    """Two servers; the first one reaches PostgreSQL and Valkey by links that can be cut."""

    one: LiveServer
    two: LiveServer
    postgresql: PostgreSQLServer
    valkey: ValkeyServer
    model: RecordingModel
    to_postgresql: Link | Wire
    to_valkey: Link | Wire
    dsn: str
    people: list[Client] = field(default_factory=list)

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """What the store answers."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(query).fetchall()


@contextmanager
def installed(folder: Path, linked: Callable[[str], Link | Wire]) -> Iterator[Installation]:
    """Two servers that run. linked: makes what leads to a Unix socket."""
    postgresql, valkey = PostgreSQLServer(is_killed=True), ValkeyServer()
    try:
        url = postgresql.empty_store()
        name = url.partition("?")[0].rpartition("/")[2]
        dsn = postgresql.engine.dsn(name)
        with (
            RecordingModel().serving() as model,
            closing(linked(f"{dsn.split()[0].partition('=')[2]}/.s.PGSQL.5432")) as to_postgresql,
            closing(linked(valkey.url.removeprefix("unix://"))) as to_valkey,
        ):
            model.scripts |= {"main": talkative(0.03), "cheap": saying("A Title")}
            shared = {**model.environ, "ANAPHORA_DATA_DIR": str(folder / "data")}
            far = {
                "DATABASE_URL": f"postgresql+psycopg://postgres@{to_postgresql.address}/{name}",
                "REDIS_URL": f"redis://{to_valkey.address}",
            }
            near = {"DATABASE_URL": url, "REDIS_URL": valkey.url}
            one = LiveServer(folder / "one", shared | far, is_preloaded=True)
            two = LiveServer(folder / "two", shared | near, is_preloaded=True)
            try:
                for each in (one, two):
                    each.start()
                yield Installation(one, two, postgresql, valkey, model, to_postgresql, to_valkey, dsn)
            finally:
                for each in (one, two):
                    each.kill()
    finally:
        valkey.stop()
        postgresql.stop()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, joined_page: None) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("faults"), Link) as installation:
        yield installation


@pytest.fixture
def ada(installation: Installation) -> Client:
    """The one person, at the first server."""
    if not installation.people:
        installation.people.append(installation.one.sign_up())
    return installation.people[0]


@pytest.fixture
def there(installation: Installation, ada: Client) -> Client:
    """The same person, at the second server."""
    return Client(installation.two.port, cookies=dict(ada.cookies))


@dataclass
class Seen:
    """What somebody sees of an answer, in a thread of its own."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def begin(self, stream: Iterator[dict[str, Any]]) -> Seen:
        """Watch from now on, until the answer ends or the connection breaks."""
        self.thread = threading.Thread(target=self._watch, args=(stream,), daemon=True)
        self.thread.start()
        return self

    def _watch(self, stream: Iterator[dict[str, Any]]) -> None:
        with suppress(OSError, HTTPException):
            for event in stream:
                if not event.get("heartbeat"):
                    self.events.append(event)

    @property
    def text(self) -> str:
        """The words that came."""
        return "".join(event.get("text", "") for event in list(self.events))

    def hears_more(self) -> None:
        """Wait until words have come that were not there before."""
        before = len(self.text)
        eventually(lambda: len(self.text) > before + 20)

    def ends(self) -> dict[str, Any]:
        """Wait for the last event."""
        self.thread.join(120)
        assert not self.thread.is_alive(), "it never ended"
        return self.events[-1]


def begun(client: Client) -> tuple[str, str, Seen]:
    """A conversation, the id of an answer that goes on for long, and what its sender sees."""
    conversation_id = client.create_conversation()
    seen = Seen().begin(client.send(conversation_id, "Say 2000 pieces of words."))
    eventually(lambda: seen.text)
    return conversation_id, messages_of(client, conversation_id)[-1]["message_id"], seen


def watching(client: Client, answer: str) -> Seen:
    """What somebody else sees of it."""
    seen = Seen().begin(client.stream(f"/stream/{answer}?after=0"))
    eventually(lambda: seen.text)
    return seen


def broker_of(server: LiveServer) -> str:
    return str(server.client().get("/readyz").json()["broker"])


def answers_again(client: Client, conversation_id: str) -> None:
    """The conversation takes a further turn, at this server."""

    def is_answered() -> bool:
        with suppress(OSError, HTTPException, AssertionError):
            return bool(list(client.send(conversation_id, "Say 3 pieces of more."))[-1]["answer_status"] == "complete")
        return False

    eventually(is_answered)


def check_cancelled(client: Client, conversation_id: str, *seen: Seen) -> None:
    """Cancel the answer: all who watched it have seen what is stored, word for word."""
    assert client.post(f"/cancel_response/{conversation_id}").json()["cancelled"]
    assert [each.ends()["answer_status"] for each in seen] == ["cancelled"] * len(seen)
    assert {each.text for each in seen} == {messages_of(client, conversation_id)[-1]["text"]}


def test_while_valkey_is_dead_turns_go_on_and_are_watched_by_the_store(
    installation: Installation, ada: Client, there: Client
) -> None:
    conversation_id, answer, sender = begun(there)
    watcher = watching(ada, answer)
    servers = installation.one, installation.two
    before = [len(each.log()) for each in servers]
    installation.valkey.kill()
    eventually(lambda: {broker_of(each) for each in servers} == {"failed"})
    watcher.hears_more()
    begun_at = time.monotonic()
    installation.valkey.start()
    eventually(lambda: {broker_of(each) for each in servers} == {"ok"})
    record(**{"Valkey killed: seconds until both reach it again": round(time.monotonic() - begun_at, 1)})
    watcher.hears_more()
    check_cancelled(ada, conversation_id, sender, watcher)
    for each, length in zip(servers, before, strict=True):
        said = each.log()[length:]
        assert said.count("Valkey at REDIS_URL can't be reached") == 1
        assert said.count("Valkey at REDIS_URL is reached again") == 1


@pytest.mark.proof
def test_a_server_that_is_cut_off_from_valkey_watches_by_the_store(
    installation: Installation, ada: Client, there: Client
) -> None:
    conversation_id, answer, sender = begun(there)
    watcher = watching(ada, answer)
    installation.to_valkey.cut()
    begun_at = time.monotonic()
    watcher.hears_more()
    eventually(lambda: broker_of(installation.one) == "failed")
    record(**{"cut off from Valkey: seconds until it is told": round(time.monotonic() - begun_at, 1)})
    assert broker_of(installation.two) == "ok"
    watcher.hears_more()
    installation.to_valkey.mend()
    eventually(lambda: broker_of(installation.one) == "ok")
    check_cancelled(ada, conversation_id, sender, watcher)


def test_while_postgresql_is_dead_turns_end_with_an_error_and_both_servers_recover(
    installation: Installation, ada: Client, there: Client
) -> None:
    turns = [(client, *begun(client)) for client in (ada, there)]
    installation.postgresql.engine.kill()
    for _, _, _, sender in turns:
        assert sender.ends()["answer_status"] == "interrupted"
        assert sender.events[-2]["error"]["code"] == "storage_failed"
    for server in (installation.one, installation.two):
        reply = server.client().get("/readyz")
        assert (reply.status, reply.json()["status"]) == (503, "not_ready")
    installation.postgresql.engine.start()
    begun_at = time.monotonic()
    for client, conversation_id, _, sender in turns:
        eventually(lambda client=client: client.get("/readyz").status == 200)
        eventually(lambda where=(client, conversation_id): messages_of(*where)[-1]["status"] == "interrupted")
        assert messages_of(client, conversation_id)[-1]["text"].startswith(sender.text)
        answers_again(client, conversation_id)
    record(**{"PostgreSQL killed: seconds until both answer again": round(time.monotonic() - begun_at, 1)})


@pytest.mark.proof
def test_turns_of_a_server_that_is_cut_off_from_postgresql_are_closed_by_the_other_and_it_comes_back(
    installation: Installation, ada: Client, there: Client
) -> None:
    conversation_id, answer, sender = begun(ada)
    watcher = watching(there, answer)
    installation.to_postgresql.cut()
    begun_at = time.monotonic()
    eventually(lambda: messages_of(there, conversation_id)[-1]["status"] == "interrupted")
    record(**{"cut off from PostgreSQL: seconds until its turns are closed": round(time.monotonic() - begun_at, 1)})
    assert watcher.ends()["answer_status"] == "interrupted"
    assert watcher.text == messages_of(there, conversation_id)[-1]["text"]
    answers_again(there, conversation_id)
    installation.to_postgresql.mend()
    begun_at = time.monotonic()
    assert sender.ends()["answer_status"] == "interrupted"
    assert watcher.text.startswith(sender.text)
    answers_again(ada, conversation_id)
    record(**{"reaches PostgreSQL again: seconds until it answers": round(time.monotonic() - begun_at, 1)})


@pytest.mark.proof
def test_another_server_takes_the_duties_of_one_that_is_killed(
    installation: Installation, ada: Client, there: Client
) -> None:
    held = f"SELECT DISTINCT owner FROM anaphora.duties WHERE lease_until > {NOW} AND name <> 'data folder'"
    installation.two.stop()
    eventually(lambda: len(installation.asked(held)) == 1)
    ((former,),) = installation.asked(held)
    installation.two.start()
    installation.one.kill()
    begun_at = time.monotonic()
    eventually(lambda: len(owners := installation.asked(held)) == 1 and owners != [(former,)])
    record(**{"duties of a killed server: seconds until another has them": round(time.monotonic() - begun_at, 1)})
    answers_again(there, there.create_conversation())
    newest, indexed = "SELECT max(seq) FROM anaphora.messages", "SELECT indexed_seq FROM anaphora.search_state"
    eventually(lambda: installation.asked(indexed)[0][0] >= installation.asked(newest)[0][0])
    installation.one.start()
    answers_again(ada, ada.create_conversation())
