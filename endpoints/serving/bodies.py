"""Request bodies: read completely, within limits of size and time, before a thread is used."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Event, File, MultipartDecoder, NeedData, State

from endpoints.http.errors import (
    InvalidRequestError,
    RateLimitedError,
    RequestTooSlowError,
    ServerBusyError,
    TooLargeError,
)
from endpoints.http.wsgi import MULTIPART_TYPE
from sentences import say

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 4 * 1024 * 1024
"""The largest body of a request to most addresses."""
# A whole knowledge base is imported in one request, as it was exported.
_LARGER_BODIES = {"/pkb/import": 32 * 1024 * 1024, "/api/vault/import": 32 * 1024 * 1024}

STRANGERS_SECONDS = 15.0
"""Seconds within which an unauthenticated request must be complete."""
STRANGERS_BYTES = 64 * 1024
"""The largest unauthenticated request: address, headers and body together."""

_GRACE_SECONDS = 30.0
_SLOWEST_BYTES_A_SECOND = 8 * 1024
_DISCARD_SECONDS = 10.0
_DISCARD_BYTES = 64 * 1024 * 1024
_RETRY_SECONDS = 5.0
_WRITTEN_AT_ONCE = 256 * 1024

ROOM_FOR_FORM = 64 * 1024
"""In bytes: what a form may have around its file."""
_DECODED_AT_ONCE = 64 * 1024
_LONGEST_BOUNDARY = 256
"""RFC 2046 allows 70 characters; some clients (Werkzeug's) make longer ones now and then."""


class Target(Protocol):
    """What takes a body: a file, or what finds the file in it."""

    def write(self, content: bytes, /) -> int:
        """Take some bytes."""


class BodyMemory:
    """The memory that all request bodies take up now, in bytes. Used on the server's loop only."""

    def __init__(self, most: int) -> None:
        self.held = 0
        self._most = most
        self._by_person: Counter[str] = Counter()

    def take(self, size: int, *, person: str = "") -> None:
        """Count `size` bytes. Raises ServerBusyError, and RateLimitedError for a user who has a quarter of it all."""
        if person and self._by_person[person] + size > self._most // 4:
            raise RateLimitedError("You are sending too much at once.", retry_after=_RETRY_SECONDS)
        if self.held + size > self._most:
            raise ServerBusyError(retry_after=_RETRY_SECONDS)
        self.held += size
        self._by_person[person] += size

    def give_back(self, size: int, *, person: str = "") -> None:
        """Stop counting what `take` counted."""
        self.held -= size
        self._by_person[person] -= size
        if not self._by_person[person]:
            del self._by_person[person]


@dataclass(frozen=True, slots=True)
class UploadRoom:
    """What one person may still upload, in bytes, and the error for more."""

    size: int
    refusal: Callable[[], Exception]


class ArrivingUploads:
    """The bytes that each person is uploading now. Used on the server's loop only."""

    def __init__(self) -> None:
        self._expected: Counter[str] = Counter()

    @contextmanager
    def within(self, room: UploadRoom | None, body: RequestBody, *, person: str, most: int) -> Iterator[int]:
        """How many bytes of `body` may arrive, of at most `most`; what several requests bring is counted together.

        Raises TooLargeError where more than `most` comes, and the error of `room` where it is `room` that is exceeded.
        """
        if room is None:
            yield most
            return
        allowed = min(most, max(room.size - self._expected[person], 0))
        expected = min(allowed, body.declared or allowed)
        self._expected[person] += expected
        try:
            yield allowed
        except TooLargeError:
            if allowed < most and (body.declared or 0) <= most:
                raise room.refusal() from None
            raise
        finally:
            self._expected[person] -= expected
            if not self._expected[person]:
                del self._expected[person]


class RequestBody:
    """The body of one request, read by `receive`.

    declared: its length in bytes, if the client has stated it; chunked: it has not.
    """

    def __init__(self, receive: Receive, *, declared: int | None, chunked: bool, memory: BodyMemory) -> None:
        self._receive = receive
        self.declared = declared
        self._chunked = chunked
        self._memory = memory
        self._kept: list[bytes] = []
        self._size = 0
        self._held = 0
        self._person = ""
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether all of it has arrived."""
        return self._ended

    def may_exceed(self, size: int) -> bool:
        """Whether more than `size` bytes may come."""
        return self._chunked if self.declared is None else self.declared > size

    async def read_of_stranger(self, *, most: int, until: float) -> bytes:
        """All of it, complete at the loop's time `until`.

        Raises TooLargeError over `most` bytes, RequestTooSlowError, ConnectionResetError, ServerBusyError. After
        RequestTooSlowError, `read_of_person` can go on.
        """
        return await self._read(most=most, until=until, slowest=None)

    async def read_of_person(self, person: str, *, most: int) -> bytes:
        """All of it, for a logged-in user, who may take longer for more. Raises as `read_of_stranger`."""
        held = self._held
        self.release()
        self._person = person
        self._hold(held)
        begun = asyncio.get_running_loop().time()
        return await self._read(most=most, until=begun + _GRACE_SECONDS, slowest=_SLOWEST_BYTES_A_SECOND)

    async def write_of_person(self, person: str, file: Target, *, most: int) -> None:
        """Write all of it into `file`, for a logged-in user, little of it in memory. Raises as `read_of_stranger`."""
        if self.declared is not None and self.declared > most:
            raise _too_large()
        self._person = person
        loop, until = asyncio.get_running_loop(), asyncio.get_running_loop().time() + _GRACE_SECONDS
        try:
            async with asyncio.timeout_at(until) as limit:
                while not self._ended:
                    await loop.run_in_executor(None, file.write, await self._some(most=most))
                    limit.reschedule(until + self._size / _SLOWEST_BYTES_A_SECOND)
        except TimeoutError:
            raise RequestTooSlowError("The request took too long to arrive.") from None

    async def write_upload(self, person: str, path: Path, media: str | None, *, most: int) -> str | None:
        """Write the file that the body is, or that a form of type `media` holds, to the new file `path`.

        Returns the name that the form gives to the file. Raises as `write_of_person`, and InvalidRequestError.
        """
        with path.open("xb") as file:
            form = form_file(media, file)
            if form is None:
                await self.write_of_person(person, file, most=most)
                return None
            await self.write_of_person(person, form, most=most + ROOM_FOR_FORM)
            form.end()
            return form.name

    async def _some(self, *, most: int) -> bytes:
        """What comes next, in a piece that is worth a write."""
        pieces, size = list[bytes](), 0
        while not self._ended and size < _WRITTEN_AT_ONCE:
            pieces.append(await self._chunk())
            size += len(pieces[-1])
            if self._size > most:
                raise _too_large()
        return b"".join(pieces)

    def release(self) -> None:
        """Release the memory of what was read."""
        self._memory.give_back(self._held, person=self._person)
        self._held = 0

    async def discard(self) -> None:
        """Read and discard the rest, if it is small and arrives soon.

        Many clients read a response only after sending everything, and lose it when the connection closes before.
        """
        if self.declared is not None and self.declared > _DISCARD_BYTES:
            return
        with suppress(TimeoutError, ConnectionResetError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                while not self._ended and self._size <= _DISCARD_BYTES:
                    await self._chunk()

    async def _read(self, *, most: int, until: float, slowest: float | None) -> bytes:
        if self.declared is not None and self.declared > most:
            raise _too_large()
        try:
            async with asyncio.timeout_at(until) as limit:
                while not self._ended:
                    chunk = await self._chunk()
                    if self._size > most:
                        raise _too_large()
                    self._hold(len(chunk))
                    self._kept.append(chunk)
                    if slowest is not None:
                        limit.reschedule(until + self._size / slowest)
        except TimeoutError:
            raise RequestTooSlowError("The request took too long to arrive.") from None
        whole = b"".join(self._kept)
        self._kept.clear()
        return whole

    def _hold(self, size: int) -> None:
        self._memory.take(size, person=self._person)
        self._held += size

    async def _chunk(self) -> bytes:
        event = await self._receive()
        if event["type"] == "http.disconnect":
            raise ConnectionResetError
        self._ended = not event.get("more_body", False)
        chunk: bytes = event.get("body", b"")
        self._size += len(chunk)
        return chunk


def max_body_bytes(path: str) -> int:
    """The largest body of a request to `path`, in bytes."""
    return _LARGER_BODIES.get(path.removesuffix("/"), MAX_BODY_BYTES)


def _too_large() -> TooLargeError:
    return TooLargeError("The request is too large.")


class FormFile:
    """Takes the bytes of a form, and writes those of its first file into `file`.

    name: what the file is called, once its part has begun. Raises InvalidRequestError for what is no such form; memory
    is bounded, whatever arrives.
    """

    def __init__(self, content_type: str, file: BinaryIO) -> None:
        boundary = parse_options_header(content_type)[1].get("boundary", "")
        if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
            raise InvalidRequestError(say("upload_no_form"))
        self._decoder = MultipartDecoder(boundary.encode(), 4 * _DECODED_AT_ONCE, max_parts=20)
        self._file = file
        self._part: Event | None = None
        self._chosen: File | None = None
        self._ended = False

    @property
    def name(self) -> str | None:
        """The name of the file."""
        return None if self._chosen is None else self._chosen.filename

    def write(self, content: bytes) -> int:
        """Take bytes of the form; how many there were."""
        try:
            for start in range(0, len(content), _DECODED_AT_ONCE):
                self._take(content[start : start + _DECODED_AT_ONCE])
        except (ValueError, RequestEntityTooLarge):
            raise InvalidRequestError(say("upload_no_form")) from None
        return len(content)

    def end(self) -> None:
        """Check that the form has ended and had a file. Raises InvalidRequestError."""
        if not self._ended or self._chosen is None:
            raise InvalidRequestError(say("upload_no_form"))

    def _take(self, content: bytes) -> None:
        if self._ended:
            return
        self._decoder.receive_data(content)
        while not isinstance(event := self._decoder.next_event(), NeedData):
            if not isinstance(event, Data):
                self._part = event
                self._chosen = event if self._chosen is None and isinstance(event, File) else self._chosen
            elif self._part is self._chosen:
                self._file.write(event.data)
        self._ended = self._decoder.state is State.EPILOGUE


def form_file(content_type: str | None, file: BinaryIO) -> FormFile | None:
    """What takes a body of this type, where it is a form. Raises InvalidRequestError."""
    if parse_options_header(content_type or "")[0].lower() != MULTIPART_TYPE:
        return None
    return FormFile(content_type or "", file)
