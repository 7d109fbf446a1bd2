"""Links by which anyone may read a conversation as it was when its owner shared it.

A conversation has one link at most. Its token is made of a seed, which is stored, and of the server's secret key, which
is not in the database: the owner can be shown the link again, and who reads the database alone can't open it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select

from database.accounts.secret_tokens import derived_secret, fingerprint
from database.connection import open_store
from database.conversations.conversation import head_even_in_bin
from database.conversations.repository import read_live
from database.engine.clock import now_iso
from database.engine.store import Store, Urgency
from database.errors import ConflictError, NotShareableError, ShareNotFoundError
from database.schema import conversations, shares, users

from .snapshots import (
    MESSAGES_A_PART,
    SharedMessage,
    Snapshot,
    count_messages,
    is_part,
    is_whole,
    read_part,
    take_snapshot,
)

_PARTS_AT_ONCE = 8
_ATTEMPTS = 8

_c = shares.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share as its owner sees it.

    title, message_count: of the snapshot, which was made at `created_at` (ISO 8601 in UTC). token: None where it was
    made with another secret key, so that the link works but can't be told again. in_bin: the conversation lies there,
    and the link leads nowhere until it is restored.
    """

    conversation_id: str
    title: str
    created_at: str
    message_count: int
    token: str | None
    in_bin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePreview:
    """The share of a conversation, if it has one, and what a new snapshot would show and leave out."""

    share: Share | None
    message_count: int
    hidden_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPage:
    """A part of a snapshot. next: behind which number the rest begins, None at the end."""

    title: str
    created_at: str
    message_count: int
    messages: Sequence[SharedMessage]
    next: int | None


class _SharedMeanwhileError(ConflictError):
    """Another snapshot was published while this one was made, and has swept its parts away."""


def share_conversation(*, users_dir: str, user_email: str, conversation_id: str, secret_key: str) -> Share:
    """Share a conversation as it is now. Shared before, it keeps its link, which shows the new snapshot from then on.

    The link is another one where the old one was made with another secret key.

    Raises:
        ConversationNotFoundError: missing, somebody else's, or in the bin.
        NotShareableError: temporary, or without a finished message that is not hidden.
        ConflictError: withdrawn elsewhere at the same moment. Where it was shared, the later snapshot is shown.
    """
    store = open_store(users_dir)
    own = {"user_email": user_email, "conversation_id": conversation_id}
    with store.reading() as connection:
        if read_live(connection, **own).expires_at is not None:
            raise NotShareableError("A temporary conversation can't be shared: it will not last.")
        if not count_messages(connection, **own)[0]:
            raise NotShareableError("There is nothing to share yet: the conversation has no finished message.")
    try:
        for _ in range(_ATTEMPTS - 1):
            with suppress(_SharedMeanwhileError):
                return _share_now(store, secret_key=secret_key, **own)
        return _share_now(store, secret_key=secret_key, **own)
    finally:
        _sweep(store, **own)


def preview_share(*, users_dir: str, user_email: str, conversation_id: str, secret_key: str) -> SharePreview:
    """Whether and since when a conversation is shared, and what sharing it now would show.

    Raises:
        ConversationNotFoundError: missing, somebody else's, or in the bin.
    """
    own = {"user_email": user_email, "conversation_id": conversation_id}
    with open_store(users_dir).reading() as connection:
        read_live(connection, **own)
        row = connection.execute(_select_shares(user_email).where(_c.conversation_id == conversation_id)).first()
        shown, hidden = count_messages(connection, **own)
    share = None if row is None else _share(row, secret_key)
    return SharePreview(share=share, message_count=shown, hidden_count=hidden)


def list_shares(*, users_dir: str, user_email: str, secret_key: str) -> list[Share]:
    """The user's shares, the newest snapshot first. One query."""
    with open_store(users_dir).reading() as connection:
        rows = connection.execute(_select_shares(user_email).order_by(_c.created_at.desc())).all()
    return [_share(row, secret_key) for row in rows]


def revoke_share(*, users_dir: str, user_email: str, conversation_id: str) -> None:
    """Make the link of a conversation lead nowhere, for good; also of one in the bin.

    Raises:
        ConversationNotFoundError: missing, or somebody else's.
        ShareNotFoundError: it is not shared.
    """
    store = open_store(users_dir)

    def job(connection: Connection) -> None:
        head_even_in_bin(connection, user_email=user_email, conversation_id=conversation_id)
        if connection.execute(delete(shares).where(_share_of(user_email, conversation_id))).rowcount == 0:
            raise ShareNotFoundError("This conversation is not shared.")

    store.write(job)
    _sweep(store, user_email=user_email, conversation_id=conversation_id)


