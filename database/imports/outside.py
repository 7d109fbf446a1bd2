"""What an exported file names outside of itself: activities that it answers, threads, targets of references, memories.

An archive has each conversation in a file of its own, in any order, and its memories in another one. What a file names
that is not here yet is noted until an import brings it. Until then a reference has no target: ids of the file may be
those of another person's things.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_, update

from database.activities.renaming import id_of_copy
from database.conversations.conversation import update_keeping_time
from database.conversations.repository import FIELD as PINNED_CLAIMS
from database.conversations.repository import new_conversation_id
from database.engine.database import Database, Urgency
from database.history.references import add_to_report, store_report_in
from database.schema import (
    activities,
    agents,
    attachments,
    conversations,
    imported_changes,
    imported_conversations,
    message_parts,
    messages,
    threads,
)

from .changes import CITED, LINK, TARGETS, Notes

_a, _t, _c, _m, _p = activities.c, threads.c, imported_changes.c, messages.c, message_parts.c
# A statement holds at most 32,766 parameters.
_AT_ONCE = 5_000
_REPORTS_AT_ONCE = 500
_ACTIVITIES = ("message_id", "activity_id")
_MEMORIES = ("claim_id", "context_id", "entity_id", "tag_id")
_IDS = {*_ACTIVITIES, *_MEMORIES, "conversation_id", "agent_id", "attachment_id"}
_NAMES = {"short_id"}
"""What ends like an id in a target, and is the same in every account."""

Known = Callable[[Collection[str]], Collection[str]]
"""Those of these ids that memories of the person have, or what groups them."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What a file names outside of itself, all by its ids there.

    answered: what activities answer, by theirs. begun: the threads whose first activity is not in the file. referring:
    the messages whose reports have targets, in the file or not.
    """

    answered: Mapping[str, str] = field(default_factory=dict)
    begun: Collection[str] = ()
    referring: Collection[str] = ()

    def renamed(self, new_ids: Mapping[str, str]) -> Outside:
        """By the ids that activities and threads of the file get here; what they answer and refer to stays."""
        answered = {new_ids.get(each, each): other for each, other in self.answered.items()}
        begun, referring = ({new_ids.get(each, each) for each in some} for some in (self.begun, self.referring))
        return Outside(answered, begun, referring)


NOTHING = Outside()


@dataclass(frozen=True, slots=True)
class KnownAlready:
    """Of the activities of a file: how many are new here, and how many lie here in deleted conversations."""

    new: int
    binned: int


def known_already(activity_ids: Sequence[str], *, database: Database, user_email: str) -> KnownAlready:
    """How much of a file a person has, by its ids or by those that the file got here."""
    here, binned = set[str](), set[str]()
    query = select(_a.activity_id, conversations.c.deleted_at).outerjoin(
        conversations, conversations.c.conversation_id == _a.conversation_id
    )
    names = [name for each in activity_ids for name in (each, id_of_copy(each, user_email))]
    with database.reading() as connection:
        for start in range(0, len(names), _AT_ONCE):
            own = _a.user_email == user_email, _a.activity_id.in_(names[start : start + _AT_ONCE])
            for activity_id, deleted_at in connection.execute(query.where(*own)):
                (here if deleted_at is None else binned).add(activity_id)
    known = here | binned
    new = sum(known.isdisjoint((each, id_of_copy(each, user_email))) for each in activity_ids)
    return KnownAlready(new=new, binned=len(binned))


def threads_to_store(
    connection: Connection, rows: Sequence[dict[str, Any]], outside: Outside, *, user_email: str
) -> list[dict[str, Any]]:
    """The threads of a file that are not here yet. One that is here begins where the file with its first activity says.

    outside: by the ids of here.
    """
    here = set[str]()
    names = [row["thread_id"] for row in rows]
    for start in range(0, len(names), _AT_ONCE):
        own = _t.user_email == user_email, _t.thread_id.in_(names[start : start + _AT_ONCE])
        here.update(connection.execute(select(_t.thread_id).where(*own)).scalars())
    for row in rows:
        if row["thread_id"] in here and row["thread_id"] not in outside.begun:
            begins = update(threads).where(_t.thread_id == row["thread_id"])
            connection.execute(begins.values(root_activity_id=row["root_activity_id"]))
    return [row for row in rows if row["thread_id"] not in here]


def link_or_note(notes: Notes, outside: Outside, rooms: Mapping[str, str | None]) -> int:
    """Let activities answer, and messages refer to, what they did where the file is from; how many answer nothing.

    outside: by the ids of here. rooms: the conversations of the activities that are new; None beside those. What is not
    here yet is noted for `link_noted` and `point_noted`, where an import is noted at all.
    """
    _point_or_note(notes, [each for each in outside.referring if each in rooms], rooms)
    answered = {each: other for each, other in outside.answered.items() if each in rooms}
    missing = _linked(notes.connection, answered, user_email=notes.user_email)
    if notes.import_id is None:
        return len(missing)
    for activity_id, other in missing.items():
        room = dataclasses.replace(notes, conversation_id=rooms[activity_id])
        room.added(LINK, [activity_id], became={"reply_to_id": other})
    return 0


def cite_or_note(notes: Notes, cited: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Add entries to the reports of messages that are here, by their ids; their targets as `link_or_note` has them."""
    own: dict[str, Any] = {"user_email": notes.user_email}
    for message_id, entries in cited.items():
        bare = [{**entry, "target": {}} for entry in entries]
        add_to_report(notes.connection, bare, message_id=message_id, **own)
        notes.added(CITED, [message_id], became={"refs": [entry["ref"] for entry in entries]})
        missing = {entry["ref"]: entry["target"] for entry in entries if entry.get("target")}
        pointless = _point(notes.connection, {message_id: missing}, (), **own)[message_id]
        if left := {ref: target for ref, target in missing.items() if ref in pointless}:
            notes.added(TARGETS, [message_id], became=left)


