"""Deleting an account: it is closed in one transaction, then all of its data is erased in slices.

The account's row is deleted last. Until then its address can't be used again, and after a crash the row says what is
still to be erased.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Table, delete, func, select, update

from database.accounts.audit import Actor, forget_address, record_act
from database.accounts.users import account_key, void_links_of_administrator
from database.conversations.deletion import erase, mark_for_deletion
from database.engine.clock import iso_in, now_iso, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import LastAdministratorError, UserNotFoundError
from database.schema import (
    activities,
    agents,
    api_tokens,
    attachments,
    changes,
    conversation_aliases,
    conversations,
    former_short_ids,
    imported_changes,
    imported_conversations,
    imports,
    inbox_items,
    invitations,
    jobs,
    library,
    message_references,
    password_links,
    proposals,
    quotas,
    sessions,
    shares,
    sign_in_identities,
    threads,
    usage_days,
    users,
    workspaces,
)
from database.search.passages import erase_passages, forget_unowned

_ROWS_AT_ONCE = 500
_STOP_MINUTES = 10
_LEFT_TO_THE_END = (
    inbox_items,
    agents,
    attachments,
    changes,
    conversation_aliases,
    former_short_ids,
    imported_changes,
    imported_conversations,
    imports,
    jobs,
    library,
    message_references,
    proposals,
    quotas,
    shares,
    threads,
    usage_days,
    workspaces,
)
_WAYS_IN = (sessions, api_tokens, password_links, sign_in_identities, invitations)

_c = users.c


def close_account(*, database: Database, user_email: str, by: Actor | None = None) -> None:
    """Permanently disable an account and hide its conversations and shared links.

    `erase_account` then erases its data. Closing twice changes nothing. by: the administrator who does, if it is
    not the person. Raises UserNotFoundError (there is no such account), LastAdministratorError (it is the only
    administrator who can log in, and there are other accounts).
    """
    key, moment = account_key(user_email), now_iso()

    def job(connection: Connection) -> None:
        account = connection.execute(select(_c.is_admin, _c.erasing_since).where(_c.user_email == key)).first()
        if account is None:
            raise UserNotFoundError
        if account.erasing_since is not None:
            return
        if account.is_admin:
            _refuse_last_administrator(connection, key)
            void_links_of_administrator(connection, key)
        closed = {"erasing_since": moment, "disabled_at": func.coalesce(_c.disabled_at, moment)}
        connection.execute(update(users).where(_c.user_email == key).values(closed))
        _delete_all(connection, _WAYS_IN, key)
        connection.execute(delete(invitations).where(invitations.c.invited_email == key))
        mark_for_deletion(connection, conversations.c.user_email == key, recorded=False)
        record_act(connection, by, "account_deleted", key)

    database.write(job)


def closed_accounts(*, database: Database) -> list[str]:
    """The addresses of accounts that are closed and not yet erased, in the order of closing."""
    query = select(_c.user_email).where(_c.erasing_since.is_not(None)).order_by(_c.erasing_since)
    with database.reading() as connection:
        return list(connection.execute(query).scalars())


def has_running_turn(*, database: Database, user_email: str) -> bool:
    """Whether a conversation of a closed account, even a deleted one, has a running answer.

    A turn that still runs `_STOP_MINUTES` after the account was closed is broken, and doesn't count.
    """
    query = (
        select(conversations.c.conversation_id)
        .join(users, _c.user_email == conversations.c.user_email)
        .where(
            _c.user_email == user_email,
            _c.erasing_since >= iso_in(minutes=-_STOP_MINUTES),
            conversations.c.running_message_id.is_not(None),
        )
        .limit(1)
    )
    with database.reading() as connection:
        return connection.execute(query).first() is not None


def is_worked_on(*, database: Database, user_email: str) -> bool:
    """Whether a process works on an import or a job of a closed account. It takes up none any more."""
    with database.reading() as connection:
        return any(
            connection.execute(
                select(table.c.user_email)
                .where(table.c.user_email == user_email, table.c.lease_until >= store_time())
                .limit(1)
            ).first()
            is not None
            for table in (imports, jobs)
        )


def erase_account(*, database: Database, user_email: str) -> None:
    """Erase all rows of a closed account, the account itself last. No conversation of it may have a running answer."""
    theirs = conversations.c.user_email == user_email

    def begin(connection: Connection) -> None:
        # A batch of an import is stored only while its import is there, so that none arrives from now on.
        _delete_all(connection, (imports,), user_email)
        mark_for_deletion(connection, theirs, recorded=False)

    database.write(begin, urgency=Urgency.INDEX)
    _erase_rows(database, changes, user_email)
    with database.reading() as connection:
        found = connection.execute(select(conversations.c.conversation_id).where(theirs)).scalars().all()
    erase(database, found)
    # What is left of activities: those of memories, which belong to no conversation.
    _erase_rows(database, activities, user_email)

    erase_passages(database=database, user_email=user_email)

    def end(connection: Connection) -> None:
        contents = select(attachments.c.user_email, attachments.c.sha256).where(attachments.c.user_email == user_email)
        owned = [(row.user_email, row.sha256) for row in connection.execute(contents)]
        _delete_all(connection, (*_LEFT_TO_THE_END, *_WAYS_IN), user_email)
        # Those that were stored since the others were erased.
        forget_unowned(connection, owned)
        closed = (_c.user_email == user_email) & _c.erasing_since.is_not(None)
        for user_id in connection.execute(select(_c.user_id).where(closed)).scalars().all():
            forget_address(connection, user_email, user_id=user_id)
        connection.execute(delete(users).where(closed))

    database.write(end)


def _erase_rows(store: Database, table: Table, user_email: str) -> None:
    """Delete all of the person's rows of a table that is numbered by `seq`, slice by slice."""
    theirs = table.c.user_email == user_email
    some = select(table.c.seq).where(theirs).limit(_ROWS_AT_ONCE)
    slice_of_them = delete(table).where(theirs, table.c.seq.in_(some))
    while store.write(lambda connection: connection.execute(slice_of_them).rowcount, urgency=Urgency.INDEX):
        pass


def _refuse_last_administrator(connection: Connection, key: str) -> None:
    others = connection.execute(
        select(_c.is_admin, _c.disabled_at).where(_c.user_email != key, _c.erasing_since.is_(None))
    ).all()
    if others and not any(row.is_admin and row.disabled_at is None for row in others):
        raise LastAdministratorError


def _delete_all(connection: Connection, tables: Sequence[Table], user_email: str) -> None:
    for table in tables:
        connection.execute(delete(table).where(table.c.user_email == user_email))
