"""One of two servers is killed again and again while both answer a hundred messages: the other one goes on."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.crash import check_answer, check_stream, find, messages_of
from tests.load.figures import record
from tests.load.test_failing_storage import eventually
from tests.load.test_two_servers import two_servers
from tests.load.witnesses import Witness, talkative
from tests.postgresql import PostgreSQLServer
from tests.tiers import KILLS
from tests.valkey import ValkeyServer

pytestmark = [pytest.mark.live, pytest.mark.proof]

ROUNDS = int(os.environ.get("ROUNDS", 0)) or max(4, KILLS * 3 // 10)
"""Half of them are made with Valkey between the servers, half with the store alone."""
TURNS = 100
WATCHED = 5
PIECES = 200


def ask(client: Client, witness: Witness, begun: threading.Semaphore) -> str:
    """Send the message and see as much of the answer as comes; what ended that."""
    has_begun = False
    try:
        body = {"messageText": witness.question}
        for event in client.stream(f"/send_message/{witness.conversation_id}", body, accepted=witness.accept):
            if not event.get("heartbeat"):
                witness.events.append(event)
                if event.get("text") and not has_begun:
                    has_begun = True
                    begun.release()
    except (OSError, HTTPException, ValueError) as error:
        return repr(error)  # its server was killed
    return "the end of the answer"


def what_is_missing(witnesses: list[Witness], asking: list[Future[str]]) -> str:
    """How far the turns are, and how those that have ended did so."""
    heard = [bool(witness.heard) for witness in witnesses]
    ended = Counter(repr(each.exception() or each.result()) for each in asking if each.done())
    accepted = sum(witness.accepted for witness in witnesses)
    return f"{accepted} of {len(witnesses)} accepted, {sum(heard)} begun; ended so far: {dict(ended)}"


def follow(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """The whole stream of the answer that is being written, at another server than its own."""
    answer = messages_of(client, conversation_id)[-1]["message_id"]
    return [event for event in client.stream(f"/stream/{answer}?after=0") if not event.get("heartbeat")]


def seconds_until_closed(database_url: str, witnesses: list[Witness]) -> float:
    """How long it takes until none of these conversations waits for an answer any more, asked of the store itself."""
    killed_at = time.monotonic()
    conversations = [witness.conversation_id for witness in witnesses]
    waiting = """SELECT 1 FROM anaphora."UserToConversationId"
        WHERE conversation_id = ANY(%s) AND running_message_id IS NOT NULL"""
    with psycopg.connect(dsn_of(database_url), autocommit=True) as connection:
        eventually(lambda: connection.execute(waiting, [conversations]).fetchone() is None)
    return time.monotonic() - killed_at


def dsn_of(database_url: str) -> str:
    """DATABASE_URL as libpq takes it."""
    return database_url.replace("postgresql+psycopg", "postgresql", 1)


def check_round(client: Client, witnesses: list[Witness], rng: Random, outcomes: Counter[str]) -> None:
    """What was accepted and seen is stored once, and can be watched again at the server that is left."""
    for witness in witnesses:
        found = find(witness, messages_of(client, witness.conversation_id))
        if found is None:
            outcomes["not accepted"] += 1
            continue
        check_answer(witness, found[1])
        check_stream(client, witness, *found, rng)
        outcomes[found[1]["status"]] += 1


@pytest.fixture(params=["with Valkey", "without Valkey"])
def between(request: pytest.FixtureRequest) -> str:
    """What the servers hear each other by."""
    return str(request.param)


@pytest.fixture
def broker(between: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The setting that names it."""
    if between == "without Valkey":
        return {}
    valkey: ValkeyServer = request.getfixturevalue("valkey")
    return {"REDIS_URL": valkey.url}


def test_whichever_of_two_servers_is_killed_nothing_is_lost_and_all_its_turns_are_closed_once(
    tmp_path: Path,
    postgresql_server: PostgreSQLServer,
    recording_model: RecordingModel,
    joined_page: None,
    between: str,
    broker: dict[str, str],
) -> None:
    recording_model.scripts |= {"main": talkative(0.05), "cheap": saying("One Title For All Of Them")}
    rng, outcomes, closed_after, begun_after = Random(7), Counter[str](), list[float](), list[float]()
    settings = {"ANAPHORA_TURNS_PER_PERSON": "1000", **broker}
    with two_servers(tmp_path, postgresql_server, recording_model, **settings) as pair:
        servers: list[LiveServer] = [pair.one, pair.two]
        clients = [pair.one.sign_up()]
        clients.append(pair.client_of_two(clients[0]))
        conversations = [clients[0].create_conversation() for _ in range(TURNS)]
        for number in range(max(1, ROUNDS // 2)):
            killed = number % 2
            left = clients[1 - killed]
            witnesses = [Witness(each, f"Say {PIECES} pieces of w{rng.getrandbits(64):x}.") for each in conversations]
            begun = threading.Semaphore(0)
            with ThreadPoolExecutor(TURNS + WATCHED) as pool:
                asked_at = time.monotonic()
                asking = [
                    pool.submit(ask, clients[place % 2], witness, begun) for place, witness in enumerate(witnesses)
                ]
                for _ in witnesses:
                    assert begun.acquire(timeout=120), what_is_missing(witnesses, asking)
                begun_after.append(time.monotonic() - asked_at)
                victims = witnesses[killed::2]
                watching: list[Future[list[dict[str, Any]]]] = [
                    pool.submit(follow, left, each.conversation_id) for each in victims[:WATCHED]
                ]
                time.sleep(rng.uniform(0.0, 0.5))
                servers[killed].kill()
                closed_after.append(seconds_until_closed(pair.database_url, victims))
                for told in watching:
                    events = told.result(120)
                    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
                    assert events[-1]["done"]
            check_round(left, witnesses, rng, outcomes)
            servers[killed].start()
    assert outcomes["complete"] >= TURNS // 2
    assert outcomes["interrupted"] >= TURNS // 2
    figures = {
        "kills": len(closed_after),
        "longest until all turns were closed, seconds": round(max(closed_after), 1),
        "longest until all turns had begun, seconds": round(max(begun_after), 1),
        **outcomes,
    }
    record(**{f"{between}: {name}": figure for name, figure in figures.items()})
