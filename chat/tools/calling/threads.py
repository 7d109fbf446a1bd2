"""Threads in which tools run, and for how long: what may wait for long keeps none from others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import cache

from chat.processes.threads import WorkerThreads
from chat.tools.registry import Result, Tool, ToolContext, ToolTimeoutError

SECONDS = 20.0
"""How long a call may take whose tool says nothing else."""
_OWN = "tool-call"
_REMOTE = "remote-tool-call"
"""Calls that wait for other servers: those that hang hold up no tool of ours."""
_INSTALLED = "tool-call-of-"
"""And the name of a tool that comes with a package: each such tool holds up itself alone."""
_ASKING = "question-to-agent"
"""Questions to agents, which wait for as long as an answer takes: a thread for each that `AgentDesk` lets wait."""
_COUNTS = {_OWN: 8, _REMOTE: 32, _ASKING: 32}
_COUNT_OF_INSTALLED = 8


def own_threads() -> WorkerThreads:
    """Those of calls that wait for nothing but the store and its searches."""
    return _threads(_OWN)


def threads_of(tool: Tool) -> WorkerThreads:
    """Those in which the calls of `tool` run."""
    if tool.needs_agents:
        return _threads(_ASKING)
    if tool.is_installed:
        return _threads(f"{_INSTALLED}{tool.name}")
    return _threads(_REMOTE if tool.is_remote else _OWN)


@cache
def _threads(name: str) -> WorkerThreads:
    return WorkerThreads(_COUNTS.get(name, _COUNT_OF_INSTALLED), name=name)


class Stop:
    """What is to be done once a call is given up. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._due: list[Callable[[], None]] = []

    def then(self, work: Callable[[], None]) -> None:
        """Do `work` once the call is given up; at once where that has happened."""
        with self._lock:
            if not self._stopped:
                self._due.append(work)
                return
        work()

    def stop(self) -> None:
        """Give the call up."""
        with self._lock:
            self._stopped, due = True, self._due
        for work in due:
            work()


async def result_in_time(tool: Tool, call: Callable[[], Result], *, seconds: float, stop: Stop) -> Result:
    """The result of a call in the threads of its tool. Raises ToolTimeoutError.

    A call that nobody waits for any more is given up; one that has not begun is never made.
    """
    threads = threads_of(tool)
    job = threads.on_loop(call)
    try:
        await asyncio.wait({job}, timeout=seconds)
    except asyncio.CancelledError:
        _give_up(threads, job, stop)
        raise
    if not job.done():
        raise _timeout(tool, seconds, has_begun=_give_up(threads, job, stop))
    return job.result()


def result_for_program(tool: Tool, call: Callable[[ToolContext], Result], context: ToolContext) -> Result:
    """What `call` returns to a program, whose request waits in this thread. Raises ToolTimeoutError.

    A tool that comes with a package runs in its own threads and is waited for no longer than a model waits for it: else
    one that hangs would hold the threads of all requests.
    """
    if not tool.is_installed:
        return call(context)
    seconds, stop, threads = tool.seconds or SECONDS, Stop(), threads_of(tool)
    job = threads.submit(call, replace(context, on_stop=stop.then))
    wait([job], timeout=seconds)
    if not job.done():
        raise _timeout(tool, seconds, has_begun=_give_up(threads, job, stop))
    return job.result()


def _give_up(threads: WorkerThreads, job: Future[Result] | asyncio.Future[Result], stop: Stop) -> bool:
    """Give up a call, and take it out of the queue; whether it had begun."""
    has_begun = not threads.withdraw(job)
    job.cancel()
    stop.stop()
    return has_begun


def _timeout(tool: Tool, seconds: float, *, has_begun: bool) -> ToolTimeoutError:
    if has_begun:
        return ToolTimeoutError(f"{tool.name} took longer than {seconds:g} s and was given up.")
    message = f"{tool.name} was not called: all threads of this tool are busy with other calls."
    return ToolTimeoutError(message, has_begun=False)
