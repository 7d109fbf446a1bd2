"""Changes that an import makes to existing rows, recorded so that they can be undone.

A record holds the values before and after the import. Undoing restores the former if the row still has the latter; if
the person has changed the row since, it is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.statements import insert_rows, while_asking
from database.history.references import store_report_in
from database.history.summary import forget_summary
from database.messages.message import rows_where
from database.messages.parts import Parts, parts_of, replace_parts
from database.schema import (
    activities,
    conversation_tags,
    conversations,
    document_references,
    imported_changes,
    imported_conversations,
    imported_messages,
    imports,
    message_edits,
    message_parts,
    message_variants,
    messages,
)
from database.search import index as fulltext_index
from sentences import say

LINK = "link"
"""The kind of a note that an activity answers something that is not here yet; see `outside`."""
TARGETS = "targets"
"""The kind of a note of what the report of a message names that is not here yet, by references; see `outside`."""
CITED = "cited"
"""The kind of a note of the references that an import added to the report of a message that was here already."""
STATE = "state"
"""The kind of a note of what an export says of a conversation; see `state_brought`."""
DOCUMENT, WORKSPACE = "document", "workspace"
DOCUMENT_ORIGIN, WORKSPACE_ORIGIN = "document_origin", "workspace_origin"
ORIGINS_BESIDE = (DOCUMENT_ORIGIN, WORKSPACE_ORIGIN)
"""The kinds of notes of what documents and workspaces of an archive came from, by their sources; see `origins`."""
_STATE_SAID = {"title": "", "flag": "none", "archived": 0, "updated_at": ""}
_NO_CHANGES = {LINK, TARGETS, STATE}
CHANGED_SINCE = say("import_changed_since")
_AT_ONCE = 500
_SAID = ("text", "status", "chosen_variant", "edited_at")
"""The columns of a message by which it is known whether the person has changed it since."""
_c, _a, _m, _v, _im = imported_changes.c, activities.c, messages.c, message_variants.c, imported_messages.c
_t = conversation_tags.c

Where = tuple[Table, ColumnElement[bool]]


def _variant(thing_id: str) -> Where:
    message_id, _, number = thing_id.partition(" ")
    return message_variants, (_v.message_id == message_id) & (_v.number == int(number))


def _identity(thing_id: str) -> Where:
    message_id, number, *source_id = thing_id.split(" ", 2)
    these = (_im.message_id == message_id) & (_im.number == int(number))
    return imported_messages, these & (_im.source_id == source_id[0]) if source_id else these


def _said(thing_id: str) -> Where:
    """What exports of ours said of a version, which they call by its id here."""
    table, these = _identity(thing_id)
    return table, these & _im.source_id.in_([thing_id.partition(" ")[0], thing_id])


def _tag(thing_id: str) -> Where:
    conversation_id, _, tag = thing_id.partition(" ")
    return conversation_tags, (_t.conversation_id == conversation_id) & (_t.tag == tag)


_ROWS: Mapping[str, Callable[[str], Where]] = {
    "conversation": lambda thing_id: (conversations, conversations.c.conversation_id == thing_id),
    "source": lambda thing_id: (imported_conversations, imported_conversations.c.conversation_id == thing_id),
    "message": lambda thing_id: (messages, _m.message_id == thing_id),
    "variant": _variant,
    "edit": lambda thing_id: (message_edits, message_edits.c.edit_id == int(thing_id.partition(" ")[2])),
    "identity": _identity,
    "said": _said,
    "tag": _tag,
}
"""Where the rows of each kind lie; "source" and "identity" say what a conversation or a message is at its source, and
"said" what an export of ours said of it.

