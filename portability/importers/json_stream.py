"""Reading JSON of any size item by item, with bounded memory, depth and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any

from portability.errors import BrokenImportError

LARGEST_ITEM = 64 * 2**20
"""In bytes: a conversation with all its messages."""
DEEPEST = 200
"""How many levels JSON may be nested, unless its form is recursive."""
_CHUNK = 64 * 2**10
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ESCAPED = re.compile(rb"\\.", re.DOTALL)


def json_items(
    stream: IO[bytes], prefix: str = "item", *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST
) -> Iterator[Any]:
    """The items of an array in JSON, one by one; prefix: of ijson, "item" for those of the outermost array.

    Numbers are int and float. Raises BrokenImportError where the JSON breaks off or is none, an item has more than
    `largest` bytes, or something is nested more than `deepest` levels deep.
    """
    import ijson  # an import is rare, so the library is loaded by the first one

    bounded = _BoundedStream(stream, largest=largest, deepest=deepest)
    try:
        for item in ijson.items(bounded, prefix, buf_size=_CHUNK, use_float=True):
            bounded.begin_item()
            yield item
    except (ijson.JSONError, ValueError, OverflowError) as error:
        raise BrokenImportError(f"The JSON can't be read beyond byte {bounded.position:,}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    lines = (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)).strip().splitlines()
    return (lines[0].rstrip(". ") if lines else "it is damaged")[:200] + "."


class _BoundedStream:
    """Passes bytes on to the parser, while no item is too large or too deep.

    The parser itself has no limits: a gigabyte of "[" would become a billion lists.
    """

    def __init__(self, stream: IO[bytes], *, largest: int, deepest: int) -> None:
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
        for bracket in self._structure(content).translate(None, _NO_BRACKETS):
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
