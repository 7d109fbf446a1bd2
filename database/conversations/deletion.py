"""The bin, and permanent erasure of conversations: expired, temporary and unfinished ones."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    TextClause,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from database.activities.erasing import erase_activities
from database.activities.reading import NEWEST
from database.changes import CONVERSATION, forget_fields, record
from database.engine.clock import iso_in, now, now_iso, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import ConversationNotFoundError, TurnInProgressError
from database.schema import (
    IS_NO_MESSAGE,
    activities,
    conversations,
    filled_conversations,
    former_short_ids,
    imports,
    messages,
    share_pages,
    stream_events,
)
from database.search.index import forget

log = logging.getLogger(__name__)
BIN_DAYS = 30
_MESSAGES_AT_ONCE = 100
_PAGES_AT_ONCE = 8

_FORGOTTEN_AT_ONCE = 1_000
_c = conversations.c


def purge_bin(*, database: Database, older_than_days: float = BIN_DAYS) -> int:
    """Erase conversations in the bin for `older_than_days`; how many."""
    binned = and_(_c.expires_at.is_(None), _c.deleted_at < iso_in(days=-older_than_days))
    return _erase_all(database, binned)


def purge_temporary(*, database: Database) -> int:
    """Erase temporary conversations that are over; how many."""
    over = and_(
        _c.expires_at.is_not(None),
        or_(_c.expires_at < now_iso(), _c.deleted_at.is_not(None)),
        _c.running_message_id.is_(None),
    )
    return _erase_all(database, over)


def _erase_all(database: Database, which: ColumnElement[bool]) -> int:
    marked = database.write(lambda connection: mark_for_deletion(connection, which), urgency=Urgency.INDEX)
    erase(database, marked)
    return len(marked)


def mark_for_deletion(connection: Connection, which: ColumnElement[bool], *, recorded: bool = True) -> Sequence[str]:
    """Mark conversations for `erase`: from now on nobody sees them and nothing brings them back. Their ids.

    recorded: False leaves no row in `changes`, where the whole account is erased.
    """
    these = and_(which, _c.incomplete_since.is_(None))
    rows = connection.execute(select(_c.conversation_id, _c.user_email).where(these)).all()
    for owner, theirs in itertools.groupby(sorted(rows if recorded else (), key=_owner), key=_owner):
        ids = [row.conversation_id for row in theirs]
        record(connection, CONVERSATION, "gone", user_email=owner, ids=ids, fields={"erased": True})
    moment = now_iso()
    marks = {"incomplete_since": moment, "deleted_at": func.coalesce(_c.deleted_at, moment)}
    connection.execute(update(conversations).where(these).values(marks))
    return [row.conversation_id for row in rows]


_owner: Callable[[Any], str] = attrgetter("user_email")


def erase(store: Database, marked: Sequence[str]) -> None:
    """Erase marked conversations, slice by slice."""
    for start in range(0, len(marked), _FORGOTTEN_AT_ONCE):
        some = marked[start : start + _FORGOTTEN_AT_ONCE]
        store.write(partial(_forget_what_changed, conversation_ids=some), urgency=Urgency.INDEX)
    for conversation_id in marked:
        _erase(store, conversation_id)


def erase_incomplete(*, database: Database) -> int:
    """At the start of a server: erase conversations that a crash left half copied or half erased; how many.

    Those stay that an import is filling whose lease is held: it may be a command's that runs beside the server.
    """
    is_filled = exists().where(
        filled_conversations.c.conversation_id == _c.conversation_id,
        filled_conversations.c.import_id == imports.c.import_id,
        imports.c.lease_until >= store_time(),
    )
    with database.reading() as connection:
        query = select(_c.conversation_id).where(_c.deleted_at.is_not(None), _c.incomplete_since.is_not(None))
        query = query.where(~is_filled)
        found = connection.execute(query).scalars().all()
    erase(database, found)
    return len(found)


def remove_messages(connection: Connection, which: Mapping[int, str], *, beside: Sequence[int] = ()) -> None:
    """Permanently delete messages (`seq` → id) with their index entries, events, edits and references.

    beside: `seq` of other activities that are erased with them.
    """
    forget(connection, list(which))
    connection.execute(delete(stream_events).where(stream_events.c.message_id.in_(which.values())))
    connection.execute(delete(messages).where(messages.c.seq.in_(which)))
    erase_activities(connection, [*which, *beside])


def delete_share_pages(store: Database, conversation_id: str, *, keep: ColumnElement[Any] | None = None) -> None:
    """Delete the pages of a conversation's snapshots, a few at a time; keep: a query for the `snapshot_id` to keep."""
    stale = share_pages.c.conversation_id == conversation_id
    if keep is not None:
        stale &= share_pages.c.snapshot_id.is_distinct_from(keep)

    key = tuple_(share_pages.c.snapshot_id, share_pages.c.first_message)
    some = select(share_pages.c.snapshot_id, share_pages.c.first_message).where(stale).limit(_PAGES_AT_ONCE)
    while store.write(
        lambda connection: connection.execute(delete(share_pages).where(key.in_(some))).rowcount, urgency=Urgency.INDEX
    ):
        pass


