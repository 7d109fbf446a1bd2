"""Two servers of one PostgreSQL database: what each asks of the other, and what it tells it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat.exchange import events
from chat.exchange.errors import TooManyTurnsError
from chat.processes.announcements import ASKED, EVENTS, TOLD, WATCHED, LocalAnnouncements
from chat.turns import other_servers
from chat.turns.idempotency import SentMessage
from chat.turns.other_servers import OtherServers
from chat.turns.streams import LiveStream
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.turns.leases import take_stop_requests
from database.turns.turns import accept_turn
from tests.chat.conftest import EMAIL, wait_until
from tests.postgresql import PostgreSQLServer

SECONDS = 60.0
Servers = tuple[OtherServers, OtherServers]


@pytest.fixture
def database(tmp_path: Path, postgresql_server: PostgreSQLServer) -> Iterator[Database]:
    url = postgresql_server.empty_store()
    yield open_store(tmp_path, database_url=url)
    close_store(tmp_path)
    postgresql_server.take_back(url)


@pytest.fixture
def announcements() -> LocalAnnouncements:
    """What the two hear each other by."""
    return LocalAnnouncements()


@pytest.fixture
def servers(database: Database, announcements: LocalAnnouncements) -> Servers:
    """The other servers as the first sees them, and as the second does."""
    common: dict[str, Any] = {"database": database, "announcements": announcements}
    return OtherServers(**common, owner="first"), OtherServers(**common, owner="second")


@pytest.fixture
def answering(database: Database) -> Callable[..., str]:
    """Has a server begin an answer; its message id."""

    def begin(owner: str) -> str:
        row = create_conversation(database=database, user_email=EMAIL, domain="assistant")
        who: dict[str, Any] = {"database": database, "user_email": EMAIL, "conversation_id": row.conversation_id}
        return accept_turn(**who, text="How much water?", config={}, owner=owner).response_message_id

    return begin


def heard(announcements: LocalAnnouncements, topic: str) -> list[bytes]:
    """The payloads that are announced from now on."""
    payloads: list[bytes] = []
    announcements.subscribe(topic, payloads.append)
    return payloads


def unkept(message_id: str = "answer") -> LiveStream:
    return LiveStream(message_id=message_id, conversation_id="conversation", user_email=EMAIL, kept=False)


def said(text: str) -> SentMessage:
    return SentMessage(user_email=EMAIL, client_message_id="one", what=("conversation", None, text))


def test_a_server_stops_what_another_one_asks_it_to(servers: Servers, answering: Callable[..., str]) -> None:
    first, second = servers
    mine, stopped = answering("first"), list[str]()
    loop = asyncio.new_event_loop()
    hearing = threading.Thread(
        target=lambda: loop.run_until_complete(first.hear_stops(stopped.append, is_needed=lambda: not stopped))
    )
    hearing.start()
    assert second.ask_to_stop(user_email=EMAIL)
    hearing.join(SECONDS)
    loop.close()
    assert stopped == [mine]
    assert not first.ask_to_stop(user_email=EMAIL)  # nobody else answers anything
    assert not second.ask_to_stop(user_email="eve@example.org")


def test_a_server_looks_for_what_it_shall_stop_when_another_one_says_so_and_not_as_a_turn_begins(
    servers: Servers, answering: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_servers, "FOLLOW_SECONDS", 3_600.0)
    first, second = servers
    mine, looks = answering("first"), list[str]()

    def looking(**asked: Any) -> set[str]:
        looks.append(asked["owner"])
        return take_stop_requests(**asked)

    monkeypatch.setattr(other_servers, "take_stop_requests", looking)
    stopped = list[str]()

    async def hear() -> None:
        hearing = asyncio.create_task(first.hear_stops(stopped.append, is_needed=lambda: not stopped))
        await asyncio.sleep(0)  # it has begun
        assert await asyncio.to_thread(second.ask_to_stop, user_email=EMAIL)
        await asyncio.wait_for(hearing, SECONDS)

    asyncio.run(hear())
    assert (stopped, looks) == ([mine], ["first"])


def test_turns_of_all_servers_are_counted_together(
    servers: Servers, database: Database, answering: Callable[..., str]
) -> None:
    answering("second")
    with database.reading() as connection:
        beyond_two, beyond_one, beyond_any = (
            servers[0].ask_for_room(connection, EMAIL, most=most) for most in (2, 1, None)
        )
        beyond_two()
        with pytest.raises(TooManyTurnsError):
            beyond_one()
        beyond_any()


def test_stored_events_are_announced_while_others_watch_them(
    servers: Servers, announcements: LocalAnnouncements
) -> None:
    told, stored = heard(announcements, EVENTS), Future[None]()
    servers[0].announce_events(stored, [("answer", 1, b"{}")])
    announcements.announce(WATCHED, orjson.dumps(["answer"]))
    servers[0].announce_events(stored, [("answer", 2, b"{}"), ("other", 1, b"{}")])
    assert told == []
    stored.set_result(None)
    wait_until(lambda: bool(told))
    assert orjson.loads(told[0]) == ["answer"]


def test_a_turn_that_is_not_kept_is_known_to_the_others_and_told_to_those_who_ask(
    servers: Servers, announcements: LocalAnnouncements
) -> None:
    first, second = servers
    stream, told = unkept(), heard(announcements, TOLD)
    stream.publish([events.encode(events.text("A litre "), seq=1)])
    first.show(stream, said("How much water?"))
    assert second.has_unkept("answer", user_email=EMAIL)
    assert not second.has_unkept("answer", user_email="eve@example.org")
    assert not first.has_unkept("answer", user_email=EMAIL)
    stream.publish([events.encode(events.text("a "), seq=2)])
    assert told == []  # nobody has asked
    for asking in (EMAIL, "eve@example.org"):
        asked = [{"message_id": "answer", "user_email": asking, "after": 1}]
        announcements.announce(ASKED, orjson.dumps(asked))
    stream.publish([events.encode(events.text("day."), seq=3)])
    firsts = [orjson.loads(each.split(b"\n")[0])["first"] for each in told]
    texts = [orjson.loads(each.split(b"\n")[1])["text"] for each in told]
    assert (firsts, texts) == ([2, 3], ["a ", "day."])
    first.hide(stream)
    announcements.announce(ASKED, orjson.dumps([{"message_id": "answer", "user_email": EMAIL, "after": 0}]))
    assert len(told) == 2


def test_what_is_sent_again_finds_its_answer_in_another_server(servers: Servers) -> None:
    first, second = servers
    first.show(unkept(), said("How much water?"))
    assert second.unkept_answer(said("How much water?")) == "answer"
    assert first.unkept_answer(said("How much water?")) is None
    with pytest.raises(ConflictError):
        second.unkept_answer(said("How much light?"))
