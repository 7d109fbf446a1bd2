"""Where the messages of a source's conversation stand here: on the active path, as variants, or in branches.

A source has a tree of messages. Answers with the same parent become the variants of one message, and what follows the
one that is shown follows that message. Questions with the same parent become alternatives: the first one goes on in the
branch of its parent, each of the others begins a branch.

What follows another variant is a branch, too. A branch begins with a question, so that this one repeats the question
above and the answer as messages of their own: each path reads as it does in the source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from conversation_reference_utils import is_friendly_id, is_short_hash
from database.conversations.titles import heuristic_title
from database.engine.clock import iso, now_iso
from database.engine.text import DEEPEST_JSON, storable
from database.imports.arriving import ArrivingConversation, ArrivingMessage, ArrivingVersion
from database.imports.standing import Standing
from portability.importers.reading.imported import ImportedConversation, ImportedMessage
from sentences import say

LONGEST_TITLE = 500
"""In characters, as for a title that a person gives."""
_REPEATED = "\x1f"
"""Between the id of a message that is repeated and that of the answer for which it is."""
_LONGEST_REPEATED = 100
_ROOM = 1_000_000
"""Repeated messages may have so many characters, and twice what the conversation has itself."""
_SIZE_OF_ROW, _SIZE_OF_VALUE = 200, 8
"""In characters, about: of a row without its texts, and of a number or of what stands around a value in JSON."""
_CIRCLE = say("import_circle")
_MIXED = say("import_paths_mixed")
_LOST = say("import_place_missing")
_TWICE = say("import_twice")


@dataclass(frozen=True, slots=True)
class PlacedConversation:
    """A conversation as it is stored, and what was wrong with it: sentences for the report."""

    conversation: ArrivingConversation
    problems: tuple[str, ...]


def placed(
    imported: ImportedConversation, *, standing: Callable[[str], Standing] = lambda _source_id: Standing()
) -> PlacedConversation:
    """`imported` with each message in its place, texts mended. It may have no messages at all.

    standing: what is here of the conversation already, asked where answers were made again: what follows one of them
    here stays there.
    """
    tree, source_id = _Tree.of(imported), mended(imported.source_id)
    active = _active_path(tree, imported.current_id)
    messages = _Walk(tree, active, cache(partial(standing, source_id))).messages()
    first = next((message.shown.text for message in messages if message.sender == "user"), "")
    title = " ".join(mended(imported.title).split())[:LONGEST_TITLE] or heuristic_title(first)
    created_at = _iso(imported.created_at) or (messages[0].shown.created_at if messages else now_iso())
    arriving = ArrivingConversation(
        source_id=source_id,
        title=title,
        created_at=created_at,
        updated_at=_iso(imported.updated_at) or max((m.shown.created_at for m in messages), default=created_at),
        archived=imported.archived,
        pinned=imported.pinned,
        workspace=imported.workspace and mended(imported.workspace),
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
            messages.setdefault(mended(message.source_id), message)
        tree = cls(messages, {}, {})
        if len(messages) < len(imported.messages):
            tree.problems.append(_TWICE)
        for source_id, message in messages.items():
            parent = None if message.parent_id is None else mended(message.parent_id)
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
    at: str | None = None if current_id is None else mended(current_id)
    if at not in tree.messages:
        at = max(tree.times, key=tree.times.__getitem__, default=None)
        while at is not None and tree.children.get(at):
            at = tree.children[at][-1]
    path: set[str] = set()
    while at is not None:
        path.add(at)
        at = tree.parents[at]
    return path


class _Beginning(NamedTuple):
    """A branch that is still to come.

    said: the messages that it begins with, a question first. parent: what they follow. branch_of: the first question
    that was asked there. mark: behind the ids of messages that stand elsewhere, too, and are repeated here; "" for
    those that do not. following: what comes after them.
    """

    said: Sequence[str]
    parent: str | None
    branch_of: str
    mark: str
    following: Sequence[str]


@dataclass(slots=True)
class _Walk:
    """Goes through a tree branch by branch, so that each message comes after all that it names."""

    tree: _Tree
    active: set[str]
    standing: Callable[[], Standing]
    waiting: deque[_Beginning] = field(default_factory=deque)
    hashes: set[str] = field(default_factory=set)
    places: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """Of each question: the key of the message before it, and that of the first question in its place."""
    groups: dict[str, list[bool]] = field(default_factory=dict)
    """Of the questions in one place, by the first one's key: whether the path that the source shows goes by them."""
    room: int = field(init=False)
    """For repeated messages, in characters."""

    def __post_init__(self) -> None:
        self.room = _ROOM + 2 * sum(map(_size, self.tree.messages.values()))

    def messages(self) -> tuple[ArrivingMessage, ...]:
        """All messages, each in its place."""
        made = [*self._branch(None, self.tree.children.get(None, []), None)]
        while self.waiting:
            made += self._begun(self.waiting.popleft())
        return tuple(
            replace(each, chosen_branch=_chosen(self.groups[each.key])) if each.key in self.groups else each
            for each in made
        )

    def _begun(self, begun: _Beginning) -> Iterator[ArrivingMessage]:
        parent, branch_of = begun.parent, begun.branch_of
        branch = begun.said[0] + begun.mark
        for place, each in enumerate(begun.said):
            if not begun.mark:
                self.places[each] = (parent, branch_of)
            own = None if place else branch_of
            message = self._message([each], parent=parent, branch=branch, branch_of=own, mark=begun.mark)
            yield message
            parent = message.key
        yield from self._branch(parent, begun.following, branch)

    def _branch(self, parent: str | None, following: Sequence[str], branch: str | None) -> Iterator[ArrivingMessage]:
        """What follows `parent` in its branch. The branches that begin on the way are added to `waiting`."""
        while following:
            answers = [each for each in following if self.tree.messages[each].sender == "model"]
            questions = [each for each in following if self.tree.messages[each].sender != "model"]
            if answers and self._stand_elsewhere(parent, answers, questions):
                answers = []
            if answers:
                shown, going_on = self._going_on(answers, questions)
                message = self._message(answers, shown=shown, parent=parent, branch=branch)
                behind = [child for each in answers if each in going_on for child in self.tree.children.get(each, ())]
                here = [each for each in questions if each in going_on]
                following = sorted([*here, *behind], key=self.tree.times.__getitem__)
            elif not questions:
                return
            else:
                first, *others = questions
                self.places[first] = (parent, first)
                message = self._message([first], parent=parent, branch=branch)
                for each in others:
                    self._begin(_Beginning([each], parent, first, "", self.tree.children.get(each, [])))
                following = self.tree.children.get(first, [])
            yield message
            parent = message.key

    def _going_on(self, answers: Sequence[str], questions: Sequence[str]) -> tuple[str, set[str]]:
        """Which of several answers is shown, and what goes on behind it: one of them, and what stands there already.

        All other paths become branches. Those begin at the question above, which they repeat, and what is between.
        """
        active = next((each for each in answers if each in self.active), None)
        followed = [each for each in answers if self.tree.children.get(each)]
        if len(answers) + len(questions) == 1 or not (active or followed or questions):
            shown = active or answers[-1]
            return shown, {shown}
        standing = self.standing()
        there = _there(standing, self.tree, answers, questions)
        # What is repeated elsewhere here already is followed there.
        free = [each for each in answers if each in there] or [
            each for each in answers if f"{each}{_REPEATED}{each}" not in standing.followed
        ]
        shown = next((each for each in (active, *reversed(followed)) if each in free), (free or answers)[-1])
        going_on = there or {shown}
        for each in answers:
            mark, following = f"{_REPEATED}{each}", self.tree.children.get(each, [])
            is_shown_alone = each == active and not standing.continued
            is_path = following or is_shown_alone or each + mark in standing.followed
            if is_path and each not in going_on and not self._repeat(each, mark, following):
                going_on.add(each)
        apart = [each for each in questions if each not in going_on]
        if apart and not self._repeat_beside(apart):
            going_on.update(apart)
        return shown, going_on

    def _stand_elsewhere(self, parent: str | None, answers: Sequence[str], questions: Sequence[str]) -> bool:
        """Whether questions follow `parent` here already that has answers now; those are in a branch then.

        They may be questions of the source, or of the person.
        """
        if parent is None or parent.endswith(_REPEATED):
            return False
        standing = self.standing()

        def stands(each: str) -> bool:
            return parent in standing.followed.get(each, ())

        is_taken = parent in standing.left or any(map(stands, questions))
        if not is_taken or any(map(stands, answers)) or all(self._was_moved(each, standing) for each in answers):
            return False
        return self._repeat_beside(answers)

    def _was_moved(self, each: str, standing: Standing) -> bool:
        """Whether the person moved a message that stands here away from what it follows in the source."""
        above, here = self.tree.parents[each], standing.followed.get(each, frozenset())
        return each in standing.known and all(name.partition(_REPEATED)[0] != above for name in here)

    def _repeat_beside(self, others: Sequence[str]) -> bool:
        """Begin a branch for what stands beside answers or questions; whether that was possible."""
        above = self.tree.parents[others[0]]
        return above is not None and self._repeat(above, f"{_REPEATED}{above}{_REPEATED}", others)

    def _repeat(self, last: str, mark: str, following: Sequence[str]) -> bool:
        """Begin a branch that repeats the path to `last` from the question above it; whether that was possible."""
        path, size = [last], _size(self.tree.messages[last])
        while self.tree.messages[path[-1]].sender == "model":
            above = self.tree.parents[path[-1]]
            if above is None or len(path) == _LONGEST_REPEATED:
                break
            path.append(above)
            size += _size(self.tree.messages[above])
        if path[-1] not in self.places or size > self.room:
            if _MIXED not in self.tree.problems:
                self.tree.problems.append(_MIXED)
            return False
        self.room -= size
        self._begin(_Beginning(path[::-1], *self.places[path[-1]], mark, following))
        return True

    def _begin(self, begun: _Beginning) -> None:
        first = begun.branch_of
        # The ways to what is repeated are active where its end is, or what follows it.
        ends = begun.following if begun.mark.endswith(_REPEATED) else [begun.said[-1]]
        group = self.groups.setdefault(first, [first in self.active])
        group.append(any(each in self.active for each in ends))
        self.waiting.append(begun)

    def _message(
        self,
        source_ids: Sequence[str],
        *,
        parent: str | None,
        branch: str | None,
        branch_of: str | None = None,
        shown: str | None = None,
        mark: str = "",
    ) -> ArrivingMessage:
        """A message of these versions. shown: one of them. mark: see `_Beginning`."""
        own = [self.tree.messages[each] for each in source_ids]
        chosen = 0 if shown is None else source_ids.index(shown)
        short_hash = None if mark else own[0].short_hash
        if short_hash is None or not is_short_hash(short_hash) or short_hash in self.hashes:
            short_hash = None
        else:
            self.hashes.add(short_hash)
        return ArrivingMessage(
            sender="model" if own[0].sender == "model" else "user",
            versions=tuple(
                _version(each + mark, message, self.tree.times[each])
                for each, message in zip(source_ids, own, strict=True)
            ),
            chosen=chosen,
            parent=parent,
            branch=branch,
            branch_of=branch_of,
            short_hash=short_hash,
            hidden=own[chosen].hidden,
        )