def link_noted(*, database: Database, import_id: str, user_email: str) -> Mapping[str, int]:
    """Link what imports of the person noted, now that all of this one is here.

    How many of this import lead nowhere, by the title of a conversation. They stay noted: a later import may bring what
    they answer.
    """
    noted = (_c.user_email == user_email) & (_c.kind == LINK)
    query = select(_c.import_id, _c.thing_id, _c.became, _c.conversation_id, conversations.c.title).outerjoin(
        conversations, conversations.c.conversation_id == _c.conversation_id
    )

    def job(connection: Connection) -> Mapping[str, int]:
        rows = connection.execute(query.where(noted)).all()
        answered = {row.thing_id: row.became["reply_to_id"] for row in rows}
        missing = _linked(connection, answered, user_email=user_email)
        linked = [row for row in rows if row.thing_id not in missing]
        _forget_notes(connection, noted, [row.thing_id for row in linked])
        for room in {row.conversation_id for row in linked if row.import_id != import_id} - {None}:
            update_keeping_time(connection, room)
        return Counter(row.title or "" for row in rows if row.import_id == import_id and row.thing_id in missing)

    with database.reading() as connection:
        if connection.execute(query.where(noted).limit(1)).first() is None:
            return {}
    return database.write(job)


def _forget_notes(connection: Connection, noted: ColumnElement[bool], thing_ids: Sequence[str]) -> None:
    for start in range(0, len(thing_ids), _AT_ONCE):
        these = _c.thing_id.in_(thing_ids[start : start + _AT_ONCE])
        connection.execute(delete(imported_changes).where(noted, these))


def _linked(connection: Connection, answered: Mapping[str, str], *, user_email: str) -> dict[str, str]:
    """Link activities to what they answer, if the person has it; the others."""
    own = set[str]()
    names = list({name for each in answered.values() for name in (each, id_of_copy(each, user_email))})
    for start in range(0, len(names), _AT_ONCE):
        here = _a.user_email == user_email, _a.activity_id.in_(names[start : start + _AT_ONCE])
        own.update(connection.execute(select(_a.activity_id).where(*here)).scalars())
    missing = {}
    for activity_id, other in answered.items():
        found = next((name for name in (other, id_of_copy(other, user_email)) if name in own), None)
        if found is None:
            missing[activity_id] = other
        else:
            connection.execute(update(activities).where(_a.activity_id == activity_id).values(reply_to_id=found))
    return missing


