"""Who people are at an OpenID provider: the account of each subject, never found by its e-mail address alone."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError, UserNotFoundError
from database.schema import sessions, sign_in_identities, users
from sentences import say

from .audit import Actor, record_act
from .invitations import use_invitation
from .users import (
    ADMINISTRATOR,
    MEMBER,
    Role,
    UserRow,
    account_key,
    get_user,
    insert_account,
    new_account,
    require_password,
)

_c = sign_in_identities.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person at a provider. issuer: the provider. subject: what it calls the person, for ever."""

    issuer: str
    subject: str


def find_account(*, database: Database, identity: Identity) -> UserRow | None:
    """The account that the identity is linked with, a disabled one too; None without one, or while it is erased."""
    query = (
        select(_c.user_email)
        .join(users, users.c.user_email == _c.user_email)
        .where(_c.issuer == identity.issuer, _c.subject == identity.subject, users.c.erasing_since.is_(None))
    )
    with database.reading() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else get_user(database=database, user_email=found)


def create_account(
    *,
    database: Database,
    identity: Identity,
    user_email: str,
    name: str,
    by: Actor,
    role: Role | None = None,
    invitation: str | None = None,
) -> UserRow:
    """A new account without a password, linked with the identity.

    by: the person whose account it is. role: that of the invitation when None, else a member. invitation: the token of
    one, which is used. Raises InvitationNotFoundError (the invitation is not valid), UserExistsError (the address has
    an account already), ConflictError (the identity is linked already), InvalidChangeError (the address can't be one,
    or the invitation is for another).
    """

    def job(connection: Connection) -> UserRow:
        invited = MEMBER if invitation is None else use_invitation(connection, invitation, user_email)
        values = new_account(user_email, "", name, is_admin=(role or invited) == ADMINISTRATOR)
        user = insert_account(connection, values)
        link_account(connection, identity, user.user_email)
        because = "provider" if invitation is None else "invitation"
        record_act(
            connection, by, "account_made", user.user_email, details={"is_admin": user.is_admin, "because": because}
        )
        return user

    return database.write(job)


def link(*, database: Database, identity: Identity, proved: UserRow, by: Actor | None = None) -> None:
    """Let the identity log in to an account that exists; the caller has checked that both are the same person's.

    proved: the account, whose password the person has proved. by: that person. Raises UserNotFoundError (there is no
    such account any more, or it has another password), ConflictError (the identity is linked with another account).
    """
    key = proved.user_email

    def job(connection: Connection) -> None:
        require_password(connection, key, proved.password_hash)
        link_account(connection, identity, key)
        record_act(connection, by, "identity_connected", key, details={"issuer": identity.issuer})

    database.write(job)


def disconnect(*, database: Database, user_email: str, by: Actor) -> int:
    """Let no identity log in to an account any more, and end its sessions; how many identities there were.

    by: the administrator who does. Raises UserNotFoundError.
    """
    key = account_key(user_email)

    def job(connection: Connection) -> int:
        if connection.execute(select(users.c.user_email).where(users.c.user_email == key)).first() is None:
            raise UserNotFoundError
        count = connection.execute(delete(sign_in_identities).where(_c.user_email == key)).rowcount
        if count:
            connection.execute(delete(sessions).where(sessions.c.user_email == key))
            record_act(connection, by, "identity_disconnected", key)
        return count

    return database.write(job)


def link_account(connection: Connection, identity: Identity, key: str) -> None:
    """`link` within a transaction. key: an `account_key`."""
    row = {"issuer": identity.issuer, "subject": identity.subject, "user_email": key, "created_at": now_iso()}
    try:
        with connection.begin_nested():
            connection.execute(insert(sign_in_identities).values(row))
    except IntegrityError as error:
        raise ConflictError(say("identity_linked")) from error
