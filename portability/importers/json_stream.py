"""Reading JSON of any size item by item, with bounded memory, depth and sizes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any

from portability.errors import BrokenImportError

LARGEST_ITEM = 64 * 2**20
"""In bytes: a conversation with all its messages."""
DEEPEST = 200
"""How many levels JSON may be nested, unless its form is recursive."""
_CHUNK = 64 * 2**10
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_LONGEST_ESCAPE, _LONGEST_PAIR = len("\\ud83d"), len("\\ud83d\\ude00")
_MOST_DIGITS = 1_000
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (_MOST_DIGITS + 1))
_ESCAPED = re.compile(rb"\\.", re.DOTALL)


def json_items(
    stream: IO[bytes], prefix: str = "item", *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST
) -> Iterator[Any]:
    """The items of an array in JSON, one by one; prefix: of ijson, "item" for those of the outermost array.

    Numbers are int and Decimal: those that no float holds are no reason to stop. Bytes that are no UTF-8 and halves of
    surrogate pairs become U+FFFD. Raises BrokenImportError where the JSON breaks off or is none, an item has more than
    `largest` bytes, or something is nested more than `deepest` levels deep.
    """
    import ijson  # an import is rare, so the library is loaded by the first one

    read = partial(ijson.items, prefix=prefix, buf_size=_CHUNK)
    yield from _bounded(stream, read, largest=largest, deepest=deepest)


def json_entries(
    stream: IO[bytes], prefix: str = "", *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST
) -> Iterator[tuple[str, Any]]:
    """The entries of an object in JSON, name and value, one by one; otherwise as `json_items`."""
    import ijson

    read = partial(ijson.kvitems, prefix=prefix, buf_size=_CHUNK)
    yield from _bounded(stream, read, largest=largest, deepest=deepest)


def json_value(stream: IO[bytes], *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST) -> Any:
    """The one value that JSON is, in time that grows with its length alone, however deep; otherwise as `json_items`."""
    [value] = _bounded(stream, _whole, largest=largest, deepest=deepest)
    return value


def _whole(stream: _BoundedStream) -> Iterator[Any]:
    import ijson

    # `ijson.items` writes down the path to each part of a value, which takes forever where it is deep.
    builder = ijson.ObjectBuilder()
    for event, value in ijson.basic_parse(stream, buf_size=_CHUNK):
        builder.event(event, value)
    yield builder.value


def _bounded(
    stream: IO[bytes], read: Callable[[_BoundedStream], Iterator[Any]], *, largest: int, deepest: int
) -> Iterator[Any]:
    import ijson

    bounded = _BoundedStream(_MendedStream(stream), largest=largest, deepest=deepest)
    try:
        for item in read(bounded):
            bounded.begin_item()
            yield item
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        raise BrokenImportError(f"The JSON can't be read beyond byte {bounded.position:,}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    lines = (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)).strip().splitlines()
    return (lines[0].rstrip(". ") if lines else "it is damaged")[:200] + "."


class _MendedStream:
    """JSON in UTF-8 whose texts are Unicode, whatever the file holds: the parser stops at anything else."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = b""

    def read(self, size: int) -> bytes:
        """About `size` bytes; none where the file has ended."""
        while True:
            read = self._stream.read(size)
            content = self._rest + self._decoder.decode(read, final=not read).encode()
            end = _end_of_escapes(content) if read else len(content)
            self._rest = content[end:]
            if end or not read:
                return _mended(content[:end])


def _end_of_escapes(content: bytes) -> int:
    """Where `content` can be cut without cutting an escape in two, or a pair of them."""
    start = content.find(b"\\", max(0, len(content) - _LONGEST_PAIR))
    if start < 0:
        return len(content)
    if start >= _LONGEST_ESCAPE and _HALF.match(content, start - _LONGEST_ESCAPE):
        start -= _LONGEST_ESCAPE
    run = start - len(content[:start].rstrip(b"\\"))
    return start - run % 2


def _mended(content: bytes) -> bytes:
    return _ESCAPES.sub(_without_half, content) if _HALF.search(content) else content


def _without_half(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if len(escape[0]) == _LONGEST_ESCAPE and _HALF.match(escape[0]) else escape[0]


class _BoundedStream:
    """Passes bytes on to the parser, while no item is too large or too deep.

    The parser itself has no limits: a gigabyte of "[" would become a billion lists.
    """

    def __init__(self, stream: _MendedStream, *, largest: int, deepest: int) -> None:
        self._stream = stream
        self._largest, self._deepest = largest, deepest
        self._item_began = 0
        self._depth = 0
        self._in_string = False
        self._escaping = False
        self.position = 0
        """How many bytes were read."""

    def begin_item(self) -> None:
        self._item_began = self.position

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(_CHUNK if size < 0 else size)
        self.position += len(content)
        if self.position - self._item_began > self._largest + _CHUNK:
            raise BrokenImportError(f"A part of the JSON has more than {self._largest:,} bytes.")
        self._follow(content)
        return content

    def _follow(self, content: bytes) -> None:
        structure = self._structure(content)
        # The parser hands whole numbers to Python, which refuses those of 4,300 digits, and then crashes the process.
        if _LONG_NUMBER.search(structure):
            raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
        for bracket in structure.translate(None, _NO_BRACKETS):
            self._depth += 1 if bracket in b"[{" else -1
            if self._depth > self._deepest:
                raise BrokenImportError(f"The JSON is nested more than {self._deepest} levels deep.")

    def _structure(self, content: bytes) -> bytes:
        """The bytes outside of strings; remembers whether the next ones are inside of one."""
        plain = _ESCAPED.sub(b"", b"\\" + content if self._escaping else content)
        self._escaping = plain.endswith(b"\\")
        pieces = plain.split(b'"')
        outside = b"".join(pieces[self._in_string :: 2])
        self._in_string ^= len(pieces) % 2 == 0
        return outside
