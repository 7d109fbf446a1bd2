"""The tree of a conversation as other programs write it, as messages of ours.

Nodes without anything to say are left out, and those after them follow the message before. Where a program writes one
answer in several nodes (thoughts, a call of a tool, its result, the text), they become one message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from sentences import say

from .imported import ImportedAttachment, ImportedMessage, ImportedToolCall

Sender = Literal["user", "model"]

_PARAGRAPHS = "\n\n"


@dataclass(slots=True, kw_only=True)
class Node:
    """A message of the source, or a part of one. parent_id: None where it begins the conversation.

    sender: None where it says nothing to anybody. results: of tools that were called by nodes before, each with the
    name of its tool. is_continued: a node of the model that follows alone belongs to the same message. continues: it
    belongs to the answer that it follows alone. is_unknown: of a kind that its importer does not know.
    """

    node_id: str
    parent_id: str | None
    sender: Sender | None
    text: str = ""
    created_at: datetime | None = None
    model: str | None = None
    thoughts: str = ""
    calls: list[ImportedToolCall] = field(default_factory=list)
    results: list[ImportedToolCall] = field(default_factory=list)
    attachments: list[ImportedAttachment] = field(default_factory=list)
    short_hash: str | None = None
    hidden: bool = False
    is_continued: bool = False
    continues: bool = False
    is_unknown: bool = False

    def is_empty(self) -> bool:
        """Whether there is nothing in it for the transcript."""
        has_content = self.text.strip() or self.thoughts or self.calls or self.results or self.attachments
        return self.sender is None or not has_content

    def fold(self, sender: str) -> None:
        """Make this message of an unknown sender ("system", …) a folded part of the answer that it follows."""
        name = sender or "message"
        self.sender, self.continues, self.is_unknown = "model", True, True
        if self.text.strip():
            self.calls.append(ImportedToolCall(name, None, self.text))
            self.text = ""


@dataclass(frozen=True, slots=True)
class MessageTree:
    """The messages of a conversation, parents first. message_ids: of each node, the message it is in, or comes after.

    problems: what was wrong with the tree, in sentences for the report.
    """

    messages: tuple[ImportedMessage, ...]
    message_ids: Mapping[str, str | None]
    problems: tuple[str, ...]


def message_tree(nodes: Mapping[str, Node]) -> MessageTree:
    """The nodes by id as messages.

    Parents that are missing or lead in a circle are cut, and reported, as are nodes of unknown kinds that have nothing
    to keep.
    """
    parents, problems = _sound_parents(nodes)
    if lost := sum(node.is_unknown and node.is_empty() for node in nodes.values()):
        problems = (*problems, say("import_kinds_unknown", count=lost))
    order = _parents_first(parents)
    before = _nearest_messages(nodes, parents, order)
    followers: dict[str | None, int] = defaultdict(int)
    for node_id in order:
        if not nodes[node_id].is_empty():
            followers[before[node_id]] += 1
    drafts: dict[str, list[Node]] = {}
    message_ids: dict[str, str | None] = {}
    for node_id in order:
        node, last = nodes[node_id], before[node_id]
        message_id = None if last is None else message_ids[last]
        if not node.is_empty():
            goes_on = last is not None and followers[last] == 1 and _goes_on(nodes[last], node)
            if message_id is None or not goes_on:
                node.parent_id, message_id = message_id, node_id
            drafts.setdefault(message_id, []).append(node)
        message_ids[node_id] = message_id
    return MessageTree(tuple(_message(parts) for parts in drafts.values()), message_ids, problems)


def _goes_on(last: Node, node: Node) -> bool:
    return (last.is_continued or node.continues) and last.sender == node.sender == "model"


def _sound_parents(nodes: Mapping[str, Node]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """The parent of each node, without those that are missing or would make a circle."""
    parents = {node_id: node.parent_id if node.parent_id in nodes else None for node_id, node in nodes.items()}
    missing = sum(node.parent_id is not None and node.parent_id not in nodes for node in nodes.values())
    circles, known = 0, set[str]()
    for start in nodes:
        path: dict[str, None] = {}
        here: str | None = start
        while here is not None and here not in known:
            path[here] = None
            known.add(here)
            here = parents[here]
        if here is not None and here in path:
            parents[here] = None
            circles += 1
    problems = []
    if missing:
        problems.append(say("import_tree_missing", count=missing))
    if circles:
        problems.append(say("import_tree_circle", count=circles))
    return parents, tuple(problems)


def _parents_first(parents: Mapping[str, str | None]) -> list[str]:
    children: dict[str | None, list[str]] = defaultdict(list)
    for node_id, parent_id in parents.items():
        children[parent_id].append(node_id)
    order: list[str] = []
    waiting = children[None][::-1]
    while waiting:
        node_id = waiting.pop()
        order.append(node_id)
        waiting += reversed(children[node_id])
    return order


def _nearest_messages(
    nodes: Mapping[str, Node], parents: Mapping[str, str | None], order: list[str]
) -> dict[str, str | None]:
    """For each node, the nearest one above it that is not empty."""
    nearest: dict[str, str | None] = {}
    for node_id in order:
        parent_id = parents[node_id]
        is_left_out = parent_id is not None and nodes[parent_id].is_empty()
        nearest[node_id] = nearest[parent_id] if parent_id is not None and is_left_out else parent_id
    return nearest


def _message(parts: list[Node]) -> ImportedMessage:
    first = parts[0]
    return ImportedMessage(
        source_id=first.node_id,
        parent_id=first.parent_id,
        sender="user" if first.sender == "user" else "model",
        text=_PARAGRAPHS.join(part.text for part in parts if part.text.strip()),
        created_at=next((part.created_at for part in parts if part.created_at), None),
        model=next((part.model for part in reversed(parts) if part.model), None),
        thoughts=_PARAGRAPHS.join(part.thoughts for part in parts if part.thoughts),
        tool_calls=_tool_calls(parts),
        attachments=tuple(dict.fromkeys(each for part in parts for each in part.attachments)),
        short_hash=first.short_hash,
        hidden=all(part.hidden for part in parts),
    )


def _tool_calls(parts: list[Node]) -> tuple[ImportedToolCall, ...]:
    calls: list[ImportedToolCall] = []
    for part in parts:
        calls += part.calls
        for result in part.results:
            if calls and (calls[-1].result is None or calls[-1].name == result.name):
                calls[-1] = _answered(calls[-1], result)
            else:
                calls.append(result)
    return tuple(calls)


def _answered(call: ImportedToolCall, result: ImportedToolCall) -> ImportedToolCall:
    texts = [text for text in (call.result, result.result) if text]
    return ImportedToolCall(call.name, call.arguments, "\n".join(texts), failed=call.failed or result.failed)