def _there(standing: Standing, tree: _Tree, answers: Sequence[str], questions: Sequence[str]) -> set[str]:
    """The answers that are followed here already, and the questions that follow them here."""
    found = {each for each in questions if not standing.followed.get(each, frozenset()).isdisjoint(answers)}
    for each in answers:
        children = tree.children.get(each, ())
        if each in standing.continued or any(each in standing.followed.get(child, ()) for child in children):
            found.add(each)
    return found


def _chosen(group: Sequence[bool]) -> int:
    """The number of the question that the source shows: a path that repeats another one comes after it."""
    return max((number for number, is_active in enumerate(group, 1) if is_active), default=1)


def _size(message: ImportedMessage) -> int:
    """About how many characters are stored of a message, with its parts."""
    files = (text for each in message.attachments for text in (each.name, each.media_type, each.text or ""))
    calls = (text for each in message.tool_calls for text in (each.name, each.result or ""))
    size = sum(map(len, (message.text, message.thoughts, *files, *calls)))
    size += sum(_size_of_json(each.arguments) for each in message.tool_calls)
    # Even an empty message or part is a row.
    return size + _SIZE_OF_ROW * (1 + len(message.tool_calls) + len(message.attachments))


def _size_of_json(value: Any, depth: int = 0) -> int:
    """About how many characters are stored of a value; see `_mended_json`."""
    if isinstance(value, str):
        return len(value)
    if depth > DEEPEST_JSON:
        return 1
    if isinstance(value, Mapping):
        return sum(len(str(name)) + _SIZE_OF_VALUE + _size_of_json(each, depth + 1) for name, each in value.items())
    if isinstance(value, list | tuple):
        return sum(_SIZE_OF_VALUE + _size_of_json(each, depth + 1) for each in value)
    return _SIZE_OF_VALUE


