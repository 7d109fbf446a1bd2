"""Bringing a conversation up to date with its source, beside what the person has changed here.

New messages are added, answers made again become variants, and texts and parts that the source changed are changed
here, unless the person has edited them. Where the person went on here, what the source has new begins a branch, and
the active path stays. Nothing that is not in the source any more is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, func, insert, select, update

from database.activities.storing import new_activity_id
from database.changes import MESSAGE, record
from database.conversations.conversation import record_listed, update_keeping_time
from database.conversations.repository import read_live
from database.engine.clock import now_iso
from database.history.branches import branches_of, on_path
from database.history.editing import keep_text
from database.history.summary import forget_summary
from database.messages.message import live_in, rows_where
from database.messages.parts import Parts, is_file, part_rows, parts_of
from database.schema import (
    conversations,
    imported_messages,
    message_parts,
    message_variants,
    messages,
)
from database.search import index as fulltext_index

from .arriving import ArrivingConversation, ArrivingMessage, ArrivingVersion, message_to_store
from .changes import Notes
from .importing import Room, add_messages
from .origins import names_source

_m, _v, _im = messages.c, message_variants.c, imported_messages.c
_TOLD_MESSAGES = 50


class _Known(NamedTuple):
    """Which version of a message here a message of the source is. digest: of what it said there."""

    source_id: str
    message_id: str
    number: int
    digest: str


class Identity(Protocol):
    """What is known of a conversation of a source: which it is here, and its title and digest there."""

    @property
    def conversation_id(self) -> str:
        """Which it is here."""
        ...

    @property
    def title(self) -> str:
        """Its title at the source, when it was imported last."""
        ...


def update_conversation(
    connection: Connection, arriving: ArrivingConversation, identity: Identity, *, user_email: str, import_id: str
) -> None:
    """Bring the live conversation that `identity` names up to date."""
    update_ = _Update(connection, user_email, identity.conversation_id, import_id)
    update_.merge(arriving.messages)
    update_.choose_path(arriving.messages)
    if update_.title == identity.title != arriving.title:
        update_.notes.change("conversation", identity.conversation_id, title=arriving.title)
    update_.count(arriving.updated_at)
    update_.notes.change("source", identity.conversation_id, title=arriving.title, digest=arriving.digest)
    update_.tell()


def update_some(
    connection: Connection,
    arriving: ArrivingConversation,
    identity: Identity,
    *,
    user_email: str,
    import_id: str,
    most: int,
) -> bool:
    """Store the first `most` messages that are new or changed; whether there are more than those.

    Does nothing where there are no more: `update_conversation` does the rest, in any case.
    """
    update_ = _Update(connection, user_email, identity.conversation_id, import_id)
    beginning = update_.beginning(arriving.messages, most=most)
    if len(beginning) == len(arriving.messages):
        return False
    update_.merge(beginning)
    update_.choose_path(beginning)
    update_.count(arriving.updated_at)
    update_.tell()
    return True


@dataclass(slots=True)
class _Update:
    """The update of one conversation within a transaction."""

    connection: Connection
    user_email: str
    conversation_id: str
    import_id: str
    notes: Notes = field(init=False)
    title: str = field(init=False)
    friendly_id: str | None = field(init=False)
    last_ordinal: int = field(init=False)
    branch_id: str | None = field(init=False)
    updated_at: str = field(init=False)
    rows: dict[str, Any] = field(init=False)
    """The messages by id, in order, deleted ones too."""
    known: dict[str, _Known] = field(init=False)
    """Messages of the source by their ids there: versions of messages that were here before this update."""
    ids: dict[str, str] = field(default_factory=dict)
    """The ids of messages here by their keys."""
    added: list[str] = field(default_factory=list)
    forked: dict[str, str] = field(default_factory=dict)
    """Of new questions, by their ids: the first one that was asked in their place."""

    def __post_init__(self) -> None:
        self.notes = Notes(self.connection, self.user_email, self.import_id, self.conversation_id)
        c = conversations.c
        columns = (c.title, c.conversation_friendly_id, c.last_ordinal, c.branch_id, c.updated_at)
        head = self.connection.execute(select(*columns).where(c.conversation_id == self.conversation_id)).one()
        self.title, self.friendly_id, self.last_ordinal, self.branch_id, self.updated_at = head
        names = (
            "message_id",
            "ordinal",
            "sender",
            "branch_id",
            "branch_of",
            "in_answer_to",
            "edited_at",
            "chosen_variant",
        )
        here = (
            select(*(_m[name] for name in names)).where(_m.conversation_id == self.conversation_id).order_by(_m.ordinal)
        )
        self.rows = {row.message_id: row for row in self.connection.execute(here)}
        identified = select(_im.source_id, _im.message_id, _im.number, _im.digest)
        found = self.connection.execute(identified.where(_im.conversation_id == self.conversation_id))
        self.known = {row.source_id: _Known(*row) for row in found if names_source(row.source_id, row.message_id)}

    @property
    def is_continued(self) -> bool:
        """Whether the person went on here."""
        return len(self.rows) > len({row.message_id for row in self.known.values()})

    def beginning(self, arriving: Sequence[ArrivingMessage], *, most: int) -> Sequence[ArrivingMessage]:
        """The messages from the first one on, `most` of which are new or changed; at least one is."""
        size = 0
        for place, message in enumerate(arriving):
            changed = sum(self._is_other(version) for version in message.versions)
            if size and size + changed > most:
                return arriving[:place]
            size += changed
        return arriving

    def _is_other(self, version: ArrivingVersion) -> bool:
        known = self.known.get(version.source_id)
        return known is None or known.digest != version.digest

    def merge(self, arriving: Sequence[ArrivingMessage]) -> None:
        """Add what is new and change what has changed."""
        new: list[ArrivingMessage] = []
        for message in arriving:
            here = next((self.known[v.source_id] for v in message.versions if v.source_id in self.known), None)
            if here is None:
                self.ids[message.key] = new_activity_id()
                new.append(message)
            else:
                self.ids[message.key] = here.message_id
                self._merge_versions(message, self.rows[here.message_id])
        followed = {message.parent for message in new}
        for message in arriving:
            if message.key in followed and self.ids[message.key] in self.rows:
                self._show_what_is_followed(message, self.rows[self.ids[message.key]])
        if new:
            self._add(new)

    def _add(self, new: Sequence[ArrivingMessage]) -> None:
        """Store new messages, each in the branch of what it follows."""
        branches: dict[str, str | None] = {row.message_id: row.branch_id for row in self.rows.values()}
        questions = {
            row.message_id: row.message_id if row.sender == "user" else row.in_answer_to for row in self.rows.values()
        }
        made = []
        for message in new:
            stored = {**message_to_store(message, self.ids), "branch_of": None, "chosen_branch": None}
            message_id, parent = stored["message_id"], message.parent and self.ids[message.parent]
            branch = branches[parent] if parent else None
            instead_of = self._instead_of(message, parent, branch)
            if instead_of is not None:
                stored["branch_of"], branch = instead_of, message_id
                self.forked[message_id] = instead_of
            branches[message_id] = stored["branch_id"] = branch
            questions[message_id] = message_id if message.sender == "user" else questions.get(parent or "")
            stored["in_answer_to"] = None if message.sender == "user" else questions[message_id]
            made.append(stored)
        room = Room(self.user_email, self.conversation_id, self.friendly_id, self.last_ordinal)
        rows = add_messages(self.connection, made, room)
        self.last_ordinal += len(rows)
        unchosen = select(_m.message_id).where(_m.message_id.in_(set(self.forked.values())), _m.chosen_branch.is_(None))
        for message_id in self.connection.execute(unchosen).scalars().all():
            self._set(message_id, chosen_branch=1)
        self.added = [row["message_id"] for row in rows]
        versions = [(message, number, each) for message in new for number, each in enumerate(message.versions, 1)]
        self._identify([(self.ids[message.key], number, each) for message, number, each in versions])

    def _instead_of(self, message: ArrivingMessage, parent: str | None, branch: str | None) -> str | None:
        """The first question in whose place a new one is asked, if there is one already."""
        if message.sender != "user":
            return None
        if message.branch_of is not None:
            # What is the first one of a group at the source may be another alternative here.
            first = self.ids[message.branch_of]
            return self.forked.get(first) or getattr(self.rows.get(first), "branch_of", None) or first
        after = self.rows[parent].ordinal if parent in self.rows else 0
        if parent is not None and parent not in self.rows:
            return None  # it follows what is as new as itself
        behind = (row for row in self.rows.values() if row.branch_id == branch and row.ordinal > after)
        there = next((row for row in behind if row.sender == "user" and row.message_id != branch), None)
        return None if there is None else there.message_id

    def _merge_versions(self, message: ArrivingMessage, row: Any) -> None:
        new = [version for version in message.versions if version.source_id not in self.known]
        for version in message.versions:
            known = self.known.get(version.source_id)
            if known is not None and known.digest != version.digest:
                self._change_text(row, known.number, version)
        if not new:
            return
        numbers = self._numbers_of_variants(row)
        for number, version in enumerate(new, max(numbers) + 1):
            self._add_variant(row, number, version)
            is_shown = version is message.shown and row.edited_at is None and not self.is_continued
            if is_shown:
                self._show(row, number, version)

    def _numbers_of_variants(self, row: Any) -> Sequence[int]:
        """The numbers of a message's variants; a message that was never made again becomes the first one."""
        own = _v.message_id == row.message_id
        numbers = self.connection.execute(select(_v.number).where(own)).scalars().all()
        if numbers:
            return numbers
        message = rows_where(self.connection, _m.message_id == row.message_id)[0]
        first = {name: getattr(message, name) for name in ("message_id", "text", "status", "config", "created_at")}
        self.connection.execute(insert(message_variants).values({**first, "number": 1}))
        self.notes.added("first_variant", [row.message_id])
        self._set(row.message_id, chosen_variant=1)
        return [1]

    def _add_variant(self, row: Any, number: int, version: ArrivingVersion) -> None:
        said = {"text": version.text, "status": "complete", "config": dict(version.config)}
        common = {"message_id": row.message_id, "number": number, "created_at": version.created_at}
        self.connection.execute(insert(message_variants).values({**common, **said}))
        if parts := part_rows(row.message_id, version.parts, version=number):
            self.connection.execute(insert(message_parts), parts)
            self._set(row.message_id, has_parts=1)
        self._identify([(row.message_id, number, version)])
        self.known[version.source_id] = _Known(version.source_id, row.message_id, number, version.digest)

    def _show(self, row: Any, number: int, version: ArrivingVersion) -> None:
        """Let a message be this variant."""
        self._change_shown_text(row, version.text)
        self._set(row.message_id, config=dict(version.config), chosen_variant=number)

    def _show_what_is_followed(self, message: ArrivingMessage, row: Any) -> None:
        """Show the variant that new messages follow, unless another one was followed here before."""
        known = self.known.get(message.shown.source_id)
        if known is None or known.number == (row.chosen_variant or 1) or row.edited_at is not None:
            return
        if not any(each.branch_id == row.branch_id and each.ordinal > row.ordinal for each in self.rows.values()):
            self._show(row, known.number, message.shown)

    def _change_text(self, row: Any, number: int, version: ArrivingVersion) -> None:
        """Take over what the source has changed, text and parts, unless the person has edited the message."""
        if row.edited_at is None:
            self.notes.change("variant", f"{row.message_id} {number}", text=version.text)
            self._change_parts(row, number, version)
            if (row.chosen_variant or 1) == number:
                self._change_shown_text(row, version.text)
        self.notes.change("identity", f"{row.message_id} {number} {version.source_id}", digest=version.digest)

    def _change_parts(self, row: Any, number: int, version: ArrivingVersion) -> None:
        here = parts_of(self.connection, [row.message_id]).get((row.message_id, number), ())
        parts = _with_parts_of_here(version.parts, here)
        if parts != [*here]:
            self.notes.change_parts(row.message_id, number, parts)

    def _change_shown_text(self, row: Any, text: str) -> None:
        message = rows_where(self.connection, _m.message_id == row.message_id)[0]
        if message.text == text:
            return
        if message.deleted_at is None:
            fulltext_index.reindex(self.connection, message, text=text)
        edit_id = keep_text(self.connection, message_id=row.message_id, text=message.text, replaced_at=now_iso())
        self.notes.added("edit", [f"{row.message_id} {edit_id}"])
        forget_summary(self.connection, self.conversation_id, ordinal=message.ordinal)
        self._set(row.message_id, text=text)

    def _set(self, message_id: str, **values: Any) -> None:
        self.notes.change("message", message_id, **values)

    def _identify(self, versions: Sequence[tuple[str, int, ArrivingVersion]]) -> None:
        rows = [
            {
                "conversation_id": self.conversation_id,
                "source_id": version.source_id,
                "message_id": message_id,
                "number": number,
                "digest": version.digest,
                "import_id": self.import_id,
            }
            for message_id, number, version in versions
        ]
        self.connection.execute(insert(imported_messages), rows)

    def choose_path(self, arriving: Sequence[ArrivingMessage]) -> None:
        """Follow the path of the source, unless the person went on here; mark the messages that are beside the path."""
        tree = branches_of(self.connection, self.conversation_id)
        choices = {} if self.is_continued else self._choices(arriving, tree)
        for message_id, number in choices.items():
            self._set(message_id, chosen_branch=number)
        path = tree.choosing(choices).path()
        here, off = _m.conversation_id == self.conversation_id, _m.other_branch.is_not(None)
        self.connection.execute(update(messages).where(here, ~off, ~on_path(path)).values(other_branch=1))
        self.connection.execute(update(messages).where(here, off, on_path(path)).values(other_branch=None))
        self.branch_id = path[-1].branch_id

    def _choices(self, arriving: Sequence[ArrivingMessage], tree: Any) -> dict[str, int]:
        """Which of the alternatives the source shows, by the first one of each group."""
        first_ones = {message.key: message.chosen_branch for message in arriving if message.chosen_branch is not None}
        groups: dict[str, list[str]] = {key: [key] for key in first_ones}
        for message in arriving:
            if message.branch_of is not None:
                groups[message.branch_of].append(message.key)
        choices: dict[str, int] = {}
        for key, number in first_ones.items():
            group = [fork.message_id for fork in tree.group(self.ids[key])]
            # Of a conversation that is stored in slices, the alternative may be still to come.
            chosen = self.ids[groups[key][number - 1]] if number <= len(groups[key]) else None
            if chosen in group:
                choices[group[0]] = group.index(chosen) + 1
        return choices

    def count(self, updated_at: str) -> None:
        """Store what of the conversation follows from its messages."""
        shown = self.connection.execute(select(func.count()).where(live_in(self.conversation_id))).scalar_one()
        counts = {"message_count": shown, "last_ordinal": self.last_ordinal, "branch_id": self.branch_id}
        update_keeping_time(self.connection, self.conversation_id, **counts)
        if updated_at > self.updated_at:
            self.notes.change("conversation", self.conversation_id, updated_at=updated_at)

    def tell(self) -> None:
        """Tell open pages."""
        who: dict[str, Any] = {"user_email": self.user_email, "conversation_id": self.conversation_id}
        if len(self.added) <= _TOLD_MESSAGES:
            record(self.connection, MESSAGE, "created", ids=self.added, **who)
        record_listed(self.connection, [read_live(self.connection, **who)], "changed")


