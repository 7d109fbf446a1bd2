"""The sessions of zk-chat: `.zk_chat_db/chat_sessions.json` in a vault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from portability.errors import BrokenImportError, CutOffImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedConversation,
    ImportedItem,
    ImportedToolCall,
    form_of,
)
from portability.importers.reading.json_conversations import broken_off
from portability.importers.reading.json_stream import UnreadableItem, json_entries
from sentences import say

from .reading.message_tree import Node, Sender, message_tree
from .reading.values import id_of, line_of, mapping_of, mappings_of, result_of, time_of

_NAME = "chat_sessions.json"
_TITLE_LENGTH = 80
_SENDERS: dict[str, Sender] = {"user": "user", "assistant": "model"}


class ZkChatImporter:
    """Reads the sessions that zk-chat keeps beside a vault."""

    source = "zk_chat"
    title, expects = form_of("zk_chat")

    def recognises(self, file: ImportFile) -> bool:
        """Whether its first session has messages and the times that zk-chat gives to sessions."""
        for member in _members(file)[:1]:
            try:
                first = next((mapping_of(session) for _, session in _sessions(file, member)), {})
            except BrokenImportError:
                return False
            return isinstance(first.get("messages"), list) and ("last_updated" in first or "created_at" in first)
        return False

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """Its sessions in their order."""
        for member in _members(file):
            read = whole = 0
            try:
                for session_id, session in _sessions(file, member):
                    item = _session(session_id, session)
                    read, whole = read + 1, whole + (not isinstance(item, FailedItem))
                    yield item
            except BrokenImportError as error:
                failure = broken_off(error, member or file.name, is_first=not read, whole=whole)
                if not (read and isinstance(error, CutOffImportError)):
                    raise type(error)(failure.reason) from None
                yield failure


def _members(file: ImportFile) -> list[str | None]:
    return [None] if file.is_single else [*file.named(_NAME)]


def _sessions(file: ImportFile, member: str | None) -> Iterator[tuple[str, Any]]:
    """The sessions by id; one that can't be read by its place."""
    with file.open(member) as stream:
        for number, entry in enumerate(json_entries(stream), 1):
            yield (
                (say("import_place_session", name=f"{number:,}"), entry) if isinstance(entry, UnreadableItem) else entry
            )


def _session(session_id: str, session: object) -> ImportedItem:
    if isinstance(session, UnreadableItem):
        return FailedItem(session_id, session.reason)
    return _conversation(session_id, mapping_of(session))


def _conversation(session_id: str, raw: Mapping[str, Any]) -> ImportedItem:
    source_id = id_of(session_id)
    if source_id is None or not isinstance(raw.get("messages"), list):
        return FailedItem(say("import_place_session", name=line_of(session_id)[:_TITLE_LENGTH]), say("import_no_id"))
    nodes: dict[str, Node] = {}
    for number, message in enumerate(mappings_of(raw["messages"]), 1):
        role = line_of(message.get("role"))
        node = Node(node_id=str(number), parent_id=next(reversed(nodes), None), sender=_SENDERS.get(role))
        node.text, node.created_at = result_of(message.get("content") or None), time_of(message.get("timestamp"))
        if node.sender is None:
            node.fold(role)
        if references := message.get("references"):
            node.calls.append(ImportedToolCall("references", None, result_of(references)))
        nodes[node.node_id] = node
    tree = message_tree(nodes)
    first = next((message.text for message in tree.messages if message.sender == "user"), "")
    return ImportedConversation(
        source_id=source_id,
        title=line_of(raw.get("title")) or line_of(first[: 4 * _TITLE_LENGTH])[:_TITLE_LENGTH],
        created_at=time_of(raw.get("created_at")),
        updated_at=time_of(raw.get("last_updated")),
        messages=tree.messages,
        problems=tree.problems,
    )
