"""Conversations of any other program: JSON Lines, a message a line, as `documentation/user_guide.md` describes them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import IO, Any

import orjson

from sentences import say

from .import_file import ImportFile
from .imported import FailedItem, ImportedConversation, ImportedItem
from .json_stream import LARGEST_ITEM
from .reading.message_tree import Node, Sender, message_tree
from .reading.values import id_of, line_of, text_of, time_of, unique_id

_LONGEST_LINE = 16 * 2**20
_MOST_FAILED = 1_000
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
    title = "JSON Lines"
    expects = "a message a line: {\u201cconversation\u201d, \u201crole\u201d, \u201ctext\u201d, …}."

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first line is a message."""
        if not file.is_single:
            return False
        with file.open() as stream:
            line = stream.readline(_LONGEST_LINE)
        return not isinstance(_message(line), str)

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations in the order of their first lines, whose other lines may stand anywhere."""
        # `ImportFile.open` gives a stream that can't go back.
        with file.path.open("rb") as stream:
            places, failed = _places(stream)
            yield from failed
            for conversation_id, offsets in places.items():
                yield _conversation(stream, conversation_id, offsets)


def _message(line: bytes) -> Line | str:
    """The message in a line, or why there is none."""
    if len(line) >= _LONGEST_LINE:
        return say("import_line_too_long", most=_LONGEST_LINE)
    try:
        raw = orjson.loads(line.removeprefix(_MARK))
    except orjson.JSONDecodeError:
        return say("import_line_no_json")
    if not isinstance(raw, dict) or not id_of(raw.get("conversation")):
        return say("import_line_no_object")
    if line_of(raw.get("role")) not in _SENDERS:
        return say("import_line_role")
    if not isinstance(raw.get("text"), str):
        return say("import_line_text")
    return raw


def _places(stream: IO[bytes]) -> tuple[dict[str, array[int]], list[FailedItem]]:
    """Where the lines of each conversation begin, in bytes, and the lines that are no messages."""
    places: dict[str, array[int]] = {}
    failed: list[FailedItem] = []
    offset = number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        begins, offset = offset, offset + len(line)
        while len(line) >= _LONGEST_LINE and not line.endswith(b"\n") and (rest := stream.readline(_LONGEST_LINE)):
            offset += len(rest)
            if rest.endswith(b"\n"):
                break
        message = _message(line) if line.strip() else {}
        if isinstance(message, str):
            failed = failed if len(failed) >= _MOST_FAILED else [*failed, FailedItem(f"line {number:,}", message)]
        elif message:
            places.setdefault(id_of(message["conversation"]) or "", array("q")).append(begins)
    return places, failed


def _conversation(stream: IO[bytes], conversation_id: str, offsets: array[int]) -> ImportedItem:
    nodes: dict[str, Node] = {}
    title, size = "", 0
    for number, offset in enumerate(offsets, 1):
        stream.seek(offset)
        line = stream.readline(_LONGEST_LINE)
        size += len(line)
        if size > LARGEST_ITEM:
            return FailedItem(title or conversation_id, say("import_item_too_long", most=LARGEST_ITEM))
        message = orjson.loads(line.removeprefix(_MARK))
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
