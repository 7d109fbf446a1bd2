"""Several server processes on one port: the supervisor that starts them, and what each inherits from it.

All processes accept connections from one listening socket, which the supervisor keeps open, so that no connection is
lost when one of them exits. Each has a socket to the supervisor: over it the process says that it serves and is told to
exit; when it breaks, the supervisor is gone and the process stops.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from version import program

log = logging.getLogger("anaphora.processes")
SERVES, LEAVE = b"serves\n", b"leave\n"
_SOCKETS, _LINE = "ANAPHORA_INHERITED_SOCKETS", "ANAPHORA_INHERITED_LINE"
_STOP_SECONDS = 20.0
"""A process that stops drains for ten seconds at most (`asgi_server.DRAIN_SECONDS`), where it isn't told otherwise."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LASTING_SECONDS = 60.0
_LOOK_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Inherited:
    """The listening sockets and the socket to the supervisor that this process inherited."""

    sockets: list[socket.socket]
    line: socket.socket


def inherited() -> Inherited | None:
    """What this process inherited from a supervisor; None without one. Hidden from later children."""
    numbers, line = os.environ.pop(_SOCKETS, ""), os.environ.pop(_LINE, "")
    if not line:
        return None
    sockets = [socket.socket(fileno=int(number)) for number in numbers.split(",")]
    for each in sockets:
        each.set_inheritable(False)
    return Inherited(sockets, socket.socket(fileno=int(line)))


@dataclass(eq=False, slots=True)
class Worker:
    """One server process. line: the supervisor's end of it."""

    process: subprocess.Popen[bytes]
    line: socket.socket
    began_at: float
    serves: bool = False


@dataclass(eq=False, slots=True)
class Place:
    """A slot for one process. pause: seconds to wait before it is started again."""

    number: int
    worker: Worker | None = None
    starts_at: float = 0.0
    pause: float = _FIRST_PAUSE


@dataclass(slots=True)
class Renewal:
    """A rolling restart. `newcomer` will replace the worker of that slot."""

    waiting: list[Place] = field(default_factory=list)
    place: Place | None = None
    newcomer: Worker | None = None
    leaving: list[Worker] = field(default_factory=list)


