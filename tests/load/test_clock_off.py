"""Two servers, of which one has a clock that is ten minutes off: leases hold by the clock of the database."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import PASSWORD, LiveServer
from tests.load.crash import messages_of
from tests.load.invariants import broken_invariants
from tests.load.server_long_leases import LEASE_SECONDS, PROGRAM
from tests.load.test_failing_storage import eventually
from tests.load.test_killed_import import CONVERSATIONS, started
from tests.load.test_two_servers import Pair, begun, status_of, text_of
from tests.postgresql import NOW, PostgreSQLServer
from tests.valkey import ValkeyServer

pytestmark = pytest.mark.live
TEN_MINUTES = 600


@pytest.fixture(params=[TEN_MINUTES, pytest.param(-TEN_MINUTES, marks=pytest.mark.proof)], ids=["ahead", "behind"])
def pair(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgresql_server: PostgreSQLServer,
    valkey: ValkeyServer,
    recording_model: RecordingModel,
    joined_page: None,
) -> Iterator[Pair]:
    """Two servers with long leases; the clock of the second one is off."""
    folder, url = tmp_path_factory.mktemp("clocks"), postgresql_server.empty_store()
    recording_model.scripts["cheap"] = saying("A Title")
    shared = {"DATABASE_URL": url, "REDIS_URL": valkey.url, "ANAPHORA_DATA_DIR": str(folder / "data")}
    right = LiveServer(folder / "one", {**recording_model.environ, **shared}, program=PROGRAM)
    wrong = LiveServer(folder / "two", {**right.environ, "CLOCK_OFF": str(request.param)})
    wrong.program = "tests/load/server_off_clock.py"
    try:
        yield Pair(right.start(), wrong.start(), recording_model, url)
    finally:
        right.kill()
        wrong.kill()
        postgresql_server.take_back(url, of_killed=True)


def test_with_a_clock_that_is_off_leases_hold_and_nothing_is_lost_or_done_twice(pair: Pair) -> None:
    ada = pair.one.sign_up()
    there = pair.client_of_two(ada)
    assert_clock_is_off(pair, there)

    pair.model.scripts["main"] = saying("half", " whole", pause_after=1)
    here, elsewhere, lost = (client.create_conversation() for client in (ada, there, there))
    answers = [begun(ada, here, "At the first")[0], begun(there, elsewhere, "At the second")[0]]
    assert all(0 < seconds <= LEASE_SECONDS for seconds in renewed_leases(pair))
    assert [status_of(ada, each) for each in (here, elsewhere)] == ["streaming", "streaming"]
    assert owners_of_duties(pair) == 1
    pair.model.release()
    assert [list(events)[-1]["answer_status"] for events in answers] == ["complete", "complete"]

    # Whatever expires was made at one of them and is good at the other.
    assert pair.two.sign_in("ada@example.org").get("/get_user_info").status == 200
    again = pair.one.client()
    again.cookies = dict(pair.two.sign_in("ada@example.org").cookies)
    assert again.get("/get_user_info").status == 200
    temporary = there.post("/create_temporary_conversation/assistant", {}).json()["conversation_id"]
    assert ada.get(f"/get_conversation_details/{temporary}").status == 200
    assert ada.delete(f"/delete_conversation/{elsewhere}").status == 200
    assert there.post(f"/restore_conversation/{elsewhere}").status == 200

    imported = started(there)
    eventually(lambda: ada.get(imported).json()["state"] == "done")
    done = there.get(imported).json()
    assert (done["imported"], done["failed"]) == (CONVERSATIONS, 0)
    assert pair.asked("SELECT count(*), count(DISTINCT text) FROM messages WHERE text LIKE 'It is %'") == [
        (CONVERSATIONS, CONVERSATIONS)
    ]

    pair.model.scripts["main"] = saying("half", " whole", pause_after=1)
    begun(there, lost, "Cut off at the second")
    pair.two.kill()
    eventually(lambda: status_of(ada, lost) == "interrupted")
    assert messages_of(ada, lost)[-1]["text"] == "half"
    pair.model.scripts["main"] = saying("Still here.")
    assert text_of(list(ada.send(lost, "And now?"))) == "Still here."
    assert [message["message_index"] for message in messages_of(ada, lost)] == [1, 2, 3, 4]
    eventually(lambda: broken_invariants(pair.store) == {})


def assert_clock_is_off(pair: Pair, there: Client) -> None:
    """What the second server writes has its wrong time."""
    conversation_id = there.create_conversation()
    off = f"""SELECT abs(extract(epoch FROM created_at::timestamptz - now())) > {TEN_MINUTES // 2}
        FROM "UserToConversationId" WHERE conversation_id = '{conversation_id}'"""
    assert pair.asked(off) == [(True,)]


def renewed_leases(pair: Pair) -> list[Decimal]:
    """For how many seconds more the leases of both running turns hold, by the clock of the database.

    Told at each look until both were renewed.
    """
    running = """SELECT message_id, lease_until, extract(epoch FROM lease_until::timestamptz - clock_timestamp())
        FROM messages WHERE status = 'streaming'"""
    seen: dict[str, set[str]] = {}
    left: list[Decimal] = []

    def renewed() -> bool:
        for message_id, lease_until, seconds in pair.asked(running):
            seen.setdefault(message_id, set()).add(lease_until)
            left.append(seconds)
        return len(seen) == 2 and min(map(len, seen.values())) > 1

    eventually(renewed)
    return left


def owners_of_duties(pair: Pair) -> int:
    held = f"SELECT count(DISTINCT owner) FROM duties WHERE lease_until > {NOW} AND name <> 'data folder'"
    return int(pair.asked(held)[0][0])


def test_guesses_at_a_server_whose_clock_is_off_keep_nobody_waiting_for_longer_elsewhere(pair: Pair) -> None:
    pair.one.sign_up()
    wrong = {"email": "ada@example.org", "password": "a guess at it"}
    assert [pair.two.client().post("/login", wrong).status for _ in range(5)] == [401] * 5
    off = "SELECT max(abs(extract(epoch FROM attempted_at::timestamptz - now()))) < 300 FROM login_attempts"
    assert pair.asked(off) == [(True,)]
    refused = pair.one.client().post("/login", {**wrong, "password": PASSWORD})
    assert (refused.status, 0 < int(refused.headers["retry-after"]) <= 15) == (429, True)
