"""`make serve-scaled`: PostgreSQL, Valkey and two servers behind one port, all on this machine and in one data folder.

`ANAPHORA_DATA_DIR` (`storage-scaled` by default) has everything, the databases in `engines`. Ctrl+C ends all. Where
this process is killed, its servers and engines end by themselves; the next start waits for that, and goes on with the
data.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from engines import Engine, EngineError, LocalPostgreSQL, LocalValkey, ending_with_parent
from stamps import ROOT

_DATABASE = "anaphora"
# A server opens up to 38 connections, and a restart has one server more.
_OPTIONS = {"max_connections": "300", "shared_buffers": "128MB"}
_LOOK_SECONDS = 0.2
_PREDECESSOR_SECONDS = 30.0
"""Servers without their parent end within twenty."""


class AlreadyRunningError(Exception):
    """Another `make serve-scaled` has the data folder."""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT; the exit status of the servers. arguments: of `server.py`."""
    data = Path(environ.get("ANAPHORA_DATA_DIR") or ROOT / "storage-scaled").absolute()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    engines = data / "engines"
    engines.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as running:
        running.enter_context(_alone(engines / "lock"))
        serving = running.enter_context(_after_predecessors(engines / "serving"))
        postgresql, valkey = LocalPostgreSQL(engines / "postgresql", options=_OPTIONS), LocalValkey(engines / "valkey")
        for engine in (postgresql, valkey):
            running.callback(engine.close)
            engine.start()
        postgresql.make_database(_DATABASE)
        own = {
            "ANAPHORA_DATA_DIR": str(data),
            "ANAPHORA_PROCESSES": environ.get("ANAPHORA_PROCESSES") or "2",
            "DATABASE_URL": postgresql.url(_DATABASE),
            "REDIS_URL": valkey.url,
        }
        print(f"PostgreSQL and Valkey run in {engines}.", flush=True)
        return _serve([*arguments], {**environ, **own}, engines=(postgresql, valkey), inherited=serving)


def _serve(
    arguments: Sequence[str], environ: Mapping[str, str], *, engines: Sequence[Engine], inherited: IO[str]
) -> int:
    """Run the servers to their end, and start an engine again that ends before them.

    inherited: a file that the servers hold open as long as they run.
    """
    servers = subprocess.Popen(
        [sys.executable, str(ROOT / "server.py"), *arguments],
        env=environ,
        pass_fds=[inherited.fileno()],
        process_group=0,  # Ctrl+C is for this process, which passes it on
        preexec_fn=ending_with_parent(signal.SIGTERM),  # noqa: PLW1509 - it calls the system alone
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: servers.send_signal(number))
    while servers.poll() is None:
        for engine in engines:
            if not engine.is_running():
                print(f"{engine.package} has ended; it is started again.", file=sys.stderr, flush=True)
                with suppress(EngineError):  # it is tried again
                    engine.start()
        time.sleep(_LOOK_SECONDS)
    return servers.returncode


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold the engines of the data folder. Raises AlreadyRunningError."""
    with lock.open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(f"Another serve-scaled uses {lock.parent.parent}. Stop it first.") from None
        yield


@contextmanager
def _after_predecessors(lock: Path) -> Iterator[IO[str]]:
    """Hold the lock that servers inherit: one that was left without its parent lets go of it, and the port, at its end.

    Raises AlreadyRunningError.
    """
    until = time.monotonic() + _PREDECESSOR_SECONDS
    with lock.open("w", encoding="ascii") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise AlreadyRunningError(f"Servers of a former start still use {lock.parent.parent}.") from None
            time.sleep(_LOOK_SECONDS)
        yield file


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    except (AlreadyRunningError, EngineError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"anaphora: {error}")
