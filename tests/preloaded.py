"""`server.py` in processes that are forked off one which has imported its modules.

Importing takes most of the time of a start, and a run of the tests starts hundreds of servers. What a forked one runs
is `server.py` as it is, from its first line to the exit of the process, but that it is as patient with the knowledge
base as `tests/conftest.py` has the test process be, and hashes passwords as quickly. The processes of a forked
supervisor are forked off it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import SimpleNamespace

from argon2 import PasswordHasher

from chat.context import knowledge
from chat.processes import supervisor
from database.accounts.passwords import hash_with

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "server",
        "endpoints.serving.asgi_server",
        # What a server imports when its first requests and its first question to a model come.
        "email.policy",
        "encodings.idna",
        "jinja2.ext",
        "language_models.openai.sessions",
        "uvicorn.lifespan.on",
        "uvicorn.loops.uvloop",
        __name__,
    ]
)

PATIENCE_WITH_KNOWLEDGE = 60.0
"""Seconds. How long a busy machine takes to open a knowledge base is no matter of a test."""
QUICK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""A hash of full cost takes longer than most tests; `database/accounts/test_accounts.py` tests the real one."""
_ROOT = Path(__file__).resolve().parent.parent


class PreloadedProcess:
    """A Python program with the folder, the settings and the log of its own; used as `subprocess.Popen` is."""

    def __init__(self, program: Path, *arguments: str, folder: Path, environ: Mapping[str, str], log: Path) -> None:
        command = [str(program), *arguments]
        self._process = _context.Process(target=_run, args=(command, folder, dict(environ), log), daemon=True)
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


@dataclass(frozen=True)
class PreloadedScript:
    """A script that runs in a process of its own, which has imported the modules of a server."""

    process: PreloadedProcess
    log: Path

    def ended(self) -> subprocess.CompletedProcess[str]:
        """How it has ended, once it has; `stderr`: all that it has written."""
        status = self.process.wait(120)
        return subprocess.CompletedProcess(self.log.name, status, "", self.log.read_text(encoding="utf-8"))


@cache
def _scripts() -> TemporaryDirectory[str]:
    """A folder for scripts and what they write, deleted when the run ends."""
    return TemporaryDirectory(prefix="scripts-")


def start_preloaded(
    source: str | Path, *arguments: str, folder: Path = _ROOT, environ: Mapping[str, str] = os.environ
) -> PreloadedScript:
    """Start what `python -c source *arguments` would be in `folder`; of a path, `python source *arguments`."""
    log = Path(mkdtemp(dir=_scripts().name)) / "log"
    log.touch()
    program = source if isinstance(source, Path) else log.with_name("script.py")
    if isinstance(source, str):
        program.write_text(source, encoding="utf-8")
    return PreloadedScript(PreloadedProcess(program, *arguments, folder=folder, environ=environ, log=log), log)


def _run(command: Sequence[str], folder: Path, environ: Mapping[str, str], log: Path) -> None:
    """Be what `python *command` would be in `folder`; what it writes goes to `log`."""
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path[:0] = [each for each in environ.get("PYTHONPATH", "").split(os.pathsep) if each and each not in sys.path]
    with log.open("ab") as file:
        for standard in (1, 2):
            os.dup2(file.fileno(), standard)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves run under `nohup`
    sys.argv[:] = command
    knowledge._PATIENCE = PATIENCE_WITH_KNOWLEDGE
    hash_with(QUICK_HASHER)
    vars(supervisor)["subprocess"] = SimpleNamespace(Popen=_Worker, TimeoutExpired=subprocess.TimeoutExpired)
    try:
        runpy.run_path(command[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # a process of `multiprocessing` ends without them


class _Worker:
    """What the supervisor uses of `subprocess.Popen`, for a process that is forked off the supervisor."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], pass_fds: Collection[int], process_group: int
    ) -> None:
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, process_group)
            _be_worker(command[1:], environ=env, kept={0, 1, 2, *pass_fds})

    def wait(self, timeout: float) -> int:
        """The exit status, that of a signal below zero. Raises subprocess.TimeoutExpired."""
        until = time.monotonic() + timeout
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            else:
                time.sleep(0.005)
        return self._status

    def send_signal(self, number: int) -> None:
        """Send it a signal; a no-op where it has ended."""
        if self._status is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _be_worker(arguments: Sequence[str], *, environ: Mapping[str, str], kept: Collection[int]) -> None:
    """Be what `python *arguments` would be, with the open files `kept`, until the exit of the process."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for opened in {int(each.name) for each in Path("/proc/self/fd").iterdir()} - set(kept):
            with suppress(OSError):
                os.close(opened)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv[:] = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        os._exit(status)
