"""Who comes first at the embedded model."""

from __future__ import annotations

import asyncio
import threading

import pytest

from language_models.embedded.runtime import SlotGate, Urgency


class Queue:
    """Tasks at a gate, each of which says when it is let in and leaves when it is told to."""

    def __init__(self, slots: int) -> None:
        self.gate = SlotGate(slots)
        self.inside: list[str] = []
        self._leave: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def comes(self, name: str, urgency: Urgency = "answer") -> None:
        self._leave[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._stay(name, urgency))
        await settled()

    async def leaves(self, name: str) -> None:
        self._leave[name].set()
        await self._tasks[name]
        await settled()

    async def is_cancelled(self, name: str) -> None:
        self._tasks[name].cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._tasks[name]
        await settled()

    async def _stay(self, name: str, urgency: Urgency) -> None:
        async with self.gate.slot(urgency):
            self.inside.append(name)
            try:
                await self._leave[name].wait()
            finally:
                self.inside.remove(name)


async def settled() -> None:
    """Everything that can happen now has happened: a slot passes through two callbacks and a task's step."""
    for _ in range(6):
        await asyncio.sleep(0)


def test_answers_are_let_in_in_the_order_they_came() -> None:
    async def story() -> None:
        queue = Queue(2)
        for name in ("a", "b", "c", "d"):
            await queue.comes(name)
        assert queue.inside == ["a", "b"]
        await queue.leaves("b")
        assert queue.inside == ["a", "c"]
        await queue.leaves("a")
        assert queue.inside == ["c", "d"]

    asyncio.run(story())


def test_an_answer_goes_before_a_job_that_came_earlier() -> None:
    async def story() -> None:
        queue = Queue(1)
        await queue.comes("first")
        await queue.comes("title", "job")
        await queue.comes("second")
        await queue.leaves("first")
        assert queue.inside == ["second"]
        assert (queue.gate.waiting("job"), queue.gate.waiting("answer")) == (1, 0)
        await queue.leaves("second")
        assert queue.inside == ["title"]

    asyncio.run(story())


def test_one_job_runs_at_most_so_that_an_answer_always_finds_a_slot() -> None:
    async def story() -> None:
        queue = Queue(2)
        await queue.comes("title", "job")
        await queue.comes("summary", "job")
        assert queue.inside == ["title"]
        assert not queue.gate.is_free_for("job")
        assert queue.gate.is_free_for("answer")
        await queue.comes("answer")
        assert queue.inside == ["title", "answer"]
        await queue.leaves("title")
        assert queue.inside == ["answer", "summary"]

    asyncio.run(story())


def test_one_who_gives_up_waiting_lets_the_next_ones_through() -> None:
    async def story() -> None:
        queue = Queue(2)
        await queue.comes("a")
        await queue.comes("title", "job")
        await queue.comes("b")
        await queue.comes("summary", "job")
        await queue.leaves("a")
        assert queue.inside == ["title", "b"]
        await queue.comes("c")
        await queue.leaves("title")
        assert queue.inside == ["b", "c"]
        await queue.comes("d")
        await queue.is_cancelled("d")
        await queue.leaves("b")
        assert queue.inside == ["c", "summary"]

    asyncio.run(story())


def test_one_who_is_cancelled_inside_leaves_its_slot() -> None:
    async def story() -> None:
        queue = Queue(1)
        await queue.comes("a")
        await queue.comes("b")
        await queue.is_cancelled("a")
        assert queue.inside == ["b"]

    asyncio.run(story())


def test_a_slot_given_in_the_moment_of_giving_up_is_not_lost() -> None:
    async def story() -> None:
        gate = SlotGate(1)
        holding = gate.slot("answer")
        await holding.__aenter__()

        async def wait() -> None:
            async with gate.slot("answer"):
                raise AssertionError("it was cancelled before it could enter")

        waiting = asyncio.create_task(wait())
        await settled()
        await holding.__aexit__(None, None, None)  # the slot is on its way to the one who waits
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert gate.is_free_for("answer")
        assert gate.waiting("answer") == 0

    asyncio.run(story())


def test_loops_of_several_threads_share_the_slots() -> None:
    gate = SlotGate(2)
    most, inside, lock = 0, 0, threading.Lock()

    async def enter(urgency: Urgency) -> None:
        nonlocal most, inside
        async with gate.slot(urgency):
            with lock:
                inside += 1
                most = max(most, inside)
            await asyncio.sleep(0)
            with lock:
                inside -= 1

    async def crowd() -> None:
        await asyncio.gather(*(enter("job" if number % 3 == 0 else "answer") for number in range(60)))

    threads = [threading.Thread(target=lambda: asyncio.run(crowd())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= most <= 2
    assert gate.is_free_for("job")


def test_a_loop_that_was_closed_while_somebody_waited_takes_no_slot() -> None:
    gate = SlotGate(1)
    abandoned = asyncio.new_event_loop()
    step = gate.slot("answer").__aenter__()

    async def hold_and_leave() -> None:
        async with gate.slot("answer"):
            # Half a step on another loop: it begins to wait there, and nobody lets it go on.
            await asyncio.to_thread(wait_on_the_other_loop)
            abandoned.close()
        with pytest.raises(RuntimeError):
            step.throw(RuntimeError())  # as when what is left of it is swept up
        async with gate.slot("answer"):
            assert not gate.is_free_for("answer")
        assert gate.is_free_for("answer")

    def wait_on_the_other_loop() -> None:
        asyncio.set_event_loop(abandoned)
        abandoned.call_soon(step.send, None)
        abandoned.run_until_complete(asyncio.sleep(0))
        asyncio.set_event_loop(None)

    asyncio.run(hold_and_leave())


def test_one_who_would_have_to_wait_learns_the_place_and_the_time() -> None:
    async def wait() -> list[tuple[int, float | None]]:
        gate = SlotGate(2)
        told = [(gate.ahead("answer"), gate.estimated_wait("answer"))]
        gate.note_answer(40.0)
        async with gate.slot("answer"), gate.slot("answer"):
            told.append((gate.ahead("answer"), gate.estimated_wait("answer")))
            waiting = asyncio.create_task(_pass_through(gate, "answer"))
            job = asyncio.create_task(_pass_through(gate, "job"))
            while not gate.waiting("job"):
                await asyncio.sleep(0)
            told.append((gate.ahead("answer"), gate.estimated_wait("answer")))
            told.append((gate.ahead("job"), gate.estimated_wait("job")))
        await asyncio.gather(waiting, job)
        return told

    assert asyncio.run(wait()) == [(0, None), (0, 10.0), (1, 30.0), (2, 50.0)]


async def _pass_through(gate: SlotGate, urgency: Urgency) -> None:
    async with gate.slot(urgency):
        return
