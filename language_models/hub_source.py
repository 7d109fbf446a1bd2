"""Fetch a file from its publisher, going on where an earlier try ended."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from language_models.catalogue import HubSource

_CHUNK = 1024 * 1024


class SourceFailedError(Exception):
    """A source does not deliver; the message says why."""


def fetch_from_hub(
    source: HubSource,
    *,
    part: Path,
    size: int,
    progress: Callable[[int], None],
    timeout: float = 10.0,
) -> None:
    """Complete `part` to `size` bytes.

    `progress` gets the bytes done and may raise to break off; what has arrived stays for the next try. `timeout`:
    seconds without a byte. Raises SourceFailedError.
    """
    have = part.stat().st_size if part.exists() else 0
    if have >= size:
        return
    request = urllib.request.Request(source.url, headers={"User-Agent": "Anaphora"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            resumed = response.status == http.client.PARTIAL_CONTENT
            _append(response, part, done=have if resumed else 0, progress=progress)
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise SourceFailedError(f"{source.url}: {reason or type(error).__name__}") from error
    if part.stat().st_size < size:
        raise SourceFailedError(f"{source.url}: the connection ended after {part.stat().st_size} of {size} bytes")


def _append(
    response: http.client.HTTPResponse, part: Path, *, done: int, progress: Callable[[int], None]
) -> None:
    with part.open("r+b" if done else "wb") as file:
        file.seek(done)
        file.truncate()
        while chunk := response.read1(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            progress(done)