def id_in_account(conversation_id: str, user_email: str) -> str:
    """The id that a conversation of another account gets in this one."""
    return new_conversation_id(user_email, client_id=f"imported {conversation_id}")


def _point_or_note(notes: Notes, message_ids: Sequence[str], rooms: Mapping[str, str | None]) -> None:
    """Let reports of new messages name their targets by the ids of here. Targets that are not here are noted alone."""
    for reports in _reports(notes.connection, message_ids):
        named = _targets(entry.get("target") for report in reports.values() for entry in report)
        account = _account(notes.connection, named, user_email=notes.user_email)
        for message_id, report in reports.items():
            here = [_with_target(entry, account) for entry in report]
            if here != report:
                store_report_in(notes.connection, here, message_id=message_id, user_email=notes.user_email)
            missing = {
                entry["ref"]: entry["target"]
                for entry, now in zip(report, here, strict=True)
                if entry.get("target") and not now["target"]
            }
            if missing:
                room = dataclasses.replace(notes, conversation_id=rooms[message_id])
                room.added(TARGETS, [message_id], became=missing)


def point_noted(*, database: Database, user_email: str, known: Known, after_each: Callable[[], object]) -> None:
    """Let reports name what imports of the person noted by its ids of here, now that all of this import is here.

    The rest has no target, and stays noted: a later import may bring what it names. Done in batches that take their
    notes along: a crash loses nothing. after_each: called after each batch.
    """
    noted = (_c.user_email == user_email) & (_c.kind == TARGETS)
    place = tuple_(_c.thing_id, _c.import_id)
    query = select(_c.thing_id, _c.import_id, _c.became).where(noted).order_by(_c.thing_id, _c.import_id)

    def point(rows: Sequence[Any], memories: Collection[str], connection: Connection) -> None:
        missing: dict[str, dict[str, Any]] = {}
        for row in rows:
            missing[row.thing_id] = {**row.became, **missing.get(row.thing_id, {})}
        pointless = _point(connection, missing, memories, user_email=user_email)
        for row in rows:
            left = {ref: target for ref, target in row.became.items() if ref in pointless.get(row.thing_id, ())}
            this_one = noted & (_c.thing_id == row.thing_id) & (_c.import_id == row.import_id)
            if not left:
                connection.execute(delete(imported_changes).where(this_one))
            elif left != row.became:
                connection.execute(update(imported_changes).where(this_one).values(became=left))

    last = ("", "")
    while True:
        with database.reading() as connection:
            rows = connection.execute(query.where(place > last).limit(_REPORTS_AT_ONCE)).all()
        if not rows:
            return
        # The memories have a database of their own.
        names = _named(_targets(target for row in rows for target in row.became.values()), *_MEMORIES)
        memories = known(names) if names else ()
        database.write(partial(point, rows, memories), urgency=Urgency.INDEX)
        last = (rows[-1].thing_id, rows[-1].import_id)
        after_each()


def _point(
    connection: Connection, missing: Mapping[str, Any], memories: Collection[str], *, user_email: str
) -> dict[str, set[str]]:
    """Give reports back the targets that are here now; the references that have none still, by their messages.

    missing: the targets that they had, by messages and references.
    """
    named = _targets(target for each in missing.values() for target in each.values())
    account = _account(connection, named, user_email=user_email, memories=memories)
    pointless, pointed = dict[str, set[str]](), list[str]()
    for message_id, report in (each for some in _reports(connection, list(missing)) for each in some.items()):
        entries = [_again(entry, missing[message_id], account) for entry in report]
        pointless[message_id] = {entry["ref"] for entry in entries if not entry.get("target")}
        if entries != report:
            store_report_in(connection, entries, message_id=message_id, user_email=user_email)
            pointed.append(message_id)
    rooms = select(_m.conversation_id).where(_m.message_id.in_(pointed)).distinct()
    for room in connection.execute(rooms).scalars().all():
        update_keeping_time(connection, room)
    return pointless


