"""Downloads a model's file from its publisher, resuming where an earlier download ended."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

from language_models import blocking
from language_models.download.catalogue import HubSource, Report, SourceFailedError

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
_CHUNK = 1024 * 1024
_REPORT_SECONDS = 0.2
_HEADERS = {"User-Agent": "Anaphora", "Accept-Encoding": "identity"}


def fetch_from_hub(
    source: HubSource,
    *,
    part: Path,
    size: int,
    report: Report,
    answer_within: float = 5.0,
    stall_after: float = 30.0,
) -> None:
    """Complete `part` to `size` bytes; what has arrived is kept for the next try. Blocks.

    answer_within: seconds until the head of the response, name lookup and redirects included. stall_after: seconds
    without a byte after that. Raises SourceFailedError, or what `report` raises; it is called on another thread.
    """
    have = part.stat().st_size if part.exists() else 0
    if have < size:
        download = _Download(url=source.url, part=part, done=have, size=size, report=report)
        blocking.run(download.run(answer_within=answer_within, stall_after=stall_after), timeout=None)


@dataclass(slots=True, kw_only=True)
class _Download:
    """The rest of one file. done: bytes in `part`."""

    url: str
    part: Path
    done: int
    size: int
    report: Report

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url

    async def run(self, *, answer_within: float, stall_after: float) -> None:
        # Imported here: with all models in place, a start does without.
        import aiohttp

        headers = _HEADERS | ({"Range": f"bytes={self.done}-"} if self.done else {})
        timeout = aiohttp.ClientTimeout(total=None)
        try:
            async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=True) as session:
                request = session.get(self.url, read_bufsize=_CHUNK)
                response = await self._within(answer_within, _opened(request))
                try:
                    start = self._start(response)
                    with self.part.open("r+b" if start else "wb") as file:
                        self.done = file.seek(start)
                        file.truncate()
                        await self._receive(response, file, stall_after=stall_after)
                finally:
                    response.close()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise SourceFailedError(f"{self.host}: {error or type(error).__name__}") from error
        if self.done != self.size:
            raise SourceFailedError(f"{self.host}: the file ended after {self.done} of {self.size} bytes")

    async def _receive(self, response: aiohttp.ClientResponse, file: BinaryIO, *, stall_after: float) -> None:
        import aiohttp

        try:
            while chunk := await self._within(stall_after, response.content.readany()):
                if self.done + len(chunk) > self.size:
                    raise SourceFailedError(f"{self.host}: sends more than {self.size} bytes")
                self.done += file.write(chunk)
                self.report(self.done)
        except aiohttp.ClientPayloadError:
            return  # the connection was closed early

    async def _within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; meanwhile reports progress. Raises SourceFailedError after `seconds`."""
        loop = asyncio.get_running_loop()
        task, deadline = loop.create_task(work), loop.time() + seconds
        try:
            while not task.done():
                self.report(self.done)
                if loop.time() > deadline:
                    raise SourceFailedError(f"{self.host}: no answer for {seconds:g} seconds")
                await asyncio.wait({task}, timeout=_REPORT_SECONDS)
            return task.result()
        finally:
            task.cancel()

    def _start(self, response: aiohttp.ClientResponse) -> int:
        """Offset of the response's bytes in the file. Raises SourceFailedError for a response of another file."""
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise SourceFailedError(f"{self.host}: HTTP {response.status} {response.reason}")
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            given = response.headers.get("Content-Range", "")
            if re.fullmatch(rf"bytes {self.done}-\d+/(\*|{self.size})", given):
                return self.done
            raise SourceFailedError(f"{self.host}: offers {given or 'an unnamed range'} of another file")
        length = response.content_length
        if length is not None and length != self.size:
            raise SourceFailedError(f"{self.host}: offers {length} bytes instead of {self.size}")
        return 0


async def _opened(request: Any) -> aiohttp.ClientResponse:
    response: aiohttp.ClientResponse = await request
    return response
