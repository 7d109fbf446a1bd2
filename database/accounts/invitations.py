"""One-time links by which people whom an administrator invites make their accounts. Only hashes of tokens are stored.

An invitation is valid until it is used up, withdrawn or expired, and while whoever made it is an administrator.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, or_, select, update
from typing_extensions import TypedDict

from database.engine.clock import iso_in, now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, InvitationNotFoundError, UserExistsError
from database.schema import invitations, users
from sentences import say

from .audit import Actor, record_act
from .passwords import hash_password
from .secret_tokens import fingerprint, new_secret
from .users import ADMINISTRATOR, Role, UserRow, account_key, checked_address, insert_account, new_account

DAYS = 7
MOST_DAYS = 90
MOST_USES = 100

_c = invitations.c


class Invitation(TypedDict):
    """An invitation as administrators see it. Times are ISO 8601 in UTC.

    invited_email: whom it is for, None for whoever has the link. invited_by: None for the command line.
    """

    invitation_id: str
    invited_email: str | None
    invited_by: str | None
    role: Role
    uses_left: int
    created_at: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvitation:
    """A new invitation. token: the secret, returned only here. expires_at: ISO 8601 in UTC."""

    invitation_id: str
    token: str
    expires_at: str


def create_invitation(
    *,
    database: Database,
    by: Actor,
    invited_email: str | None = None,
    role: Role,
    uses: int = 1,
    days: int = DAYS,
) -> NewInvitation:
    """Invite the owner of an address, who can use the link once, or without an address `uses` people. by: who does.

    Raises InvalidChangeError (the address can't be one, or the numbers are out of bounds), UserExistsError (the address
    has an account already).
    """
    if not 1 <= uses <= MOST_USES or not 1 <= days <= MOST_DAYS or (invited_email is not None and uses != 1):
        raise InvalidChangeError(say("invitation_bounds", uses=MOST_USES, days=MOST_DAYS))
    address = None if invited_email is None else checked_address(invited_email)
    made = NewInvitation(invitation_id=str(uuid.uuid4()), token=new_secret(), expires_at=iso_in(days=days))
    row = {
        "invitation_id": made.invitation_id,
        "token_hash": fingerprint(made.token),
        "user_email": by.user_email or None,
        "invited_email": address,
        "role": role,
        "uses_left": uses,
        "created_at": now_iso(),
        "expires_at": made.expires_at,
    }

    def job(connection: Connection) -> None:
        there = select(users.c.user_email).where(users.c.user_email == address)
        if address is not None and connection.execute(there).first() is not None:
            raise UserExistsError(say("account_exists"))
        connection.execute(delete(invitations).where(_c.expires_at <= now_iso()))
        connection.execute(insert(invitations).values(row))
        details = {"role": role, "uses": uses, "days": days, **_addressed(address)}
        record_act(connection, by, "invitation_made", address or made.invitation_id, details=details)

    database.write(job)
    return made


def _addressed(address: str | None) -> dict[str, bool]:
    """What the audit log keeps of whom an invitation was for, where the account of the address is erased later."""
    return {} if address is None else {"addressed": True}


def list_invitations(*, database: Database) -> list[Invitation]:
    """The invitations that are valid, the newest first."""
    query = (
        select(invitations, _c.user_email.label("invited_by"))
        .where(_is_valid())
        .order_by(_c.created_at.desc(), _c.invitation_id)
    )
    with database.reading() as connection:
        return [
            Invitation(
                invitation_id=row.invitation_id,
                invited_email=row.invited_email,
                invited_by=row.invited_by,
                role=row.role,
                uses_left=row.uses_left,
                created_at=row.created_at,
                expires_at=row.expires_at,
            )
            for row in connection.execute(query)
        ]


def withdraw_invitation(*, database: Database, invitation_id: str, by: Actor) -> None:
    """Withdraw an invitation, whoever made it. by: who does. Raises InvitationNotFoundError."""
    this = _c.invitation_id == invitation_id

    def job(connection: Connection) -> None:
        row = connection.execute(select(_c.invited_email).where(this)).first()
        if row is None or connection.execute(delete(invitations).where(this)).rowcount == 0:
            raise InvitationNotFoundError
        subject = row.invited_email or invitation_id
        record_act(connection, by, "invitation_withdrawn", subject, details=_addressed(row.invited_email))

    database.write(job)


def invited_email(*, database: Database, token: str) -> str | None:
    """Whom the invitation is for; None: whoever has the link. Raises InvitationNotFoundError."""
    query = select(_c.invited_email).where(_c.token_hash == fingerprint(token), _is_valid())
    with database.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        raise InvitationNotFoundError
    return None if row.invited_email is None else str(row.invited_email)


def accept_invitation(
    *, database: Database, token: str, user_email: str, password: str, name: str = "", by: Actor | None = None
) -> UserRow:
    """Make the account that the invitation is for, and use it. by: the person whose account it is.

    Raises InvitationNotFoundError (it is unknown, used up, withdrawn or expired), InvalidChangeError (it is for another
    address, or the address or the password can't be one), UserExistsError (the address has an account already; the
    invitation can still be used).
    """
    # Checked before the expensive hashing, and again in the transaction, where one of two callers wins.
    invited_email(database=database, token=token)
    password_hash = hash_password(password)

    def job(connection: Connection) -> UserRow:
        role = use_invitation(connection, token, user_email)
        values = new_account(user_email, password_hash, name, is_admin=role == ADMINISTRATOR)
        user = insert_account(connection, values)
        details = {"is_admin": user.is_admin, "because": "invitation"}
        record_act(connection, by, "account_made", user.user_email, details=details)
        return user

    return database.write(job)


def use_invitation(connection: Connection, token: str, user_email: str) -> Role:
    """Use an invitation for the account of `user_email` within the transaction that makes it; the account's role.

    Raises InvitationNotFoundError, InvalidChangeError for another address.
    """
    this = _c.token_hash == fingerprint(token)
    # Of two that use the last place at once, the second finds none: the update locks the row.
    used = connection.execute(update(invitations).where(this, _is_valid()).values(uses_left=_c.uses_left - 1))
    if used.rowcount == 0:
        raise InvitationNotFoundError
    row = connection.execute(select(_c.invited_email, _c.role, _c.uses_left).where(this)).one()
    if row.invited_email not in (None, account_key(user_email)):
        raise InvalidChangeError(say("invitation_other_email"))
    if row.uses_left == 0:
        connection.execute(delete(invitations).where(this))
    role: Role = row.role
    return role


def _is_valid() -> ColumnElement[bool]:
    by_administrator = exists().where(
        users.c.user_email == _c.user_email, users.c.is_admin == 1, users.c.disabled_at.is_(None)
    )
    return (_c.expires_at > now_iso()) & (_c.uses_left > 0) & or_(_c.user_email.is_(None), by_administrator)
