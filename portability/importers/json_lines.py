"""Conversations of any other program: JSON Lines, a message a line, as `documentation/user_guide.md` describes them.

A file in UTF-8 is read where it lies. One in UTF-16, and those in a ZIP, are written into one file in UTF-8 while they
are read: the lines of a conversation may stand anywhere.
"""

from __future__ import annotations

import codecs
import io
from array import array
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple

from database.engine.line_index import TOO_LARGE, LineIndex
from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedConversation,
    ImportedItem,
    ImportedNothing,
    form_of,
)
from portability.importers.reading.json_stream import LARGEST_ITEM, parsed_json
from sentences import say

from .reading.message_tree import Node, Sender, message_tree
from .reading.values import id_of, line_of, text_of, time_of, unique_id

_LONGEST_LINE = 16 * 2**20
_FIRST_LINES = 20
"""So many are looked at to recognise a file."""
_MOST_FAILED = 1_000
_MOST_MESSAGES = 200_000
"""Of one conversation."""
_PART = 8 * 2**20
"""In bytes: so much of the file is read before its conversations are given out."""
_LINES_OF_A_PART = 100_000
_MARK = codecs.BOM_UTF8
"""The mark of byte order that some editors put at the beginning of a file."""
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", b"{\0": "utf-16-le", b"\0{": "utf-16-be"}
_ENDINGS = (".jsonl", ".ndjson")
"""Of the files of a ZIP."""
_LARGEST = 4 * 2**30
"""In bytes: so much the files of a ZIP, or a file in UTF-16, may have together."""
_CHUNK = 2**20
_SENDERS: dict[str, Sender] = {
    "user": "user",
    "human": "user",
    "assistant": "model",
    "model": "model",
    "ai": "model",
    "bot": "model",
}

Line = Mapping[str, Any]


class JsonLinesImporter:
    """Reads `{conversation, title?, role, text, created_at?, id?, parent?}`, one object a line."""

    source = "json_lines"
    title, expects = form_of("json_lines")

    def recognises(self, file: ImportFile) -> bool:
        """Whether one of its first lines is a message: what a program told the model often stands before."""
        members = _members(file)
        if not members:
            return False
        left = _LONGEST_LINE
        with file.open(members[0]) as stream, _as_text(stream) as text:
            for _ in range(_FIRST_LINES):
                line = text.readline(left).encode()
                left -= len(line)
                if not isinstance(_message(line), str):
                    return True
                if left <= 0:
                    break
        return False

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations in the order of their first lines, whose other lines may stand anywhere.

        A large file is read part by part. A conversation of which a later part has more comes once more, whole, when
        everything was read.
        """
        with _in_utf8(file) as text, LineIndex() as index:
            yield from _items(_Lines(text), text.stream, index)


class _Section(NamedTuple):
    """The lines of one file among those of others. begins: in bytes. name: "" where there is no other."""

    begins: int
    name: str


def _members(file: ImportFile) -> list[str | None]:
    if file.is_single:
        return [None]
    return [name for name in file.members if PurePosixPath(name).suffix.lower() in _ENDINGS]


def _as_text(stream: IO[bytes]) -> io.TextIOWrapper:
    """The text of a stream that can be looked ahead in."""
    beginning: bytes = stream.peek(2)  # type: ignore[attr-defined]
    encoding = _UTF_16.get(beginning[:2], "utf-8-sig")
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="\n")


class _Text:
    """Lines in UTF-8 in a stream that can go back, written as far as they are asked for.

    sections: where the files begin that were begun. pieces: what is still to be written; its reader may raise
    BrokenImportError.
    """

    def __init__(self, stream: IO[bytes], sections: list[_Section], pieces: Iterator[bytes]) -> None:
        self.stream = stream
        self.sections = sections
        self._pieces = pieces
        self._size, self._is_whole = 0, False

    def reach(self, offset: int) -> None:
        """Let the stream have so many bytes, if there are so many; its place stays."""
        if self._is_whole or self._size >= offset:
            return
        place = self.stream.tell()
        self.stream.seek(self._size)
        while self._size < offset and not self._is_whole:
            if piece := next(self._pieces, b""):
                self._size += self.stream.write(piece)
            else:
                self._is_whole = True
        self.stream.seek(place)


@contextmanager
def _in_utf8(file: ImportFile) -> Iterator[_Text]:
    """All lines as one stream in UTF-8, which can go back: `ImportFile.open` can't."""
    if file.is_single and file.beginning(length=2) not in _UTF_16:
        with file.path.open("rb") as stream:
            yield _Text(stream, [_Section(0, "")], iter(()))
        return
    sections = list[_Section]()
    with file.scratch_file() as unpacked, closing(_unpacked(file, sections)) as pieces:
        yield _Text(unpacked, sections, pieces)


def _unpacked(file: ImportFile, sections: list[_Section]) -> Generator[bytes]:
    """The files of a ZIP, or a file in UTF-16, piece by piece in UTF-8. Raises BrokenImportError."""
    size = 0
    for member in _members(file):
        sections.append(_Section(size, member or ""))
        with file.open(member) as packed, _as_text(packed) as text:
            while piece := text.read(_CHUNK):
                content = piece.encode(errors="replace")
                size += len(content)
                if size > _LARGEST:
                    raise BrokenImportError(say("import_member_too_long", name=member or file.name, most=_LARGEST))
                yield content
        size += 1
        yield b"\n"


def _items(lines: _Lines, stream: IO[bytes], index: LineIndex) -> Iterator[ImportedItem]:
    while not lines.ended:
        places = lines.read_part()
        is_empty = True
        for item in chain(lines.failed, _begun(places, lines, stream, index)):
            is_empty = False
            yield item
        if is_empty and not lines.ended:
            yield ImportedNothing()
    if lines.failures > _MOST_FAILED:
        yield FailedItem("", say("import_more_lines", count=lines.failures - _MOST_FAILED))
    for conversation_id, read in index.unfinished():
        item = _conversation(stream, conversation_id, index.offsets(conversation_id))
        yield replace(item, continues=read) if isinstance(item, ImportedConversation) else item


def _begun(
    places: Mapping[str, array[int]], lines: _Lines, stream: IO[bytes], index: LineIndex
) -> Iterator[ImportedItem]:
    """The conversations that begin in a part. places: where the lines of each begin in it."""
    for conversation_id, offsets in places.items():
        if index.has(conversation_id):
            index.add(conversation_id, offsets, read=0)
            continue
        item = _conversation(stream, conversation_id, offsets)
        if isinstance(item, FailedItem):
            index.add(conversation_id, offsets, read=TOO_LARGE)
            yield item
        elif item.problems and not lines.ended:
            index.add(conversation_id, offsets, read=0)  # what its lines name may be in a later part
        else:
            index.add(conversation_id, offsets, read=len(item.messages))
            yield replace(item, may_continue=not lines.ended)


class _Lines:
    """The lines of a file, part by part. ended: whether all were read. failed: lines of the last part, no messages."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self._stream = text.stream
        self._section = _Section(0, "")
        self._offset = self._number = self.failures = 0
        self.ended = False
        self.failed: list[FailedItem] = []

    def read_part(self) -> dict[str, array[int]]:
        """Where the lines of each conversation begin in the next part, in bytes."""
        places: dict[str, array[int]] = {}
        self.failed, end, read = [], self._offset + _PART, 0
        self._stream.seek(self._offset)
        while self._offset < end and read < _LINES_OF_A_PART:
            read += 1
            begins, line = self._offset, self._next()
            if not line:
                self.ended = True
                break
            message = _message(line) if line.strip() else {}
            if isinstance(message, str):
                self._fail(message)
            elif message:
                places.setdefault(id_of(message["conversation"]) or "", array("q")).append(begins)
        return places

    def _next(self) -> bytes:
        """The next line, or the beginning of one that is too long; b"" where all were read."""
        self._text.reach(self._offset + _LONGEST_LINE)
        sections = self._text.sections
        section = sections[bisect_right(sections, self._offset, key=attrgetter("begins")) - 1]
        if section is not self._section:
            self._section, self._number = section, 0
        line = self._stream.readline(_LONGEST_LINE)
        self._number, self._offset = self._number + 1, self._offset + len(line)
        is_cut = len(line) >= _LONGEST_LINE and not line.endswith(b"\n")
        while is_cut and (rest := self._rest()):
            self._offset += len(rest)
            is_cut = not rest.endswith(b"\n")
        return line

    def _rest(self) -> bytes:
        """More of a line that is too long."""
        self._text.reach(self._offset + _LONGEST_LINE)
        return self._stream.readline(_LONGEST_LINE)

    def _fail(self, reason: str) -> None:
        self.failures += 1
        if self.failures <= _MOST_FAILED:
            place = say("import_place_line", number=self._number)
            self.failed.append(FailedItem(f"{self._section.name}, {place}".removeprefix(", "), reason))


def _message(line: bytes) -> Line | str:
    """The message in a line, or why there is none."""
    if len(line) >= _LONGEST_LINE:
        return say("import_line_too_long", most=_LONGEST_LINE)
    try:
        raw = parsed_json(line.removeprefix(_MARK), no_json=say("import_line_no_json"))
    except BrokenImportError as error:
        return error.message
    if not isinstance(raw, dict) or not id_of(raw.get("conversation")):
        return say("import_line_no_object")
    if line_of(raw.get("role")) not in _SENDERS:
        return say("import_line_role")
    if not isinstance(raw.get("text"), str):
        return say("import_line_text")
    return raw


def _conversation(stream: IO[bytes], conversation_id: str, offsets: Iterable[int]) -> ImportedConversation | FailedItem:
    nodes: dict[str, Node] = {}
    title, size = "", 0
    for number, offset in enumerate(offsets, 1):
        stream.seek(offset)
        line = stream.readline(_LONGEST_LINE)
        size += len(line)
        if size > LARGEST_ITEM:
            return FailedItem(title or conversation_id, say("import_item_too_long", most=LARGEST_ITEM))
        if number > _MOST_MESSAGES:
            return FailedItem(title or conversation_id, say("import_item_many_messages", most=_MOST_MESSAGES))
        message = parsed_json(line.removeprefix(_MARK))
        title = title or line_of(message.get("title"))
        node = _node(message, number=number, nodes=nodes)
        nodes[node.node_id] = node
    tree = message_tree(nodes)
    times = [node.created_at for node in nodes.values() if node.created_at]
    return ImportedConversation(
        source_id=conversation_id,
        title=title,
        created_at=min(times, default=None),
        updated_at=max(times, default=None),
        messages=tree.messages,
        current_id=tree.message_ids.get(next(reversed(nodes))),
        problems=tree.problems,
    )


def _node(message: Line, *, number: int, nodes: dict[str, Node]) -> Node:
    """A message; without an id, it has its number in the conversation, and without a parent, it follows the last."""
    last = next(reversed(nodes), None)
    return Node(
        node_id=unique_id(message.get("id", number), nodes),
        parent_id=id_of(message["parent"]) if "parent" in message else last,
        sender=_SENDERS[line_of(message["role"])],
        text=text_of(message["text"]),
        created_at=time_of(message.get("created_at")),
        model=id_of(message.get("model")),
    )
