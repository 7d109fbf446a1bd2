"""Reading JSON of any size item by item, with bounded memory, depth and sizes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import orjson

from portability.errors import BrokenImportError, CutOffImportError
from sentences import say, together

LARGEST_ITEM = 64 * 2**20
"""In bytes: a conversation with all its messages."""
MOST_VALUES = 2_000_000
"""Of one item: each takes some 100 bytes of memory, even an empty list, which takes three in the file."""
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
_BRACKET_OR_COMMA = re.compile(rb"[\[\]{},]")
_BETWEEN_ITEMS = b" \t\r\n,"
_ARRAY, _OBJECT = b"[]", b"{}"
_BEGINNINGS, _ENDS = {"start_array", "start_map"}, {"end_array", "end_map"}
_LONGEST_SKIPPED = 2**30
"""In bytes: what is behind the beginning of an item that is skipped."""
_DEEPEST_SKIPPED = 100_000


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """An item that was skipped because it is too large or too deep. reason: one sentence."""

    reason: str


class _RefusedError(Exception):
    """The parser is given nothing more of an item that it has begun."""


def json_items(stream: IO[bytes], *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST) -> Iterator[Any]:
    """The items of an array in JSON, one by one.

    Numbers are int and Decimal: those that no float holds are no reason to stop. Bytes that are no UTF-8 and halves of
    surrogate pairs become U+FFFD. An item that has more than `largest` bytes or MOST_VALUES
    values, or is nested more than `deepest` levels deep, is an UnreadableItem. Raises BrokenImportError where the JSON
    breaks off or is none.
    """
    import ijson  # an import is rare, so the library is loaded by the first one

    bounded = _BoundedStream(_MendedStream(stream), largest=largest, deepest=deepest, brackets=_ARRAY)
    read = partial(ijson.items, prefix="item", buf_size=_CHUNK)
    yield from _with_unreadable(bounded, read)


def json_entries(
    stream: IO[bytes], *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST
) -> Iterator[tuple[str, Any] | UnreadableItem]:
    """The entries of an object in JSON, name and value, one by one; otherwise as `json_items`."""
    bounded = _BoundedStream(_MendedStream(stream), largest=largest, deepest=deepest, brackets=_OBJECT)
    yield from _with_unreadable(bounded, _entries)


def json_value(stream: IO[bytes], *, largest: int = LARGEST_ITEM, deepest: int = DEEPEST) -> Any:
    """The one value that JSON is, in time that grows with its length alone, however deep.

    Otherwise as `json_items`.
    """
    bounded = _BoundedStream(_MendedStream(stream), largest=largest, deepest=deepest, brackets=b"")
    with suppress(_RefusedError):
        [value] = _bounded(bounded, _whole)
        return value
    return UnreadableItem(bounded.refused)


def parsed_json(content: bytes, *, no_json: str = say("import_export_no_json"), most_values: int = MOST_VALUES) -> Any:
    """The value that a text in JSON is. no_json: what a person is told where it is none.

    Raises BrokenImportError: it is no JSON, or has more than `most_values` values.
    """
    # Commas in texts count as well at first, so that most texts are not looked through.
    if _count_values(content) > most_values and _count_values(_structure_of(content)) > most_values:
        raise BrokenImportError(say("import_item_too_many", most=most_values))
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        raise BrokenImportError(no_json) from None


def _count_values(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def _structure_of(content: bytes) -> bytes:
    place, pieces = _Place(), list[bytes]()
    for start in range(0, len(content), _CHUNK):
        structure, place = _structure(content[start : start + _CHUNK], place)
        pieces.append(structure)
    return b"".join(pieces)


def _whole(stream: _BoundedStream) -> Iterator[Any]:
    import ijson

    # `ijson.items` writes down the path to each part of a value, which takes forever where it is deep.
    builder = ijson.ObjectBuilder()
    for event, value in ijson.basic_parse(stream, buf_size=_CHUNK):
        builder.event(event, value)
    yield builder.value


def _entries(stream: _BoundedStream) -> Iterator[tuple[str, Any]]:
    import ijson

    # `ijson.kvitems` holds an entry back until the next one begins, which may be one that is refused.
    depth, name, builder = 0, "", ijson.ObjectBuilder()
    for event, value in ijson.basic_parse(stream, buf_size=_CHUNK):
        depth -= event in _ENDS
        if depth == 1 and event == "map_key":
            name, builder = value, ijson.ObjectBuilder()
        elif depth:
            builder.event(event, value)
            if depth == 1 and event not in _BEGINNINGS:
                yield name, builder.value
        depth += event in _BEGINNINGS


def _with_unreadable(bounded: _BoundedStream, read: Callable[[_BoundedStream], Iterator[Any]]) -> Iterator[Any]:
    """What is read, and an UnreadableItem for each item that is refused."""
    while True:
        with suppress(_RefusedError):
            yield from _bounded(bounded, read)
        if not bounded.refused:
            return
        refused = UnreadableItem(bounded.refused)
        bounded.skip_item()
        yield refused


def _bounded(bounded: _BoundedStream, read: Callable[[_BoundedStream], Iterator[Any]]) -> Iterator[Any]:
    import ijson

    try:
        for item in read(bounded):
            bounded.begin_item()
            yield item
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        if bounded.was_cut_off:
            raise CutOffImportError(say("import_ends_early", position=bounded.position)) from None
        broken = say("import_json_broken", position=bounded.position, why=_reason(error))
        raise BrokenImportError(broken) from None


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


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in JSON: how many brackets are open, whether it is within a string, or behind a backslash there."""

    depth: int = 0
    in_string: bool = False
    escaping: bool = False


