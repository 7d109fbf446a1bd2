"""What answers cost: from a message to the model's having the request, and many streams at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.http_client import Client
from tests.live_server import ROOT, LiveServer

from ..fake_model import running, settings_for
from ..figures import Figure, of_samples
from ..load import Load, Outcome, from_a_process, resident_kb
from ..seeded import EMAIL, Bench, closed
from .turn_cpu import wait_until_idle

QUESTION = "What follows from this?"
_STARTS_A_SECOND = 40
_WARM = 5
_TURNS_BESIDE, _TURNS_OF_A_CONVERSATION = 85, 5
LAG_BUDGETS = {50: 5.0, 200: 10.0, 500: 30.0}
FIRST_BUDGETS = {50: 200.0, 200: 500.0, 500: 1_500.0}


def acceptance(bench: Bench) -> Iterator[Figure]:
    """From sending a message with three references until the model has the request, over HTTP both times.

    Beside another state of the code: in new conversations of both, in turn.
    """
    if bench.beside is not None:
        yield from _accepted_beside(bench, bench.beside)
        return
    references = " ".join(f"@{name}" for name in bench.references(3, conversations=3))
    rows = (bench.shortest, bench.longest)
    with serving(closed(bench), "ticking-1-1000") as (server, client):
        for row in rows:
            samples = [
                handed_over(server, client, row.conversation_id, f"{QUESTION} {n} {references}")
                for n in range(bench.times + 5)
            ]
            name = f"message with 3 references to model, in {row.message_count:,} messages"
            yield of_samples(name, samples[5:], budget=10.0, budget_p95=25.0)


def _accepted_beside(bench: Bench, beside: Path) -> Iterator[Figure]:
    states = {"": ROOT, f" in {beside.name}": beside}
    samples: dict[str, list[float]] = {name: [] for name in states}
    with ExitStack() as stack:
        served = {
            name: stack.enter_context(serving(bench.scratch(f"accepted-{number}"), "ticking-1-1000", root))
            for number, (name, root) in enumerate(states.items())
        }
        told = {name: made_references(client, count=3) for name, (_, client) in served.items()}
        for number in range(_TURNS_BESIDE):
            if number % _TURNS_OF_A_CONVERSATION == 0:
                rooms = {name: client.create_conversation() for name, (_, client) in served.items()}
            for name, taken in samples.items():
                taken.append(handed_over(*served[name], rooms[name], f"{QUESTION} {number} {told[name]}"))
    first = "message with 3 references to model, in new conversations"
    for name, taken in samples.items():
        yield of_samples(f"{first}{name}", taken[_WARM:])
    mine, others = (statistics.median(taken[_WARM:]) for taken in samples.values())
    yield Figure(name=f"{first}, of the other state's", value=mine / others, unit="×", budget=1.0)


def made_references(client: Client, *, count: int) -> str:
    """References to a message each of new conversations."""
    found = []
    for number in range(count):
        room = client.create_conversation()
        assert any("done" in event for event in client.send(room, f"{QUESTION} The {number}th of them."))
        friendly_id = client.get(f"/get_conversation_details/{room}").json()["conversation_friendly_id"]
        question = client.get(f"/list_messages_by_conversation/{room}").json()[0]
        found.append(f"@conversation_{friendly_id}_message_{question['message_short_hash']}")
    return " ".join(found)


def streams(bench: Bench) -> Iterator[Figure]:
    """CPU and delay of each word while many answers grow."""
    for count in bench.size.streams:
        with serving(bench.scratch("streams"), "ticking-480-20") as (server, client):
            outcome = put_on(server, [client], count, spread=count / _STARTS_A_SECOND)
        check(outcome, count)
        yield Figure(name=f"CPU of each streamed word at {count} streams", value=outcome.cpu_ms_a_word, budget=0.12)
        yield of_samples(f"delay of each word at {count} streams", outcome.lags, budget_p95=LAG_BUDGETS[count])


def burst(bench: Bench) -> Iterator[Figure]:
    """Many new conversations at once, 100 words each at 20 a second: all complete, all stored."""
    for count in bench.size.streams:
        with serving(bench.scratch("burst"), "ticking-100-20") as (server, client):
            assert server.process is not None
            warm_up(client)
            idle = resident_kb(server.process.pid, "RssAnon")
            outcome = put_on(server, [client], count, spread=0.0)
            check(outcome, count)
            kept = sum(stored(client, *answer) for answer in outcome.answers.items())
        assert kept == count, f"{count - kept} answers are stored otherwise than they were streamed"
        yield of_samples(f"first word of {count} turns at once", outcome.first, budget_p95=FIRST_BUDGETS[count])
        yield Figure(
            name=f"memory of each of {count} streams", value=(outcome.peak_kb - idle) / count, unit="KB", budget=200.0
        )
        yield of_samples(f"/healthz during {count} turns", outcome.health, budget_p95=50.0)


def handed_over(server: LiveServer, client: Client, conversation_id: str, text: str) -> float:
    """Milliseconds from sending a message until the model, one that ticks, has the request."""
    assert server.process is not None
    wait_until_idle(server.process.pid)
    sent = time.monotonic_ns()
    said = "".join(event["text"] for event in client.send(conversation_id, text))
    return (int(said) - sent) / 1e6


def limits() -> dict[str, str]:
    """Settings of a server that is measured: a window of any model, and as many turns of one person as are begun."""
    return {"ANAPHORA_CONTEXT_WINDOW": "32000", "ANAPHORA_TURNS_PER_PERSON": "10000"}


def put_on(server: LiveServer, clients: Sequence[Client], count: int, *, spread: float) -> Outcome:
    """Send a message to each of `count` new conversations within `spread` seconds, and read the answers.

    clients: of the people whose conversations these are, in turn.
    """
    assert server.process is not None
    load = Load(
        port=server.port,
        cookies=["; ".join(f"{name}={value}" for name, value in client.cookies.items()) for client in clients],
        conversation_ids=[clients[number % len(clients)].create_conversation() for number in range(count)],
        server_pid=server.process.pid,
        spread=spread,
    )
    return from_a_process(load)


def warm_up(client: Client) -> None:
    """One turn, so that what the first turn imports is not counted with the others."""
    assert any("done" in event for event in client.send(client.create_conversation(), "Tick once, please."))


def check(outcome: Outcome, count: int) -> None:
    """Raise AssertionError unless all answers came to their end."""
    failures: Sequence[str] = sorted(set(outcome.failures))
    assert len(outcome.answers) == count, (
        f"{count - len(outcome.answers)} answers did not come to their end: {failures}"
    )


def stored(client: Client, conversation_id: str, text: str) -> bool:
    """Whether the one answer of a conversation is stored as it was streamed, and complete."""
    messages = client.get(f"/list_messages_by_conversation/{conversation_id}").json()
    return [(message["status"], message["text"]) for message in messages[1:]] == [("complete", text)]


@contextmanager
def serving(folder: Path, model: str, root: Path = ROOT, /, **settings: str) -> Iterator[tuple[LiveServer, Client]]:
    """A real server whose answers come from the model of this name, and a client that is logged in.

    root: whose code runs.
    """
    with running() as address:
        server = LiveServer(folder, settings_for(address, model) | limits() | settings, root=root)
        seeded = server.data_dir.exists()
        try:
            server.start()
            yield server, server.sign_in(EMAIL) if seeded else server.sign_up(EMAIL)
        finally:
            server.stop()
