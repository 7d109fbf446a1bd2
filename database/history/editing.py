"""Changing messages: edit, delete, restore, move, hide, pin; former texts are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, update

from database.activities.calls import mark_calls_deleted
from database.changes import MESSAGE, ChangeType, record
from database.conversations.conversation import access_head, touch
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError, StaleTextError
from database.engine.text import storable
from database.messages.branch_tree import BranchTree, branches_of
from database.messages.message import (
    MESSAGE_INDEX,
    MessageRow,
    answering_model,
    live_in,
    previewed,
    row_with_id,
    rows_where,
    text_beginning,
)
from database.schema import activities, message_edits, message_variants, messages
from database.search import index as fulltext_index
from database.search.vectors import renew_vectors_of_moved

from .branches import leave_what_is_gone, return_to
from .reading import access_message, access_settled
from .references import forget_unnamed
from .summary import forget_summary


def keep_text(connection: Connection, *, message_id: str, text: str, replaced_at: str) -> int:
    """Keep what a message says until now; the number of the row that says it."""
    kept = insert(message_edits).values(message_id=message_id, text=text, replaced_at=replaced_at)
    return int(connection.execute(kept.returning(message_edits.c.edit_id)).scalar_one())


def edits_of(*, database: Database, user_email: str, message_id: str) -> list[dict[str, str]]:
    """The earlier texts of a live message, oldest first: `{text, replaced_at}` each. Raises MessageNotFoundError."""
    query = (
        select(message_edits.c.text, message_edits.c.replaced_at)
        .where(message_edits.c.message_id == message_id)
        .order_by(message_edits.c.edit_id)
    )
    with database.reading() as connection:
        access_message(connection, user_email=user_email, message_id=message_id)
        return [{"text": text, "replaced_at": replaced_at} for text, replaced_at in connection.execute(query)]


def edit_message(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    message_id: str,
    index: int | None,
    text: str,
    based_on: str | None = None,
) -> MessageRow:
    """Replace a message's text and keep the old one in its history. The short hash stays. The same text is no change.

    What it does not refer to any more is told so: it is in neither the report nor the backlinks. What it refers to anew
    comes in when it is answered again.

    index: where the caller saw the message, 1-based; None: don't check.
    based_on: what the caller saw there; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, StaleTextError, TurnInProgressError (the
    message is still being written).
    """

    def edit(connection: Connection) -> MessageRow:
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        replaced_at, new_text = now_iso(), storable(text)
        if new_text == message.text:
            # Sent again, since the answer to the first time was lost.
            return message
        if based_on is not None and storable(based_on) != message.text:
            raise StaleTextError
        keep_text(connection, message_id=message_id, text=message.text, replaced_at=replaced_at)
        _edit_variant(connection, message, text=new_text)
        fulltext_index.reindex(connection, message, text=new_text)
        connection.execute(
            update(messages).where(messages.c.seq == message.seq).values(text=new_text, edited_at=replaced_at)
        )
        forget_unnamed(connection, message, text=new_text)
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id)
        _record(connection, message, "changed", edited_at=replaced_at)
        return rows_where(connection, messages.c.seq == message.seq)[0]

    return database.write(edit)


def delete_message(
    *, database: Database, user_email: str, conversation_id: str, message_id: str, index: int | None
) -> None:
    """Take a message out of the conversation; the indexes of those behind it shift. Its row stays, marked as deleted.

    Where nothing is left of the branch that the active path goes by, it goes by another one, see `leave_what_is_gone`.
    Raises as `edit_message`.
    """

    def remove(connection: Connection) -> None:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        deleted_at = now_iso()
        fulltext_index.reindex(connection, message, text=None)
        for table in (messages, activities):
            connection.execute(update(table).where(table.c.seq == message.seq).values(deleted_at=deleted_at))
        mark_calls_deleted(connection, message, deleted_at=deleted_at)
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id, message_count=head.message_count - (message.other_branch is None))
        _record(connection, message, "gone")
        if message.other_branch is None:
            leave_what_is_gone(connection, head)

    database.write(remove)


def restore_message(*, database: Database, user_email: str, conversation_id: str, message_id: str) -> None:
    """Bring a deleted message back to its old place; the indexes of those behind it shift. Its hash was kept.

    A live one stays as it is. The path leads to it again where it left it because nothing was left there.
    Raises ConversationNotFoundError, MessageNotFoundError.
    """

    def restore(connection: Connection) -> None:
        head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
        message = row_with_id(connection, conversation_id, message_id)
        if message is None:
            raise MessageNotFoundError
        if message.deleted_at is None:
            return
        if return_to(connection, head, message):
            head = access_head(connection, user_email=user_email, conversation_id=conversation_id)
            message = message._replace(other_branch=None)
        for table in (messages, activities):
            connection.execute(update(table).where(table.c.seq == message.seq).values(deleted_at=None))
        mark_calls_deleted(connection, message, deleted_at=None)
        fulltext_index.readmit(connection, message)
        forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id, message_count=head.message_count + (message.other_branch is None))
        _record(connection, message, "created")

    database.write(restore)


def move_messages(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    message_ids: Sequence[str],
    direction: Literal["up", "down"],
) -> None:
    """Move messages by one place among the live ones, towards the beginning ("up") or the end ("down").

    Neighbours move as a block. What stands at the edge stays there, and what follows it closely stays behind it. A
    question with branches is such an edge: it stays, and nothing is moved over it.
    Raises ConversationNotFoundError, MessageNotFoundError (one of them is not there).
    """
    chosen = set(message_ids)

    def move(connection: Connection) -> None:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        stretch = _stretch(connection, conversation_id, chosen)
        areas = _areas(branches_of(connection, conversation_id), stretch)
        order = _moved([message.message_id for message in stretch], chosen, areas, up=direction == "up")
        places: list[dict[str, Any]] = [
            {"id": message_id, "ordinal": ordinal}
            for message_id, (old_id, ordinal, _) in zip(order, stretch, strict=True)
            if message_id != old_id
        ]
        if places:
            _place(connection, places)
            renew_vectors_of_moved(connection, [place["id"] for place in places])
            forget_summary(connection, conversation_id, ordinal=min(place["ordinal"] for place in places))
            touch(connection, conversation_id)
            ids = [place["id"] for place in places]
            where = {"user_email": user_email, "conversation_id": conversation_id}
            record(connection, MESSAGE, "changed", ids=ids, fields={"moved": True}, **where)

    if chosen:
        database.write(move)


def _edit_variant(connection: Connection, message: MessageRow, *, text: str) -> None:
    """The variant that an edited message is says the same as the message."""
    if message.chosen_variant is not None:
        v = message_variants.c
        chosen = (v.message_id == message.message_id) & (v.number == message.chosen_variant)
        connection.execute(update(message_variants).where(chosen).values(text=text))


def _record(connection: Connection, message: MessageRow, change: ChangeType, **fields: Any) -> None:
    where = {"user_email": message.user_email, "conversation_id": message.conversation_id}
    record(connection, MESSAGE, change, ids=[message.message_id], fields=fields, **where)


class _Placed(NamedTuple):
    message_id: str
    ordinal: int
    branch_id: str | None


def _stretch(connection: Connection, conversation_id: str, chosen: set[str]) -> list[_Placed]:
    """The live messages from the first chosen to the last, with a neighbour on either side."""
    first, last, found = connection.execute(
        select(func.min(messages.c.ordinal), func.max(messages.c.ordinal), func.count()).where(
            live_in(conversation_id), messages.c.message_id.in_(chosen)
        )
    ).one()
    if found != len(chosen):
        raise MessageNotFoundError
    before = select(func.max(messages.c.ordinal)).where(live_in(conversation_id), messages.c.ordinal < first)
    behind = select(func.min(messages.c.ordinal)).where(live_in(conversation_id), messages.c.ordinal > last)
    query = (
        select(messages.c.message_id, messages.c.ordinal, messages.c.branch_id)
        .where(
            live_in(conversation_id),
            messages.c.ordinal >= func.coalesce(before.scalar_subquery(), first),
            messages.c.ordinal <= func.coalesce(behind.scalar_subquery(), last),
        )
        .order_by(messages.c.ordinal)
    )
    return [_Placed._make(row) for row in connection.execute(query)]


def _areas(tree: BranchTree, stretch: Sequence[_Placed]) -> dict[str, tuple[str | None, int, str]]:
    """By message id: the same for two messages that may change places, since no branch begins between them."""
    fixed = {fork.message_id for fork in tree.forks}
    return {
        message.message_id: (
            message.branch_id,
            sum(fork.branch_id == message.branch_id and fork.ordinal < message.ordinal for fork in tree.forks),
            message.message_id if message.message_id in fixed else "",
        )
        for message in stretch
    }


def _moved(order: Sequence[str], chosen: set[str], areas: Mapping[str, object], *, up: bool) -> list[str]:
    result = list(order) if up else list(order)[::-1]
    for place in range(1, len(result)):
        apart = areas[result[place]] != areas[result[place - 1]]
        if result[place] in chosen and result[place - 1] not in chosen and not apart:
            result[place - 1], result[place] = result[place], result[place - 1]
    return result if up else result[::-1]


def _place(connection: Connection, places: list[dict[str, Any]]) -> None:
    # Ordinals are unique at every moment, so everything steps aside first.
    at_place = update(messages).where(messages.c.message_id == bindparam("id"))
    connection.execute(at_place.values(ordinal=-bindparam("ordinal")), places)
    connection.execute(at_place.values(ordinal=bindparam("ordinal")), places)


def show_or_hide_message(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    message_id: str,
    index: int | None,
    show_hide: Literal["show", "hide"],
) -> None:
    """Hide a message from models, or show it to them again. References to it lead to it either way.

    index: where the caller saw the message, 1-based; None: don't check.
    Raises ConversationNotFoundError, MessageNotFoundError, StaleIndexError, TurnInProgressError (the message is still
    being written).
    """

    def mark(connection: Connection) -> None:
        message = access_settled(
            connection, user_email=user_email, conversation_id=conversation_id, message_id=message_id, index=index
        )
        connection.execute(update(messages).where(messages.c.seq == message.seq).values(show_hide=show_hide))
        if show_hide != message.show_hide:
            forget_summary(connection, conversation_id, ordinal=message.ordinal)
        touch(connection, conversation_id)
        _record(connection, message, "changed", show_hide=show_hide)

    database.write(mark)


def pin_message(*, database: Database, user_email: str, message_id: str, pinned: bool) -> None:
    """Pin a message, or take its pin away; one that is pinned stays as it is. Raises MessageNotFoundError."""

    def pin(connection: Connection) -> None:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        if (message.pinned_at is not None) == pinned:
            return
        pinned_at = now_iso() if pinned else None
        connection.execute(update(messages).where(messages.c.seq == message.seq).values(pinned_at=pinned_at))
        touch(connection, message.conversation_id)
        _record(connection, message, "changed", pinned=pinned)

    database.write(pin)


def pinned_messages(*, database: Database, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The pinned live messages of a conversation in order.

    Each: `{message_id, message_index, message_short_hash, sender, model, preview, pinned_at}`; `model` is the name of
    the one that answered.
    Raises ConversationNotFoundError.
    """
    pinned = select(messages.c.seq).where(
        messages.c.conversation_id == conversation_id, messages.c.pinned_at.is_not(None)
    )
    query = (
        select(
            messages.c.message_id,
            MESSAGE_INDEX.label("message_index"),
            messages.c.message_short_hash,
            messages.c.sender,
            answering_model().label("model"),
            text_beginning(),
            messages.c.pinned_at,
        )
        # By their numbers, which `idx_messages_pinned` holds: in order, all messages would be read.
        .where(messages.c.seq.in_(pinned), messages.c.deleted_at.is_(None), messages.c.other_branch.is_(None))
        .order_by(messages.c.ordinal)
    )
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return [previewed(row) for row in connection.execute(query).mappings()]