class _BoundedStream:
    """Passes bytes on to the parser, while no item is too large or too deep.

    The parser itself has no limits: a gigabyte of "[" would become a billion lists. brackets: those around the items;
    b"" where there is one value alone, which nothing follows.
    """

    def __init__(self, stream: _MendedStream, *, largest: int, deepest: int, brackets: bytes) -> None:
        self._stream = stream
        self._largest, self._deepest = largest, deepest
        self._brackets = brackets
        self._item_began = self._values = 0
        self._place = _Place()
        self._held = b""
        self._has_ended = False
        self.position = 0
        """How many bytes were read."""
        self.refused = ""
        """Why the item is not read that comes next; `skip_item` goes on behind it."""

    @property
    def was_cut_off(self) -> bool:
        """Whether all was read, and brackets are still open."""
        return self._has_ended and self._place.depth > 0

    def begin_item(self) -> None:
        self._item_began, self._values = self.position, 0

    def read(self, size: int = -1) -> bytes:
        """Bytes for the parser. Where an item is refused, all ends before it, or _RefusedError within it."""
        if self.refused or size == 0:  # the parser reads nothing at first, to learn of which type it is
            return b""
        content = self._held or self._next(_CHUNK if size < 0 else size)
        before, self._held = self._place, b""
        self._place, is_too_deep = self._follow(content)
        if self.position - self._item_began > self._largest + _CHUNK:
            return self._refuse(say("import_item_too_long", most=self._largest), content, before, start=None)
        if self._values > MOST_VALUES + _CHUNK:
            return self._refuse(say("import_item_too_many", most=MOST_VALUES), content, before, start=None)
        if is_too_deep:
            start = _start_of_deep_item(content, before, deepest=self._deepest)
            return self._refuse(say("import_item_too_deep", most=self._deepest), content, before, start=start)
        return content

    def _next(self, size: int) -> bytes:
        content = self._stream.read(size)
        self.position += len(content)
        self._has_ended = not content
        return content

    def _refuse(self, reason: str, content: bytes, before: _Place, *, start: int | None) -> bytes:
        """start: where in `content` the item begins; None where it began before."""
        self.refused = reason
        if not self._brackets:
            raise _RefusedError
        if start is None and not before.depth:
            raise BrokenImportError(together(say("import_part_unreadable"), reason))
        if start is None:
            self._held, self._place = content, before
            raise _RefusedError
        self._held, self._place = content[start:], _Place(depth=1)
        return content[:start].rstrip(_BETWEEN_ITEMS) + self._brackets[1:]

    def skip_item(self) -> None:
        """Go on behind the refused item, as if all began there. Raises BrokenImportError where it never ends."""
        began = self.position
        while content := self._held or self._next(_CHUNK):
            self._held = b""
            end, self._place = _end_of_item(content, self._place)
            if end is not None:
                self._held = self._brackets[:1] + content[end:].removeprefix(b",")
                self.begin_item()
                self._place, self.refused = _Place(), ""
                return
            if self.position - began > _LONGEST_SKIPPED or self._place.depth > _DEEPEST_SKIPPED:
                break
        raise BrokenImportError(together(say("import_part_endless"), self.refused))

    def _follow(self, content: bytes) -> tuple[_Place, bool]:
        """Where `content` ends, and whether it is too deep somewhere."""
        structure, place = _structure(content, self._place)
        # The parser hands whole numbers to Python, which refuses those of 4,300 digits, and then crashes the process.
        if _LONG_NUMBER.search(structure):
            raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
        self._values += _count_values(structure)
        depth, is_too_deep = place.depth, False
        for bracket in structure.translate(None, _NO_BRACKETS):
            depth += 1 if bracket in b"[{" else -1
            if depth > self._deepest:
                is_too_deep = True
                break
        return replace(place, depth=depth), is_too_deep


def _structure(content: bytes, place: _Place) -> tuple[bytes, _Place]:
    """The bytes outside of strings, and where `content` ends, but for the depth."""
    plain = _ESCAPED.sub(b"", b"\\" + content if place.escaping else content)
    pieces = plain.split(b'"')
    in_string = place.in_string ^ (len(pieces) % 2 == 0)
    return b"".join(pieces[place.in_string :: 2]), _Place(place.depth, in_string, plain.endswith(b"\\"))


def _masked(content: bytes, place: _Place) -> bytes:
    """`content` with what is in strings blanked, byte by byte."""
    plain = _ESCAPED.sub(b"..", b"." + content[1:] if place.escaping else content)
    pieces = plain.split(b'"')
    return b'"'.join(
        b"." * len(piece) if number % 2 != place.in_string else piece for number, piece in enumerate(pieces)
    )


def _start_of_deep_item(content: bytes, place: _Place, *, deepest: int) -> int | None:
    """Where the first item begins that is nested too deep, with its name; None where it began before `content`."""
    depth, start = place.depth, None
    for found in _BRACKET_OR_COMMA.finditer(_masked(content, place)):
        if found[0] == b",":
            start = found.end() if depth == 1 else start
            continue
        depth += 1 if found[0] in b"[{" else -1
        start = found.end() if depth == 1 and found[0] in b"[{" else start
        if depth > deepest:
            break
    return start


def _end_of_item(content: bytes, place: _Place) -> tuple[int | None, _Place]:
    """Where the item of the array ends, and None with where `content` ends if it doesn't."""
    depth = place.depth
    for found in _BRACKET_OR_COMMA.finditer(_masked(content, place)):
        if found[0] == b",":
            if depth == 1:
                return found.start(), place
            continue
        depth += 1 if found[0] in b"[{" else -1
        if depth == 0:
            return found.start(), place
    return None, replace(_structure(content, place)[1], depth=depth)