def _forget_what_changed(connection: Connection, *, conversation_ids: Sequence[str]) -> None:
    owned = select(_c.user_email, _c.conversation_id).where(_c.conversation_id.in_(conversation_ids))
    rows = sorted(connection.execute(owned).all(), key=_owner)
    for owner, theirs in itertools.groupby(rows, key=_owner):
        forget_fields(connection, user_email=owner, conversation_ids=[row.conversation_id for row in theirs])


def _erase(store: Database, conversation_id: str) -> None:
    _erase_activities(store, conversation_id, IS_NO_MESSAGE)
    while store.write(lambda connection: _erase_messages(connection, conversation_id), urgency=Urgency.INDEX):
        pass
    delete_share_pages(store, conversation_id)
    _erase_activities(store, conversation_id)
    store.write(lambda connection: _erase_rest(connection, conversation_id), urgency=Urgency.INDEX)


def _erase_messages(connection: Connection, conversation_id: str) -> int:
    """Erase one slice; how many messages."""
    query = select(messages.c.seq, messages.c.message_id).where(messages.c.conversation_id == conversation_id)
    # The last first: replies before what they reply to.
    found = connection.execute(query.order_by(messages.c.ordinal.desc()).limit(_MESSAGES_AT_ONCE)).all()
    if found:
        remove_messages(connection, {row.seq: row.message_id for row in found})
    return len(found)


def _erase_activities(store: Database, conversation_id: str, *which: TextClause) -> None:
    """Erase the activities that are left, those for which `which` holds, slice by slice, the newest first.

    Rows of what is replied to elsewhere stay, without what they said.
    """
    before: int | None = NEWEST

    def erase_slice(connection: Connection) -> int | None:
        here = and_(activities.c.conversation_id == conversation_id, activities.c.seq < before, *which)
        query = select(activities.c.seq).where(here).order_by(activities.c.seq.desc()).limit(_MESSAGES_AT_ONCE)
        seqs = connection.execute(query).scalars().all()
        erase_activities(connection, seqs)
        return seqs[-1] if seqs else None

    while before is not None:
        before = store.write(erase_slice, urgency=Urgency.INDEX)


def _erase_rest(connection: Connection, conversation_id: str) -> None:
    for table in (former_short_ids, conversations):
        connection.execute(delete(table).where(table.c.conversation_id == conversation_id))


_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedConversation:
    """A conversation in the bin. `days_left`: how many days it can still be restored, rounded up."""

    conversation_id: str
    title: str
    flag: str
    message_count: int
    deleted_at: str
    days_left: int


def list_bin(*, database: Database, user_email: str, domain: str) -> list[BinnedConversation]:
    """The user's deleted conversations of `domain`, the newest deletion first. One query."""
    query = (
        select(_c.conversation_id, _c.title, _c.flag, _c.message_count, _c.deleted_at)
        .where(_in_bin(user_email), _c.domain == domain)
        .order_by(_c.deleted_at.desc(), _c.conversation_id)
    )
    with database.reading() as connection:
        found = connection.execute(query).all()
    return [BinnedConversation(**row._asdict(), days_left=_days_left(row.deleted_at)) for row in found]


def erase_binned(*, database: Database, user_email: str, conversation_id: str) -> None:
    """Permanently erase one conversation in the bin.

    Raises ConversationNotFoundError (missing, somebody else's, or not in the bin), TurnInProgressError (an answer is
    still running).
    """
    which = and_(_in_bin(user_email), _c.conversation_id == conversation_id)

    def job(connection: Connection) -> None:
        row = connection.execute(select(_c.running_message_id).where(which)).first()
        if row is None:
            raise ConversationNotFoundError
        if row.running_message_id is not None:
            raise TurnInProgressError
        mark_for_deletion(connection, which)

    database.write(job)
    erase(database, [conversation_id])


def empty_bin(*, database: Database, user_email: str, domain: str) -> int:
    """Permanently erase the bin of `domain`, except conversations with a running answer; how many."""
    which = and_(_in_bin(user_email), _c.domain == domain, _c.running_message_id.is_(None))
    marked = database.write(lambda connection: mark_for_deletion(connection, which))
    erase(database, marked)
    return len(marked)


def _in_bin(user_email: str) -> ColumnElement[bool]:
    return and_(
        _c.user_email == user_email,
        _c.deleted_at.is_not(None),
        _c.incomplete_since.is_(None),
        _c.expires_at.is_(None),
    )


def _days_left(deleted_at: str) -> int:
    age = now() - datetime.fromisoformat(deleted_at)
    return max(0, math.ceil(BIN_DAYS - age.total_seconds() / _SECONDS_A_DAY))
