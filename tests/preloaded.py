"""`server.py` in processes that are forked off one which has imported its modules.

Importing takes most of the time of a start, and a run of the tests starts hundreds of servers. What a forked one runs
is `server.py` as it is, from its first line to the exit of the process, but that it is as patient with the knowledge
base as `tests/conftest.py` has the test process be.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from chat.context import knowledge

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["server", "endpoints.serving.asgi_server", __name__])

PATIENCE_WITH_KNOWLEDGE = 60.0
"""Seconds. How long a busy machine takes to open a knowledge base is no matter of a test."""


class PreloadedProcess:
    """A Python program with the folder, the settings and the log of its own; used as `subprocess.Popen` is."""

    def __init__(self, program: Path, *, folder: Path, environ: Mapping[str, str], log: Path) -> None:
        self._process = _context.Process(target=_run, args=(program, folder, dict(environ), log), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, that of a signal below zero; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code once it has ended. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        ended = self.poll()
        if ended is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return ended

    def send_signal(self, number: int) -> None:
        """Send it a signal; a no-op where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()


def _run(program: Path, folder: Path, environ: Mapping[str, str], log: Path) -> None:
    """Be what `python program` would be in `folder`; what it writes goes to `log`."""
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path[:0] = [each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each and each not in sys.path]
    with log.open("ab") as file:
        for standard in (1, 2):
            os.dup2(file.fileno(), standard)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves run under `nohup`
    sys.argv[:] = [str(program)]
    knowledge._PATIENCE = PATIENCE_WITH_KNOWLEDGE
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # a process of `multiprocessing` ends without them
