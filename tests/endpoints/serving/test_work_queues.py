"""Pools of threads: bounded, fair, and without work for clients that have left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from threading import Event, current_thread

import pytest

from chat.processes.threads import WorkerThreads
from endpoints.http.errors import RateLimitedError, ServerBusyError
from endpoints.serving.work_queues import Work, WorkPool, pools
from settings import Settings


class Gate:
    """Work that waits until it is let go; `begun` lists who has begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.reached = Event()
        self.open = Event()

    def work(self, name: str) -> Callable[[], str]:
        def wait() -> str:
            self.begun.append(name)
            self.reached.set()
            assert self.open.wait(30)
            return name

        return wait


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open.set()


async def stays() -> None:
    await asyncio.Event().wait()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def asked(pool: WorkPool, gate: Gate, name: str, *, client: str = "", gone: object = stays) -> asyncio.Task[str]:
    return asyncio.create_task(pool.run(gate.work(name), client=client or name, gone=gone))  # type: ignore[arg-type]


def test_a_full_queue_refuses_at_once_and_takes_work_again_when_a_place_is_free(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.MODEL, threads=1, waiting=1)
        running, waiting = asked(pool, gate, "first"), asked(pool, gate, "second")
        await until(gate.reached.is_set)
        with pytest.raises(ServerBusyError) as refused:
            await asked(pool, gate, "third")
        assert refused.value.retry_after > 0
        gate.open.set()
        assert [await running, await waiting] == ["first", "second"]
        assert await asked(pool, gate, "fourth") == "fourth"

    asyncio.run(ask())


def test_one_client_cannot_take_all_places(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.MODEL, threads=2, waiting=2, share=2)
        own = [asked(pool, gate, f"own {n}", client="eve@example.org") for n in range(2)]
        await until(lambda: len(gate.begun) == 1)
        with pytest.raises(RateLimitedError):
            await asked(pool, gate, "one more", client="eve@example.org")
        other = asked(pool, gate, "another's", client="ada@example.org")
        await until(lambda: gate.begun == ["own 0", "another's"])
        gate.open.set()
        assert await other == "another's"
        assert await asyncio.gather(*own) == ["own 0", "own 1"]
        assert await asked(pool, gate, "later", client="eve@example.org") == "later"

    asyncio.run(ask())


def test_a_client_with_very_much_work_leaves_a_thread_to_others(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.SHORT, threads=4, waiting=1000)
        script = [asked(pool, gate, f"script {n}", client="192.0.2.1") for n in range(200)]
        await until(lambda: len(gate.begun) == 3)
        assert (pool.running, pool.waiting) == (3, 197)
        others = Gate()
        others.open.set()
        for number in range(50):
            name = f"other {number}"
            assert await asked(pool, others, name, client=f"198.51.100.{number}") == name
        assert len(gate.begun) == 3
        gate.open.set()
        assert await asyncio.gather(*script) == [f"script {n}" for n in range(200)]
        assert (pool.running, pool.waiting, pool._lanes) == (0, 0, {})

    asyncio.run(ask())


def test_others_work_goes_before_the_further_work_of_a_client_that_has_its_threads(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.SHORT, threads=2, waiting=100)
        script = [asked(pool, gate, f"script {n}", client="192.0.2.1") for n in range(3)]
        others = [asked(pool, gate, f"other {n}", client=f"198.51.100.{n}") for n in range(3)]
        await until(lambda: len(gate.begun) == 2)
        gate.open.set()
        await asyncio.gather(*script, *others)
        assert gate.begun[:2] == ["script 0", "other 0"]
        assert set(gate.begun[2:4]) == {"other 1", "other 2"}
        assert gate.begun[4:] == ["script 1", "script 2"]

    asyncio.run(ask())


def test_a_job_may_be_given_up_in_each_stage_and_its_turn_goes_to_the_next(gate: Gate) -> None:
    async def ask() -> None:
        pool, hung_up = WorkPool(Work.DOCUMENTS, threads=2, waiting=10, at_once=1), asyncio.Event()
        first = asked(pool, gate, "first", client="eve@example.org")
        left = asked(pool, gate, "left", client="eve@example.org", gone=hung_up.wait)
        cancelled = asked(pool, gate, "cancelled", client="eve@example.org")
        last = asked(pool, gate, "last", client="eve@example.org")
        await until(gate.reached.is_set)
        hung_up.set()
        with pytest.raises(ConnectionResetError):
            await left
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        gate.open.set()
        assert [await first, await last] == ["first", "last"]
        assert gate.begun == ["first", "last"]
        assert await asked(pool, gate, "later", client="eve@example.org") == "later"
        assert pool._lanes == {}

    asyncio.run(ask())