def read_share(*, users_dir: str, token: str, after: int = 0, limit: int = MESSAGES_A_PART) -> SharedPage:
    """The messages behind number `after` of what `token` shows: `limit` of them, or fewer where they are long.

    Raises:
        ShareNotFoundError: unknown or withdrawn, its conversation is in the bin, or its owner may not sign in any more.
    """
    query = (
        select(_c.title, _c.created_at, _c.snapshot)
        .join(conversations, conversations.c.conversation_id == _c.conversation_id)
        .outerjoin(users, users.c.user_email == _c.user_email)
        .where(_c.token_hash == fingerprint(token), conversations.c.deleted_at.is_(None), users.c.disabled_at.is_(None))
    )
    with open_store(users_dir).reading() as connection:
        row = connection.execute(query).first()
        if row is None:
            raise ShareNotFoundError
        snapshot = _snapshot(row)
        found = read_part(connection, snapshot, after=after, limit=limit)
    end = found[-1]["message_index"] if found else snapshot.message_count
    return SharedPage(
        title=row.title,
        created_at=row.created_at,
        message_count=snapshot.message_count,
        messages=found,
        next=end if end < snapshot.message_count else None,
    )


def _share_now(store: Store, *, user_email: str, conversation_id: str, secret_key: str) -> Share:
    own = {"user_email": user_email, "conversation_id": conversation_id}
    snapshot = take_snapshot(store, **own)
    return store.write(lambda connection: _publish(connection, snapshot=snapshot, secret_key=secret_key, **own))


def _publish(
    connection: Connection, *, user_email: str, conversation_id: str, snapshot: Snapshot, secret_key: str
) -> Share:
    own = {"user_email": user_email, "conversation_id": conversation_id}
    title = read_live(connection, **own).title
    which = _share_of(user_email, conversation_id)
    old = connection.execute(select(_c.token_hash, _c.snapshot).where(which)).first()
    if not snapshot.message_count or not is_whole(connection, snapshot, **own):
        # Nobody else sweeps parts away but who has shared the conversation, or withdrawn that.
        error = _SharedMeanwhileError if old is not None and snapshot.message_count else ConflictError
        raise error("The conversation, or its share, changed at the same moment. Try again.")
    seed = old.snapshot["seed"] if old is not None and _token(old, secret_key) else secrets.token_hex(16)
    token = _token_of(seed, secret_key)
    connection.execute(delete(shares).where(which))
    created_at = now_iso()
    values = {
        **own,
        "token_hash": fingerprint(token),
        "title": title,
        "snapshot": {
            "seed": seed,
            "generation": snapshot.generation,
            "starts": snapshot.starts,
            "message_count": snapshot.message_count,
        },
        "created_at": created_at,
    }
    connection.execute(insert(shares).values(values))
    return Share(
        conversation_id=conversation_id,
        title=title,
        created_at=created_at,
        message_count=snapshot.message_count,
        token=token,
        in_bin=False,
    )


def _sweep(store: Store, *, user_email: str, conversation_id: str) -> None:
    """Throw away the parts that no share shows any more, or that a crash left, a few at a time."""
    which = _share_of(user_email, conversation_id)
    parts = and_(_c.user_email == user_email, _c.conversation_id == conversation_id, is_part())

    def job(connection: Connection) -> int:
        current = connection.execute(select(_c.snapshot).where(which)).scalar()
        stale = parts if current is None else and_(parts, ~is_part(current["generation"]))
        names = connection.execute(select(_c.token_hash).where(stale).limit(_PARTS_AT_ONCE)).scalars().all()
        return connection.execute(delete(shares).where(_c.token_hash.in_(names))).rowcount if names else 0

    while store.write(job, urgency=Urgency.INDEX):
        pass


def _share_of(user_email: str, conversation_id: str) -> ColumnElement[bool]:
    return and_(_c.user_email == user_email, _c.conversation_id == conversation_id, ~is_part())


def _select_shares(user_email: str) -> Any:
    columns = (_c.conversation_id, _c.title, _c.created_at, _c.token_hash, _c.snapshot, conversations.c.deleted_at)
    return (
        select(*columns)
        .join(conversations, conversations.c.conversation_id == _c.conversation_id)
        .where(_c.user_email == user_email, ~is_part(), conversations.c.incomplete_since.is_(None))
    )


def _share(row: Row[*tuple[Any, ...]], secret_key: str) -> Share:
    return Share(
        conversation_id=row.conversation_id,
        title=row.title,
        created_at=row.created_at,
        message_count=row.snapshot["message_count"],
        token=_token(row, secret_key),
        in_bin=row.deleted_at is not None,
    )


def _snapshot(row: Row[*tuple[Any, ...]]) -> Snapshot:
    kept = row.snapshot
    return Snapshot(generation=kept["generation"], starts=tuple(kept["starts"]), message_count=kept["message_count"])


def _token(row: Row[*tuple[Any, ...]], secret_key: str) -> str | None:
    """The token of a stored share; None where this secret key did not make it."""
    token = _token_of(row.snapshot["seed"], secret_key)
    return token if fingerprint(token) == row.token_hash else None


def _token_of(seed: str, secret_key: str) -> str:
    return derived_secret(secret_key, f"share {seed}")