def rename_memories(new_ids: Mapping[str, str], *, database: Database, import_id: str, user_email: str) -> None:
    """Let memories that an import brought have their ids of here where conversations have them pinned, and in notes."""
    if not new_ids:
        return
    database.write(lambda connection: _rename_pinned(connection, new_ids, import_id))
    noted = (_c.user_email == user_email) & (_c.kind == TARGETS)
    place = tuple_(_c.thing_id, _c.import_id)
    query = select(_c.thing_id, _c.import_id, _c.became).where(noted).order_by(_c.thing_id, _c.import_id)

    def rename(last: tuple[str, str], connection: Connection) -> tuple[str, str] | None:
        rows = connection.execute(query.where(place > last).limit(_REPORTS_AT_ONCE)).all()
        for row in rows:
            became = {ref: _renamed_memory(target, new_ids) for ref, target in row.became.items()}
            if became != row.became:
                this_one = noted & (_c.thing_id == row.thing_id) & (_c.import_id == row.import_id)
                connection.execute(update(imported_changes).where(this_one).values(became=became))
        return (rows[-1].thing_id, rows[-1].import_id) if rows else None

    last: tuple[str, str] | None = ("", "")
    while last is not None:
        last = database.write(partial(rename, last), urgency=Urgency.INDEX)


def _rename_pinned(connection: Connection, new_ids: Mapping[str, str], import_id: str) -> None:
    ic, room = imported_conversations.c, conversations.c
    brought = select(room.conversation_id, room.memory)
    brought = brought.join(imported_conversations, ic.conversation_id == room.conversation_id)
    for row in connection.execute(brought.where(ic.import_id == import_id)).all():
        former = row.memory.get(PINNED_CLAIMS, [])
        pinned = [new_ids.get(each, each) for each in former]
        if pinned != former:
            update_keeping_time(connection, row.conversation_id, memory={**row.memory, PINNED_CLAIMS: pinned})


def _renamed_memory(target: Mapping[str, Any], new_ids: Mapping[str, str]) -> dict[str, Any]:
    return {name: new_ids.get(value, value) if name in _MEMORIES else value for name, value in target.items()}


