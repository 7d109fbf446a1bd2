"""Threads for blocking work: what becomes of a job that raises."""

from __future__ import annotations

import asyncio
import sys

import pytest

from chat.processes.threads import WorkerThreads


def test_a_job_that_wants_to_end_the_program_fails_alone() -> None:
    threads = WorkerThreads(1, name="tried")

    async def ask() -> str:
        with pytest.raises(RuntimeError, match="code 3"):
            await threads.on_loop(lambda: sys.exit(3))
        return await threads.on_loop(lambda: "still here")

    try:
        assert asyncio.run(ask()) == "still here"
    finally:
        threads.shutdown()
