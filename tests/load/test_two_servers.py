"""Two servers on one PostgreSQL and one data folder: any of them takes any request."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer
from tests.load.crash import messages_of
from tests.load.test_failing_storage import eventually
from tests.load.test_killed_import import started
from tests.postgresql import PostgreSQLServer

pytestmark = pytest.mark.live


@dataclass
class Pair:
    """Two servers that share a database and a data folder, and the model that both ask."""

    one: LiveServer
    two: LiveServer
    model: RecordingModel
    database_url: str

    @property
    def store(self) -> str:
        """The address of their database, as the driver takes it."""
        return self.database_url.replace("postgresql+psycopg", "postgresql", 1)

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """What the store answers."""
        with psycopg.connect(self.store, options="-c search_path=anaphora,anaphora_knowledge") as connection:
            return connection.execute(query.encode()).fetchall()

    def client_of_two(self, client: Client) -> Client:
        """The same person, at the second server."""
        return Client(self.two.port, cookies=dict(client.cookies))


@contextmanager
def two_servers(folder: Path, postgresql: PostgreSQLServer, model: RecordingModel, **environ: str) -> Iterator[Pair]:
    """Two servers with these settings, which are killed in the end."""
    url = postgresql.empty_store()
    shared = {**model.environ, "DATABASE_URL": url, "ANAPHORA_DATA_DIR": str(folder / "data"), **environ}
    servers = [LiveServer(folder / name, shared, is_preloaded=True) for name in ("one", "two")]
    try:
        yield Pair(servers[0].start(), servers[1].start(), model, url)
    finally:
        for server in servers:
            server.kill()
        postgresql.take_back(url, of_killed=True)


@pytest.fixture
def pair(
    tmp_path: Path, postgresql_server: PostgreSQLServer, recording_model: RecordingModel, joined_page: None
) -> Iterator[Pair]:
    recording_model.scripts["cheap"] = saying("A Title")
    with two_servers(tmp_path, postgresql_server, recording_model, ANAPHORA_TURNS_PER_PERSON="2") as pair:
        yield pair


def begun(client: Client, conversation_id: str, text: str) -> tuple[Iterator[dict[str, Any]], str]:
    """A message that was sent: the events that follow its first words, and the id of the answer."""
    events = client.send(conversation_id, text)
    for event in events:
        if event.get("text"):
            break
    return events, messages_of(client, conversation_id)[-1]["message_id"]


def status_of(client: Client, conversation_id: str) -> str:
    return str(messages_of(client, conversation_id)[-1]["status"])


def test_a_killed_server_s_turns_are_closed_by_the_other_and_a_start_beside_it_closes_no_running_one(
    pair: Pair,
) -> None:
    ada = pair.one.sign_up()
    there = pair.client_of_two(ada)
    pair.model.scripts["main"] = saying("half", " whole", pause_after=1)
    kept, lost = ada.create_conversation(), ada.create_conversation()
    events, _ = begun(there, kept, "Answered by the second server")
    _, answer = begun(ada, lost, "Answered by the first server")
    pair.one.kill()
    eventually(lambda: status_of(there, lost) == "interrupted")
    assert messages_of(there, lost)[-1]["text"] == "half"
    told = list(there.stream(f"/stream/{answer}?after=0"))
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert sum(bool(event.get("done")) for event in told) == 1
    pair.one.start()
    assert status_of(there, kept) == "streaming"
    pair.model.release()
    assert list(events)[-1]["answer_status"] == "complete"
    assert status_of(ada, kept) == "complete"


def test_a_server_that_stood_still_writes_nothing_into_the_answer_that_the_other_makes_again(pair: Pair) -> None:
    ada = pair.one.sign_up()
    there = pair.client_of_two(ada)
    pair.model.scripts["main"] = saying("old", " words", pause_after=1)
    conversation_id = ada.create_conversation()
    events, answer = begun(ada, conversation_id, "Answered twice")
    assert pair.one.process is not None
    pair.one.process.send_signal(signal.SIGSTOP)
    pair.model.release()
    eventually(lambda: status_of(there, conversation_id) == "interrupted")

    pair.model.scripts["main"] = saying("new", " words", pause_after=1)
    again = there.stream(f"/regenerate/{conversation_id}/{answer}", {})
    assert any(event.get("text") == "new" for event in again)
    pair.one.process.send_signal(signal.SIGCONT)
    assert any("error" in event for event in events)
    assert status_of(there, conversation_id) == "streaming"
    pair.model.release()
    assert list(again)[-1]["answer_status"] == "complete"
    said = messages_of(there, conversation_id)[-1]
    assert (said["text"], said["status"], len(said["variants"])) == ("new words", "complete", 2)


def test_any_server_shows_stops_counts_and_tells_what_another_one_answers(pair: Pair) -> None:
    ada = pair.one.sign_up()
    there = pair.client_of_two(ada)
    pair.model.scripts["main"] = saying("half", " whole", pause_after=1)
    conversation_id = ada.create_conversation()
    changes = there.stream("/events")
    assert next(changes)["hello"]
    _, answer = begun(ada, conversation_id, "Answered by the first server")

    watched = there.stream(f"/stream/{answer}?after=0")
    seen = [next(watched)]
    while "half" not in text_of(seen):
        seen.append(next(watched))
    refused = there.post(f"/send_message/{conversation_id}", {"messageText": "And me?"})
    assert (refused.status, refused.json()["code"]) == (409, "turn_in_progress")
    for change in changes:
        if change.get("kind") == "turn":
            assert (change["id"], change["change"]) == (answer, "created")
            break
    second = ada.create_conversation()
    begun(there, second, "Answered by the second server")
    crowd = ada.post(f"/send_message/{ada.create_conversation()}", {"messageText": "A third one at once"})
    assert (crowd.status, crowd.json()["code"]) == (429, "too_many_turns")

    pair.model.release()
    seen += watched
    assert text_of(seen) == "half whole"
    assert [event["seq"] for event in seen if not event.get("heartbeat")] == list(range(1, seen[-1]["seq"] + 1))
    assert seen[-1]["answer_status"] == "complete"

    pair.model.scripts["main"] = saying("never", " ends", pause_after=1)
    eventually(lambda: status_of(ada, second) == "complete")
    events, stopped = begun(ada, conversation_id, "Stopped at the second server")
    assert there.post(f"/cancel_response/{conversation_id}").json()["cancelled"]
    assert list(events)[-1]["answer_status"] == "cancelled"
    assert list(there.stream(f"/stream/{stopped}?after=0"))[-1]["answer_status"] == "cancelled"
    assert messages_of(there, conversation_id)[-1]["text"] == "never"
    assert not there.post(f"/cancel_response/{conversation_id}").json()["cancelled"]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events)


def test_an_account_is_erased_when_requests_of_it_have_ended_at_the_other_server_too(pair: Pair) -> None:
    pair.one.sign_up()
    ada = pair.one.sign_up("late@example.org")
    there = pair.client_of_two(ada)
    pair.model.scripts["cheap"] = saying("half", " whole", pause_after=1)
    late = ThreadPoolExecutor(1).submit(there.post, "/pkb/ingest_text", {"text": "Ada keeps bees."})
    eventually(lambda: pair.model.running)
    ((user_id,),) = pair.asked("SELECT user_id FROM users WHERE user_email = 'late@example.org'")
    leases = dict(pair.asked("SELECT owner, lease_until FROM server_processes"))
    assert len(leases) == 2
    assert ada.request("DELETE", "/account", {"password": PASSWORD}).status == 200

    told = "SELECT owner, lease_until, clear_of::text FROM server_processes"

    def both_have_told() -> bool:
        rows = pair.asked(told)
        return (
            len(rows) == 2
            and all(lease > leases[owner] for owner, lease, _ in rows)
            and any(user_id in clear_of for _, _, clear_of in rows)
        )

    eventually(both_have_told)
    assert sorted(user_id in clear_of for _, _, clear_of in pair.asked(told)) == [False, True]
    assert pair.asked("SELECT count(*) FROM users WHERE user_email = 'late@example.org'") == [(1,)]
    assert not late.done()

    pair.model.release()
    assert late.result().status == 200
    eventually(lambda: pair.asked("SELECT count(*) FROM users WHERE user_email = 'late@example.org'") == [(0,)])
    assert rows_of(pair, "late@example.org") == {}


def test_an_import_that_runs_at_either_server_ends_before_its_account_is_erased(pair: Pair) -> None:
    pair.one.sign_up()
    for server in (pair.one, pair.two):
        ada = server.sign_up(f"on-{server.port}@example.org")
        path = started(ada)
        eventually(lambda ada=ada, path=path: ada.get(path).json()["imported"] > 0)
        assert ada.request("DELETE", "/account", {"password": PASSWORD}).status == 200
    for server in (pair.one, pair.two):
        gone = f"on-{server.port}@example.org"
        eventually(lambda gone=gone: pair.asked(f"SELECT 1 FROM users WHERE user_email = '{gone}'") == [])
        assert rows_of(pair, gone) == {}


def rows_of(pair: Pair, user_email: str) -> dict[str, int]:
    """How many rows of a person there are, by table, in both schemas."""
    tables = pair.asked(
        """SELECT table_schema, table_name FROM information_schema.columns
        WHERE column_name = 'user_email' AND table_schema LIKE 'anaphora%'"""
    )
    counted = {
        name: int(pair.asked(f"SELECT count(*) FROM {schema}.\"{name}\" WHERE user_email = '{user_email}'")[0][0])
        for schema, name in tables
    }
    return {name: count for name, count in counted.items() if count}


def test_a_server_with_another_data_folder_is_refused(pair: Pair, tmp_path: Path) -> None:
    other = LiveServer(tmp_path / "other", {"DATABASE_URL": pair.database_url})
    with pytest.raises(AssertionError, match="another data folder"):
        other.start()
    other.kill()