def _reports(connection: Connection, message_ids: Sequence[str]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """The reports of messages by their ids, in batches."""
    for start in range(0, len(message_ids), _REPORTS_AT_ONCE):
        some = _m.message_id.in_(message_ids[start : start + _REPORTS_AT_ONCE])
        yield {row.message_id: row.report for row in connection.execute(select(_m.message_id, _m.report).where(some))}


def _targets(found: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [target for target in found if isinstance(target, Mapping)]


def _named(targets: Iterable[Mapping[str, Any]], *names: str) -> list[str]:
    """What targets have under these names, each once."""
    found = (target.get(name) for target in targets for name in names)
    return list(dict.fromkeys(each for each in found if isinstance(each, str)))


def _with_target(entry: dict[str, Any], account: _Account) -> dict[str, Any]:
    """The entry, its target named as it is in the account; without a target that is not there."""
    target = entry.get("target")
    if not target:
        return entry
    return {**entry, "target": (account.target(target) if isinstance(target, Mapping) else None) or {}}


def _again(entry: dict[str, Any], missing: Mapping[str, Any], account: _Account) -> dict[str, Any]:
    """The entry with the target that it had, where that is here now, unless it has got another one since."""
    target = missing.get(entry["ref"])
    return entry if not target or entry.get("target") else _with_target({**entry, "target": target}, account)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """What a person has of what targets name. rooms: the conversations of activities, by their ids here.

    others: the ids of conversations, memories and files. agents: by their ids, and by their slugs. files: of messages,
    by the ids of those and their numbers there.
    """

    user_email: str
    rooms: Mapping[str, str]
    others: Collection[str]
    agents: Mapping[str, str]
    files: Mapping[tuple[str, Any], str]

    def target(self, target: Mapping[str, Any]) -> dict[str, Any] | None:
        """The target by the ids of here; None where the person has not all of it."""
        found = {name: self._here(name, target) for name, value in target.items() if value and name in _IDS}
        unknown = {name for name in target if name.endswith("_id")} - _IDS - _NAMES
        if unknown or None in found.values():
            return None
        for name in _ACTIVITIES:
            if name in found and "conversation_id" in target:
                found["conversation_id"] = self.rooms[str(found[name])]
        return {**target, **found}

    def _here(self, name: str, target: Mapping[str, Any]) -> str | None:
        value = target[name]
        if not isinstance(value, str):
            return None
        if name in _ACTIVITIES:
            return self._first(self.rooms, value, id_of_copy(value, self.user_email))
        if name == "conversation_id":
            if any(target.get(each) for each in _ACTIVITIES):
                return value  # it follows from them
            return self._first(self.others, value, id_in_account(value, self.user_email))
        if name == "agent_id":
            return self.agents.get(value) or self.agents.get(str(target.get("slug")))
        return value if value in self.others else self._file(target) if name == "attachment_id" else None

    def _file(self, target: Mapping[str, Any]) -> str | None:
        """The file with this number of a message: a file gets another id in each account."""
        message_id = self._here("message_id", target) if target.get("message_id") else None
        return self.files.get((message_id, target.get("number"))) if message_id else None

    @staticmethod
    def _first(here: Collection[str], *names: str) -> str | None:
        return next((name for name in names if name in here), None)


def _account(
    connection: Connection, targets: Sequence[Mapping[str, Any]], *, user_email: str, memories: Collection[str] = ()
) -> _Account:
    """What the person has of what these targets name. memories: which of those they have."""

    def own(table: Any, name: str, names: Sequence[str], *more: str) -> list[Any]:
        rows = list[Any]()
        for start in range(0, len(names), _AT_ONCE):
            here = table.c.user_email == user_email, table.c[name].in_(names[start : start + _AT_ONCE])
            rows += connection.execute(select(*(table.c[each] for each in (name, *more))).where(*here))
        return rows

    said, rooms = _named(targets, *_ACTIVITIES), _named(targets, "conversation_id")
    said += [id_of_copy(each, user_email) for each in said]
    rooms += [id_in_account(each, user_email) for each in rooms]
    others = {row.conversation_id for row in own(conversations, "conversation_id", rooms)}
    others |= {row.attachment_id for row in own(attachments, "attachment_id", _named(targets, "attachment_id"))}
    by_id = own(agents, "agent_id", _named(targets, "agent_id"))
    slugs = _named((target for target in targets if "agent_id" in target), "slug")
    by_slug = [row for row in own(agents, "slug", slugs, "agent_id", "deleted_at") if row.deleted_at is None]
    here = {row.activity_id: row.conversation_id for row in own(activities, "activity_id", said, "conversation_id")}
    with_files = _named((target for target in targets if target.get("attachment_id")), "message_id")
    with_files += [id_of_copy(each, user_email) for each in with_files]
    return _Account(
        user_email=user_email,
        rooms=here,
        others={*others, *memories},
        agents={row.agent_id: row.agent_id for row in by_id} | {row.slug: row.agent_id for row in by_slug},
        files=_files(connection, [each for each in with_files if each in here]),
    )


def _files(connection: Connection, message_ids: Sequence[str]) -> dict[tuple[str, Any], str]:
    """The files of messages, by the ids of those and their numbers there."""
    found = dict[tuple[str, Any], str]()
    for start in range(0, len(message_ids), _AT_ONCE):
        own = _p.message_id.in_(message_ids[start : start + _AT_ONCE]) & _p.attachment_id.is_not(None)
        query = select(_p.message_id, _p.part_id, _p.attachment_id).where(own).order_by(_p.version)
        for row in connection.execute(query):
            found.setdefault((row.message_id, row.part_id), row.attachment_id)
    return found
