"""Two servers with Valkey between them: what runs at one is watched, and respected, at the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.load.crash import messages_of
from tests.load.test_failing_storage import eventually
from tests.load.test_two_servers import Pair, begun, status_of, text_of, two_servers
from tests.postgresql import PostgreSQLServer
from tests.valkey import ValkeyServer

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def broker() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
    postgresql_server: PostgreSQLServer,
    broker: ValkeyServer,
    shared_recording_model: RecordingModel,
    joined_page: None,
) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with two_servers(folder, postgresql_server, shared_recording_model, REDIS_URL=broker.url) as pair:
        pair.one.sign_up()
        yield pair


@pytest.fixture
def ada(servers: Pair) -> Iterator[Client]:
    """The one person, at the first server, whose model answers in two halves."""
    servers.model.reset()  # whichever test used it before
    servers.model.scripts["main"] = saying("half", " whole", pause_after=1)
    yield servers.one.sign_in("ada@example.org")
    servers.model.reset()


@pytest.fixture
def there(servers: Pair, ada: Client) -> Client:
    """The same person, at the second server."""
    eventually(lambda: {broker_at(ada), broker_at(servers.client_of_two(ada))} == {"ok"})
    return servers.client_of_two(ada)


def broker_at(client: Client) -> str:
    return str(client.get("/readyz").json()["broker"])


def stateless(client: Client) -> str:
    """A new conversation whose turns are not kept."""
    conversation_id = client.create_conversation()
    assert client.put(f"/make_conversation_stateless/{conversation_id}").json()["stateless"] is True
    return conversation_id


def told(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if not event.get("heartbeat")]


def test_a_turn_that_is_not_kept_is_watched_and_sent_again_at_the_other_server_also_just_after_its_end(
    servers: Pair, ada: Client, there: Client
) -> None:
    conversation_id = stateless(ada)
    sent = {"messageText": "My secret?", "client_message_id": "one"}
    first = ada.stream(f"/send_message/{conversation_id}", sent)
    seen = [next(first)]
    while not text_of(seen):
        seen.append(next(first))
    answer = messages_of(there, conversation_id)[-1]["message_id"]
    watched = there.stream(f"/stream/{answer}?after=0")
    elsewhere = [next(watched)]
    while not text_of(elsewhere):
        elsewhere.append(next(watched))
    assert text_of(elsewhere) == "half"
    repeated = there.stream(f"/send_message/{conversation_id}", sent)
    again = [next(repeated)]
    other = there.post(f"/send_message/{conversation_id}", {**sent, "messageText": "Another?"})
    assert (other.status, other.json()["code"]) == (409, "conflict")

    servers.model.release()
    whole = told(seen + list(first))
    assert text_of(whole) == "half whole"
    assert whole[-1]["answer_status"] == "complete"
    assert told(elsewhere + list(watched)) == told(again + list(repeated)) == whole
    assert messages_of(there, conversation_id) == []

    assert told(list(there.stream(f"/stream/{answer}?after=3"))) == whole[3:]
    assert told(list(there.stream(f"/send_message/{conversation_id}", sent))) == whole
    other = there.post(f"/send_message/{conversation_id}", {**sent, "messageText": "Another?"})
    assert (other.status, other.json()["code"]) == (409, "conflict")
    assert len(servers.model.requests_to("main")) == 1
    eve = servers.two.sign_up("eve@example.org")
    for client in (eve, Client(servers.one.port, cookies=dict(eve.cookies))):
        assert client.get(f"/stream/{answer}?after=0").status == 404
    assert there.get("/stream/nothing?after=0").status == 404


def test_while_valkey_is_gone_the_other_server_says_that_it_can_t_show_what_is_not_kept_and_then_goes_on(
    servers: Pair, ada: Client, there: Client, broker: ValkeyServer
) -> None:
    conversation_id = stateless(ada)
    events, answer = begun(ada, conversation_id, "My secret?")
    watched = there.stream(f"/stream/{answer}?after=0")
    seen = [next(watched)]
    while not text_of(seen):
        seen.append(next(watched))
    broker.kill()
    try:
        seen += watched  # it ends, without an end of the answer: whoever watches asks again
        assert not any(event.get("done") for event in seen)
        refused = there.get(f"/stream/{answer}?after={seen[-1]['seq']}")
        assert (refused.status, refused.json()["code"]) == (503, "stream_elsewhere")
        assert refused.headers["retry-after"] == "1"
    finally:
        broker.start()
    eventually(lambda: broker_at(there) == broker_at(ada) == "ok")
    rest = there.stream(f"/stream/{answer}?after={seen[-1]['seq']}")
    servers.model.release()
    assert list(events)[-1]["answer_status"] == "complete"
    seen += rest
    assert text_of(seen) == "half whole"
    assert seen[-1]["answer_status"] == "complete"


def test_of_a_killed_server_s_turn_that_was_not_kept_watchers_are_told_its_end_and_nothing_stays(
    servers: Pair, ada: Client, there: Client
) -> None:
    conversation_id = stateless(ada)
    _, answer = begun(ada, conversation_id, "My secret?")
    watched = there.stream(f"/stream/{answer}?after=0")
    seen = [next(watched)]
    while not text_of(seen):
        seen.append(next(watched))
    servers.one.kill()
    try:
        seen = told(seen + list(watched))
        assert text_of(seen) == "half"
        assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
        assert (seen[-2]["error"]["code"], seen[-1]["answer_status"]) == ("interrupted", "interrupted")
        assert "is not kept" in seen[-2]["error"]["message"]
        assert messages_of(there, conversation_id) == []
        assert leftovers(servers, answer) == 0
        servers.model.scripts["main"] = saying("Still here.")
        assert text_of(list(there.send(conversation_id, "And now?"))) == "Still here."
    finally:
        servers.one.start()


def leftovers(servers: Pair, answer: str) -> int:
    """Rows of a turn that was not kept."""
    url = servers.database_url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM anaphora.messages WHERE message_id = %s OR text LIKE '%%secret%%'"
        return int(connection.execute(query, [answer]).fetchall()[0][0])


def test_one_turn_at_a_time_holds_at_both_servers_for_whatever_touches_the_conversation(
    servers: Pair, ada: Client, there: Client
) -> None:
    conversation_id = ada.create_conversation()
    servers.model.scripts["main"] = saying("short")
    list(ada.send(conversation_id, "The first question"))
    before = messages_of(ada, conversation_id)
    servers.model.scripts["main"] = saying("half", " whole", pause_after=1)
    events, answer = begun(ada, conversation_id, "The second question")
    question = messages_of(there, conversation_id)[-2]["message_id"]

    for refused in (
        there.post(f"/send_message/{conversation_id}", {"messageText": "And me?"}),
        there.post(f"/regenerate/{conversation_id}/{before[1]['message_id']}", {}),
        there.post(f"/branch/{conversation_id}/{before[0]['message_id']}", {"text": "Or this?"}),
        there.post(f"/edit_message_from_conversation/{conversation_id}/{answer}/4", {"text": "x"}),
        there.delete(f"/delete_message_from_conversation/{conversation_id}/{answer}/4"),
    ):
        assert (refused.status, refused.json()["code"]) == (409, "turn_in_progress"), refused.text
    forked = there.post(f"/fork_conversation/{conversation_id}/{question}", {})
    copied = there.post(f"/clone_conversation/{conversation_id}", {})
    assert (forked.status // 100, copied.status // 100) == (2, 2), (forked.text, copied.text)
    move = {"message_ids": [answer], "direction": "up"}
    assert there.post(f"/move_messages_up_or_down/{conversation_id}", move).status == 200
    servers.model.release()
    rest = list(events)
    assert rest[-1]["answer_status"] == "complete"
    stored = {message["message_id"]: message for message in messages_of(there, conversation_id)}
    assert (stored[answer]["text"], stored[answer]["status"]) == ("half whole", "complete")
    assert sorted(message["message_index"] for message in stored.values()) == [1, 2, 3, 4]
    for copy in (forked, copied):
        texts = [message["text"] for message in messages_of(ada, copy.json()["conversation_id"])]
        assert texts[:3] == ["The first question", "short", "The second question"]


def test_a_conversation_that_is_deleted_at_the_other_server_has_its_answer_stopped(
    servers: Pair, ada: Client, there: Client
) -> None:
    one, many = ada.create_conversation(), ada.create_conversation()
    answers = [begun(ada, each, "A question")[0] for each in (one, many)]
    assert there.delete(f"/delete_conversation/{one}").status == 200
    assert there.post("/conversations/bulk", {"conversation_ids": [many], "change": "delete"}).status == 200
    assert [list(events)[-1]["answer_status"] for events in answers] == ["cancelled", "cancelled"]
    servers.model.wait_until(lambda model: model.running == 0)
    for each in (one, many):
        assert ada.get(f"/get_conversation_details/{each}").status == 404
        assert ada.post(f"/restore_conversation/{each}").status == 200
        assert status_of(there, each) == "cancelled"
        assert messages_of(there, each)[-1]["text"] == "half"