def _with_parts_of_here(arriving: Parts, here: Parts) -> list[dict[str, Any]]:
    """The parts that the source has now, and behind them those that it does not have any more.

    A file that is stored here stays so where the source only names it now; one that was only named stands once, stored.
    """
    stored = {part.get("name"): part for part in here if "attachment_id" in part}
    parts = [
        {**stored[part["name"]], "id": part["id"], "at": part["at"]}
        if _is_named(part) and part["name"] in stored
        else dict(part)
        for part in arriving
    ]
    there, named = {_is_of(part) for part in parts}, {part["name"] for part in parts if is_file(part)}
    left = [part for part in here if _is_of(part) not in there and not (_is_named(part) and part["name"] in named)]
    return [*parts, *({**part, "id": number} for number, part in enumerate(left, len(parts) + 1))]


def _is_named(part: Mapping[str, Any]) -> bool:
    """Whether it is a file that is not stored."""
    return is_file(part) and "attachment_id" not in part


def _is_of(part: Mapping[str, Any]) -> tuple[str, str]:
    """By which it is known whether the source still has a part: a file by itself, the others by their kind."""
    return ("file", str(part.get("attachment_id") or part.get("name"))) if is_file(part) else (part["kind"], "")


def renew_path(connection: Connection, conversation_id: str) -> None:
    """Let each choice name a branch that is there, and mark the messages that are beside the path."""
    tree = branches_of(connection, conversation_id)
    for first in (fork for fork in tree.forks if fork.branch_of is None):
        group = tree.group(first.message_id)
        chosen = None if len(group) < 2 else min(first.chosen_branch or 1, len(group))
        if chosen != first.chosen_branch:
            connection.execute(update(messages).where(_m.message_id == first.message_id).values(chosen_branch=chosen))
    path = branches_of(connection, conversation_id).path()
    here, off = _m.conversation_id == conversation_id, _m.other_branch.is_not(None)
    connection.execute(update(messages).where(here, ~off, ~on_path(path)).values(other_branch=1))
    connection.execute(update(messages).where(here, off, on_path(path)).values(other_branch=None))
    shown = connection.execute(select(func.count()).where(live_in(conversation_id))).scalar_one()
    update_keeping_time(connection, conversation_id, message_count=shown, branch_id=path[-1].branch_id)