def _version(source_id: str, message: ImportedMessage, created_at: str) -> ArrivingVersion:
    text = mended(message.text)
    config: dict[str, Any] = {}
    if message.sender == "model" and message.model:
        config["model"] = mended(message.model)
    if message.tool_calls:
        config["tools"] = "; ".join(dict.fromkeys(mended(call.name) for call in message.tool_calls))[:1_000]
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
        found.append({"kind": "thinking", "at": 0, "text": mended(message.thoughts)})
    for call in message.tool_calls:
        status = "failed" if call.failed else "complete"
        given = call.arguments if isinstance(call.arguments, Mapping) else {"input": call.arguments}
        told: dict[str, Any] = {"kind": "tool_call", "at": 0, "name": mended(call.name), "status": status}
        told["arguments"] = {} if call.arguments is None else _mended_json(given)
        told["result"] = None if call.result is None else {"output": mended(call.result)}
        found.append(told)
    for each in message.attachments:
        file = {"kind": "file", "at": len(text), "name": mended(each.name), "media_type": mended(each.media_type)}
        found.append(file if each.text is None else {**file, "text": mended(each.text)})
    return tuple({"id": number, **part} for number, part in enumerate(found, 1))


def mended(text: str) -> str:
    """`text` as every database can hold it: without lone surrogates and NUL characters."""
    return storable(text.replace("\x00", "\ufffd") if "\x00" in text else text)


def _mended_json(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return mended(value)
    if depth > DEEPEST_JSON:
        return "…"
    if isinstance(value, Mapping):
        return {mended(str(name)): _mended_json(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mended_json(each, depth + 1) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else mended(str(value))


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
