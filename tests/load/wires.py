"""A wire to a network namespace of its own, which can be pulled out: no packet passes, and nobody is told.

It needs Linux, `ip` of iproute2, and the right to make namespaces (root, or a container that has it).
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.load.links import Link

_numbers = itertools.count()


class NoNamespaceError(Exception):
    """Network namespaces can't be made here; the message says why."""


class Wire:
    """Two interfaces, of which the far one lies in a namespace where a link to a Unix socket listens."""

    def __init__(self, target: str) -> None:
        """target: the path of the Unix socket. Raises NoNamespaceError."""
        number, process = next(_numbers), os.getpid()
        self._namespace, self._near, self._far = (f"a{process}{kind}{number}" for kind in "nvw")
        # A network for measuring networks, which nobody routes (RFC 2544).
        near, far = (f"198.18.{process % 256}.{4 * (number % 64) + host}" for host in (1, 2))
        _ip("netns", "add", self._namespace)
        try:
            _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self._namespace)
            _ip("address", "add", f"{near}/30", "dev", self._near)
            _ip("link", "set", self._near, "up")
            self._ip_there("address", "add", f"{far}/30", "dev", self._far)
            self._ip_there("link", "set", self._far, "up")
            # Known for good: where nobody answers who has an address, the system would tell the sender so.
            (told,) = json.loads(self._ip_there("-json", "link", "show", self._far))
            _ip("neighbour", "replace", far, "lladdr", told["address"], "dev", self._near, "nud", "permanent")
            self._link = Link(target, listener=_in_namespace(self._namespace, far))
        except BaseException:
            self._remove()
            raise
        self.address = self._link.address

    def cut(self) -> None:
        """Let no packet through any more."""
        self._ip_there("link", "set", self._far, "down")

    def mend(self) -> None:
        """Let them through again."""
        self._ip_there("link", "set", self._far, "up")

    def close(self) -> None:
        """End all connections, and remove the namespace with both interfaces."""
        self._link.close()
        self._remove()

    def _remove(self) -> None:
        with suppress(NoNamespaceError):
            _ip("link", "delete", self._near)
        _ip("netns", "delete", self._namespace)

    def _ip_there(self, *arguments: str) -> str:
        return _ip("-netns", self._namespace, *arguments)


def _ip(*arguments: str) -> str:
    program = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise NoNamespaceError("there is no `ip` of iproute2")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaceError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _in_namespace(name: str, address: str) -> socket.socket:
    """A socket that listens at `address` in the namespace, which only the thread enters that makes it."""

    def listening() -> socket.socket:
        with Path("/run/netns", name).open("rb") as namespace:
            library = ctypes.CDLL(None, use_errno=True)
            if library.setns(namespace.fileno(), 0):
                raise NoNamespaceError(f"setns: {os.strerror(ctypes.get_errno())}")
        return socket.create_server((address, 0))

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(listening).result()
