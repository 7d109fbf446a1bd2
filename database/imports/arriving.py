"""A conversation of another source in the shape in which it is stored here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingVersion:
    """A message of the source. digest: of its text. parts: as `database.messages.parts` has them.

    members: where the files lie in the file that is imported, by the ids of their parts. contents: those that the
    messages themselves hold.
    """

    source_id: str
    digest: str
    text: str
    created_at: str
    config: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Mapping[str, Any]] = ()
    members: Mapping[int, str] = field(default_factory=dict)
    contents: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingMessage:
    """A message with all its versions, in its place among the branches (`database.history.branches`).

    versions: more than one for an answer that was made again. chosen: the index of the one that is shown. parent,
    branch, branch_of: keys of other messages, which come before this one; `key` is the source's id of its first
    version.
    """

    sender: str
    versions: Sequence[ArrivingVersion]
    chosen: int
    parent: str | None
    branch: str | None
    branch_of: str | None
    chosen_branch: int | None = None
    short_hash: str | None = None
    hidden: bool = False

    @property
    def key(self) -> str:
        """By which the others name it."""
        return self.versions[0].source_id

    @property
    def shown(self) -> ArrivingVersion:
        """The version that the message shows."""
        return self.versions[self.chosen]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivingConversation:
    """A conversation of a source. digest: of everything in it. Times are ISO 8601 in UTC.

    may_continue: its source may have more of it, which follows. continues: it follows, and was counted already.
    """

    source_id: str
    title: str
    created_at: str
    updated_at: str
    archived: bool
    pinned: bool
    workspace: str | None
    friendly_id: str | None
    digest: str
    messages: Sequence[ArrivingMessage]
    may_continue: bool = False
    continues: bool = False


def message_to_store(message: ArrivingMessage, ids: Mapping[str, str]) -> dict[str, Any]:
    """A message as `database.imports.importing` takes it. ids: of messages here, by their keys."""
    shown = message.shown
    made = {
        "message_id": ids[message.key],
        "sender": message.sender,
        "text": shown.text,
        "created_at": shown.created_at,
        "config": dict(shown.config),
        "message_short_hash": message.short_hash,
        "show_hide": "hide" if message.hidden else "show",
        "branch_id": None if message.branch is None else ids[message.branch],
        "branch_of": None if message.branch_of is None else ids[message.branch_of],
        "chosen_branch": message.chosen_branch,
    }
    if len(message.versions) == 1:
        return {**made, "parts": shown.parts}
    versions = [
        {
            "number": number,
            "text": version.text,
            "status": "complete",
            "config": dict(version.config),
            "created_at": version.created_at,
            "parts": version.parts,
        }
        for number, version in enumerate(message.versions, 1)
    ]
    return {**made, "versions": versions, "chosen_variant": message.chosen + 1}
