"""A network between a process and a server on this machine, which can be cut: nothing is refused, nothing arrives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_AT_ONCE = 65_536


class Link:
    """A port of loopback that leads to a Unix socket.

    While it is cut, connections stay open and new ones are accepted, as those of a machine behind a dead switch seem to
    be; what is sent arrives when the link is whole again.
    """

    def __init__(self, target: str, *, listener: socket.socket | None = None) -> None:
        """target: the path of the Unix socket. listener: what accepts connections instead of a port of loopback."""
        self._target = target
        self._whole = threading.Event()
        self._whole.set()
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        self._sockets: list[socket.socket] = []
        self._begin(self._accept)

    def cut(self) -> None:
        """Let nothing through any more."""
        self._whole.clear()

    def mend(self) -> None:
        """Let everything through again, what waited first."""
        self._whole.set()

    def close(self) -> None:
        """End all connections."""
        self._whole.set()
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._begin(lambda near=near: self._connect(near))  # type: ignore[misc]

    def _connect(self, near: socket.socket) -> None:
        self._whole.wait()
        far = socket.socket(socket.AF_UNIX)
        self._sockets += (near, far)
        try:
            far.connect(self._target)
        except OSError:
            near.close()
            return
        self._begin(lambda: self._pump(near, far))
        self._pump(far, near)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_AT_ONCE):
                self._whole.wait()
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _begin(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()
