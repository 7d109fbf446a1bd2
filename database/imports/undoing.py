"""Undoing an import: what it added is erased, what it changed is restored, unless the person has changed it since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, update

from database.activities.erasing import erase_activities
from database.conversations.conversation import record_listed
from database.conversations.deletion import erase, mark_for_deletion, remove_messages
from database.conversations.repository import read_live
from database.engine.database import Database, Urgency
from database.history.summary import forget_summary
from database.messages.branch_tree import branches_of
from database.schema import (
    activities,
    conversations,
    imported_changes,
    imported_conversations,
    imported_messages,
    message_variants,
    messages,
)
from sentences import say

from .changes import (
    CHANGED_SINCE,
    ORIGINS_BESIDE,
    Change,
    TakenBack,
    added_activities,
    added_in,
    changes_beside,
    digest_of_said,
    forget_change,
    forget_changes_of,
    remove_variant,
    state_brought,
)
from .origins import KEPT
from .repository import Import
from .updating import renew_path
from .workspaces import take_workspace_back

_AT_ONCE = 20
_MESSAGES_AT_ONCE = 2_000
_CONTINUED = say("import_went_on")
_FOLLOWED = say("import_went_on_behind")
_ROWS_BESIDE = ("activity", "workspace", *ORIGINS_BESIDE)
"""What is taken back once everything else is."""

_a, _c, _m, _v = activities.c, conversations.c, messages.c, message_variants.c
_ic, _im = imported_conversations.c, imported_messages.c


@dataclass(slots=True)
class Undone:
    """The result of a step. kept: what could not be undone, `{item, reason}` each."""

    is_over: bool = False
    kept: list[dict[str, str]] = field(default_factory=list)


def undo_some(*, database: Database, which: Import) -> Undone:
    """Undo a part of an import: its conversations first, then what it added to or changed in others.

    What it brought beside conversations is undone afterwards (`portability.imports.taking_back`).
    """
    undone = Undone()
    marked = database.write(lambda connection: _mark_some(connection, which, undone), urgency=Urgency.INDEX)
    if marked is None:
        undone.is_over = database.write(
            lambda connection: _take_changes_back(connection, which, undone), urgency=Urgency.INDEX
        )
    else:
        erase(database, marked)
    return undone


def _mark_some(connection: Connection, which: Import, undone: Undone) -> Sequence[str] | None:
    """Mark some conversations that the import brought, for erasure; None where none is left."""
    undone.kept.clear()
    brought = (_ic.user_email == which.user_email) & (_ic.import_id == which.import_id)
    query = select(_ic.conversation_id, _c.title, _ic.title.label("title_there"))
    query = query.add_columns((_c.title != _ic.title).label("renamed"))
    query = query.join(conversations, _c.conversation_id == _ic.conversation_id)
    rows = connection.execute(query.where(brought, _c.incomplete_since.is_(None)).limit(_AT_ONCE)).all()
    if not rows:
        return None
    ids = [row.conversation_id for row in rows]
    continued = _continued(connection, ids) | {row.conversation_id for row in rows if _is_renamed(connection, row)}
    undone.kept += [{"item": row.title, "reason": _CONTINUED} for row in rows if row.conversation_id in continued]
    if continued:
        kept = {"import_id": KEPT + which.import_id}
        connection.execute(update(imported_conversations).where(_ic.conversation_id.in_(continued)).values(kept))
        connection.execute(update(imported_messages).where(_im.conversation_id.in_(continued)).values(kept))
        forget_changes_of(connection, which.import_id, list(continued))
    gone = [each for each in ids if each not in continued]
    return mark_for_deletion(connection, _c.conversation_id.in_(gone)) if gone else []


def _is_renamed(connection: Connection, row: Any) -> bool:
    """Whether a conversation is called neither as at its source nor as in the export of ours that brought it."""
    if not row.renamed:
        return False
    brought = state_brought(connection, row.conversation_id)
    return brought is None or brought.get("title", row.title_there) != row.title


def _continued(connection: Connection, conversation_ids: Sequence[str]) -> set[str]:
    """Those of these conversations in which the person has since added an activity, an edit or another answer."""
    return (
        _with_own_activities(connection, conversation_ids)
        | _with_own_edits(connection, conversation_ids)
        | _with_own_variants(connection, conversation_ids)
    )


def _with_own_activities(connection: Connection, conversation_ids: Sequence[str]) -> set[str]:
    noted = imported_changes.c
    by_message = exists().where(_im.conversation_id == _a.conversation_id, _im.message_id == _a.activity_id)
    by_note = exists().where(
        noted.conversation_id == _a.conversation_id, noted.kind == "activity", noted.thing_id == _a.activity_id
    )
    own = select(_a.conversation_id).where(_a.conversation_id.in_(conversation_ids), ~by_message, ~by_note)
    return set(connection.execute(own.distinct()).scalars())


def _with_own_edits(connection: Connection, conversation_ids: Sequence[str]) -> set[str]:
    """Those with messages that were edited here; what an export says of a message that was edited there is known."""
    edited = select(_m.conversation_id, _m.message_id, _m.text, _m.edited_at).where(
        _m.conversation_id.in_(conversation_ids), _m.edited_at.is_not(None)
    )
    found = connection.execute(edited).all()
    digests = select(_im.message_id, _im.digest).where(_im.message_id.in_([row.message_id for row in found]))
    known = {(row.message_id, row.digest) for row in connection.execute(digests)}
    return {
        row.conversation_id for row in found if (row.message_id, digest_of_said(row.text, row.edited_at)) not in known
    }


def _with_own_variants(connection: Connection, conversation_ids: Sequence[str]) -> set[str]:
    unknown = (
        select(_m.conversation_id, _v.message_id, _v.number)
        .join(message_variants, _v.message_id == _m.message_id)
        .where(
            _m.conversation_id.in_(conversation_ids),
            ~exists().where(_im.message_id == _v.message_id, _im.number == _v.number),
        )
    )
    added = added_in(connection, conversation_ids, kind="variant")
    return {row.conversation_id for row in connection.execute(unknown) if f"{row.message_id} {row.number}" not in added}


def _take_changes_back(connection: Connection, which: Import, undone: Undone) -> bool:
    """Undo what the import did to one older conversation; returns whether none is left."""
    undone.kept.clear()
    conversation_id = _changed_one(connection, which)
    if conversation_id is None:
        return True
    taken_back = TakenBack(connection, conversation_id)
    taken_back.run(which.import_id)
    messages_back = _MessagesBack(connection, which.import_id, conversation_id)
    messages_back.run(taken_back.activities)
    taken_back.finish()
    reasons = [CHANGED_SINCE] if taken_back.stays or messages_back.stays else []
    reasons += [_FOLLOWED] if messages_back.is_followed else []
    # Its source may have it again: another import compares everything.
    known = _ic.conversation_id == conversation_id
    connection.execute(update(imported_conversations).where(known).values(digest=""))
    renew_path(connection, conversation_id)
    head = connection.execute(select(_c.title, _c.deleted_at).where(_c.conversation_id == conversation_id)).one()
    if head.deleted_at is None:
        own = {"user_email": which.user_email, "conversation_id": conversation_id}
        record_listed(connection, [read_live(connection, **own)], "changed")
    undone.kept += [{"item": head.title, "reason": reason} for reason in dict.fromkeys(reasons)]
    return False


def _changed_one(connection: Connection, which: Import) -> str | None:
    """A conversation that the import extended or changed; None if none is left."""
    for table in (imported_messages, imported_changes):
        # What a crash left half stored is erased by the next start.
        query = select(table.c.conversation_id).join(conversations, _c.conversation_id == table.c.conversation_id)
        query = query.where(table.c.import_id == which.import_id, _c.incomplete_since.is_(None)).limit(1)
        if (found := connection.execute(query).scalar()) is not None:
            return str(found)
    return None


@dataclass(slots=True)
class _MessagesBack:
    """Removes messages and variants that an import added to a conversation, the newest first.

    stays: whether the person has chosen one of the variants. is_followed: whether messages of the person come after.
    """

    connection: Connection
    import_id: str
    conversation_id: str
    stays: bool = False
    is_followed: bool = False

    def run(self, activity_ids: Sequence[str]) -> None:
        """Remove a batch, and other activities that the import added; those that must stay are recorded as kept."""
        rows = self._some()
        self.is_followed = bool(rows) and self._has_own_behind()
        own = self._of_others([row.message_id for row in rows])
        whole = {row.seq: row.message_id for row in rows if row.message_id not in own and not self.is_followed}
        gone = [row for row in rows if row.seq in whole]
        for row in rows:
            if row.message_id not in own:
                continue
            if row.chosen_variant == row.number:
                self.stays = True
            else:
                remove_variant(self.connection, row.message_id, row.number)
                gone.append(row)
        taken = {row.source_id for row in gone}
        self._forget(taken)
        self._mark(_im.source_id.in_([row.source_id for row in rows if row.source_id not in taken]))
        if self.is_followed:
            self._mark(_im.import_id == self.import_id)
        beside = added_activities(self.connection, activity_ids, but=whole.values())
        self.stays = self.stays or len(beside) < len(activity_ids)
        if whole:
            first = min(row.ordinal for row in rows if row.seq in whole)
            forget_summary(self.connection, self.conversation_id, ordinal=first)
            self._hand_groups_on(set(whole.values()))
        if whole or beside:
            remove_messages(self.connection, whole, beside=beside)

    def _hand_groups_on(self, gone: Collection[str]) -> None:
        """Let questions that were asked in the place of one that is removed stand there without it."""
        tree = branches_of(self.connection, self.conversation_id)
        for first in [fork for fork in tree.forks if fork.branch_of is None and fork.message_id in gone]:
            group = [fork.message_id for fork in tree.group(first.message_id)]
            left = [name for name in group if name not in gone]
            if left:
                number = first.chosen_branch or 1
                self._hand_on(first.message_id, left, gone, chosen=group[number - 1] if number <= len(group) else "")

    def _hand_on(self, first_id: str, left: Sequence[str], gone: Collection[str], *, chosen: str) -> None:
        """Let the question that stands behind the first one of a group be its first one, or the next one of it."""
        first = self.connection.execute(select(_m.branch_id, _m.ordinal).where(_m.message_id == first_id)).one()
        in_branch = (_m.conversation_id == self.conversation_id) & _m.branch_id.is_not_distinct_from(first.branch_id)
        query = select(_m.message_id, _m.sender).where(in_branch, _m.ordinal > first.ordinal).order_by(_m.ordinal)
        behind = next((row for row in self.connection.execute(query).all() if row.message_id not in gone), None)
        if behind is None:
            heir = left[0]
            self._set(_m.branch_id == heir, branch_id=first.branch_id)
            self._set(_m.message_id == heir, branch_of=None)
        elif behind.sender == "user":
            heir = behind.message_id
        else:
            return  # an answer that stands there alone is none of the questions
        noted = imported_changes.c
        which = (noted.kind == "message") & (noted.thing_id == first_id)
        self.connection.execute(delete(imported_changes).where(noted.conversation_id == self.conversation_id, which))
        others = [name for name in left if name != heir]
        self._set(_m.message_id.in_(others), branch_of=heir)
        self._set((_m.message_id == heir) & _m.chosen_branch.is_(None), chosen_branch=1)
        group = [fork.message_id for fork in branches_of(self.connection, self.conversation_id).group(heir)]
        if chosen in left:
            of_those_left = [name for name in group if name not in gone]
            self._set(_m.message_id == heir, chosen_branch=of_those_left.index(chosen) + 1)

    def _set(self, which: ColumnElement[bool], **values: Any) -> None:
        here = _m.conversation_id == self.conversation_id
        self.connection.execute(update(messages).where(here, which).values(values))

    def _some(self) -> Sequence[Any]:
        columns = (_im.source_id, _im.message_id, _im.number, _m.seq, _m.ordinal, _m.chosen_variant)
        query = select(*columns).join(messages, _m.message_id == _im.message_id)
        mine = (_im.conversation_id == self.conversation_id) & (_im.import_id == self.import_id)
        return self.connection.execute(query.where(mine).order_by(_m.ordinal.desc()).limit(_MESSAGES_AT_ONCE)).all()

    def _of_others(self, message_ids: Sequence[str]) -> set[str]:
        """Those of these messages that were here before the import: it added variants to them."""
        other = _im.message_id.in_(message_ids) & (_im.import_id != self.import_id)
        return set(self.connection.execute(select(_im.message_id).where(other)).scalars())

    def _has_own_behind(self) -> bool:
        """Whether a message of the person's own comes after the first one that the import added."""
        other = imported_messages.alias()
        had = exists().where(other.c.message_id == _im.message_id, other.c.import_id != self.import_id)
        here = (_im.conversation_id == self.conversation_id) & (_im.import_id == self.import_id)
        mine = select(_im.message_id).where(here, ~had)
        first = select(func.min(_m.ordinal)).where(_m.message_id.in_(mine)).scalar_subquery()
        own = ~exists().where(_im.conversation_id == self.conversation_id, _im.message_id == _m.message_id)
        behind = select(_m.seq).where(_m.conversation_id == self.conversation_id, _m.ordinal > first, own).limit(1)
        return self.connection.execute(behind).first() is not None

    def _forget(self, source_ids: Collection[str]) -> None:
        these = _im.source_id.in_(source_ids)
        self.connection.execute(delete(imported_messages).where(_im.conversation_id == self.conversation_id, these))

    def _mark(self, which: ColumnElement[bool]) -> None:
        """Let these stay, whatever else is taken back."""
        here = _im.conversation_id == self.conversation_id
        kept = {"import_id": KEPT + self.import_id}
        self.connection.execute(update(imported_messages).where(here, which).values(kept))


def undo_rows_beside(*, database: Database, which: Import) -> Undone:
    """Take back activities beside the conversations, and empty folders, those that lie in others first."""
    undone = Undone()

    def job(connection: Connection) -> None:
        undone.kept.clear()
        some = changes_beside(connection, which.import_id, kinds=_ROWS_BESIDE, limit=10_000)
        erase_activities(
            connection, added_activities(connection, [each.thing_id for each in some if each.kind == "activity"])
        )
        waiting, reasons = [each for each in some if each.kind == "workspace"], dict[str, str]()
        while waiting:
            reasons = {
                each.thing_id: take_workspace_back(connection, each, user_email=which.user_email) for each in waiting
            }
            left = [each for each in waiting if reasons[each.thing_id]]
            if len(left) == len(waiting):
                break
            waiting = left
        undone.kept += [{"item": _folder(each), "reason": reasons[each.thing_id]} for each in waiting]
        for each in some:
            forget_change(connection, which.import_id, each)
        undone.is_over = len(some) < 10_000

    database.write(job, urgency=Urgency.INDEX)
    return undone


def _folder(change: Change) -> str:
    return str(change.became["workspace_name"])