def test_a_turn_that_came_to_a_job_in_the_moment_of_its_end_goes_to_the_next(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.DOCUMENTS, threads=2, waiting=10, at_once=1)
        tasks = [asked(pool, gate, str(number), client="eve@example.org") for number in range(3)]
        await until(gate.reached.is_set)
        (lane,) = pool._lanes.values()
        granted = lane.waiting[0]
        granted.add_done_callback(lambda _: tasks[1].cancel())
        gate.open.set()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert [await tasks[0], await tasks[2]] == ["0", "2"]
        assert (gate.begun, pool._lanes) == (["0", "2"], {})

    asyncio.run(ask())


def test_a_closed_pool_ends_what_waits_for_its_turn(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkPool(Work.DOCUMENTS, threads=2, waiting=10, at_once=1)
        first, second = (asked(pool, gate, name, client="eve@example.org") for name in ("first", "second"))
        await until(gate.reached.is_set)
        pool.shutdown()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.open.set()
        assert await first == "first"

    asyncio.run(ask())


def test_every_pool_leaves_a_thread_to_others_than_one_client(settings: Settings) -> None:
    of_kinds = pools(settings)
    assert set(of_kinds) == set(Work)
    for kind, pool in of_kinds.items():
        assert pool._at_once < pool._count, kind


def test_work_of_a_client_that_left_while_it_waited_is_never_begun(gate: Gate) -> None:
    async def ask() -> None:
        pool, hung_up = WorkPool(Work.PASSWORD, threads=1, waiting=100), asyncio.Event()
        first = asked(pool, gate, "first")
        left = [asked(pool, gate, f"left {n}", gone=hung_up.wait) for n in range(100)]
        await until(gate.reached.is_set)
        hung_up.set()
        assert all(
            isinstance(each, ConnectionResetError) for each in await asyncio.gather(*left, return_exceptions=True)
        )
        last = asked(pool, gate, "last")
        gate.open.set()
        assert [await first, await last] == ["first", "last"]

    asyncio.run(ask())
    assert gate.begun == ["first", "last"]


def test_work_that_has_begun_goes_on_when_its_client_leaves(gate: Gate) -> None:
    async def ask() -> None:
        pool, hung_up = WorkPool(Work.LONG, threads=1, waiting=2), asyncio.Event()
        first, second = asked(pool, gate, "first"), asked(pool, gate, "second", gone=hung_up.wait)
        await until(gate.reached.is_set)
        gate.open.set()
        await until(lambda: len(gate.begun) == 2)
        hung_up.set()
        assert [await first, await second] == ["first", "second"]

    asyncio.run(ask())


def test_what_work_raises_is_raised_to_whoever_asked() -> None:
    def fail() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        asyncio.run(WorkPool(Work.SHORT, threads=1, waiting=0).run(fail, client="", gone=stays))


def test_a_closed_pool_drops_what_waits_and_takes_nothing_more(gate: Gate) -> None:
    pool = WorkerThreads(1, name="test")
    running, waiting = pool.submit(gate.work("first")), pool.submit(gate.work("second"))
    assert gate.reached.wait(30)
    pool.shutdown(cancel_futures=True)
    pool.shutdown()
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(gate.work("third"))
    gate.open.set()
    assert running.result(30) == "first"
    assert not pool.withdraw(running)


def test_a_thread_without_a_job_takes_the_next_one_before_another_thread_is_started(gate: Gate) -> None:
    async def ask() -> None:
        pool = WorkerThreads(4, name="test")
        threads = set()
        for _ in range(3):
            threads.add(await pool.on_loop(current_thread))
            await until(lambda: pool._idle == len(threads))
        assert len(threads) == 1
        busy = [pool.on_loop(gate.work(name)) for name in ("one", "two", "three")]
        await until(lambda: len(gate.begun) == 3)
        gate.open.set()
        assert await asyncio.gather(*busy) == ["one", "two", "three"]

    asyncio.run(ask())