class Supervisor:
    """Keeps `count` processes of `command` serving on one port.

    SIGTERM and SIGINT stop all; each gets that signal. SIGHUP restarts all, one after the other: each exits once its
    successor serves. A process that dies is started again after a back-off that doubles from half a second to 30. If
    none has ever served, the supervisor exits with the status of the first.
    """

    def __init__(self, command: Sequence[str], *, count: int, host: str, port: int, drain_seconds: float = 0.0) -> None:
        """The port is opened by `run`. port: 0 for any free one.

        drain_seconds: how long processes may let turns go on after SIGTERM.
        """
        self._command = list(command)
        self._address = host, port
        self._places = [Place(number) for number in range(1, count + 1)]
        self._renewal = Renewal()
        self._sockets: list[socket.socket] = []
        self._selector = selectors.DefaultSelector()
        self._ever_served = False
        self._drain_seconds = drain_seconds
        self._stops_at: float | None = None
        self._status = 0

    def run(self) -> int:
        """Serve until a signal; returns the exit status. Main thread only. Raises OSError if the port is taken."""
        self._sockets = bound(*self._address)
        with self._hearing_signals():
            try:
                while self._attend():
                    for key, _ in self._selector.select(_LOOK_EVERY):
                        key.data()
            finally:
                for worker in self._workers():
                    worker.process.kill()
                for each in self._sockets:
                    each.close()
                self._selector.close()
        log.info("stopped")
        return self._status

    @contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        """Deliver signals as bytes on a socket, which the loop reads between two rounds."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        heard = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        former = {number: signal.signal(number, lambda *_: None) for number in heard}
        former_fd = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        self._selector.register(reading, selectors.EVENT_READ, partial(self._take_signals, reading))
        try:
            yield
        finally:
            signal.set_wakeup_fd(former_fd)
            for number, handler in former.items():
                signal.signal(number, handler)
            reading.close()
            writing.close()

    def _take_signals(self, reading: socket.socket) -> None:
        for number in reading.recv(4096):
            if number == signal.SIGHUP:
                log.info("restarting %d processes, one after the other", len(self._places))
                self._renewal.waiting = list(self._places)
            elif number in (signal.SIGTERM, signal.SIGINT):
                self._stop(0, number)

    def _attend(self) -> bool:
        """Start the processes that are due; False once all have exited."""
        now = time.monotonic()
        if self._stops_at is not None:
            if now > self._stops_at:
                for worker in self._workers():
                    worker.process.kill()
            return bool(self._workers())
        # The first one migrates the store, and finds out what is wrong with the settings.
        for place in self._places if self._ever_served else self._places[:1]:
            if place.worker is None and place.starts_at <= now:
                place.worker = self._started()
        self._renew_next()
        return True

    def _renew_next(self) -> None:
        """Start the next successor once the previous one serves and its predecessor has exited."""
        renewal = self._renewal
        if renewal.newcomer is None and not renewal.leaving and renewal.waiting:
            renewal.place = renewal.waiting.pop(0)
            renewal.newcomer = self._started()

    def _started(self) -> Worker:
        ours, its = socket.socketpair()
        numbers = [each.fileno() for each in self._sockets]
        environ = os.environ | {_SOCKETS: ",".join(map(str, numbers)), _LINE: str(its.fileno())}
        with its:
            process = subprocess.Popen(  # noqa: S603 - our own program
                self._command,
                env=environ,
                pass_fds=[*numbers, its.fileno()],
                process_group=0,  # Ctrl+C is for the supervisor
            )
        worker = Worker(process, ours, time.monotonic())
        self._selector.register(ours, selectors.EVENT_READ, partial(self._hear, worker))
        return worker

    def _hear(self, worker: Worker) -> None:
        said = b""
        with suppress(ConnectionResetError):
            said = worker.line.recv(4096)
        if not said:
            self._ended(worker)
        elif SERVES in said:
            worker.serves = True
            self._serves(worker)

    def _serves(self, worker: Worker) -> None:
        if not self._ever_served:
            self._ever_served = True
            host, port = self._sockets[0].getsockname()[:2]
            place, count = http_address(host, port), len(self._places)
            log.info("%s is at %s, served by %d processes", program(), place, count)
        renewal = self._renewal
        if worker is not renewal.newcomer or renewal.place is None:
            return
        former, renewal.place.worker, renewal.newcomer = renewal.place.worker, worker, None
        if former is not None:
            renewal.leaving.append(former)
            with suppress(OSError):
                former.line.send(LEAVE)
        if not renewal.waiting:
            log.info("all %d processes were restarted; the last of before ends with its answers", len(self._places))

    def _ended(self, worker: Worker) -> None:
        status = self._buried(worker)
        if worker in self._renewal.leaving:
            self._renewal.leaving.remove(worker)
        elif worker is self._renewal.newcomer:
            self._renewal.newcomer = None
            self._renewal.waiting.clear()
            log.error("a new process ended with status %d before it served; the others are kept", status)
        else:
            self._start_again(worker, status)

    def _start_again(self, worker: Worker, status: int) -> None:
        place = next(each for each in self._places if each.worker is worker)
        place.worker = None
        if self._stops_at is not None:
            return
        if not self._ever_served:
            self._stop(status if status > 0 else 1, signal.SIGTERM)
            return
        now = time.monotonic()
        lasted = worker.serves and now - worker.began_at > _LASTING_SECONDS
        place.pause = _FIRST_PAUSE if lasted else place.pause
        place.starts_at = now + place.pause
        log.warning("process %d ended with status %d; it is started again in %g s", place.number, status, place.pause)
        place.pause = min(2 * place.pause, _LONGEST_PAUSE)

    def _buried(self, worker: Worker) -> int:
        """Reap a worker whose socket broke; returns its exit status."""
        self._selector.unregister(worker.line)
        worker.line.close()
        try:
            return worker.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            return worker.process.wait()

    def _stop(self, status: int, number: int) -> None:
        """Stop all workers by the signal that came; a further one has those hurry that let turns go on."""
        now = time.monotonic()
        if self._stops_at is None:
            log.info("stopping %d processes", len(self._workers()))
            patience = self._drain_seconds if number == signal.SIGTERM else 0.0
            self._status, self._stops_at = status, now + patience + _STOP_SECONDS
        else:
            number, self._stops_at = signal.SIGTERM, min(self._stops_at, now + _STOP_SECONDS)
        for worker in self._workers():
            worker.process.send_signal(number if worker.serves else signal.SIGTERM)

    def _workers(self) -> list[Worker]:
        """All running workers."""
        renewal = self._renewal
        there = [place.worker for place in self._places] + [renewal.newcomer]
        return [worker for worker in there if worker is not None] + renewal.leaving


def serve_by_line(line: socket.socket, *, leave: Callable[[], None], stop: Callable[[], None]) -> Callable[[], None]:
    """Tell the supervisor that this worker serves; returns a callback for the loop's reader of the socket.

    leave: called when the supervisor asks this worker to exit. stop: called when the supervisor is gone.
    """

    def heard() -> None:
        try:
            said = line.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        (leave if said else stop)()

    line.send(SERVES)
    line.setblocking(False)
    return heard


def bound(host: str, port: int) -> list[socket.socket]:
    """Sockets bound to the port on each address of `host`, not yet listening. Raises OSError, which names both."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = socket.socket(family, kind, protocol)
            sockets.append(each)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(address)
            each.setblocking(False)  # all processes are woken by a connection, and one of them gets it
    except OSError as error:
        for each in sockets:
            each.close()
        raise OSError(f"can't listen on {host}, port {port}: {error.strerror or error}.") from error
    return sockets


def http_address(host: str, port: int) -> str:
    """The address of a server that listens there, as a browser takes it: IPv6 in brackets."""
    return f"http://[{host}]:{port}/" if ":" in host and not host.startswith("[") else f"http://{host}:{port}/"