Beside these there are "first_variant", of a message that was never made again before, "parts", of one version of a
message, and "activity". What belongs to no conversation is taken back in `portability.imports.taking_back`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A recorded change. former: {} if the thing did not exist before."""

    kind: str
    thing_id: str
    former: Mapping[str, Any]
    became: Mapping[str, Any]


_FIELDS = tuple(_c[name] for name in Change.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Notes:
    """Changes rows and records what an import changes. import_id: None records nothing."""

    connection: Connection
    user_email: str
    import_id: str | None
    conversation_id: str | None = None

    def change(self, kind: str, thing_id: str, **values: Any) -> None:
        """Update these columns of the row, if it exists."""
        table, this_one = _ROWS[kind](thing_id)
        former = self.connection.execute(select(*(table.c[name] for name in values)).where(this_one)).first()
        if former is None:
            return
        self.connection.execute(update(table).where(this_one).values(values))
        self.changed(kind, thing_id, dict(zip(values, former, strict=True)), values)

    def change_parts(self, message_id: str, number: int, parts: Parts) -> None:
        """Let this version of a message have these parts alone."""
        replaced = _parts_now(self.connection, message_id, number)
        replace_parts(self.connection, message_id, parts, version=number)
        if parts:
            self.change("message", message_id, has_parts=1)
        became = _parts_now(self.connection, message_id, number)
        self.changed("parts", f"{message_id} {number}", {"parts": replaced}, {"parts": became})

    def changed(self, kind: str, thing_id: str, former: Mapping[str, Any], became: Mapping[str, Any]) -> None:
        """Record that these columns were changed."""
        if self.import_id is None:
            return
        mine = (_c.import_id == self.import_id) & (_c.kind == kind) & (_c.thing_id == thing_id)
        known = self.connection.execute(select(_c.former, _c.became).where(mine)).first()
        if known is None:
            self._insert([self._row(kind, thing_id, former, became)])
        elif known.former:
            values = {"former": {**former, **known.former}, "became": {**known.became, **became}}
            self.connection.execute(update(imported_changes).where(mine).values(values))

    def added(self, kind: str, thing_ids: Iterable[str], *, became: Mapping[str, Any] | None = None) -> None:
        """Record that these things are new."""
        if self.import_id is not None:
            self._insert([self._row(kind, thing_id, {}, became or {}) for thing_id in thing_ids])

    def _row(self, kind: str, thing_id: str, former: Mapping[str, Any], became: Mapping[str, Any]) -> dict[str, Any]:
        which = {"import_id": self.import_id, "kind": kind, "thing_id": thing_id, "user_email": self.user_email}
        return {**which, "conversation_id": self.conversation_id, "former": dict(former), "became": dict(became)}

    def _insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        insert_rows(self.connection, imported_changes, rows)


@dataclass(frozen=True, slots=True)
class BroughtBy:
    """Which import brings an export of ours, and the source that it is of."""

    import_id: str
    source: str


def note_conversation(
    notes: Notes,
    *,
    source: str,
    columns: Mapping[str, Any],
    tags: Iterable[str],
    origin: Mapping[str, str] | None = None,
) -> None:
    """Note a conversation of an export that is new here. origin: what it is at another source, in place of `source`."""
    which = {"source": source, "source_id": notes.conversation_id, "title": columns["title"], "digest": ""}
    brought = {"conversation_id": notes.conversation_id, "import_id": notes.import_id, "user_email": notes.user_email}
    notes.connection.execute(insert(imported_conversations).values({**which, **(origin or {}), **brought}))
    note_state(notes, columns, tags)


def note_state(notes: Notes, columns: Mapping[str, Any], tags: Iterable[str]) -> None:
    """Note what an export says of a conversation, in the place of what the same import noted before."""
    if notes.import_id is None or notes.conversation_id is None:
        return
    said = {name: columns.get(name, otherwise) for name, otherwise in _STATE_SAID.items()}
    mine = (_c.import_id == notes.import_id) & (_c.kind == STATE) & (_c.thing_id == notes.conversation_id)
    notes.connection.execute(delete(imported_changes).where(mine))
    notes.added(STATE, [notes.conversation_id], became={**said, "tags": sorted(tags), "noted_at": now_iso()})


def state_brought(connection: Connection, conversation_id: str) -> Mapping[str, Any] | None:
    """What the export that came in last says of a conversation: title, flag, archived, updated_at; its tags of here.

    None for one that no import brought, or one from before this was noted.
    """
    noted = select(_c.became).where(_c.conversation_id == conversation_id, _c.kind == STATE)
    states: list[Mapping[str, Any]] = list(connection.execute(noted).scalars())
    return max(states, key=lambda state: str(state["noted_at"]), default=None)


def note_said(notes: Notes, said: Iterable[tuple[Mapping[str, Any], Iterable[int]]]) -> None:
    """Note messages of an export that are new here: their rows, each with the numbers of its variants."""
    if notes.import_id is None:
        return
    own = {"conversation_id": notes.conversation_id, "import_id": notes.import_id}
    rows = [
        {
            **own,
            "source_id": row["message_id"] if place == 0 else f"{row['message_id']} {number}",
            "message_id": row["message_id"],
            "number": number,
            "digest": digest_of_said(row["text"], row["edited_at"]),
        }
        for row, numbers in while_asking(notes.connection, said)
        for place, number in enumerate(numbers)
    ]
    insert_rows(notes.connection, imported_messages, rows)


def digest_of_said(text: str, edited_at: str | None) -> str:
    """By which it is known whether a message of an export is as it came."""
    return blake2b(f"{edited_at}\n{text}".encode(), digest_size=8).hexdigest()


def note_beside(
    *,
    database: Database,
    user_email: str,
    import_id: str,
    kind: str,
    thing_id: str,
    former: Mapping[str, Any] | None = None,
    became: Mapping[str, Any],
) -> None:
    """Note in a transaction of its own that something beside the conversations was changed, or added."""

    def job(connection: Connection) -> None:
        Notes(connection, user_email, import_id).changed(kind, thing_id, former or {}, became)

    database.write(job)


def changes_beside(connection: Connection, import_id: str, *, kinds: Sequence[str], limit: int = 50) -> list[Change]:
    """Some of what an import changed of these kinds beside the conversations."""
    here = (_c.import_id == import_id) & _c.conversation_id.is_(None) & _c.kind.in_(kinds)
    query = select(*_FIELDS).where(here).order_by(_c.kind, _c.thing_id).limit(limit)
    return [Change(**row._mapping) for row in connection.execute(query)]


def noted_beside(*, database: Database, import_id: str, kinds: Sequence[str]) -> list[Change]:
    """`changes_beside` in a transaction of its own."""
    with database.reading() as connection:
        return changes_beside(connection, import_id, kinds=kinds)


def brought_before(*, database: Database, user_email: str, import_id: str, kind: str, digest: str) -> str | None:
    """What an earlier import of the same source has brought of this kind and digest, as it was called then.

    None for what none has brought. The person may have changed it since. What an archive says that the same source has
    brought before counts, too.
    """
    source = select(imports.c.source).where(imports.c.import_id == import_id).scalar_subquery()
    query = (
        select(_c.thing_id)
        .join(imports, imports.c.import_id == _c.import_id)
        .where(
            imports.c.user_email == user_email,
            imports.c.source == source,
            imports.c.import_id != import_id,
            _c.kind == kind,
            _c.became["digest"].as_string() == digest,
        )
        .limit(1)
    )
    moved = (
        select(_c.became)
        .join(imports, imports.c.import_id == _c.import_id)
        .where(
            imports.c.user_email == user_email,
            _c.kind == f"{kind}_origin",
            _c.thing_id == source + " " + digest,
        )
    )
    with database.reading() as connection:
        found = connection.execute(query).scalar()
        if found is not None:
            return str(found)
        became = connection.execute(moved.limit(1)).scalar()
        return None if became is None else str(became["path"])


def _parts_now(connection: Connection, message_id: str, number: int) -> list[dict[str, Any]]:
    """The parts of one version of a message."""
    return [*parts_of(connection, [message_id]).get((message_id, number), ())]


def _same_parts(some: Parts, others: Parts) -> bool:
    """Whether both are the same but for the ids, which are given anew with each storing."""
    return [{**each, "id": 0} for each in some] == [{**each, "id": 0} for each in others]


def forget_beside(*, database: Database, import_id: str, change: Change) -> None:
    """`forget_change` in a transaction of its own."""
    database.write(lambda connection: forget_change(connection, import_id, change))


def forget_change(connection: Connection, import_id: str, change: Change) -> None:
    """Forget a note, whose change is taken back or stays."""
    mine = (_c.import_id == import_id) & (_c.kind == change.kind) & (_c.thing_id == change.thing_id)
    connection.execute(delete(imported_changes).where(mine))


def forget_changes_of(connection: Connection, import_id: str, conversation_ids: Sequence[str]) -> None:
    """Forget what an import changed of conversations."""
    mine = (_c.import_id == import_id) & _c.conversation_id.in_(conversation_ids)
    connection.execute(delete(imported_changes).where(mine))


def added_in(connection: Connection, conversation_ids: Sequence[str], *, kind: str) -> set[str]:
    """What imports have added of this kind to conversations."""
    here = _c.conversation_id.in_(conversation_ids) & (_c.kind == kind)
    rows = connection.execute(select(_c.thing_id, _c.former).where(here))
    return {row.thing_id for row in rows if not row.former}


def remove_variant(connection: Connection, message_id: str, number: int) -> None:
    """Delete a variant with its parts and documents, so that its number is free again."""
    for table, numbered in (
        (message_variants, _v.number),
        (message_parts, message_parts.c.version),
        (document_references, document_references.c.version),
    ):
        connection.execute(delete(table).where(table.c.message_id == message_id, numbered == number))


def added_activities(connection: Connection, activity_ids: Sequence[str], *, but: Collection[str] = ()) -> list[int]:
    """`seq` of those of these activities to which nothing replies but one another and the activities `but`."""
    gone, found = {*activity_ids, *but}, list[int]()
    for start in range(0, len(activity_ids), _AT_ONCE):
        some = activity_ids[start : start + _AT_ONCE]
        replies = connection.execute(select(_a.activity_id, _a.reply_to_id).where(_a.reply_to_id.in_(some)))
        needed = {row.reply_to_id for row in replies if row.activity_id not in gone}
        free = select(_a.seq).where(_a.activity_id.in_([each for each in some if each not in needed]))
        found += connection.execute(free).scalars()
    return found


@dataclass(slots=True)
class TakenBack:
    """Takes back what an import changed of one conversation.

    stays: whether something stays, changed since. activities: those that it added, which are no messages.
    """

    connection: Connection
    conversation_id: str
    stays: bool = False
    activities: list[str] = field(default_factory=list)
    _messages: dict[str, list[Change]] = field(default_factory=dict)
    _answers: list[str] = field(default_factory=list)

    def run(self, import_id: str) -> None:
        """Take everything back that is as the import left it, and forget the notes."""
        here = (_c.import_id == import_id) & (_c.conversation_id == self.conversation_id)
        for row in self.connection.execute(select(*_FIELDS).where(here)).all():
            self._sort(Change(**row._mapping))
        for message_id, changes in self._messages.items():
            self._message(message_id, changes)
        forget_changes_of(self.connection, import_id, [self.conversation_id])

    def _sort(self, change: Change) -> None:
        if change.kind in {"conversation", "source"}:
            self._restore(change)
        elif change.kind == "tag":
            table, this_one = _ROWS[change.kind](change.thing_id)
            self.connection.execute(delete(table).where(this_one))
        elif change.kind == "activity":
            self.activities.append(change.thing_id)
        elif change.kind == "first_variant":
            self._answers.append(change.thing_id)
        elif change.kind == CITED:
            self._forget_cited(change.thing_id, change.became["refs"])
        elif change.kind not in _NO_CHANGES:
            self._messages.setdefault(change.thing_id.partition(" ")[0], []).append(change)

    def _forget_cited(self, message_id: str, refs: Sequence[str]) -> None:
        query = select(_m.report, _m.user_email).where(_m.message_id == message_id)
        for report, user_email in self.connection.execute(query).all():
            left = [entry for entry in report if entry["ref"] not in refs]
            store_report_in(self.connection, left, message_id=message_id, user_email=user_email)

    def _message(self, message_id: str, changes: Sequence[Change]) -> None:
        """Take back what was changed of a message, all of it or nothing."""
        parts = [each for each in changes if each.kind == "parts"]
        if not all(self._has_still(message_id, each) for each in parts):
            self.stays = True
            return
        if not all(self._restore_message(each) for each in changes if each.kind == "message"):
            self.stays = True
            return
        for each in changes:
            if each.kind == "message":
                continue
            if each.kind == "parts":
                self._restore_parts(message_id, int(each.thing_id.partition(" ")[2]), each)
            elif each.former:
                self._restore(each)
            elif each.kind == "variant":
                self._remove_variant(message_id, int(each.thing_id.partition(" ")[2]))
            else:
                table, this_one = _ROWS[each.kind](each.thing_id)
                self.connection.execute(delete(table).where(this_one))

    def _restore_message(self, change: Change) -> bool:
        """Let a message be what it was; False where the person has changed it since."""
        columns = [_m[name] for name in change.became]
        found = self.connection.execute(select(*columns).where(_m.message_id == change.thing_id)).first()
        if found is None:
            return False
        now = found._mapping
        said = [name for name in change.became if name in _SAID]
        if any(now[name] != change.became[name] for name in said):
            return all(now[name] == change.former[name] for name in said)
        former = {name: value for name, value in change.former.items() if now[name] == change.became[name]}
        if "text" in former and former["text"] != now["text"]:
            (message,) = rows_where(self.connection, _m.message_id == change.thing_id)
            if message.deleted_at is None:
                fulltext_index.reindex(self.connection, message, text=former["text"])
            forget_summary(self.connection, self.conversation_id, ordinal=message.ordinal)
        if former:
            self.connection.execute(update(messages).where(_m.message_id == change.thing_id).values(former))
        return True

    def _remove_variant(self, message_id: str, number: int) -> None:
        """Delete a variant that was added, unless the message shows it."""
        query = select(_m.chosen_variant).where(_m.message_id == message_id)
        if self.connection.execute(query).scalar() == number:
            self.stays = True
        else:
            remove_variant(self.connection, message_id, number)

    def _has_still(self, message_id: str, change: Change) -> bool:
        """Whether a version has the parts that the import gave it."""
        number = int(change.thing_id.partition(" ")[2])
        is_there = number == 1 or self.connection.execute(select(_v.number).where(_variant(change.thing_id)[1])).first()
        return bool(is_there) and _same_parts(_parts_now(self.connection, message_id, number), change.became["parts"])

    def _restore_parts(self, message_id: str, number: int, change: Change) -> None:
        parts = change.former["parts"]
        replace_parts(self.connection, message_id, parts, version=number)
        if parts:
            self.connection.execute(update(messages).where(_m.message_id == message_id).values(has_parts=1))

    def _restore(self, change: Change) -> None:
        """Give a row its former values, each that it still has from the import."""
        table, this_one = _ROWS[change.kind](change.thing_id)
        found = self.connection.execute(select(*(table.c[name] for name in change.became)).where(this_one)).first()
        if found is None:
            return
        now = found._mapping
        former = {name: value for name, value in change.former.items() if now[name] == change.became[name]}
        if former:
            self.connection.execute(update(table).where(this_one).values(former))
        told = [name for name in ("title", "text") if name in now]
        if any(now[name] not in {change.became[name], change.former[name]} for name in told):
            self.stays = True

    def finish(self) -> None:
        """Let answers that imports made again be as they were: once nothing else is left, the first variant goes."""
        for message_id in self._answers:
            own = _v.message_id == message_id
            if len(self.connection.execute(select(_v.number).where(own).limit(2)).all()) == 1:
                self.connection.execute(delete(message_variants).where(own))
