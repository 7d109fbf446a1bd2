"""Fetch a file from its publisher, going on where an earlier try ended."""

from __future__ import annotations

import http.client
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from language_models.download.catalogue import HubSource
from language_models.download.sources import Report, SourceFailedError

_CHUNK = 1024 * 1024
_CHUNKS_AHEAD = 8
_LOOK_EVERY = 0.2


def fetch_from_hub(
    source: HubSource,
    *,
    part: Path,
    size: int,
    report: Report,
    answer_within: float = 5.0,
    stall_after: float = 30.0,
) -> None:
    """Complete `part` to `size` bytes; what has arrived stays there for the next try.

    answer_within: seconds from asking to the head of the response, name lookup and redirects included. stall_after:
    seconds without a byte after that. Raises SourceFailedError, or what `report` raises.
    """
    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return
    transfer = _Transfer(source.url, have=have, size=size, timeout=stall_after)
    transfer.start()
    try:
        done = have
        start = transfer.next(within=answer_within, look=partial(report, have))
        assert isinstance(start, int)
        with part.open("r+b" if start else "wb") as file:
            done = file.seek(start)
            file.truncate()
            while chunk := transfer.next(within=stall_after, look=partial(report, done)):
                assert isinstance(chunk, bytes)
                if done + len(chunk) > size:
                    raise SourceFailedError(f"{transfer.host}: sends more than {size} bytes")
                done += file.write(chunk)
                report(done)
    finally:
        transfer.abandoned.set()
    if done != size:
        raise SourceFailedError(f"{transfer.host}: the file ended after {done} of {size} bytes")


class _Transfer(threading.Thread):
    """Reads the response in a thread of its own.

    Name lookups know no timeout and a blocked read can't be called off, so whoever waits must be able to walk away.
    The thread hands over the position where the bytes begin, then the bytes, then b"" as the end.
    """

    def __init__(self, url: str, *, have: int, size: int, timeout: float) -> None:
        super().__init__(name="model-transfer", daemon=True)
        self.host = urlsplit(url).hostname or url
        self.abandoned = threading.Event()
        self._url = url
        self._have = have
        self._size = size
        self._timeout = timeout
        self._items: queue.Queue[int | bytes | SourceFailedError] = queue.Queue(maxsize=_CHUNKS_AHEAD)

    def next(self, *, within: float, look: Callable[[], None]) -> int | bytes:
        """What comes next; calls `look` while waiting. Raises SourceFailedError after `within` seconds of nothing."""
        deadline = time.monotonic() + within
        while True:
            look()
            try:
                item = self._items.get(timeout=_LOOK_EVERY)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise SourceFailedError(f"{self.host}: no answer for {within:g} seconds") from None
                continue
            if isinstance(item, SourceFailedError):
                raise item
            return item

    def run(self) -> None:
        """Read until the end, a failure, or until nobody waits any more."""
        try:
            self._read()
        except urllib.error.HTTPError as error:
            error.close()
            self._hand_over(SourceFailedError(f"{self.host}: HTTP {error.code} {error.reason}"))
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            self._hand_over(SourceFailedError(f"{self.host}: {reason or type(error).__name__}"))
        except SourceFailedError as error:
            self._hand_over(error)

    def _read(self) -> None:
        headers = {"User-Agent": "Anaphora", "Accept-Encoding": "identity"}
        if self._have:
            headers["Range"] = f"bytes={self._have}-"
        request = urllib.request.Request(self._url, headers=headers)  # noqa: S310 - the address is the catalogue's
        with urllib.request.urlopen(request, timeout=self._timeout) as response:  # noqa: S310
            self._hand_over(self._start(response))
            while not self.abandoned.is_set():
                chunk = response.read1(_CHUNK)
                self._hand_over(chunk)
                if not chunk:
                    return

    def _start(self, response: http.client.HTTPResponse) -> int:
        """Where the response's bytes belong. Raises SourceFailedError where they are of some other file."""
        if response.status == http.client.PARTIAL_CONTENT:
            given = response.headers.get("Content-Range", "")
            if re.fullmatch(rf"bytes {self._have}-\d+/(\*|{self._size})", given):
                return self._have
            raise SourceFailedError(f"{self.host}: offers {given or 'an unnamed range'} of another file")
        length = response.headers.get("Content-Length")
        if length is not None and int(length) != self._size:
            raise SourceFailedError(f"{self.host}: offers {length} bytes instead of {self._size}")
        return 0

    def _hand_over(self, item: int | bytes | SourceFailedError) -> None:
        while not self.abandoned.is_set():
            try:
                self._items.put(item, timeout=_LOOK_EVERY)
            except queue.Full:
                continue
            return
