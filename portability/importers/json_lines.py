"""Conversations of any other program: JSON Lines, a message a line, as `documentation/user_guide.md` describes them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

from database.imports.line_index import TOO_LARGE, LineIndex
from portability.errors import BrokenImportError
from sentences import say

from .import_file import ImportFile
from .imported import FailedItem, ImportedConversation, ImportedItem, form_of
from .json_stream import LARGEST_ITEM, parsed_json
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
_MARK = b"\xef\xbb\xbf"
"""The mark of byte order that some editors put at the beginning of a file."""
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
        if not file.is_single:
            return False
        left = _LONGEST_LINE
        with file.open() as stream:
            for _ in range(_FIRST_LINES):
                line = stream.readline(left)
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
        # `ImportFile.open` gives a stream that can't go back.
        with file.path.open("rb") as stream, LineIndex() as index:
            yield from _items(stream, index)


def _items(stream: IO[bytes], index: LineIndex) -> Iterator[ImportedItem]:
    lines = _Lines(stream)
    while not lines.ended:
        places = lines.read_part()
        yield from lines.failed
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
    if lines.failures > _MOST_FAILED:
        yield FailedItem("", say("import_more_lines", count=lines.failures - _MOST_FAILED))
    for conversation_id, read in index.unfinished():
        item = _conversation(stream, conversation_id, index.offsets(conversation_id))
        yield replace(item, continues=read) if isinstance(item, ImportedConversation) else item


class _Lines:
    """The lines of a file, part by part. ended: whether all were read. failed: lines of the last part, no messages."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._offset = self._number = self.failures = 0
        self.ended = False
        self.failed: list[FailedItem] = []

    def read_part(self) -> dict[str, array[int]]:
        """Where the lines of each conversation begin in the next part, in bytes."""
        places: dict[str, array[int]] = {}
        self.failed, end = [], self._offset + _PART
        self._stream.seek(self._offset)
        while self._offset < end:
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
        line = self._stream.readline(_LONGEST_LINE)
        self._number, self._offset = self._number + 1, self._offset + len(line)
        is_cut = len(line) >= _LONGEST_LINE and not line.endswith(b"\n")
        while is_cut and (rest := self._stream.readline(_LONGEST_LINE)):
            self._offset += len(rest)
            is_cut = not rest.endswith(b"\n")
        return line

    def _fail(self, reason: str) -> None:
        self.failures += 1
        if self.failures <= _MOST_FAILED:
            self.failed.append(FailedItem(say("import_place_line", number=self._number), reason))


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
