"""Links by which anyone may read a conversation as it was when its owner shared it.

A conversation has at most one link. Its token is derived from a stored seed and the server's secret key, which is not
in the database: the owner can be shown the link again, and the database alone opens none.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, select

from database.accounts.secret_tokens import derived_secret, fingerprint
from database.conversations.conversation import head_even_in_bin
from database.conversations.deletion import delete_share_pages
from database.conversations.repository import read_live
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import (
    AttachmentNotFoundError,
    ConflictError,
    NotShareableError,
    ShareNotFoundError,
    ShareOutdatedError,
)
from database.history.attachments import Attachment
from database.messages.message import live_in_any_branch
from database.schema import IS_FILE, attachments, conversations, message_parts, messages, shares, users
from sentences import say

from .snapshots import (
    MESSAGES_A_PAGE,
    Choice,
    PartFilter,
    SharedMessage,
    Snapshot,
    count_messages,
    is_whole,
    read_chosen_files,
    read_page,
    shown_in,
    take_snapshot,
)

_a, _m, _p = attachments.c, messages.c, message_parts.c
_ATTEMPTS = 8
_c = shares.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareableFile:
    """A file of a message that a new snapshot would show. is_shared: the link shows it as it is now."""

    attachment_id: str
    name: str
    media_type: str
    size: int
    is_shared: bool


def shareable_files(
    connection: Connection, *, user_email: str, conversation_id: str, shared: Collection[str] = ()
) -> list[ShareableFile]:
    """The files that a new snapshot could show, each once, in order of the messages.

    shared: the ids of those that the present one shows.
    """
    columns = (_a.attachment_id, _a.name, _a.media_type, _a.size)
    query = (
        select(*columns)
        .join(message_parts, _p.attachment_id == _a.attachment_id)
        .join(messages, _m.message_id == _p.message_id)
        .where(
            shown_in(conversation_id, user_email=user_email),
            _m.has_parts == 1,
            _p.version == func.coalesce(_m.chosen_variant, 1),
            IS_FILE,
            _a.user_email == user_email,
        )
        .order_by(_m.ordinal, _p.part_id)
    )
    found = {row.attachment_id: row._asdict() for row in connection.execute(query)}
    return [ShareableFile(**fields, is_shared=fields["attachment_id"] in shared) for fields in found.values()]


def shared_file(
    connection: Connection, snapshot_id: str, *, user_email: str, conversation_id: str, message_index: int, number: int
) -> Attachment:
    """The `number`-th file of a message of the snapshot, if it was chosen and the conversation has it still.

    Raises ShareNotFoundError.
    """
    place = (message_index, number)
    files = read_chosen_files(connection, snapshot_id)
    chosen = [each["attachment_id"] for each in files if (each["message_index"], each["number"]) == place]
    in_use = exists().where(
        _p.attachment_id == _a.attachment_id,
        _p.message_id == _m.message_id,
        live_in_any_branch(conversation_id),
    )
    query = select(*(_a[name] for name in Attachment.__dataclass_fields__))
    row = connection.execute(query.where(_a.attachment_id.in_(chosen), _a.user_email == user_email, in_use)).first()
    if row is None:
        raise ShareNotFoundError
    return Attachment(**row._asdict())


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share as its owner sees it.

    title, message_count: of the snapshot, which was made at `created_at` (ISO 8601 in UTC). token: None where the share
    was made with another secret key: the link works, but can't be shown again. in_bin: the conversation is in the bin,
    and the link works again once it is restored.
    """

    conversation_id: str
    title: str
    created_at: str
    message_count: int
    token: str | None
    in_bin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePreview:
    """The share of a conversation, if it has one, and how many messages a new snapshot would show and leave out.

    files: those that it could show.
    """

    share: Share | None
    message_count: int
    hidden_count: int
    files: Sequence[ShareableFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    """Some messages of a snapshot. next: the number to go on after, None at the end.

    snapshot: names the snapshot; another one once the link was renewed.
    """

    snapshot: str
    title: str
    created_at: str
    message_count: int
    messages: Sequence[SharedMessage]
    next: int | None


def share_conversation(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    secret_key: str,
    show_part: PartFilter = lambda _part: None,
    files: Collection[str] = (),
) -> Share:
    """Share a conversation as it is now. One that is shared already keeps its link, which shows the new snapshot.

    The link changes only where the old one was made with another secret key. show_part: what readers see of the parts
    of messages; nothing, unless told. files: the ids of the files that readers get, of no others. Raises
    ConversationNotFoundError (missing, somebody else's, or in the bin), AttachmentNotFoundError (one of `files` is no
    file of a message that the snapshot shows), NotShareableError (temporary, or without a finished message that is not
    hidden), ConflictError (other requests kept sharing the conversation or withdrawing the link at the same moment).
    """
    own = {"user_email": user_email, "conversation_id": conversation_id}
    with database.reading() as connection:
        if read_live(connection, **own).expires_at is not None:
            raise NotShareableError(say("share_temporary"))
        if not count_messages(connection, **own)[0]:
            raise NotShareableError(say("share_nothing_yet"))
        if files and not {each.attachment_id for each in shareable_files(connection, **own)}.issuperset(files):
            raise AttachmentNotFoundError
    choice = Choice(show_part=show_part, files=frozenset(files))
    try:
        for _ in range(_ATTEMPTS):
            # Whoever publishes or withdraws a snapshot deletes the pages of all others, unfinished ones included.
            snapshot = take_snapshot(database, choice=choice, **own)
            publish = partial(_publish, user_email=user_email, conversation_id=conversation_id)
            share = database.write(partial(publish, snapshot=snapshot, secret_key=secret_key))
            if share is not None:
                return share
        raise ConflictError(say("share_changed"))
    finally:
        _delete_stale_pages(database, conversation_id)


def preview_share(*, database: Database, user_email: str, conversation_id: str, secret_key: str) -> SharePreview:
    """Whether and since when a conversation is shared, and what sharing it now would show.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin).
    """
    own = {"user_email": user_email, "conversation_id": conversation_id}
    with database.reading() as connection:
        read_live(connection, **own)
        row = connection.execute(_select_shares(user_email).where(_c.conversation_id == conversation_id)).first()
        shown, hidden = count_messages(connection, **own)
        chosen = [] if row is None else read_chosen_files(connection, row.snapshot_id)
        files = shareable_files(connection, **own, shared={each["attachment_id"] for each in chosen})
    share = None if row is None else _share(row, secret_key)
    return SharePreview(share=share, message_count=shown, hidden_count=hidden, files=files)


def list_shares(*, database: Database, user_email: str, secret_key: str) -> list[Share]:
    """The user's shares, the newest snapshot first. One query."""
    with database.reading() as connection:
        rows = connection.execute(_select_shares(user_email).order_by(_c.created_at.desc())).all()
    return [_share(row, secret_key) for row in rows]


def revoke_share(*, database: Database, user_email: str, conversation_id: str) -> None:
    """Delete the link of a conversation, also of one in the bin.

    Raises ConversationNotFoundError (missing, or somebody else's), ShareNotFoundError (it is not shared).
    """

    def job(connection: Connection) -> None:
        head_even_in_bin(connection, user_email=user_email, conversation_id=conversation_id)
        own = and_(_c.user_email == user_email, _c.conversation_id == conversation_id)
        if connection.execute(delete(shares).where(own)).rowcount == 0:
            raise ShareNotFoundError("This conversation is not shared.")

    database.write(job)
    _delete_stale_pages(database, conversation_id)


def read_share(*, database: Database, token: str, after: int = 0, limit: int = MESSAGES_A_PAGE) -> SharedPage:
    """The messages after number `after` of the snapshot behind `token`: at most `limit`, fewer where they are long.

    Raises ShareNotFoundError (unknown or revoked, its conversation is in the bin, or its owner's account is disabled).
    """
    with database.reading() as connection:
        row = _opened(connection, token)
        found = read_page(connection, row.snapshot_id, after=after, limit=limit)
    end = found[-1]["message_index"] if found else row.message_count
    return SharedPage(
        snapshot=row.snapshot_id,
        title=row.title,
        created_at=row.created_at,
        message_count=row.message_count,
        messages=found,
        next=end if end < row.message_count else None,
    )


def read_shared_file(*, database: Database, token: str, snapshot: str, message_index: int, number: int) -> Attachment:
    """The `number`-th file of a message of the snapshot behind `token`, if it was chosen.

    Raises ShareNotFoundError (as `read_share`; the file was not chosen, or the conversation has it no more),
    ShareOutdatedError (the link shows another snapshot by now, which may have another file there).
    """
    with database.reading() as connection:
        row = _opened(connection, token)
        if row.snapshot_id != snapshot:
            raise ShareOutdatedError
        whose = {"user_email": row.user_email, "conversation_id": row.conversation_id}
        return shared_file(connection, row.snapshot_id, **whose, message_index=message_index, number=number)


def _opened(connection: Connection, token: str) -> Row[*tuple[Any, ...]]:
    """The share behind `token`. Raises ShareNotFoundError."""
    query = (
        select(_c.title, _c.created_at, _c.message_count, _c.snapshot_id, _c.user_email, _c.conversation_id)
        .join(conversations, conversations.c.conversation_id == _c.conversation_id)
        .outerjoin(users, users.c.user_email == _c.user_email)
        .where(_c.token_hash == fingerprint(token), conversations.c.deleted_at.is_(None), users.c.disabled_at.is_(None))
    )
    row = connection.execute(query).first()
    if row is None:
        raise ShareNotFoundError
    return row


def _publish(
    connection: Connection, *, user_email: str, conversation_id: str, snapshot: Snapshot, secret_key: str
) -> Share | None:
    """Let the link of the conversation show `snapshot`; None where pages of it were deleted meanwhile."""
    title = read_live(connection, user_email=user_email, conversation_id=conversation_id).title
    if not is_whole(connection, snapshot):
        return None
    own = and_(_c.user_email == user_email, _c.conversation_id == conversation_id)
    old = connection.execute(select(_c.token_hash, _c.seed).where(own)).first()
    seed = old.seed if old is not None and _token(old, secret_key) else secrets.token_hex(16)
    token = derived_secret(secret_key, f"share {seed}")
    created_at = now_iso()
    row = {
        "conversation_id": conversation_id,
        "user_email": user_email,
        "token_hash": fingerprint(token),
        "seed": seed,
        "snapshot_id": snapshot.snapshot_id,
        "title": title,
        "message_count": snapshot.message_count,
        "created_at": created_at,
    }
    connection.execute(delete(shares).where(own))
    connection.execute(insert(shares).values(row))
    return Share(
        conversation_id=conversation_id,
        title=title,
        created_at=created_at,
        message_count=snapshot.message_count,
        token=token,
        in_bin=False,
    )


def _delete_stale_pages(store: Database, conversation_id: str) -> None:
    """Delete the pages that the conversation's link does not show, also those that a crash left."""
    shown = select(_c.snapshot_id).where(_c.conversation_id == conversation_id).scalar_subquery()
    delete_share_pages(store, conversation_id, keep=shown)


def _select_shares(user_email: str) -> Any:
    columns = (_c.conversation_id, _c.title, _c.created_at, _c.token_hash, _c.seed, _c.message_count, _c.snapshot_id)
    return (
        select(*columns, conversations.c.deleted_at)
        .join(conversations, conversations.c.conversation_id == _c.conversation_id)
        .where(_c.user_email == user_email, conversations.c.incomplete_since.is_(None))
    )


def _share(row: Row[*tuple[Any, ...]], secret_key: str) -> Share:
    return Share(
        conversation_id=row.conversation_id,
        title=row.title,
        created_at=row.created_at,
        message_count=row.message_count,
        token=_token(row, secret_key),
        in_bin=row.deleted_at is not None,
    )


def _token(row: Row[*tuple[Any, ...]], secret_key: str) -> str | None:
    """The token of a stored share; None where another secret key made it."""
    token = derived_secret(secret_key, f"share {row.seed}")
    return token if fingerprint(token) == row.token_hash else None
