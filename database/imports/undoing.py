"""Taking an import back: what it brought is erased, unless the person went on with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, exists, select, update

from database.conversations.deletion import erase, mark_for_deletion, remove_messages
from database.conversations.summary import forget_summary
from database.engine.database import Database, Urgency
from database.schema import (
    activities,
    conversations,
    document_references,
    imported_conversations,
    imported_messages,
    message_parts,
    message_variants,
    messages,
)
from sentences import say

from .repository import Import
from .updating import renew_path

_AT_ONCE = 20
_CONTINUED = say("import_went_on")
_FOLLOWED = say("import_went_on_behind")
_KEPT = "kept:"

_a, _c, _m, _v = activities.c, conversations.c, messages.c, message_variants.c
_ic, _im = imported_conversations.c, imported_messages.c


@dataclass(slots=True)
class Undone:
    """What a step took back. kept: what had to stay, `{item, reason}` each."""

    is_over: bool = False
    kept: list[dict[str, str]] = field(default_factory=list)


def undo_some(*, database: Database, which: Import) -> Undone:
    """Take a part of an import back: conversations that it brought, then what it added to others."""
    undone = Undone()
    marked = database.write(lambda connection: _mark_some(connection, which, undone), urgency=Urgency.INDEX)
    if marked is None:
        undone.is_over = database.write(
            lambda connection: _take_messages_back(connection, which, undone), urgency=Urgency.INDEX
        )
    else:
        erase(database, marked)
    return undone


def _mark_some(connection: Connection, which: Import, undone: Undone) -> Sequence[str] | None:
    """Mark some conversations that the import brought, for erasure; None where none is left."""
    undone.kept.clear()
    brought = (_ic.user_email == which.user_email) & (_ic.import_id == which.import_id)
    query = select(_ic.conversation_id, _c.title).join(_c_table(), _c.conversation_id == _ic.conversation_id)
    rows = connection.execute(query.where(brought, _c.incomplete_since.is_(None)).limit(_AT_ONCE)).all()
    if not rows:
        return None
    ids = [row.conversation_id for row in rows]
    continued = _continued(connection, ids)
    undone.kept += [{"item": row.title, "reason": _CONTINUED} for row in rows if row.conversation_id in continued]
    detached = _ic.conversation_id.in_(continued)
    if continued:
        connection.execute(update(imported_conversations).where(detached).values(import_id=_KEPT + which.import_id))
        mine = _im.conversation_id.in_(continued)
        connection.execute(update(imported_messages).where(mine).values(import_id=_KEPT + which.import_id))
    gone = [each for each in ids if each not in continued]
    return mark_for_deletion(connection, _c.conversation_id.in_(gone)) if gone else []


def _c_table() -> Any:
    return conversations


def _continued(connection: Connection, conversation_ids: Sequence[str]) -> set[str]:
    """Those of these conversations to which the person added something here: an activity, an edit, another answer."""
    added = select(_a.conversation_id).where(
        _a.conversation_id.in_(conversation_ids),
        ~exists().where(_im.conversation_id == _a.conversation_id, _im.message_id == _a.activity_id),
    )
    edited = select(_m.conversation_id).where(_m.conversation_id.in_(conversation_ids), _m.edited_at.is_not(None))
    answered_again = (
        select(_m.conversation_id)
        .join(message_variants, _v.message_id == _m.message_id)
        .where(
            _m.conversation_id.in_(conversation_ids),
            ~exists().where(_im.message_id == _v.message_id, _im.number == _v.number),
        )
    )
    return {row for query in (added, edited, answered_again) for row in connection.execute(query.distinct()).scalars()}


def _take_messages_back(connection: Connection, which: Import, undone: Undone) -> bool:
    """Take back what the import added to one conversation that it had not brought; whether none is left."""
    undone.kept.clear()
    # What a crash left half stored is erased by the next start.
    query = select(_im.conversation_id).join(conversations, _c.conversation_id == _im.conversation_id)
    query = query.where(_im.import_id == which.import_id, _c.incomplete_since.is_(None)).limit(1)
    conversation_id = connection.execute(query).scalar()
    if conversation_id is None:
        return True
    mine = (_im.conversation_id == conversation_id) & (_im.import_id == which.import_id)
    title = connection.execute(select(_c.title).where(_c.conversation_id == conversation_id)).scalar_one()
    rows = connection.execute(
        select(_im.source_id, _im.message_id, _im.number, _m.seq, _m.ordinal, _m.chosen_variant)
        .join(messages, _m.message_id == _im.message_id)
        .where(mine)
    ).all()
    others = set(
        connection.execute(
            select(_im.message_id).where(_im.conversation_id == conversation_id, _im.import_id != which.import_id)
        ).scalars()
    )
    whole = {row.seq: row.message_id for row in rows if row.message_id not in others}
    variants = [row for row in rows if row.message_id in others and row.chosen_variant != row.number]
    if whole and _is_followed(connection, conversation_id, [row.ordinal for row in rows if row.seq in whole]):
        undone.kept.append({"item": title, "reason": _FOLLOWED})
        whole = {}
    for row in variants:
        _remove_variant(connection, row.message_id, row.number)
    gone = [row.source_id for row in (*variants, *(row for row in rows if row.seq in whole))]
    connection.execute(delete(imported_messages).where(_im.conversation_id == conversation_id, _im.source_id.in_(gone)))
    connection.execute(update(imported_messages).where(mine).values(import_id=_KEPT + which.import_id))
    # Its source may have it again: another import compares everything.
    known = imported_conversations.c.conversation_id == conversation_id
    connection.execute(update(imported_conversations).where(known).values(digest=""))
    if whole:
        forget_summary(connection, conversation_id, ordinal=min(row.ordinal for row in rows if row.seq in whole))
        remove_messages(connection, whole)
        renew_path(connection, conversation_id)
    return False


def _remove_variant(connection: Connection, message_id: str, number: int) -> None:
    """Delete a variant with its parts and documents, so that its number is free again."""
    for table, numbered in (
        (message_variants, _v.number),
        (message_parts, message_parts.c.version),
        (document_references, document_references.c.version),
    ):
        connection.execute(delete(table).where(table.c.message_id == message_id, numbered == number))


def _is_followed(connection: Connection, conversation_id: str, ordinals: Sequence[int]) -> bool:
    """Whether a message of the person's own comes after one of these."""
    own = ~exists().where(_im.conversation_id == conversation_id, _im.message_id == _m.message_id)
    behind = select(_m.seq).where(_m.conversation_id == conversation_id, _m.ordinal > min(ordinals), own).limit(1)
    return connection.execute(behind).first() is not None
