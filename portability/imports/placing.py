"""Where the messages of a source's conversation stand here: on the active path, as variants, or in branches.

A source has a tree of messages. Answers with the same parent become the variants of one message, and what follows any
of them follows that message. Questions with the same parent become alternatives: the first one goes on in the branch
of its parent, each of the others begins a branch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from conversation_reference_utils import is_friendly_id, is_short_hash
from database.conversations.titles import heuristic_title
from database.engine.clock import iso, now_iso
from database.engine.text import DEEPEST_JSON, storable
from database.imports.arriving import ArrivingConversation, ArrivingMessage, ArrivingVersion
from portability.importers.imported import ImportedConversation, ImportedMessage
from sentences import say

LONGEST_TITLE = 500
"""In characters, as for a title that a person gives."""
_CIRCLE = say("import_circle")
_LOST = say("import_place_missing")
_TWICE = say("import_twice")


@dataclass(frozen=True, slots=True)
class PlacedConversation:
    """A conversation as it is stored, and what was wrong with it: sentences for the report."""

    conversation: ArrivingConversation
    problems: tuple[str, ...]


def placed(imported: ImportedConversation) -> PlacedConversation:
    """`imported` with each message in its place, texts mended. It may have no messages at all."""
    tree = _Tree.of(imported)
    messages = tuple(_Walk(tree, _active_path(tree, imported.current_id)).messages())
    first = next((message.shown.text for message in messages if message.sender == "user"), "")
    title = " ".join(_mended(imported.title).split())[:LONGEST_TITLE] or heuristic_title(first)
    created_at = _iso(imported.created_at) or (messages[0].shown.created_at if messages else now_iso())
    arriving = ArrivingConversation(
        source_id=_mended(imported.source_id),
        title=title,
        created_at=created_at,
        updated_at=_iso(imported.updated_at) or max((m.shown.created_at for m in messages), default=created_at),
        archived=imported.archived,
        pinned=imported.pinned,
        workspace=imported.workspace and _mended(imported.workspace),
        friendly_id=imported.friendly_id if is_friendly_id(imported.friendly_id or "") else None,
        digest=_digest_of(title, imported, messages),
        messages=messages,
        may_continue=imported.may_continue,
        continues=imported.continues > 0,
    )
    return PlacedConversation(arriving, (*imported.problems, *tree.problems))


@dataclass(slots=True)
class _Tree:
    """The messages of a source by id, each with at most one parent, in no circle; children in order of time."""

    messages: dict[str, ImportedMessage]
    parents: dict[str, str | None]
    times: dict[str, str]
    children: dict[str | None, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, imported: ImportedConversation) -> _Tree:
        messages: dict[str, ImportedMessage] = {}
        for message in imported.messages:
            messages.setdefault(_mended(message.source_id), message)
        tree = cls(messages, {}, {})
        if len(messages) < len(imported.messages):
            tree.problems.append(_TWICE)
        for source_id, message in messages.items():
            parent = None if message.parent_id is None else _mended(message.parent_id)
            if parent is not None and parent not in messages:
                parent = None
                tree.problems.append(_LOST)
            tree.parents[source_id] = parent
        tree._cut_circles()
        tree._order(_iso(imported.created_at) or now_iso())
        tree.problems = list(dict.fromkeys(tree.problems))
        return tree

    def _cut_circles(self) -> None:
        safe: set[str] = set()
        for start in self.parents:
            walked: dict[str, None] = {}
            at: str | None = start
            while at is not None and at not in safe and at not in walked:
                walked[at] = None
                at = self.parents[at]
            if at is not None and at in walked:
                self.parents[at] = None
                self.problems.append(_CIRCLE)
            safe.update(walked)

    def _order(self, begun_at: str) -> None:
        """Give each message a time, its parent's where it has none, and each parent its children in order."""
        roots = [source_id for source_id, parent in self.parents.items() if parent is None]
        for source_id, parent in self.parents.items():
            self.children.setdefault(parent, []).append(source_id)
        waiting = deque(roots)
        while waiting:
            source_id = waiting.popleft()
            parent = self.parents[source_id]
            before = begun_at if parent is None else self.times[parent]
            self.times[source_id] = _iso(self.messages[source_id].created_at) or before
            waiting.extend(self.children.get(source_id, ()))
        for children in self.children.values():
            children.sort(key=self.times.__getitem__)


def _active_path(tree: _Tree, current_id: str | None) -> set[str]:
    """The messages on the path that the source shows; without one, on that to the newest message."""
    at: str | None = None if current_id is None else _mended(current_id)
    if at not in tree.messages:
        at = max(tree.times, key=tree.times.__getitem__, default=None)
        while at is not None and tree.children.get(at):
            at = tree.children[at][-1]
    path: set[str] = set()
    while at is not None:
        path.add(at)
        at = tree.parents[at]
    return path


