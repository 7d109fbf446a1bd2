"""Threads for blocking work: what becomes of a job that raises."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from chat.processes.threads import WorkerThreads


def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("job", "told"), [(partial(sys.exit, 3), "3"), (interrupted, "KeyboardInterrupt")])
def test_a_job_that_wants_to_end_the_program_fails_alone(job: Callable[[], None], told: str) -> None:
    threads = WorkerThreads(1, name="tried")

    async def ask() -> str:
        with pytest.raises(RuntimeError, match=f"end the program: .*{told}"):
            await threads.on_loop(job)
        return await threads.on_loop(lambda: "still here")

    try:
        assert asyncio.run(ask()) == "still here"
    finally:
        threads.shutdown()


def test_a_pool_that_could_start_no_thread_works_once_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = WorkerThreads(1, name="tried")

    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    try:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refused)
            with pytest.raises(RuntimeError, match="can't start"):
                threads.submit(str, "lost")
        assert threads.submit(str, "done").result(20) == "done"
    finally:
        threads.shutdown()


def test_a_job_waits_for_a_thread_that_is_there_where_no_other_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, may_end = WorkerThreads(2, name="tried"), threading.Event()

    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    try:
        first = threads.submit(may_end.wait, 20)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refused)
            second = threads.submit(str, "done")
        may_end.set()
        assert (first.result(20), second.result(20)) == (True, "done")
    finally:
        threads.shutdown()
