"""Limits on one client's requests hold over all processes that share a Valkey, and for each alone while it is gone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.processes import announcements as brokers
from chat.processes.announcements import Broker
from chat.processes.shared_places import NoPlaceError, SharedPlaces
from endpoints.http.errors import RateLimitedError
from endpoints.serving.work_queues import Work, WorkPool
from tests.valkey import ValkeyServer

SECONDS = 30.0
ADA, BEN = "ada@example.org", "ben@example.org"
NewProcess = Callable[..., SharedPlaces]


@pytest.fixture
def new_process(valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewProcess]:
    """What a further process counts with; a machine that is busy may answer late."""
    monkeypatch.setattr(brokers, "_ANSWER_SECONDS", SECONDS)
    made: list[Broker] = []

    def new(**how: float) -> SharedPlaces:
        broker = Broker(valkey.url, installation="ours")
        made.append(broker)
        broker.begin()
        assert broker.wait_until_up(seconds=SECONDS)
        return SharedPlaces(broker, **how)

    yield new
    for broker in made:
        broker.close()


def test_a_client_has_its_places_in_all_processes_together(new_process: NewProcess) -> None:
    one, two = new_process(), new_process()
    first = one.take("search", ADA, most=2)
    assert first is not None
    assert two.take("search", ADA, most=2) is not None
    for each in (one, two):
        with pytest.raises(NoPlaceError):
            each.take("search", ADA, most=2)
    assert two.take("search", BEN, most=2) is not None
    assert two.take("long", ADA, most=2) is not None
    one.give_back(first)
    assert two.take("search", ADA, most=2) is not None


def test_at_once_no_more_are_taken_than_there_are(new_process: NewProcess) -> None:
    processes, taken, barrier = [new_process(), new_process()], list[object](), threading.Barrier(8)

    def take(places: SharedPlaces) -> None:
        barrier.wait()
        for _ in range(5):
            try:
                taken.append(places.take("model", ADA, most=7))
            except NoPlaceError:
                continue

    threads = [threading.Thread(target=take, args=(processes[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(taken) == 7


def test_without_valkey_each_process_counts_for_itself_and_renewals_bring_it_up_to_date(
    new_process: NewProcess, valkey: ValkeyServer
) -> None:
    one, two = new_process(), new_process()
    assert one.take("search", ADA, most=1) is not None
    valkey.kill()
    assert two.take("search", ADA, most=1) is None
    pause, until = threading.Event(), time.monotonic() + SECONDS
    while any(each._broker.is_up for each in (one, two)):
        assert time.monotonic() < until
        pause.wait(0.02)
    valkey.start()
    for each in (one, two):
        assert each._broker.wait_until_up(seconds=SECONDS)
    one.renew()
    with pytest.raises(NoPlaceError):
        two.take("search", ADA, most=1)


def test_the_places_of_a_process_that_died_are_free_when_their_leases_end(new_process: NewProcess) -> None:
    dead, alive = new_process(lease=0.05), new_process()
    assert dead.take("search", ADA, most=1) is not None
    pause = threading.Event()
    for _ in range(600):
        try:
            assert alive.take("search", ADA, most=1) is not None
            return
        except NoPlaceError:
            pause.wait(0.05)
    pytest.fail("the lease never ended")


def test_a_place_that_is_given_back_while_it_is_renewed_is_free(
    new_process: NewProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = new_process(), new_process()
    place, ask = one.take("search", ADA, most=1), one._broker.ask
    assert place is not None

    def give_back_before(call: Callable[[Any], Any]) -> Any:
        monkeypatch.setattr(one._broker, "ask", ask)
        one.give_back(place)
        return ask(call)

    monkeypatch.setattr(one._broker, "ask", give_back_before)
    one.renew()
    assert two.take("search", ADA, most=1) is not None


def test_a_pool_refuses_what_the_client_has_under_way_elsewhere(new_process: NewProcess) -> None:
    pools = [WorkPool(Work.LONG, threads=2, waiting=2, share=1, shared=new_process()) for _ in range(2)]
    began, may_end = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        may_end.wait(SECONDS)
        return "done"

    async def never() -> None:
        await asyncio.Event().wait()

    async def ask_both() -> str:
        first = asyncio.ensure_future(pools[0].run(work, client=ADA, gone=never))
        await asyncio.to_thread(began.wait, SECONDS)
        with pytest.raises(RateLimitedError):
            await pools[1].run(lambda: "too many", client=ADA, gone=never)
        assert await pools[1].run(lambda: "another's", client=BEN, gone=never) == "another's"
        may_end.set()
        return await first

    assert asyncio.run(ask_both()) == "done"
    for pool in pools:
        pool.shutdown()