class _Alternative(NamedTuple):
    """A question that begins a branch: what it follows, and the first question that was asked there."""

    question: str
    parent: str | None
    branch_of: str


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through a tree branch by branch, so that each message comes after all that it names."""

    tree: _Tree
    active: set[str]
    hashes: set[str] = field(default_factory=set)

    def messages(self) -> Iterator[ArrivingMessage]:
        waiting: deque[_Alternative] = deque()
        yield from self._branch(None, self.tree.children.get(None, []), None, waiting)
        while waiting:
            question, parent, branch_of = waiting.popleft()
            yield self._message([question], parent=parent, branch=question, branch_of=branch_of)
            yield from self._branch(question, self.tree.children.get(question, []), question, waiting)

    def _branch(
        self,
        parent: str | None,
        following: Sequence[str],
        branch: str | None,
        waiting: deque[_Alternative],
    ) -> Iterator[ArrivingMessage]:
        """What follows `parent` in its branch. The branches that begin on the way are added to `waiting`."""
        while following:
            answers = [each for each in following if self.tree.messages[each].sender == "model"]
            questions = [each for each in following if self.tree.messages[each].sender != "model"]
            if answers:
                message = self._message(answers, parent=parent, branch=branch)
                # A question beside an answer comes after it: here no branch begins in the place of an answer.
                behind = [child for each in answers for child in self.tree.children.get(each, ())]
                following = sorted([*questions, *behind], key=self.tree.times.__getitem__)
            else:
                first, *others = questions
                chosen = next((n for n, each in enumerate(questions, 1) if each in self.active), 1) if others else None
                message = self._message([first], parent=parent, branch=branch, chosen_branch=chosen)
                waiting.extend(_Alternative(each, parent, first) for each in others)
                following = self.tree.children.get(first, [])
            yield message
            parent = message.key

    def _message(
        self,
        source_ids: Sequence[str],
        *,
        parent: str | None,
        branch: str | None,
        branch_of: str | None = None,
        chosen_branch: int | None = None,
    ) -> ArrivingMessage:
        own = [self.tree.messages[each] for each in source_ids]
        shown = next((n for n, each in enumerate(source_ids) if each in self.active), len(source_ids) - 1)
        short_hash = own[0].short_hash
        if short_hash is None or not is_short_hash(short_hash) or short_hash in self.hashes:
            short_hash = None
        else:
            self.hashes.add(short_hash)
        return ArrivingMessage(
            sender="model" if own[0].sender == "model" else "user",
            versions=tuple(
                _version(each, message, self.tree.times[each]) for each, message in zip(source_ids, own, strict=True)
            ),
            chosen=shown,
            parent=parent,
            branch=branch,
            branch_of=branch_of,
            chosen_branch=chosen_branch,
            short_hash=short_hash,
            hidden=own[shown].hidden,
        )

    def _version(self, source_id: str) -> ArrivingVersion:
        return _version(source_id, self.tree.messages[source_id], self.tree.times[source_id])


def _version(source_id: str, message: ImportedMessage, created_at: str) -> ArrivingVersion:
    text = _mended(message.text)
    config: dict[str, Any] = {}
    if message.sender == "model" and message.model:
        config["model"] = _mended(message.model)
    if message.tool_calls:
        config["tools"] = "; ".join(dict.fromkeys(_mended(call.name) for call in message.tool_calls))[:1_000]
    parts = _parts(message, text)
    digest = blake2b(text.encode(), digest_size=8)
    if parts:
        digest.update(orjson.dumps(parts))
    # The files are the last parts.
    files = [*enumerate(message.attachments, len(parts) - len(message.attachments) + 1)]
    return ArrivingVersion(
        source_id=source_id,
        digest=digest.hexdigest(),
        text=text,
        created_at=created_at,
        config=config,
        parts=parts,
        members={part_id: each.member for part_id, each in files if each.member is not None},
        contents={part_id: each.content for part_id, each in files if each.content is not None},
    )


def _parts(message: ImportedMessage, text: str) -> tuple[dict[str, Any], ...]:
    """What the message has beside its words: thoughts and tool calls before them, files behind."""
    found: list[dict[str, Any]] = []
    if message.thoughts:
        found.append({"kind": "thinking", "at": 0, "text": _mended(message.thoughts)})
    for call in message.tool_calls:
        status = "failed" if call.failed else "complete"
        given = call.arguments if isinstance(call.arguments, Mapping) else {"input": call.arguments}
        told: dict[str, Any] = {"kind": "tool_call", "at": 0, "name": _mended(call.name), "status": status}
        told["arguments"] = {} if call.arguments is None else _mended_json(given)
        told["result"] = None if call.result is None else {"output": _mended(call.result)}
        found.append(told)
    for each in message.attachments:
        file = {"kind": "file", "at": len(text), "name": _mended(each.name), "media_type": _mended(each.media_type)}
        found.append(file if each.text is None else {**file, "text": _mended(each.text)})
    return tuple({"id": number, **part} for number, part in enumerate(found, 1))


def _mended(text: str) -> str:
    """`text` as every database can hold it: without lone surrogates and NUL characters."""
    return storable(text.replace("\x00", "\ufffd") if "\x00" in text else text)


def _mended_json(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _mended(value)
    if depth > DEEPEST_JSON:
        return "…"
    if isinstance(value, Mapping):
        return {_mended(str(name)): _mended_json(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mended_json(each, depth + 1) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else _mended(str(value))


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)


def _digest_of(title: str, imported: ImportedConversation, messages: Sequence[ArrivingMessage]) -> str:
    digest = blake2b(digest_size=8)
    for part in (title, str(imported.archived), str(imported.pinned)):
        digest.update(part.encode() + b"\n")
    for message in messages:
        digest.update(f"{message.parent}\n{message.branch}\n{message.chosen}\n{message.chosen_branch}\n".encode())
        for version in message.versions:
            digest.update(f"{version.source_id}\n{version.digest}\n".encode())
    return digest.hexdigest()
