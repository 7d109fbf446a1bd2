"""Threads in which tools run: what may wait for long keeps none from others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

from chat.processes.threads import WorkerThreads
from chat.tools.registry import Tool

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
