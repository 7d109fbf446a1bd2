"""Exports of LibreChat: a JSON file a conversation, its messages inside of each other, or one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedAttachment,
    ImportedConversation,
    ImportedItem,
    ImportedToolCall,
    form_of,
)
from portability.importers.reading.json_stream import json_value
from sentences import say

from .reading.folded_blocks import folded_blocks
from .reading.json_conversations import first_items, read_conversations
from .reading.message_tree import Node, message_tree
from .reading.values import (
    embedded_file,
    embedded_name,
    id_of,
    json_of,
    line_of,
    mapping_of,
    mappings_of,
    result_of,
    text_of,
    time_of,
    unique_id,
)

_ROOT = "00000000-0000-0000-0000-000000000000"
_NEVER = datetime.min.replace(tzinfo=UTC)
_THINKING, _THOUGHT = re.compile(r":::thinking(?=[ \t]*\n)"), re.compile(r"^[ \t]*:::[ \t]*$", re.MULTILINE)
_DEEPEST = 50_000
"""Levels of the JSON: each message of a recursive export lies two levels inside of the one before it."""


class LibreChatImporter:
    """Reads what LibreChat writes for "Export conversation" as JSON; a ZIP may hold many of these files."""

    source = "librechat"
    title, expects = form_of("librechat")

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first conversation has a `conversationId` and messages."""
        return any("conversationId" in each and _has_messages(each) for each in _first(file))

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its conversations, file by file."""
        return read_conversations(file, _members(file), _conversation, deepest=_DEEPEST)


def _first(file: ImportFile) -> list[Mapping[str, Any]]:
    """The first conversation: the file is one, or an array of them."""
    for member in _members(file)[:1]:
        beginning = file.beginning(member)
        if b'"conversationId"' in beginning and b'"message' in beginning:
            if found := first_items(file, [member]):
                return found
            with suppress(BrokenImportError), file.open(member) as stream:
                return [mapping_of(json_value(stream, deepest=_DEEPEST))]
    return []


def _members(file: ImportFile) -> list[str | None]:
    return [None] if file.is_single else [name for name in file.members if name.endswith(".json")]


def _has_messages(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("messagesTree"), list) or isinstance(raw.get("messages"), list)


def _conversation(raw: Mapping[str, Any]) -> ImportedItem:
    source_id, title = id_of(raw.get("conversationId")), line_of(raw.get("title"))
    if source_id is None or not _has_messages(raw):
        return FailedItem(title or source_id or "", say("import_no_id"))
    roots = mappings_of(raw.get("messagesTree")) or mappings_of(raw.get("messages"))
    # A path without branches may lack the ids of the messages that each one answers.
    follow = not any("parentMessageId" in message or message.get("children") for message in roots)
    nodes: dict[str, Node] = {}
    last: str | None = None
    for message, above in _flat(roots, nodes):
        node_id = unique_id(message.get("messageId"), nodes)
        parent_id = id_of(message.get("parentMessageId")) or above or (last if follow else None)
        nodes[node_id] = _node(node_id, above or (None if parent_id == _ROOT else parent_id), message)
        last = node_id
    tree = message_tree(nodes)
    # Messages that lie in each other stand branch by branch: the last one is not the newest.
    timed = [node_id for node_id, node in nodes.items() if node.created_at]
    newest = max(reversed(timed), key=lambda each: nodes[each].created_at or _NEVER, default=last)
    times = [node.created_at for node in nodes.values() if node.created_at]
    return ImportedConversation(
        source_id=source_id,
        title=title,
        created_at=time_of(raw.get("createdAt")) or min(times, default=None),
        updated_at=time_of(raw.get("updatedAt")) or max(times, default=None),
        messages=tree.messages,
        current_id=tree.message_ids.get(newest or ""),
        archived=raw.get("isArchived") is True,
        problems=tree.problems,
    )


def _flat(roots: list[Mapping[str, Any]], nodes: dict[str, Node]) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Each message with the id of the one it lies in, parents first; its own id is the last of `nodes` afterwards."""
    waiting: list[tuple[Mapping[str, Any], str | None]] = [(message, None) for message in reversed(roots)]
    while waiting:
        message, above = waiting.pop()
        yield message, above
        own_id = next(reversed(nodes))
        waiting += [(child, own_id) for child in reversed(mappings_of(message.get("children")))]


def _node(node_id: str, parent_id: str | None, message: Mapping[str, Any]) -> Node:
    is_user = message.get("isCreatedByUser") is True or line_of(message.get("sender")).lower() == "user"
    node = Node(node_id=node_id, parent_id=parent_id, sender="user" if is_user else "model")
    node.created_at = time_of(message.get("createdAt"))
    node.model = None if is_user else id_of(message.get("model"))
    texts, thoughts = [], []
    for part in mappings_of(message.get("content")):
        kind = line_of(part.get("type"))
        if kind == "think":
            thoughts.append(_value(part.get("think")))
        elif kind == "tool_call":
            node.calls.append(_tool_call(mapping_of(part.get("tool_call"))))
        elif kind.startswith("image"):
            node.attachments.append(_picture(mapping_of(part.get(kind))))
        elif kind == "error":
            texts.append(_value(part.get("error")) or _value(part.get("text")) or result_of(part.get("error")))
        else:
            texts.append(_value(part.get("text")))
    texts = [text for text in texts if text.strip()] or [_value(message.get("text"))]
    if not is_user:
        texts = [_without_thoughts(text, thoughts) for text in texts]
    node.text = "\n\n".join(text for text in texts if text.strip())
    node.thoughts = "\n\n".join(text for text in thoughts if text.strip())
    files = [*mappings_of(message.get("files")), *mappings_of(message.get("attachments"))]
    node.attachments += [_file(each) for each in files]
    return node


def _without_thoughts(text: str, thoughts: list[str]) -> str:
    """A text without its blocks of thoughts, which are added to `thoughts`."""
    plain = []
    for head, body in folded_blocks(text, opening=_THINKING, head_ends="\n", closing=_THOUGHT):
        if head is None:
            plain.append(body)
        else:
            thoughts.append(body.strip())
    return "".join(plain).strip() if len(plain) > 1 else text


def _value(text: object) -> str:
    """A text, or the `value` of an object that holds one."""
    return text_of(text) if isinstance(text, str) else text_of(mapping_of(text).get("value"))


def _tool_call(raw: Mapping[str, Any]) -> ImportedToolCall:
    function = mapping_of(raw.get("function"))
    name = id_of(raw.get("name")) or id_of(function.get("name")) or id_of(raw.get("type")) or "tool"
    arguments = raw.get("args") if "args" in raw else function.get("arguments", raw.get("code_interpreter"))
    output = raw.get("output") if "output" in raw else function.get("output")
    return ImportedToolCall(name, json_of(arguments), None if output is None else result_of(output))


def _picture(raw: Mapping[str, Any]) -> ImportedAttachment:
    """A picture that the export names, or holds itself as a `data:` URL."""
    if (embedded := embedded_file(raw.get("url"))) is None:
        return _file(raw)
    kind, content = embedded
    return ImportedAttachment(embedded_name(kind), kind, content=content)


def _file(raw: Mapping[str, Any]) -> ImportedAttachment:
    name = line_of(raw.get("filename")) or line_of(raw.get("filepath")).rpartition("/")[2] or "file"
    text = raw.get("text")
    return ImportedAttachment(name, line_of(raw.get("type")), text_of(text) if isinstance(text, str) and text else None)
